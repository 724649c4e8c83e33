/* Every setting: its default, good values, bad ones (one line, then the default), and names that
 * nobody knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/env.h"
#include "tests/unit/trace_file.h"

static int set_up(void **state)
{
	static const char *const names[] = {
#define ENV(NAME, option, TYPE, initial, help) "BOUNDSHIM_" #NAME,
#include "shim/env.def"
#undef ENV
		"BOUNDSHIM_LIB",
		"BOUNDSHIM_MOED",
		"BOUNDSHIM_",
		"BOUNDSHIM_OUTPUT",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

/* Reads with one variable set; returns how many lines that gave. */
static unsigned read_with(struct env *env, const char *name, const char *value)
{
	char *said;
	unsigned n;

	setenv(name, value, 1);
	stderr_begin();
	env_read(env);
	said = stderr_end();
	unsetenv(name);
	n = lines_of(said);
	if (n == 1 && (!strstr(said, "boundshim: ") || !strstr(said, name)))
		fail_msg("the line does not name %s: %s", name, said);
	free(said);
	return n;
}

static void nothing_set_gives_the_defaults_in_silence(void **state)
{
	struct env env;
	char *said;

	(void)state;
	stderr_begin();
	env_read(&env);
	said = stderr_end();
	assert_string_equal(said, "");
	free(said);
	assert_null(env.out);
	assert_null(env.cupti);
	assert_int_equal(env.mode, MODE_TRACE);
	assert_int_equal(env.delay_ns, 0);
	assert_int_equal(env.duration_ns, 0);
	assert_int_equal(env.max_bytes, UINT64_C(4096) << 20);
	assert_int_equal(env.cupti_yield, 0);
	assert_int_equal(env.command, COMMAND_REDACTED);
	assert_int_equal(env.log_level, 1);
}

static void empty_is_unset(void **state)
{
	static const char *const names[] = {
#define ENV(NAME, option, TYPE, initial, help) "BOUNDSHIM_" #NAME,
#include "shim/env.def"
#undef ENV
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct env env;

		assert_int_equal(read_with(&env, names[i], ""), 0);
		assert_null(env.out);
		assert_null(env.cupti);
		assert_int_equal(env.mode, MODE_TRACE);
		assert_int_equal(env.max_bytes, UINT64_C(4096) << 20);
		assert_int_equal(env.log_level, 1);
	}
}

static void good_values_are_taken(void **state)
{
	struct env env;

	(void)state;
	assert_int_equal(read_with(&env, "BOUNDSHIM_OUT", "/tmp/%p.bst"), 0);
	assert_int_equal(read_with(&env, "BOUNDSHIM_MODE", "hooks"), 0);
	assert_int_equal(env.mode, MODE_HOOKS);
	assert_int_equal(read_with(&env, "BOUNDSHIM_MODE", "off"), 0);
	assert_int_equal(env.mode, MODE_OFF);
	assert_int_equal(read_with(&env, "BOUNDSHIM_COUNTERS", "on"), 0);
	assert_int_equal(read_with(&env, "BOUNDSHIM_COUNTER_INTERVAL_US", "50"), 0);
	assert_int_equal(read_with(&env, "BOUNDSHIM_DURATION_S", "2"), 0);
	assert_int_equal(env.duration_ns, 2000000000);
	assert_int_equal(read_with(&env, "BOUNDSHIM_DELAY_S", "0.25"), 0);
	assert_int_equal(env.delay_ns, 250000000);
	assert_int_equal(read_with(&env, "BOUNDSHIM_DELAY_S", "0.1234567891"), 0);
	assert_int_equal(env.delay_ns, 123456789);
	assert_int_equal(read_with(&env, "BOUNDSHIM_MAX_MB", "0"), 0);
	assert_int_equal(env.max_bytes, 0);
	assert_int_equal(read_with(&env, "BOUNDSHIM_MAX_MB", "7"), 0);
	assert_int_equal(env.max_bytes, 7 << 20);
	assert_int_equal(read_with(&env, "BOUNDSHIM_CUPTI_YIELD", "1"), 0);
	assert_int_equal(env.cupti_yield, 1);
	assert_int_equal(read_with(&env, "BOUNDSHIM_COMMAND", "full"), 0);
	assert_int_equal(env.command, COMMAND_FULL);
	assert_int_equal(read_with(&env, "BOUNDSHIM_COMMAND", "argv0"), 0);
	assert_int_equal(env.command, COMMAND_ARGV0);
	assert_int_equal(read_with(&env, "BOUNDSHIM_LOG", "2"), 0);
	assert_int_equal(env.log_level, 2);
}

