/* The canonical text form of a trace: deterministic, so that two readers can be compared. */
#include "dump.h"

#include <inttypes.h>

#include "shim/trace/reader.h"
#include "shim/trace/rows.h"

struct dump {
	struct bst_reader reader;
	struct bst_rows rows;
	unsigned table;
	uint64_t skipped_chunks; /* of unknown tables */
	uint64_t skipped_columns;
	FILE *out;
};

static void print_text(const struct bst_text *text, FILE *out)
{
	putc('"', out);
	for (uint32_t i = 0; i < text->size; i++) {
		uint8_t c = text->data[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void print_row(const struct bst_table_info *info, const struct bst_rows *rows, uint32_t row,
		      FILE *out)
{
	fputs(info->name, out);
	for (const struct bst_column_info *c = info->column; c->id; c++) {
		if (rows->number[c->id])
			fprintf(out, "\t%s=%" PRIu64, c->name, rows->number[c->id][row]);
		if (rows->text[c->id]) {
			fprintf(out, "\t%s=", c->name);
			print_text(&rows->text[c->id][row], out);
		}
	}
	putc('\n', out);
}

static void print_chunk(struct dump *d, const struct bst_chunk *chunk)
{
	const struct bst_rows *rows = &d->rows;
	const struct bst_table_info *info;
	enum bst_status status =
		bst_rows_decode(&d->rows, chunk->payload, chunk->payload_bytes, BST_ALL_COLUMNS);

	if (status) {
		bst_reader_reject(&d->reader, chunk, status);
		return;
	}
	info = bst_table_info(rows->table);
	if (!info) {
		d->skipped_chunks++;
		return;
	}
	d->skipped_columns += rows->skipped_columns;
	if (d->table && d->table != rows->table)
		return;
	fprintf(d->out,
		"chunk %" PRIu64 " %" PRIu64 " table=%u rows=%" PRIu32 " first=%" PRIu64
		" min=%" PRIu64 " max=%" PRIu64 "\n",
		chunk->offset, chunk->sequence, rows->table, rows->count, rows->first_row,
		rows->time_min, rows->time_max);
	for (uint32_t row = 0; row < rows->count; row++)
		print_row(info, rows, row, d->out);
}

static void print_end(const struct dump *d)
{
	const struct bst_reader *r = &d->reader;

	for (unsigned i = 0; i < r->damage_count && i < BST_DAMAGE_KEPT; i++)
		fprintf(d->out, "damage %" PRIu64 " %" PRIu64 " %s\n", r->damage[i].offset,
			r->damage[i].bytes, bst_status_text(r->damage[i].reason));
	fprintf(d->out, "skipped chunks=%" PRIu64 " columns=%" PRIu64 "\n",
		r->skipped_chunks + d->skipped_chunks, d->skipped_columns);
	fprintf(d->out, "missing chunks=%" PRIu64 "\ntorn %" PRIu64 "\nlosses", r->missing_chunks,
		r->torn_bytes);
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		fprintf(d->out, " %" PRIu32, r->losses[i]);
	fprintf(d->out, "\ncomplete %s\n", bst_reader_complete(r) ? "yes" : "no");
}

int dump_print(const uint8_t *data, size_t size, unsigned table, FILE *out)
{
	struct dump d = {.table = table, .out = out};
	enum bst_status status = bst_reader_init(&d.reader, data, size);
	const struct bst_file_header *header = &d.reader.header;
	struct bst_chunk chunk;

	if (status) {
		fprintf(out, "refused %s\n", bst_status_text(status));
		return 1;
	}
	fprintf(out, "trace %u.%u run=", header->major, header->minor);
	for (unsigned i = 0; i < sizeof(header->run_id); i++)
		fprintf(out, "%02x", header->run_id[i]);
	fprintf(out, " created=%" PRIu64 "\n", header->created_ns);
	bst_rows_init(&d.rows);
	while (bst_reader_next(&d.reader, &chunk))
		if (chunk.type == BST_CHUNK_TABLE)
			print_chunk(&d, &chunk);
	print_end(&d);
	bst_rows_fini(&d.rows);
	return d.reader.damage_count || d.reader.missing_chunks || d.reader.stopped_by;
}
