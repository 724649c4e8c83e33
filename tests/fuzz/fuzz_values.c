/*
 * Rows of any values through the encoder, the reader, the whole analysis and every form of report; two such traces are
 * compared too. The bytes of a trace that libFuzzer changes seldom decode: here each input is rows.
 *
 * Input: rows, one after another. A row is its table (one byte, by place among the tables known; TRACE_BEGINS: what
 * follows is of the second trace), then its columns in order. A number is one byte below 0xe0, else what take_number
 * says; a text is its length in one byte, then its bytes. What is missing at the end is zero. tests/fuzz/make-values
 * writes such inputs from traces.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/trace/chunk.h"
#include "tests/fuzz/render.h"

#define TRACE_BEGINS 0xff
#define ROWS_MOST 256
#define TEXT_MOST 16384
#define CHUNK_MOST (1u << 20)

struct input {
	const uint8_t *at, *end;
	uint64_t before[BST_TABLE_LIMIT][BST_COLUMN_LIMIT];
};

static uint8_t take_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint64_t take_bytes(struct input *in, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)take_byte(in) << 8 * i;
	return value;
}

/* 0xe0 to 0xe7: that many bytes and one more, little-endian; 0xe8 to 0xef: the same, added to what the table's row before
 * has in this column; else an odd one. */
static uint64_t take_number(struct input *in, uint64_t *before)
{
	static const uint64_t odd[16] = {0,
					 1,
					 UINT64_MAX,
					 INT64_MAX,
					 UINT64_C(1) << 63,
					 UINT32_MAX,
					 UINT64_C(1) << 32,
					 INT32_MAX,
					 UINT64_C(1) << 31,
					 UINT64_MAX - 1,
					 1000000000,
					 UINT64_C(1700000000000000000),
					 UINT64_C(10000000000000000000),
					 65535,
					 65536,
					 4096};
	uint8_t tag = take_byte(in);

	if (tag < 0xe0)
		*before = tag;
	else if (tag < 0xe8)
		*before = take_bytes(in, (tag & 7) + 1);
	else if (tag < 0xf0)
		*before += take_bytes(in, (tag & 7) + 1);
	else
		*before = odd[tag & 15];
	return *before;
}

static struct bst_cell take_text(struct input *in)
{
	uint32_t size = take_byte(in), left = (uint32_t)(in->end - in->at);
	struct bst_cell cell = {.text = (const char *)in->at, .size = size < left ? size : left};

	in->at += cell.size;
	return cell;
}

/* --- a trace being written --- */

static struct bst_encoder encoder;
static void *encoder_memory;
static struct bst_batch batch[BST_TABLE_LIMIT];
static uint8_t chunk[CHUNK_MOST];
static uint16_t known[BST_TABLE_LIMIT];
static unsigned known_count;

static void prepare(void)
{
	size_t bytes = bst_encoder_bytes(ROWS_MOST, TEXT_MOST);

	encoder_memory = aligned_alloc(16, (bytes + 15) / 16 * 16);
	must(encoder_memory != NULL);
	for (uint16_t id = 1; id < BST_TABLE_LIMIT; id++) {
		const struct bst_table_info *info = bst_table_info(id);
		void *memory;

		if (!info || id == BST_TABLE_INDEX)
			continue;
		memory = malloc(bst_batch_bytes(info, ROWS_MOST, TEXT_MOST));
		must(memory != NULL);
		bst_batch_init(&batch[id], info, ROWS_MOST, TEXT_MOST, memory);
		known[known_count++] = id;
	}
}

static void begin_trace(int fd)
{
	static const uint8_t run[16] = "0123456789abcde";
	uint8_t header[BST_FILE_HEADER_BYTES];

	must(bst_encoder_init(&encoder, run, ROWS_MOST, TEXT_MOST, encoder_memory,
			      bst_encoder_bytes(ROWS_MOST, TEXT_MOST)) == BST_OK);
	bst_encode_file_header(&encoder, run, UINT64_C(1700000000000000000), header);
	must(write(fd, header, sizeof(header)) == sizeof(header));
	for (unsigned i = 0; i < known_count; i++) {
		bst_batch_clear(&batch[known[i]]);
		batch[known[i]].first_row = 0;
	}
}

static void flush(int fd)
{
	for (unsigned i = 0; i < known_count; i++) {
		struct bst_batch *b = &batch[known[i]];
		size_t size;

		if (!b->rows)
			continue;
		must(bst_encode_batch(&encoder, b, chunk, sizeof(chunk), &size) == BST_OK);
		must(write(fd, chunk, size) == (ssize_t)size);
		bst_encoder_commit(&encoder, size);
		bst_batch_clear(b);
	}
}

/* Takes rows until the next trace begins or all is taken. */
static void write_rows(int fd, struct input *in)
{
	while (in->at < in->end) {
		uint8_t place = take_byte(in);
		uint16_t id = known[place % known_count];
		struct bst_cell cells[BST_COLUMN_LIMIT] = {{0}};

		if (place == TRACE_BEGINS)
			return;
		for (unsigned i = 0; batch[id].info->column[i].id; i++) {
			const struct bst_column_info *c = &batch[id].info->column[i];

			if (c->encoding == BST_BYTES)
				cells[i] = take_text(in);
			else
				cells[i].number = take_number(in, &in->before[id][c->id]);
		}
		if (bst_batch_add(&batch[id], cells) == BST_OK)
			continue;
		flush(fd);
		must(bst_batch_add(&batch[id], cells) == BST_OK);
	}
}

static void make_report(struct input *in, struct report *report)
{
	const char *path = "/proc/self/fd/100";
	struct analyze_notes notes = {0};
	int fd = memfd_create("trace", 0);

	must(fd >= 0 && dup2(fd, 100) == 100);
	close(fd);
	begin_trace(100);
	write_rows(100, in);
	flush(100);
	report_init(report);
	/* no trailer, and nothing else wrong with it: what it says is what was put in */
	must(analyze_paths(&path, 1, report, &notes) == 0);
	analyze_notes_fini(&notes);
	render_report(report);
	close(100);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.at = data, .end = data + size};
	struct report reports[2];

	if (!known_count)
		prepare();
	make_report(&in, &reports[0]);
	if (in.at < in.end) {
		make_report(&in, &reports[1]);
		render_diff(&reports[0], &reports[1]);
		render_scale(reports);
		report_fini(&reports[1]);
	} else {
		render_diff(&reports[0], &reports[0]);
	}
	report_fini(&reports[0]);
	return 0;
}
