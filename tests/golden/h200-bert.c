/*
 * Writes tests/golden/h200-bert.bst from the text of the recording: h200-bert KERNELS.gz SAMPLES.gz
 * >FILE. Not part of a build; by hand: cc -I. -D_GNU_SOURCE tests/golden/h200-bert.c
 * tests/unit/trace_image.c build/libtrace.a -lz
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/unit/trace_image.h"

#define KERNELS (1u << 17)
#define ROWS 65536
#define TEXT (1u << 20)

/* Samples further from any kernel are left out: nothing but idle time. */
#define NEAR_NS UINT64_C(5000000)

/* Percentages are kept in hundredths, as the recorder does (shim/metrics.def). */
#define SCALE 100

/* Bytes per ns at 100 %: what ncu's dram__throughput is of, by its own bytes and times. */
#define DRAM_PEAK 4800.0

struct kernel {
	uint64_t begin, end, correlation, id;
};

struct signature {
	char *name;
	unsigned long blocks, threads, registers;
	uint64_t string;
};

static struct kernel kernel[KERNELS];
static size_t kernels;
static struct signature signature[1024];
static size_t signatures, strings;

static gzFile open_gz(const char *path)
{
	gzFile file = gzopen(path, "rb");

	if (!file) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	return file;
}

static uint64_t signature_id(const struct signature *s)
{
	uint64_t string = 0;

	for (size_t i = 0; i < signatures; i++) {
		if (strcmp(signature[i].name, s->name) != 0)
			continue;
		string = signature[i].string;
		if (signature[i].blocks == s->blocks && signature[i].threads == s->threads)
			return i + 1;
	}
	signature[signatures] = *s;
	signature[signatures].name = strdup(s->name);
	signature[signatures].string = string ? string : ++strings;
	return ++signatures;
}

static int by_begin(const void *a, const void *b)
{
	uint64_t x = ((const struct kernel *)a)->begin, y = ((const struct kernel *)b)->begin;

	return (x > y) - (x < y);
}

static void read_kernels(const char *path)
{
	gzFile file = open_gz(path);
	static char line[1 << 16], name[1 << 16];

	while (gzgets(file, line, sizeof(line))) {
		struct signature s = {.name = name};
		struct kernel k;

		if (sscanf(line, "%lu %lu %lu %lu %lu %lu %*u %65535[^\n]", &k.begin, &k.end,
			   &k.correlation, &s.blocks, &s.threads, &s.registers, name) != 7)
			continue;
		k.id = signature_id(&s);
		if (kernels == KERNELS)
			break;
		kernel[kernels++] = k;
	}
	gzclose(file);
	qsort(kernel, kernels, sizeof(*kernel), by_begin);
}

static struct bst_cell text(const char *words)
{
	return (struct bst_cell){.text = words, .size = (uint32_t)strlen(words)};
}

static void flush(struct image *image, struct bst_batch *batch)
{
	if (batch->rows)
		image_add(image, batch);
}

static void write_texts(struct image *image)
{
	static const char *const meta[][2] = {
		{"command", "python bert.py"},
		{"host", "h200"},
		{"mode", "trace"},
		{"cupti.state", "on"},
		{"note", "MLP, GEMMs, elementwise, BERT-base; see README.md"}};
	static const struct {
		const char *key;
		uint64_t number;
	} device[] = {{"cc_major", 9},
		      {"cc_minor", 0},
		      {"sm_count", 132},
		      {"clock_khz", 1980000},
		      {"memory_clock_khz", 3201000},
		      {"memory_bus_bits", 6144}};
	static const struct {
		const char *name, *source;
	} metric[] = {{"dram_read", "dram bytes read, of 4800 bytes per ns"},
		      {"dram_write", "dram bytes written, of 4800 bytes per ns"},
		      {"tensor", "sm__pipe_tensor_cycles_active"},
		      {"sm_active", "sm__cycles_active"},
		      {"fma", "sm__inst_executed_pipe_fma"},
		      {"inst_issued", "sm__inst_issued"}};
	struct bst_batch batch;
	void *memory;

	memory = batch_create(&batch, BST_TABLE_META, 64, 4096);
	for (size_t i = 0; i < sizeof(meta) / sizeof(meta[0]); i++) {
		struct bst_cell cells[] = {text(meta[i][0]), text(meta[i][1])};

		bst_batch_add(&batch, cells);
	}
	flush(image, &batch);
	free(memory);
	memory = batch_create(&batch, BST_TABLE_DEVICE, 64, 4096);
	for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++) {
		struct bst_cell cells[] = {
			{0}, text(device[i].key), {.number = device[i].number}, {0}};

		bst_batch_add(&batch, cells);
	}
	bst_batch_add(&batch, (struct bst_cell[]){{0}, text("name"), {0}, text("NVIDIA H200")});
	flush(image, &batch);
	free(memory);
	memory = batch_create(&batch, BST_TABLE_METRIC, 64, 4096);
	for (size_t i = 0; i < sizeof(metric) / sizeof(metric[0]); i++) {
		struct bst_cell cells[BST_COLUMN_LIMIT] = {{0}};

		cells[BST_METRIC_SET - 1].number = 1;
		cells[BST_METRIC_SLOT - 1].number = i;
		cells[BST_METRIC_NAME - 1] = text(metric[i].name);
		cells[BST_METRIC_SCALE - 1].number = SCALE;
		cells[BST_METRIC_UNIT - 1] = text("pct");
		cells[BST_METRIC_SOURCE - 1] = text(metric[i].source);
		bst_batch_add(&batch, cells);
	}
	flush(image, &batch);
	free(memory);
}

