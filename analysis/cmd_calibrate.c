/* boundshim calibrate: measures what the GPUs here reach, and keeps it. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ceilings_file.h"
#include "cmd.h"
#include "printable.h"
#include "quantity.h"
#include "table.h"

#define PROGRAM "boundshim-kernels"
#define OUTPUT_LIMIT (1 << 20)
#define INDEX_MOST 1024
#define NAME_LIMIT 100

enum option {
	OUTPUT,
	DEVICE,
	COLOR,
	OPTION_COUNT_
};

static const struct option_info option_list[] = {
	[OUTPUT] = {"output", 'o', OPTION_TEXT, "FILE", NULL,
		    "keep the result in FILE instead, for report --ceilings", false},
	[DEVICE] = {"device", 'd', OPTION_COUNT, "INDEX", "all that are visible",
		    "measure only this device", false},
	[COLOR] = {"color", 0, OPTION_CHOICE, "auto|always|never", NULL,
		   "auto: on a terminal, unless NO_COLOR is set", false},
	[OPTION_COUNT_] = {0},
};

static const struct option_table options = {
	.command = "boundshim calibrate",
	.arguments = NULL,
	.description = "Measures what the GPUs here reach: device memory, caches, arithmetic, "
		       "launches, copies; under 30 s for each.",
	.notes =
		"The result is kept in $XDG_DATA_HOME/boundshim/ceilings/UUID.json (else below "
		"~/.local/share), where report finds it for traces of the same GPU. Nothing else should "
		"use the GPU meanwhile. Clocks and power limits are left as they are.\n\n"
		"The measuring is done by the program boundshim-kernels, which `make kernels` builds: "
		"the environment variable BOUNDSHIM_KERNELS names it, else it is looked for beside this "
		"program and in ../libexec. It takes cuBLASLt as the dynamic linker finds it.\n\n"
		"Exit status: 0 done, 1 it could not be measured or kept, 2 wrong usage.",
	.options = option_list,
	.least_arguments = 0,
	.most_arguments = 0,
};

/* Writes `folder``name` if it can be executed. */
static bool executable(const char *folder, const char *name, char out[PATH_MAX])
{
	return (size_t)snprintf(out, PATH_MAX, "%s%s", folder, name) < PATH_MAX &&
	       access(out, X_OK) == 0;
}

