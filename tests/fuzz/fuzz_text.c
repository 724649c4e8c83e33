/* What people and files say besides traces: kernel names, expressions of --fail-if, lists of work, calibrated ceilings,
 * text to be printed. The first byte says which. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ceilings_file.h"
#include "analysis/diff_fail_if.h"
#include "analysis/fail_if.h"
#include "analysis/geometry_bytes.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/work.h"

#define COLUMNS 40

static void must(int good)
{
	if (!good)
		abort();
}

static void check_name(const char *name)
{
	char *demangled, *short_name;

	must(kernel_kind_of(name) != NULL);
	demangled = kernel_demangle(name);
	must(demangled != NULL);
	short_name = kernel_short_name(demangled);
	must(short_name && strlen(short_name) <= KERNEL_SHORT_COLUMNS);
	for (const char *p = short_name; *p; p++)
		must(*p >= 0x20 && *p < 0x7f);
	free(short_name);
	free(demangled);
}

/* A name in front of any geometry. */
static void check_geometry(const char *name)
{
	struct device_shape shape = {.sm_count = 132,
				     .threads_per_sm = 2048,
				     .blocks_per_sm = 32,
				     .registers_per_sm = 65536,
				     .shared_per_sm = 233472,
				     .shared_reserved = 1024,
				     .warp_size = 32};
	struct tensor_sizes sizes = {.row = 768, .channel = 4096};
	struct signature s = {.grid = {4000, 2, 1}, .block = {128, 1, 1}, .shared_bytes = 1024};
	char *demangled = kernel_demangle(name);
	struct batch_norm_grid grid;
	struct measure bytes;

	s.name = name;
	must(demangled != NULL);
	bytes = geometry_bytes_of(demangled, &s, &shape, &sizes);
	must(!bytes.known || (bytes.low <= bytes.value && bytes.value <= bytes.high));
	batch_norm_grid_of(&s, &grid);
	free(demangled);
}

static void check_expression(const char *text)
{
	struct fail_if_words words = {""};

	fail_if_check(text, &words);
	must(strlen(words.text) < sizeof(words.text));
	diff_fail_if_check(text, &words);
	must(strlen(words.text) < sizeof(words.text));
}

static void check_work(const char *text)
{
	const char *words;
	struct work work;

	for (size_t count = 2; count <= 4; count++)
		if (work_parse(text, count, &work, &words))
			for (size_t i = 0; i < count; i++)
				must(work.amount[i] > 0);
}

static void check_ceilings(const char *text, size_t size)
{
	struct ceilings ceilings = {0};
	struct ceilings_words words = {""};

	if (ceilings_parse(&ceilings, text, size, "GPU-1", &words) == CEILINGS_OK)
		return;
	must(words.text[0] != 0);
	for (unsigned i = 0; i < CEILING_COUNT; i++)
		must(ceilings.of[i].source == CEILING_UNKNOWN);
}

/* Valid UTF-8, as jansson sees it, without control characters, and no wider than asked. */
static void check_printable(const char *text)
{
	char *line = printable_line(text, COLUMNS), *copy;
	json_t *value = json_string(line);

	must(value != NULL);
	json_decref(value);
	must(printable_columns(line) <= COLUMNS);
	for (const char *p = line; *p; p++)
		must((unsigned char)*p >= 0x20 && *p != 0x7f);
	copy = printable_copy(line, PRINTABLE_LINE, 4096);
	must(strcmp(copy, line) == 0); /* what is printable stays as it is */
	free(copy);
	free(line);
	line = printable_copy(text, PRINTABLE_JSON, 100);
	must(strlen(line) <= 100 + strlen("..."));
	value = json_string(line);
	must(value != NULL);
	json_decref(value);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0]) {
	case 'n':
		check_name(text);
		break;
	case 'g':
		check_geometry(text);
		break;
	case 'e':
		check_expression(text);
		break;
	case 'w':
		check_work(text);
		break;
	case 'c':
		check_ceilings(text, size - 1);
		break;
	case 'p':
		check_printable(text);
		break;
	default:
		break;
	}
	free(text);
	return 0;
}