static void write_dictionaries(struct image *image)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_STRING, 1024, TEXT);
	uint64_t written = 0;

	for (size_t i = 0; i < signatures; i++) {
		if (signature[i].string <= written)
			continue;
		written = signature[i].string;
		bst_batch_add(&batch,
			      (struct bst_cell[]){{.number = written}, text(signature[i].name)});
	}
	flush(image, &batch);
	free(memory);
	memory = batch_create(&batch, BST_TABLE_KERNEL, 1024, 64);
	for (size_t i = 0; i < signatures; i++) {
		uint64_t row[BST_COLUMN_LIMIT] = {i + 1,
						  signature[i].string,
						  signature[i].blocks,
						  1,
						  1,
						  signature[i].threads,
						  1,
						  1,
						  0,
						  0,
						  0,
						  signature[i].registers,
						  0,
						  0,
						  0,
						  0};

		bst_batch_add_numbers(&batch, row);
	}
	flush(image, &batch);
	free(memory);
	memory = batch_create(&batch, BST_TABLE_CONTEXT, 4, 64);
	bst_batch_add_numbers(&batch, (uint64_t[]){1, 0});
	flush(image, &batch);
	free(memory);
	/* No reading of the host's clock was kept: one that maps the device's clock to an uptime.
	 */
	memory = batch_create(&batch, BST_TABLE_CLOCK, 4, 64);
	bst_batch_add_numbers(&batch,
			      (uint64_t[]){kernel[0].begin, kernel[0].begin, 1000000000, 0, 0});
	flush(image, &batch);
	free(memory);
}

static void write_runs(struct image *image)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_RUN, ROWS, 64);

	for (size_t i = 0; i < kernels; i++) {
		uint64_t row[BST_COLUMN_LIMIT] = {kernel[i].id,
						  kernel[i].begin,
						  kernel[i].end - kernel[i].begin,
						  kernel[i].correlation,
						  1,
						  7,
						  0,
						  0,
						  0,
						  0};

		if (bst_batch_add_numbers(&batch, row) == BST_FULL) {
			flush(image, &batch);
			i--;
		}
	}
	flush(image, &batch);
	free(memory);
}

static int is_near(uint64_t begin, uint64_t end)
{
	static size_t at;

	while (at < kernels && kernel[at].end + NEAR_NS < begin)
		at++;
	return at < kernels && kernel[at].begin < end + NEAR_NS;
}

static void write_samples(struct image *image, const char *path)
{
	gzFile file = open_gz(path);
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_SAMPLE, ROWS, 64);
	char line[1024];
	int first = 1;

	while (gzgets(file, line, sizeof(line))) {
		unsigned long begin, end;
		double v[6];

		if (sscanf(line, "%lu %lu %lf %lf %lf %lf %lf %lf", &begin, &end, &v[0], &v[1],
			   &v[2], &v[3], &v[4], &v[5]) != 8)
			continue;
		if (first || is_near(begin, end)) {
			uint64_t row[BST_COLUMN_LIMIT] = {0, 1, begin, end - begin};

			v[0] *= 100 / (DRAM_PEAK * (double)(end - begin));
			v[1] *= 100 / (DRAM_PEAK * (double)(end - begin));
			for (unsigned i = 0; i < 6; i++)
				row[4 + i] = (uint64_t)(v[i] * SCALE + 0.5);
			if (bst_batch_add_numbers(&batch, row) == BST_FULL) {
				flush(image, &batch);
				bst_batch_add_numbers(&batch, row);
			}
		}
		first = 0;
	}
	flush(image, &batch);
	free(memory);
	gzclose(file);
}

int main(int argc, char **argv)
{
	static const uint8_t run_id[16] = "h200-bert-recor";
	struct image image;

	if (argc != 3) {
		fputs("usage: h200-bert KERNELS.gz SAMPLES.gz >FILE\n", stderr);
		return EXIT_FAILURE;
	}
	read_kernels(argv[1]);
	image_init(&image, run_id, ROWS, TEXT);
	write_texts(&image);
	write_dictionaries(&image);
	write_runs(&image);
	write_samples(&image, argv[2]);
	image_finish(&image);
	fwrite(image.data, 1, image.size, stdout);
	image_fini(&image);
	return EXIT_SUCCESS;
}
