/* Prints traces as scripts/bstdump does, with the C reader: dump FILE, or several, each under a
 * line `file NAME`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/trace/reader.h"
#include "shim/trace/rows.h"

struct dump {
	struct bst_reader reader;
	struct bst_rows rows;
	uint64_t skipped_chunks; /* of unknown tables */
	uint64_t skipped_columns;
};

static void print_text(const struct bst_text *text)
{
	putchar('"');
	for (uint32_t i = 0; i < text->size; i++) {
		uint8_t c = text->data[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_rows(const struct bst_table_info *info, const struct bst_rows *rows)
{
	for (uint32_t row = 0; row < rows->count; row++) {
		fputs(info->name, stdout);
		for (const struct bst_column_info *c = info->column; c->id; c++) {
			if (rows->number[c->id])
				printf("\t%s=%" PRIu64, c->name, rows->number[c->id][row]);
			if (rows->text[c->id]) {
				printf("\t%s=", c->name);
				print_text(&rows->text[c->id][row]);
			}
		}
		putchar('\n');
	}
}

static void dump_table(struct dump *d, const struct bst_chunk *chunk)
{
	const struct bst_table_info *info;
	enum bst_status status =
		bst_rows_decode(&d->rows, chunk->payload, chunk->payload_bytes, BST_ALL_COLUMNS);

	if (status) {
		bst_reader_reject(&d->reader, chunk, status);
		return;
	}
	info = bst_table_info(d->rows.table);
	if (!info) {
		d->skipped_chunks++;
		return;
	}
	d->skipped_columns += d->rows.skipped_columns;
	printf("chunk %" PRIu64 " %" PRIu64 " table=%u rows=%" PRIu32 " first=%" PRIu64
	       " min=%" PRIu64 " max=%" PRIu64 "\n",
	       chunk->offset, chunk->sequence, d->rows.table, d->rows.count, d->rows.first_row,
	       d->rows.time_min, d->rows.time_max);
	print_rows(info, &d->rows);
}

static void print_end(const struct dump *d)
{
	const struct bst_reader *r = &d->reader;

	for (unsigned i = 0; i < r->damage_count && i < BST_DAMAGE_KEPT; i++)
		printf("damage %" PRIu64 " %" PRIu64 " %s\n", r->damage[i].offset,
		       r->damage[i].bytes, bst_status_text(r->damage[i].reason));
	printf("skipped chunks=%" PRIu64 " columns=%" PRIu64 "\n",
	       r->skipped_chunks + d->skipped_chunks, d->skipped_columns);
	printf("missing chunks=%" PRIu64 "\ntorn %" PRIu64 "\nlosses", r->missing_chunks,
	       r->torn_bytes);
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		printf(" %" PRIu32, r->losses[i]);
	printf("\ncomplete %s\n", bst_reader_complete(r) ? "yes" : "no");
}

static void dump_trace(const uint8_t *data, size_t size)
{
	struct dump d = {.skipped_chunks = 0};
	struct bst_chunk chunk;
	enum bst_status status = bst_reader_init(&d.reader, data, size);

	if (status) {
		printf("refused %s\n", bst_status_text(status));
		return;
	}
	printf("trace %u.%u run=", d.reader.header.major, d.reader.header.minor);
	for (unsigned i = 0; i < 16; i++)
		printf("%02x", d.reader.header.run_id[i]);
	printf(" created=%" PRIu64 "\n", d.reader.header.created_ns);
	bst_rows_init(&d.rows);
	while (bst_reader_next(&d.reader, &chunk))
		if (chunk.type == BST_CHUNK_TABLE)
			dump_table(&d, &chunk);
	print_end(&d);
	bst_rows_fini(&d.rows);
}

/* The whole file in memory of exactly its size, so that ASan sees one byte too far. */
static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long end;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
		rewind(file);
		*size = (size_t)end;
		data = malloc(*size ? *size : 1);
		if (data && fread(data, 1, *size, file) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *data = read_file(argv[i], &size);

		if (!data) {
			fprintf(stderr, "dump: %s: cannot be read\n", argv[i]);
			return EXIT_FAILURE;
		}
		if (argc > 2)
			printf("file %s\n", argv[i]);
		dump_trace(data, size);
		free(data);
	}
	return EXIT_SUCCESS;
}
