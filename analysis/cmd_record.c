/* boundshim record: runs a program with the recorder preloaded. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

enum setting {
#define ENV(NAME, option, TYPE, fallback, help) SETTING_##NAME,
#include "shim/env.def"
#undef ENV
	SETTING_COUNT
};

static const char *const variables[] = {
#define ENV(NAME, option, TYPE, fallback, help) "BOUNDSHIM_" #NAME,
#include "shim/env.def"
#undef ENV
};

#define VALUE_TEXT(fallback) "VALUE"
#define VALUE_COUNT(fallback) "N"
#define VALUE_SECONDS(fallback) "S"
#define VALUE_FLAG(fallback) NULL
#define VALUE_CHOICE(fallback) fallback
#define FALLBACK_TEXT(fallback) fallback
#define FALLBACK_COUNT(fallback) fallback
#define FALLBACK_SECONDS(fallback) fallback
#define FALLBACK_FLAG(fallback) NULL
#define FALLBACK_CHOICE(fallback) NULL

static const struct option_info option_list[] = {
#define ENV(NAME, option, TYPE, fallback, help)                                                    \
	{option,                                                                                   \
	 SETTING_##NAME == SETTING_OUT ? 'o' : 0,                                                  \
	 OPTION_##TYPE,                                                                            \
	 VALUE_##TYPE(fallback),                                                                   \
	 FALLBACK_##TYPE(fallback),                                                                \
	 help,                                                                                     \
	 false},
#include "shim/env.def"
#undef ENV
	{0}};

static const struct option_table options = {
	.command = "boundshim record",
	.arguments = "PROGRAM [ARGUMENT...]",
	.description = "Runs PROGRAM as it is and records what its CUDA calls and kernels do.",
	.notes =
		"The exit status is the program's. Each option is an environment variable too (--max-mb is "
		"BOUNDSHIM_MAX_MB); of several values to choose from, the first is the default. "
		"Without --output the trace is boundshim.HOST.PID.TIME.bst in the current folder, and appears with "
		"the first CUDA call. The same without this command: LD_PRELOAD=libboundshim.so PROGRAM.",
	.options = option_list,
	.least_arguments = 1,
	.program = true,
};

/* Writes the absolute path of `folder`/`name` if it can be read. */
static bool readable(const char *folder, const char *name, char out[PATH_MAX])
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", folder, name) >= sizeof(path))
		return false;
	return realpath(path, out) && access(out, R_OK) == 0;
}

/* BOUNDSHIM_LIB, else beside this program, else in ../lib. False after a sentence on stderr. */
static bool find_library(char library[PATH_MAX])
{
	const char *given = getenv("BOUNDSHIM_LIB");
	char folder[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	if (given && *given) {
		if (readable(given, "", library))
			return true;
		fprintf(stderr, "boundshim: BOUNDSHIM_LIB=%s: %s\n", given, strerror(errno));
		return false;
	}
	folder[size > 0 ? size : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = '\0';
	if (readable(folder, "libboundshim.so", library) ||
	    readable(folder, "../lib/libboundshim.so", library))
		return true;
	fprintf(stderr,
		"boundshim: libboundshim.so is neither in %s nor in %s../lib; set BOUNDSHIM_LIB to its path\n",
		folder, folder);
	return false;
}

/* Puts the library first and keeps what is there. False after a sentence on stderr. */
static bool preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *value;

	if (strpbrk(library, ": ")) {
		fprintf(stderr,
			"boundshim: %s: LD_PRELOAD takes no path with a blank or colon; copy the library elsewhere "
			"and set BOUNDSHIM_LIB\n",
			library);
		return false;
	}
	if (asprintf(&value, "%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0)
		return false;
	if (setenv("LD_PRELOAD", value, 1)) {
		free(value);
		return false;
	}
	free(value);
	/* How CUDA and NVTX load a tool; another tool's setting is left alone. */
	return !setenv("CUDA_INJECTION64_PATH", library, 0) &&
	       !setenv("NVTX_INJECTION64_PATH", library, 0);
}

static int run(int argc, char **argv)
{
	struct option_value values[SETTING_COUNT + 1];
	char library[PATH_MAX];
	int first = options_parse(&options, argc, argv, values);

	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		unsigned last = values[i].given - 1;
		const char *text = values[i].given ? values[i].text[last] : NULL;

		if (values[i].given && setenv(variables[i], text ? text : "1", 1))
			return EXIT_FAILED;
	}
	if (!find_library(library) || !preload(library))
		return EXIT_FAILED;
	execvp(argv[first], argv + first);
	fprintf(stderr, "boundshim: %s: %s\n", argv[first], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "run a program and record what its GPU does",
	.options = &options,
	.run = run,
};
