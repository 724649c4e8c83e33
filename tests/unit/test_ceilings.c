/* Ceilings: derived from attributes, read from files, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/ceilings_file.h"

#define UUID "GPU-00112233-4455-6677-8899-aabbccddeeff"
#define DEVICE(uuid, entries)                                                                      \
	"{\"uuid\": \"" uuid                                                                       \
	"\", \"date\": \"2026-12-01T00:00:00Z\", \"driver\": \"580.159.04\", "                     \
	"\"ceilings\": {" entries "}}"
#define FILE_OF(devices) "{\"schema\": \"boundshim.ceilings/1\", \"devices\": [" devices "]}"
#define READ_43                                                                                    \
	"\"dram_read\": {\"value\": 4.3e12, \"low\": 4.2e12, \"high\": 4.35e12, "                  \
	"\"unit\": \"bytes/s\", \"n\": 39}"

#define READ_40                                                                                    \
	"\"dram_read\": {\"value\": 4.0e12, \"low\": 3.9e12, \"high\": 4.1e12, "                   \
	"\"unit\": \"bytes/s\", \"n\": 39}"

/* As an H200 reports them (driver 580). */
static const struct device_attributes h200 = {
	.cc_major = 9,
	.cc_minor = 0,
	.sm_count = 132,
	.clock_khz = 1980000,
	.memory_clock_khz = 3201000,
	.memory_bus_bits = 6016,
};

static const struct ceiling_value *of(const struct ceilings *c, enum ceiling ceiling)
{
	return &c->of[ceiling];
}

static void assert_near(double value, double expected)
{
	assert_true(value > 0.995 * expected && value < 1.005 * expected);
}

static void test_derived_as_data_sheets_say(void **state)
{
	static const struct {
		enum ceiling ceiling;
		double value;
	} sheet[] = {
		{CEILING_DRAM_READ, 4.814e12},  {CEILING_DRAM_COPY, 4.814e12},
		{CEILING_TENSOR_BF16, 989e12},  {CEILING_TENSOR_FP16, 989e12},
		{CEILING_TENSOR_TF32, 494e12},  {CEILING_TENSOR_FP8, 1979e12},
		{CEILING_TENSOR_INT8, 1979e12}, {CEILING_TENSOR_FP64, 66.9e12},
		{CEILING_FP32, 66.9e12},        {CEILING_FP64, 33.5e12},
	};
	struct ceilings c = ceilings_derive(&h200);

	(void)state;
	for (size_t i = 0; i < sizeof(sheet) / sizeof(sheet[0]); i++) {
		assert_int_equal(of(&c, sheet[i].ceiling)->source, CEILING_DERIVED);
		assert_near(of(&c, sheet[i].ceiling)->measure.value, sheet[i].value);
	}
}

/* At the highest clock the table gives 1070 TFLOP/s, which no H200 reaches: a bound, not the value.
 */
static void test_tensor_value_is_at_the_data_sheets_clock(void **state)
{
	struct ceilings c = ceilings_derive(&h200);
	const struct measure *m = &of(&c, CEILING_TENSOR_BF16)->measure;

	(void)state;
	assert_near(m->high, 1070.5e12);
	/* What H200s were measured to reach. */
	assert_true(m->low < 769e12 && 798e12 < m->value);
}

static void test_peaks_in_force_go_by_the_clock_that_ran(void **state)
{
	struct measure clock = {true, 1360e6, 1320e6, 1400e6}, unknown = {0};
	struct ceilings c = ceilings_in_force(&h200, &clock), full = ceilings_derive(&h200);
	const struct measure *bf16 = &c.of[CEILING_TENSOR_BF16].measure;

	(void)state;
	assert_true(c.in_force);
	/* 132 SMs, 4096 operations a clock each */
	assert_near(bf16->value, 132.0 * 4096 * 1360e6);
	assert_near(bf16->low, 132.0 * 4096 * 1320e6);
	assert_near(bf16->high, 132.0 * 4096 * 1400e6);
	assert_near(c.of[CEILING_FP32].measure.value, 132.0 * 256 * 1360e6);
	assert_near(c.of[CEILING_DRAM_READ].measure.value,
		    full.of[CEILING_DRAM_READ].measure.value);
	c = ceilings_in_force(&h200, &unknown);
	assert_false(c.in_force);
	assert_near(c.of[CEILING_TENSOR_BF16].measure.value,
		    full.of[CEILING_TENSOR_BF16].measure.value);
}