/* BOUNDSHIM_KERNELS, else beside this program, else in ../libexec. False after a sentence. */
static bool find_program(char path[PATH_MAX])
{
	const char *given = getenv("BOUNDSHIM_KERNELS");
	char folder[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	if (given && *given) {
		if (executable(given, "", path))
			return true;
		fprintf(stderr, "boundshim: BOUNDSHIM_KERNELS=%s: %s\n", given, strerror(errno));
		return false;
	}
	folder[size > 0 ? size : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = '\0';
	if (executable(folder, PROGRAM, path) || executable(folder, "../libexec/" PROGRAM, path))
		return true;
	fprintf(stderr,
		"boundshim: " PROGRAM " is neither in %s nor in %s../libexec; build it with nvcc "
		"(`make kernels`), or set BOUNDSHIM_KERNELS to its path\n",
		folder, folder);
	return false;
}

/* In the child: never returns. */
static void become(const char *program, const char *device, int out)
{
	char *const argv[] = {(char *)program, "calibrate", (char *)device, NULL};

	/* A recorder that is preloaded here must neither slow it down nor leave a trace of it. */
	if (setenv("BOUNDSHIM_MODE", "off", 1) || unsetenv("BOUNDSHIM_KERNELS") ||
	    dup2(out, STDOUT_FILENO) < 0)
		_exit(EXIT_CANNOT_EXECUTE);
	execv(program, argv);
	fprintf(stderr, "boundshim: %s: %s\n", program, strerror(errno));
	_exit(EXIT_CANNOT_EXECUTE);
}

/* All that comes, up to OUTPUT_LIMIT; NULL if there is more, or it cannot be read. */
static char *read_all(int in, size_t *size)
{
	char *text = malloc(OUTPUT_LIMIT + 1);
	ssize_t more;

	*size = 0;
	while (text && *size <= OUTPUT_LIMIT) {
		more = read(in, text + *size, OUTPUT_LIMIT + 1 - *size);
		if (more == 0)
			return text;
		if (more > 0)
			*size += (size_t)more;
		else if (errno != EINTR)
			break;
	}
	free(text);
	return NULL;
}

/* What the program printed, or NULL after a sentence. The caller frees it. */
static char *measure(const char *program, const char *device, size_t *size)
{
	char *text = NULL;
	int ends[2], status = 0;
	pid_t child;

	fflush(NULL);
	if (pipe(ends)) {
		perror("boundshim: pipe");
		return NULL;
	}
	child = fork();
	if (child == 0) {
		close(ends[0]);
		become(program, device, ends[1]);
	}
	close(ends[1]);
	if (child > 0)
		text = read_all(ends[0], size);
	close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		perror("boundshim: " PROGRAM);
	else if (!text)
		fprintf(stderr, "boundshim: %s: no memory for what it printed, or over 1 MiB\n",
			program);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "boundshim: %s: ended by signal %d\n", program, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "boundshim: %s: exit status %d\n", program, WEXITSTATUS(status));
	else
		return text;
	free(text);
	return NULL;
}

static struct device_attributes attributes_of(const json_t *device)
{
	const json_t *a = json_object_get(device, "attributes");

#define ATTRIBUTE(name) (uint64_t) json_integer_value(json_object_get(a, #name))
	return (struct device_attributes){
		.cc_major = ATTRIBUTE(cc_major),
		.cc_minor = ATTRIBUTE(cc_minor),
		.sm_count = ATTRIBUTE(sm_count),
		.clock_khz = ATTRIBUTE(clock_khz),
		.memory_clock_khz = ATTRIBUTE(memory_clock_khz),
		.memory_bus_bits = ATTRIBUTE(memory_bus_bits),
	};
#undef ATTRIBUTE
}

static void add_row(struct table *table, enum ceiling ceiling, const struct ceilings *measured,
		    const struct ceilings *derived)
{
	const struct measure *m = &measured->of[ceiling].measure;
	const struct measure *d = &derived->of[ceiling].measure;

	table_add(table, "%s", ceiling_words(ceiling));
	table_add(table, "%s", ceiling_quantity(ceiling, m->value).text);
	table_add(table, "%s", ceiling_quantity(ceiling, m->low).text);
	table_add(table, "%s", ceiling_quantity(ceiling, m->high).text);
	table_add(table, "%s", d->known ? ceiling_quantity(ceiling, d->value).text : "");
	table_add(table, "%s", d->known ? quantity_percent(m->value / d->value).text : "");
}

static void print_ceilings(const struct ceilings *measured, const struct ceilings *derived,
			   const struct terminal *terminal)
{
	static const char *const headings[] = {"ceiling", ">measured", ">10 %", ">90 %",
					       ">peak",   ">of peak",  NULL};
	struct table table;

	table_init(&table, headings);
	for (unsigned i = 0; i < CEILING_COUNT; i++)
		if (measured->of[i].source == CEILING_CALIBRATED)
			add_row(&table, (enum ceiling)i, measured, derived);
	table_print(&table, terminal);
	table_fini(&table);
}

static void warn(const struct ceilings *measured, const struct ceilings *derived)
{
	for (unsigned i = 0; i < CEILING_COUNT; i++) {
		const char *doubt = ceiling_doubt((enum ceiling)i, measured, derived);

		if (doubt)
			fprintf(stderr, "boundshim: warning: %s: %s\n",
				ceiling_words((enum ceiling)i), doubt);
	}
}

static void print_skipped(const json_t *device)
{
	json_t *skipped = json_object_get(device, "skipped"), *reason;
	const char *name;

	json_object_foreach(skipped, name, reason) {
		char *word = printable_copy(name, PRINTABLE_LINE, NAME_LIMIT);
		char *why = printable_copy(json_string_value(reason), PRINTABLE_LINE, NAME_LIMIT);

		printf("  not measured: %s: %s\n", word, why);
		free(word);
		free(why);
	}
}

static void print_title(const json_t *device, const char *uuid, const struct terminal *terminal)
{
	char *name = printable_copy(json_string_value(json_object_get(device, "name")),
				    PRINTABLE_LINE, NAME_LIMIT);
	char *id = printable_copy(uuid, PRINTABLE_LINE, NAME_LIMIT);

	terminal_print(terminal, STYLE_BOLD, "%s · %s\n", name, id);
	free(name);
	free(id);
}

/* Prints what was measured of one device; false after a sentence where it makes no sense. */
static bool print_device(const json_t *device, const char *text, size_t size,
			 const struct terminal *terminal)
{
	const char *uuid = json_string_value(json_object_get(device, "uuid"));
	struct device_attributes attributes = attributes_of(device);
	struct ceilings derived = ceilings_derive(&attributes), measured = {0};
	struct ceilings_words words = {""};

	if (ceilings_parse(&measured, text, size, uuid, &words) != CEILINGS_OK) {
		fprintf(stderr, "boundshim: " PROGRAM ": what it printed makes no sense: %s\n",
			words.text);
		return false;
	}
	print_title(device, uuid, terminal);
	print_ceilings(&measured, &derived, terminal);
	print_skipped(device);
	warn(&measured, &derived);
	return true;
}

/* Makes the folders above `path`, which it changes and restores. */
static bool make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int failed;

		*slash = '\0';
		failed = mkdir(path, 0755) && errno != EEXIST;
		*slash = '/';
		if (failed)
			return false;
	}
	return true;
}