static void bad_values_give_one_line_and_the_default(void **state)
{
	static const char *const bad[][2] = {
		{"BOUNDSHIM_MODE", "hook"},
		{"BOUNDSHIM_MODE", "hooks|off"},
		{"BOUNDSHIM_MODE", "TRACE"},
		{"BOUNDSHIM_COUNTERS", "yes"},
		{"BOUNDSHIM_COUNTER_INTERVAL_US", "fast"},
		{"BOUNDSHIM_DURATION_S", "-1"},
		{"BOUNDSHIM_DURATION_S", "1e3"},
		{"BOUNDSHIM_DELAY_S", "."},
		{"BOUNDSHIM_DELAY_S", "1s"},
		{"BOUNDSHIM_DELAY_S", "99999999999999999999"},
		{"BOUNDSHIM_MAX_MB", "1.5"},
		{"BOUNDSHIM_MAX_MB", " 1"},
		{"BOUNDSHIM_MAX_MB", "0x10"},
		{"BOUNDSHIM_CUPTI_YIELD", "true"},
		{"BOUNDSHIM_COMMAND", "none"},
		{"BOUNDSHIM_LOG", "loud"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct env env;

		if (read_with(&env, bad[i][0], bad[i][1]) != 1)
			fail_msg("%s=%s did not give one line", bad[i][0], bad[i][1]);
		assert_int_equal(env.mode, MODE_TRACE);
		assert_int_equal(env.delay_ns, 0);
		assert_int_equal(env.duration_ns, 0);
		assert_int_equal(env.max_bytes, UINT64_C(4096) << 20);
		assert_int_equal(env.cupti_yield, 0);
		assert_int_equal(env.command, COMMAND_REDACTED);
		assert_int_equal(env.log_level, 1);
	}
}

static void huge_limits_do_not_wrap_around_to_small_ones(void **state)
{
	struct env env;

	(void)state;
	read_with(&env, "BOUNDSHIM_MAX_MB", "17592186044417"); /* 2^44 + 1 */
	assert_true(env.max_bytes == 0 || env.max_bytes > UINT64_C(4096) << 20);
	read_with(&env, "BOUNDSHIM_LOG", "4294967296");
	assert_true(env.log_level >= 1);
}

static void unknown_names_are_said_and_known_ones_are_not(void **state)
{
	struct env env;

	(void)state;
	assert_int_equal(read_with(&env, "BOUNDSHIM_MOED", "off"), 1);
	assert_int_equal(env.mode, MODE_TRACE);
	assert_int_equal(read_with(&env, "BOUNDSHIM_", "x"), 1);
	assert_int_equal(read_with(&env, "BOUNDSHIM_OUTPUT", "x"), 1);
	assert_int_equal(read_with(&env, "BOUNDSHIM_LIB", "/x.so"), 0);
	assert_int_equal(read_with(&env, "boundshim_mode", "off"), 0);
}

static void log_0_silences_everything(void **state)
{
	struct env env;

	(void)state;
	setenv("BOUNDSHIM_MOED", "x", 1);
	setenv("BOUNDSHIM_MODE", "bad", 1);
	assert_int_equal(read_with(&env, "BOUNDSHIM_LOG", "0"), 0);
	assert_int_equal(env.log_level, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_set_gives_the_defaults_in_silence),
		TEST(empty_is_unset),
		TEST(good_values_are_taken),
		TEST(bad_values_give_one_line_and_the_default),
		TEST(huge_limits_do_not_wrap_around_to_small_ones),
		TEST(unknown_names_are_said_and_known_ones_are_not),
		TEST(log_0_silences_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