static void test_other_architectures(void **state)
{
	static const struct {
		struct device_attributes attributes;
		double dram, tensor;
	} cases[] = {
		{{9, 0, 132, 1980000, 2619000, 5120, 0}, 3.352e12, 989e12},
		{{8, 0, 108, 1410000, 1593000, 5120, 0}, 2.04e12, 312e12},
		{{7, 0, 80, 1530000, 877000, 4096, 0}, 0.898e12, 125e12},
		{{8, 9, 142, 2520000, 9001000, 384, 0}, 0.864e12, 366e12},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ceilings c = ceilings_derive(&cases[i].attributes);

		assert_near(of(&c, CEILING_DRAM_READ)->measure.value, cases[i].dram);
		assert_near(of(&c, CEILING_TENSOR_FP16)->measure.value, cases[i].tensor);
	}
}

static void test_what_attributes_do_not_tell_is_unknown(void **state)
{
	const struct device_attributes unheard_of = {.cc_major = 99,
						     .sm_count = 1,
						     .clock_khz = 1,
						     .memory_clock_khz = 1000000,
						     .memory_bus_bits = 1024};
	const struct device_attributes nothing = {0};
	struct ceilings c = ceilings_derive(&h200), other = ceilings_derive(&unheard_of);
	struct ceilings none = ceilings_derive(&nothing);

	(void)state;
	assert_int_equal(of(&c, CEILING_L2_READ)->source, CEILING_UNKNOWN);
	assert_int_equal(of(&c, CEILING_LAUNCH_ENQUEUE)->source, CEILING_UNKNOWN);
	assert_int_equal(of(&other, CEILING_TENSOR_BF16)->source, CEILING_UNKNOWN);
	assert_int_equal(of(&other, CEILING_DRAM_READ)->source, CEILING_DERIVED);
	for (unsigned i = 0; i < CEILING_COUNT; i++) {
		assert_int_equal(none.of[i].source, CEILING_UNKNOWN);
		assert_false(none.of[i].measure.known);
	}
}

static enum ceilings_status parse(struct ceilings *c, const char *text)
{
	struct ceilings_words words = {""};

	return ceilings_parse(c, text, strlen(text), UUID, &words);
}

static void test_good_file_over_derived(void **state)
{
	struct ceilings c = ceilings_derive(&h200);

	(void)state;
	assert_int_equal(parse(&c, FILE_OF(DEVICE("GPU-other", "") ", " DEVICE(UUID, READ_43))),
			 CEILINGS_OK);
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_CALIBRATED);
	assert_near(of(&c, CEILING_DRAM_READ)->measure.value, 4.3e12);
	assert_near(of(&c, CEILING_DRAM_READ)->measure.low, 4.2e12);
	assert_string_equal(c.date, "2026-12-01T00:00:00Z");
	assert_string_equal(c.driver, "580.159.04");
	/* What it does not have stays derived, or unknown. */
	assert_int_equal(of(&c, CEILING_FP32)->source, CEILING_DERIVED);
	assert_int_equal(of(&c, CEILING_L2_READ)->source, CEILING_UNKNOWN);
}

static void test_entries_of_a_later_version_are_passed_over(void **state)
{
	struct ceilings c = {0};

	(void)state;
	assert_int_equal(parse(&c, FILE_OF(DEVICE(UUID, "\"fp2\": 7, \"fp32\": null, " READ_43))),
			 CEILINGS_OK);
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_CALIBRATED);
	assert_int_equal(of(&c, CEILING_FP32)->source, CEILING_UNKNOWN);
}

