/* Parsing the environment by the one table in env.def. */
#define _GNU_SOURCE
#include "env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define MEGABYTES_MOST ((int64_t)1 << 40)
#define INTERVAL_US_MOST ((int64_t)1 << 40)

enum type {
	TEXT,
	COUNT,
	SECONDS,
	FLAG,
	CHOICE,
};

struct setting {
	const char *name; /* with BOUNDSHIM_ */
	enum type type;
	const char *initial;
};

enum index {
#define ENV(NAME, option, TYPE, initial, help) AT_##NAME,
#include "env.def"
#undef ENV
	SETTING_COUNT
};

static const struct setting settings[SETTING_COUNT] = {
#define ENV(NAME, option, TYPE, initial, help) [AT_##NAME] = {"BOUNDSHIM_" #NAME, TYPE, initial},
#include "env.def"
#undef ENV
};

/* Names that belong to `boundshim record`, not to the shim. */
static const char *const others[] = {"BOUNDSHIM_LIB"};

static int known_name(const char *name, size_t size)
{
	for (unsigned i = 0; i < SETTING_COUNT; i++)
		if (strlen(settings[i].name) == size && strncmp(settings[i].name, name, size) == 0)
			return 1;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == size && strncmp(others[i], name, size) == 0)
			return 1;
	return 0;
}

/* A mistyped name would otherwise be ignored without a word. */
static void warn_of_unknown(void)
{
	for (char **e = environ; e && *e; e++) {
		size_t size = strcspn(*e, "=");

		if (strncmp(*e, "BOUNDSHIM_", 10) == 0 && !known_name(*e, size))
			log_line(
				"unknown setting %.*s is ignored; the known ones: boundshim record --help",
				(int)size, *e);
	}
}

/* The position of `value` among the |-separated choices, or -1. */
static int choice(const char *choices, const char *value)
{
	size_t size = strlen(value);

	for (int i = 0;; i++) {
		size_t n = strcspn(choices, "|");

		if (n == size && strncmp(choices, value, n) == 0)
			return i;
		if (!choices[n])
			return -1;
		choices += n + 1;
	}
}

/* A number in units of 1/scale, or -1. No sign, no exponent, nothing behind it; at most nine
 * decimals count. */
static int64_t number(const char *text, uint64_t scale, int decimals)
{
	uint64_t value = 0, unit = scale;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > UINT64_C(1) << 52)
			return -1;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (value > (uint64_t)INT64_MAX / scale)
		return -1;
	value *= scale;
	if (p == text)
		return -1;
	if (*p == '.' && decimals)
		for (p++; *p >= '0' && *p <= '9'; p++)
			value += (uint64_t)(*p - '0') * (unit /= 10);
	return *p ? -1 : (int64_t)value;
}

static int64_t parse(const struct setting *s, const char *value)
{
	switch (s->type) {
	case COUNT:
		return number(value, 1, 0);
	case SECONDS:
		return number(value, 1000000000, 1);
	case FLAG:
		return number(value, 1, 0);
	case CHOICE:
		return choice(s->initial, value);
	default:
		return 0;
	}
}

static int64_t get(enum index at)
{
	const struct setting *s = &settings[at];
	const char *value = getenv(s->name);
	int64_t parsed;

	if (!value || !*value)
		value = s->type == CHOICE ? NULL : s->initial;
	if (!value || !*value)
		return 0;
	parsed = parse(s, value);
	if (parsed >= 0)
		return parsed;
	log_line("%s=%s is not understood, the default is used; see boundshim record --help",
		 s->name, value);
	return s->type == CHOICE || !*s->initial ? 0 : parse(s, s->initial);
}

static const char *get_text(enum index at)
{
	const char *value = getenv(settings[at].name);

	return value && *value ? value : NULL;
}

void env_read(struct env *env)
{
	int64_t log = get(AT_LOG), megabytes, interval_us;

	memset(env, 0, sizeof(*env));
	env->log_level = log < 2 ? (int)log : 2;
	log_set_level(env->log_level);
	warn_of_unknown();
	env->out = get_text(AT_OUT);
	env->mode = (enum mode)get(AT_MODE);
	env->delay_ns = (uint64_t)get(AT_DELAY_S);
	env->duration_ns = (uint64_t)get(AT_DURATION_S);
	megabytes = get(AT_MAX_MB);
	env->max_bytes = (uint64_t)(megabytes < MEGABYTES_MOST ? megabytes : MEGABYTES_MOST) << 20;
	env->keep_newest = get(AT_KEEP) != 0;
	env->cupti = get_text(AT_CUPTI);
	env->cupti_yield = get(AT_CUPTI_YIELD) != 0;
	env->command = (int)get(AT_COMMAND);
	env->counters = (int)get(AT_COUNTERS);
	interval_us = get(AT_COUNTER_INTERVAL_US);
	env->counter_interval_ns =
		(uint64_t)(interval_us < INTERVAL_US_MOST ? interval_us : INTERVAL_US_MOST) * 1000;
}
