/*
 * Writes a trace of EVENTS events to FILE, as a training loop of 40 small kernels a step would leave it: half launch calls, half
 * kernels, in the recorder's chunk sizes and with times that jitter like measured ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/trace/chunk.h"

#define ROWS 8192u
#define KERNELS_PER_STEP 40u
#define TEXT (64u << 10)
#define DEVICE_CLOCK_NS UINT64_C(1796083251000000000)
#define HOST_CLOCK_NS UINT64_C(1000000000)

struct file {
	FILE *stream;
	struct bst_encoder encoder;
	uint8_t *chunk;
	size_t chunk_bytes;
};

static void *allocate(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (!p)
		exit(1);
	return p;
}

static void write_batch(struct file *file, struct bst_batch *batch)
{
	size_t size;

	if (batch->rows == 0)
		return;
	if (bst_encode_batch(&file->encoder, batch, file->chunk, file->chunk_bytes, &size) !=
		    BST_OK ||
	    fwrite(file->chunk, 1, size, file->stream) != size)
		exit(1);
	bst_encoder_commit(&file->encoder, size);
	bst_batch_clear(batch);
}

static void make_batch(struct bst_batch *batch, enum bst_table table, uint32_t rows, uint32_t text)
{
	const struct bst_table_info *info = bst_table_info((uint16_t)table);

	bst_batch_init(batch, info, rows, text, allocate(bst_batch_bytes(info, rows, text)));
}

static struct bst_cell text(const char *s)
{
	return (struct bst_cell){.text = s, .size = (uint32_t)strlen(s)};
}

static void write_device(struct file *file)
{
	static const struct {
		const char *key;
		uint64_t number;
		const char *text;
	} rows[] = {
		{"name", 0, "NVIDIA H200"},    {"cc_major", 9, ""},
		{"cc_minor", 0, ""},           {"sm_count", 132, ""},
		{"clock_khz", 1980000, ""},    {"threads_per_sm", 2048, ""},
		{"blocks_per_sm", 32, ""},     {"registers_per_sm", 65536, ""},
		{"shared_per_sm", 233472, ""},
	};
	struct bst_batch batch;

	make_batch(&batch, BST_TABLE_DEVICE, 16, TEXT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bst_batch_add(&batch, (struct bst_cell[]){{.number = 0},
							  text(rows[i].key),
							  {.number = rows[i].number},
							  text(rows[i].text)});
	write_batch(file, &batch);
}

static void write_dictionaries(struct file *file)
{
	struct bst_batch strings, kernels, apis, threads;
	char name[64];

	make_batch(&strings, BST_TABLE_STRING, KERNELS_PER_STEP, TEXT);
	make_batch(&kernels, BST_TABLE_KERNEL, KERNELS_PER_STEP, 0);
	make_batch(&apis, BST_TABLE_API, 1, TEXT);
	make_batch(&threads, BST_TABLE_THREAD, 1, TEXT);
	for (uint32_t i = 1; i <= KERNELS_PER_STEP; i++) {
		snprintf(name, sizeof(name), "elementwise_kernel_%u", i);
		bst_batch_add(&strings, (struct bst_cell[]){{.number = i}, text(name)});
		bst_batch_add_numbers(&kernels, (uint64_t[]){i, i, 8 + i * 4, 1, 1, 128, 1, 1, 0, 0,
							     0, 32, 0, 0, 0, 0});
	}
	bst_batch_add(&apis, (struct bst_cell[]){{.number = 1},
						 text("cudaLaunchKernel"),
						 {.number = BST_ENUM_CLASS_LAUNCH}});
	bst_batch_add(&threads, (struct bst_cell[]){{.number = 1},
						    {.number = 100},
						    {.number = HOST_CLOCK_NS},
						    text("python")});
	write_batch(file, &strings);
	write_batch(file, &kernels);
	write_batch(file, &apis);
	write_batch(file, &threads);
}

static void write_clock(struct file *file, uint64_t elapsed_ns)
{
	struct bst_batch batch;

	make_batch(&batch, BST_TABLE_CLOCK, 2, 0);
	bst_batch_add_numbers(
		&batch, (uint64_t[]){DEVICE_CLOCK_NS, DEVICE_CLOCK_NS, HOST_CLOCK_NS, 100, 1});
	bst_batch_add_numbers(&batch, (uint64_t[]){DEVICE_CLOCK_NS + elapsed_ns,
						   DEVICE_CLOCK_NS + elapsed_ns,
						   HOST_CLOCK_NS + elapsed_ns, 100, 5});
	write_batch(file, &batch);
}

/* A launch every 5 us or so; its kernel starts 5 us after the call returned and runs for 2 us. Returns the time reached. */
static uint64_t write_events(struct file *file, uint64_t launches)
{
	struct bst_batch calls, runs;
	uint32_t seed = 1;
	uint64_t t = 0;

	make_batch(&calls, BST_TABLE_CALL, ROWS, 0);
	make_batch(&runs, BST_TABLE_RUN, ROWS, 0);
	for (uint64_t i = 0; i < launches; i++) {
		uint64_t duration, start;

		seed = seed * 1664525u + 1013904223u; /* Numerical Recipes, 7.1 */
		t += 4000 + (seed >> 21) + (i % KERNELS_PER_STEP ? 0 : 20000);
		duration = 3000 + (seed >> 8) % 500;
		start = t + duration + 2500 + (seed >> 4) % 256;
		bst_batch_add_numbers(&calls, (uint64_t[]){1, 1, HOST_CLOCK_NS + t, duration, i + 1,
							   0, 0, 0, 0, 0});
		bst_batch_add_numbers(&runs, (uint64_t[]){i % KERNELS_PER_STEP + 1,
							  DEVICE_CLOCK_NS + start,
							  1500 + (seed >> 12) % 16 * 32, i + 1, 1,
							  7, 0, 0, 0, 0});
		if (calls.rows == ROWS) {
			write_batch(file, &calls);
			write_batch(file, &runs);
		}
	}
	write_batch(file, &calls);
	write_batch(file, &runs);
	return t;
}

int main(int argc, char **argv)
{
	static const uint8_t run_id[16] = "benchmark trace";
	size_t encoder_bytes = bst_encoder_bytes(ROWS, TEXT);
	uint8_t header[BST_FILE_HEADER_BYTES], trailer[BST_CHUNK_HEADER_BYTES + BST_TRAILER_BYTES];
	struct file file;
	uint64_t elapsed;
	size_t size;

	if (argc != 3) {
		fprintf(stderr, "usage: make_trace EVENTS FILE\n");
		return 2;
	}
	file.stream = fopen(argv[2], "wb");
	file.chunk_bytes = (size_t)ROWS * 16 * 8 + (1 << 20);
	file.chunk = allocate(file.chunk_bytes);
	if (!file.stream || bst_encoder_init(&file.encoder, run_id, ROWS, TEXT,
					     allocate(encoder_bytes), encoder_bytes) != BST_OK)
		return 1;
	bst_encode_file_header(&file.encoder, run_id, DEVICE_CLOCK_NS, header);
	fwrite(header, 1, sizeof(header), file.stream);
	write_dictionaries(&file);
	write_device(&file);
	elapsed = write_events(&file, strtoull(argv[1], NULL, 10) / 2);
	write_clock(&file, elapsed);
	size = bst_encode_trailer(&file.encoder, 0, 0, trailer);
	fwrite(trailer, 1, size, file.stream);
	return fclose(file.stream) == 0 ? 0 : 1;
}