static void test_refused_and_nothing_changed(void **state)
{
#define ENTRY(value, low, high, unit)                                                              \
	FILE_OF(DEVICE(UUID, READ_43 ", \"fp32\": {\"value\": " value ", \"low\": " low            \
				     ", \"high\": " high ", \"unit\": \"" unit "\"}"))
	static const struct {
		const char *text;
		enum ceilings_status status;
	} cases[] = {
		{"", CEILINGS_BROKEN},
		{"{\"schema\": \"boundshim.cei", CEILINGS_BROKEN},
		{FILE_OF(DEVICE(UUID, READ_43 ", " READ_43)), CEILINGS_BROKEN},
		{"[]", CEILINGS_FOREIGN},
		{"{}", CEILINGS_FOREIGN},
		{"{\"schema\": \"boundshim.report/1\", \"devices\": []}", CEILINGS_FOREIGN},
		{"{\"schema\": \"boundshim.ceilings/2\", \"devices\": []}", CEILINGS_FOREIGN},
		{"{\"schema\": \"boundshim.ceilings/1\"}", CEILINGS_BROKEN},
		{FILE_OF(""), CEILINGS_OTHER_DEVICE},
		{FILE_OF("7, null"), CEILINGS_OTHER_DEVICE},
		{FILE_OF(DEVICE("GPU-other", READ_43)), CEILINGS_OTHER_DEVICE},
		{FILE_OF("{\"uuid\": \"" UUID "\"}"), CEILINGS_BROKEN},
		{ENTRY("\"1e12\"", "1", "2", "op/s"), CEILINGS_BROKEN},
		{ENTRY("1e400", "1", "2", "op/s"), CEILINGS_BROKEN},
		{ENTRY("-1", "-1", "-1", "op/s"), CEILINGS_BROKEN},
		{ENTRY("0", "0", "0", "op/s"), CEILINGS_BROKEN},
		{ENTRY("3", "1", "2", "op/s"), CEILINGS_BROKEN},
		{ENTRY("1.5", "1", "2", "bytes/s"), CEILINGS_BROKEN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ceilings c = ceilings_derive(&h200), before = c;

		assert_int_equal(parse(&c, cases[i].text), cases[i].status);
		assert_memory_equal(&c, &before, sizeof(c));
	}
}

static void test_files(void **state)
{
	char path[] = "/tmp/test_ceilings.XXXXXX";
	int fd = mkstemp(path);
	const char text[] = FILE_OF(DEVICE(UUID, READ_43));
	struct ceilings_words words = {""};
	struct ceilings c = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(ceilings_load(&c, path, UUID, &words), CEILINGS_OK);
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_CALIBRATED);
	assert_int_equal(ceilings_load(&c, path, "GPU-other", &words), CEILINGS_OTHER_DEVICE);
	assert_int_equal(ceilings_load(&c, path, NULL, &words), CEILINGS_OTHER_DEVICE);
	unlink(path);
	assert_int_equal(ceilings_load(&c, path, UUID, &words), CEILINGS_MISSING);
	assert_int_equal(ceilings_load(&c, "/", UUID, &words), CEILINGS_UNREADABLE);
}

static void assert_path(const char *uuid, const char *expected)
{
	char *path = ceilings_path(uuid);

	if (expected)
		assert_string_equal(path, expected);
	else
		assert_null(path);
	free(path);
}