/* Whole or not at all: a new file beside it takes its name. */
static bool write_whole(const char *path, const json_t *document)
{
	char *text = json_dumps(document, JSON_INDENT(1) | JSON_PRESERVE_ORDER), *beside = NULL;
	bool done = false;
	FILE *file = NULL;
	int fd = -1;

	if (!text || asprintf(&beside, "%s.XXXXXX", path) < 0) {
		beside = NULL;
		goto out;
	}
	fd = mkstemp(beside);
	if (fd < 0)
		goto out;
	file = fdopen(fd, "w");
	done = file && fputs(text, file) >= 0 && fputc('\n', file) != EOF && fflush(file) == 0 &&
	       fchmod(fd, 0644) == 0 && fsync(fd) == 0 && rename(beside, path) == 0;
	if (!done) {
		int error = errno;

		unlink(beside);
		errno = error;
	}
out:
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	free(beside);
	free(text);
	return done;
}

static bool keep(char *path, const json_t *document, bool folders)
{
	if ((folders && !make_folders(path)) || !write_whole(path, document)) {
		fprintf(stderr, "boundshim: %s: %s\n", path, strerror(errno));
		return false;
	}
	printf("  kept in %s\n", path);
	return true;
}

/* In the file that report looks for. */
static bool keep_device(json_t *device)
{
	char *path = ceilings_path(json_string_value(json_object_get(device, "uuid")));
	json_t *document =
		json_pack("{s:s, s:[O]}", "schema", "boundshim.ceilings/1", "devices", device);
	bool kept = path && document && keep(path, document, true);

	if (!path)
		fputs("boundshim: no place to keep it: XDG_DATA_HOME, HOME or the device's uuid is "
		      "not as it should be; --output FILE names one\n",
		      stderr);
	json_decref(document);
	free(path);
	return kept;
}

static int show_and_keep(const char *text, size_t size, const struct option_value *values)
{
	struct terminal terminal = terminal_of(stdout, (enum color_when)values[COLOR].choice);
	json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL), *device;
	json_t *devices = json_object_get(document, "devices");
	const char *output =
		values[OUTPUT].given ? values[OUTPUT].text[values[OUTPUT].given - 1] : NULL;
	bool done = json_array_size(devices) > 0;
	size_t i;

	if (!done)
		fputs("boundshim: " PROGRAM ": what it printed makes no sense: no devices\n",
		      stderr);
	json_array_foreach(devices, i, device) {
		if (i)
			putchar('\n');
		/* What does not make sense is not kept. */
		if (!print_device(device, text, size, &terminal) ||
		    (!output && !keep_device(device)))
			done = false;
	}
	if (output && done) {
		char *path = strdup(output);

		done = path && keep(path, document, false);
		free(path);
	}
	json_decref(document);
	return done ? EXIT_DONE : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	struct option_value values[OPTION_COUNT_ + 1];
	char program[PATH_MAX], device[24], *text;
	size_t size = 0;
	int status;

	options_parse(&options, argc, argv, values);
	if (values[DEVICE].given && values[DEVICE].count > INDEX_MOST) {
		fputs("boundshim: --device: no machine has so many\n", stderr);
		return EXIT_USAGE;
	}
	snprintf(device, sizeof(device), "%u", (unsigned)values[DEVICE].count);
	if (!find_program(program))
		return EXIT_FAILED;
	text = measure(program, values[DEVICE].given ? device : NULL, &size);
	if (!text)
		return EXIT_FAILED;
	status = show_and_keep(text, size, values);
	free(text);
	return status;
}

const struct command cmd_calibrate = {
	.name = "calibrate",
	.summary = "measure what the GPUs here reach, for reports on their traces",
	.options = &options,
	.run = run,
};