static void test_where_they_are_kept(void **state)
{
	(void)state;
	setenv("HOME", "/home/u", 1);
	setenv("XDG_DATA_HOME", "/data", 1);
	assert_path("GPU-1", "/data/boundshim/ceilings/GPU-1.json");
	setenv("XDG_DATA_HOME", "relative", 1);
	assert_path("GPU-1", "/home/u/.local/share/boundshim/ceilings/GPU-1.json");
	unsetenv("XDG_DATA_HOME");
	assert_path("GPU-1", "/home/u/.local/share/boundshim/ceilings/GPU-1.json");
	/* A trace may say anything. */
	assert_path("../../etc/passwd", NULL);
	assert_path("", NULL);
	assert_path(NULL, NULL);
	unsetenv("HOME");
	assert_path("GPU-1", NULL);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_a_named_file_before_the_kept_one_before_derived(void **state)
{
	char folder[] = "/tmp/test_ceilings.XXXXXX", kept[256], named[256], command[300];
	struct ceilings_words words = {""};
	struct ceilings c;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("XDG_DATA_HOME", folder, 1);
	assert_true(ceilings_of(&c, &h200, UUID, NULL, &words));
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_DERIVED);
	assert_near(of(&c, CEILING_DRAM_READ)->measure.value, 4.814e12);
	assert_string_equal(c.date, "");
	snprintf(command, sizeof(command), "mkdir -p %s/boundshim/ceilings", folder);
	assert_int_equal(system(command), 0);
	snprintf(kept, sizeof(kept), "%s/boundshim/ceilings/" UUID ".json", folder);
	snprintf(named, sizeof(named), "%s/named.json", folder);
	write_text(kept, FILE_OF(DEVICE(UUID, READ_43)));
	write_text(named, FILE_OF(DEVICE(UUID, READ_40)));
	assert_true(ceilings_of(&c, &h200, UUID, NULL, &words));
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_CALIBRATED);
	assert_near(of(&c, CEILING_DRAM_READ)->measure.value, 4.3e12);
	assert_int_equal(of(&c, CEILING_FP32)->source, CEILING_DERIVED);
	assert_string_equal(c.date, "2026-12-01T00:00:00Z");
	assert_true(ceilings_of(&c, &h200, UUID, named, &words));
	assert_near(of(&c, CEILING_DRAM_READ)->measure.value, 4.0e12);
	assert_true(ceilings_of(&c, &h200, UUID, "none", &words));
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_DERIVED);
	/* Another GPU's file, asked for by name, is not used in silence. */
	assert_false(ceilings_of(&c, &h200, "GPU-other", named, &words));
	assert_non_null(strstr(words.text, "named.json: it has no device GPU-other"));
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_DERIVED);
	assert_false(ceilings_of(&c, &h200, UUID, "/no/such/file", &words));
	assert_string_equal(words.text, "/no/such/file: No such file or directory");
	write_text(kept, "{");
	assert_false(ceilings_of(&c, &h200, UUID, NULL, &words));
	assert_non_null(strstr(words.text, UUID ".json: no JSON"));
	assert_int_equal(of(&c, CEILING_DRAM_READ)->source, CEILING_DERIVED);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void calibrate(struct ceilings *c, enum ceiling ceiling, double low, double value,
		      double high)
{
	c->of[ceiling] = (struct ceiling_value){CEILING_CALIBRATED, {true, value, low, high}};
}

static void test_doubts(void **state)
{
	struct ceilings derived = ceilings_derive(&h200), c = {0};

	(void)state;
	calibrate(&c, CEILING_DRAM_READ, 4.2e12, 4.3e12, 4.35e12);
	calibrate(&c, CEILING_TENSOR_BF16, 770e12, 788e12, 798e12);
	calibrate(&c, CEILING_L2_READ, 5.4e12, 5.5e12, 5.6e12);
	for (unsigned i = 0; i < CEILING_COUNT; i++)
		assert_null(ceiling_doubt((enum ceiling)i, &c, &derived));
	calibrate(&c, CEILING_DRAM_COPY, 5.1e12, 5.2e12, 5.3e12);
	assert_non_null(ceiling_doubt(CEILING_DRAM_COPY, &c, &derived));
	calibrate(&c, CEILING_DRAM_WRITE, 2.0e12, 2.1e12, 2.2e12);
	assert_non_null(ceiling_doubt(CEILING_DRAM_WRITE, &c, &derived));
	calibrate(&c, CEILING_FP32, 50e12, 62e12, 65e12);
	assert_non_null(ceiling_doubt(CEILING_FP32, &c, &derived));
	calibrate(&c, CEILING_L2_READ, 3.0e12, 3.1e12, 3.2e12);
	assert_non_null(ceiling_doubt(CEILING_L2_READ, &c, &derived));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derived_as_data_sheets_say),
		cmocka_unit_test(test_tensor_value_is_at_the_data_sheets_clock),
		cmocka_unit_test(test_peaks_in_force_go_by_the_clock_that_ran),
		cmocka_unit_test(test_other_architectures),
		cmocka_unit_test(test_what_attributes_do_not_tell_is_unknown),
		cmocka_unit_test(test_good_file_over_derived),
		cmocka_unit_test(test_entries_of_a_later_version_are_passed_over),
		cmocka_unit_test(test_refused_and_nothing_changed),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_where_they_are_kept),
		cmocka_unit_test(test_a_named_file_before_the_kept_one_before_derived),
		cmocka_unit_test(test_doubts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
