/* Column decoding: planes, deltas, text. Every size is compared with what is there before it is used. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "wire.h"

struct column {
	uint16_t id; /* without the skippable bit */
	int skippable;
	uint8_t encoding;
	uint8_t width;
	uint8_t codec;
	uint32_t stored_bytes;
	uint32_t raw_bytes;
	uint64_t base;
	const uint8_t *stored;
};

void bst_rows_init(struct bst_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
}

void bst_rows_fini(struct bst_rows *rows)
{
	for (unsigned i = 0; i < BST_COLUMN_LIMIT; i++)
		free(rows->block[i]);
	free(rows->raw);
	if (rows->inflater) {
		inflateEnd(rows->inflater);
		free(rows->inflater);
	}
	bst_rows_init(rows);
}

static void forget(struct bst_rows *rows)
{
	memset(rows->number, 0, sizeof(rows->number));
	memset(rows->text, 0, sizeof(rows->text));
	rows->count = 0;
	rows->skipped_columns = 0;
}

enum bst_status bst_rows_peek(const uint8_t *payload, size_t size, struct bst_rows *rows)
{
	uint16_t columns;

	if (size < BST_TABLE_HEADER_BYTES)
		return BST_TABLE_SHORT;
	if (get_u16(payload) == 0)
		return BST_TABLE_ZERO;
	columns = get_u16(payload + 2);
	if (columns == 0 || columns > BST_MAX_COLUMNS)
		return BST_TABLE_LIMITS;
	if (get_u32(payload + 4) == 0 || get_u32(payload + 4) > BST_MAX_ROWS)
		return BST_TABLE_LIMITS;
	if (size < BST_TABLE_HEADER_BYTES + (size_t)columns * BST_COLUMN_HEADER_BYTES)
		return BST_TABLE_SHORT;
	rows->table = get_u16(payload);
	rows->count = get_u32(payload + 4);
	rows->first_row = get_u64(payload + 8);
	rows->time_min = get_u64(payload + 16);
	rows->time_max = get_u64(payload + 24);
	return BST_OK;
}

static struct column parse_column(const uint8_t *p)
{
	return (struct column){
		.id = get_u16(p) & (uint16_t)~BST_COLUMN_SKIPPABLE,
		.skippable = get_u16(p) & BST_COLUMN_SKIPPABLE,
		.encoding = p[2],
		.width = p[3],
		.codec = p[4],
		.stored_bytes = get_u32(p + 8),
		.raw_bytes = get_u32(p + 12),
		.base = get_u64(p + 16),
	};
}

/* Plain and delta are the writer's choice; text where the table has numbers, or the reverse, is not. */
static int encoding_good(const struct column *c, const struct bst_column_info *known)
{
	if (c->codec != BST_STORED && c->codec != BST_DEFLATE)
		return 0;
	if (known->encoding == BST_BYTES)
		return c->encoding == BST_BYTES;
	return c->encoding == BST_PLAIN || c->encoding == BST_DELTA;
}

static enum bst_status check_column(const struct column *c, const struct bst_column_info *known,
				    uint32_t rows)
{
	uint64_t planes = (uint64_t)c->width * rows;
	uint64_t most = (uint64_t)c->stored_bytes * BST_MAX_INFLATE_RATIO + 64;

	if (!encoding_good(c, known))
		return BST_COLUMN_ENCODING;
	if (c->codec == BST_STORED ? c->raw_bytes != c->stored_bytes : c->raw_bytes > most)
		return BST_COLUMN_SIZE;
	if (c->encoding != BST_BYTES)
		return c->width > 8 || planes != c->raw_bytes ? BST_COLUMN_SIZE : BST_OK;
	if (c->width > 4 || planes > c->raw_bytes)
		return BST_COLUMN_SIZE;
	return c->raw_bytes - planes > BST_MAX_TEXT_BYTES ? BST_TABLE_LIMITS : BST_OK;
}

/* Grows *block to `bytes`, content lost. */
static enum bst_status reserve(void **block, size_t *have, size_t bytes)
{
	void *p;

	if (bytes <= *have)
		return BST_OK;
	p = malloc(bytes);
	if (!p)
		return BST_NO_MEMORY;
	free(*block);
	*block = p;
	*have = bytes;
	return BST_OK;
}

static enum bst_status inflate_column(struct bst_rows *rows, const struct column *c, uint8_t *out)
{
	z_stream *z = rows->inflater;

	if (!z) {
		z = calloc(1, sizeof(*z));
		if (!z || inflateInit2(z, -15) != Z_OK) {
			free(z);
			return BST_NO_MEMORY;
		}
		rows->inflater = z;
	} else if (inflateReset(z) != Z_OK) {
		return BST_COLUMN_INFLATE;
	}
	z->next_in = (Bytef *)c->stored;
	z->avail_in = c->stored_bytes;
	z->next_out = out;
	z->avail_out = c->raw_bytes;
	if (inflate(z, Z_FINISH) != Z_STREAM_END || z->avail_in || z->avail_out)
		return BST_COLUMN_INFLATE;
	return BST_OK;
}

/*
 * The raw bytes of a column: in place where stored, else inflated behind `keep` bytes of the column's own block (text
 * has to outlive this call) or into the shared scratch buffer.
 */
static enum bst_status raw_bytes(struct bst_rows *rows, const struct column *c, size_t keep,
				 const uint8_t **raw)
{
	enum bst_status status;
	uint8_t *out;

	if (c->codec == BST_STORED) {
		*raw = c->stored;
		return BST_OK;
	}
	if (keep) {
		out = (uint8_t *)rows->block[c->id] + keep;
	} else {
		status = reserve((void **)&rows->raw, &rows->raw_bytes, (size_t)c->raw_bytes + 1);
		if (status)
			return status;
		out = rows->raw;
	}
	*raw = out;
	return inflate_column(rows, c, out);
}

/* values[i] = the planes' value of row i. Two planes at once for the common widths: decoding speed is report speed. */
static void join_planes(uint64_t *values, const uint8_t *raw, unsigned width, uint32_t n)
{
	const uint8_t *p0 = raw, *p1 = raw + n, *p2 = raw + 2 * (size_t)n;

	switch (width) {
	case 0:
		memset(values, 0, n * sizeof(*values));
		return;
	case 1:
		for (uint32_t i = 0; i < n; i++)
			values[i] = p0[i];
		return;
	case 2:
		for (uint32_t i = 0; i < n; i++)
			values[i] = p0[i] | (uint64_t)p1[i] << 8;
		return;
	default:
		for (uint32_t i = 0; i < n; i++)
			values[i] = p0[i] | (uint64_t)p1[i] << 8 | (uint64_t)p2[i] << 16;
	}
	for (unsigned w = 3; w < width; w++) {
		const uint8_t *p = raw + w * (size_t)n;

		for (uint32_t i = 0; i < n; i++)
			values[i] |= (uint64_t)p[i] << (8 * w);
	}
}

static enum bst_status decode_numbers(struct bst_rows *rows, const struct column *c)
{
	size_t bytes = rows->count * sizeof(uint64_t);
	enum bst_status status;
	const uint8_t *raw;
	uint64_t *values, last = c->base;

	status = reserve(&rows->block[c->id], &rows->block_bytes[c->id], bytes);
	if (!status)
		status = raw_bytes(rows, c, 0, &raw);
	if (status)
		return status;
	values = rows->block[c->id];
	join_planes(values, raw, c->width, rows->count);
	if (c->encoding == BST_DELTA)
		for (uint32_t i = 0; i < rows->count; i++)
			values[i] = last += unzigzag(values[i]);
	else if (c->base)
		for (uint32_t i = 0; i < rows->count; i++)
			values[i] += c->base;
	rows->number[c->id] = values;
	return BST_OK;
}

static enum bst_status decode_text(struct bst_rows *rows, const struct column *c)
{
	size_t table_bytes = rows->count * sizeof(struct bst_text);
	size_t planes = (size_t)c->width * rows->count, at = planes;
	struct bst_text *texts;
	enum bst_status status;
	const uint8_t *raw;

	status = reserve(&rows->block[c->id], &rows->block_bytes[c->id],
			 table_bytes + c->raw_bytes + 1);
	if (!status)
		status = raw_bytes(rows, c, table_bytes, &raw);
	if (status)
		return status;
	texts = rows->block[c->id];
	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t size = 0;

		for (unsigned w = 0; w < c->width; w++)
			size |= (uint32_t)raw[w * (size_t)rows->count + i] << (8 * w);
		if (size > c->raw_bytes - at)
			return BST_COLUMN_SIZE;
		texts[i] = (struct bst_text){raw + at, size};
		at += size;
	}
	if (at != c->raw_bytes)
		return BST_COLUMN_SIZE;
	rows->text[c->id] = texts;
	return BST_OK;
}

static const struct bst_column_info *find_column(const struct bst_table_info *info, uint16_t id)
{
	for (const struct bst_column_info *c = info->column; c->id; c++)
		if (c->id == id)
			return c;
	return NULL;
}

/* Of a column that this version does not know, only the size matters: its encoding may be a new one. */
static enum bst_status decode_column(struct bst_rows *rows, const struct bst_table_info *info,
				     const struct column *c, uint32_t wanted)
{
	const struct bst_column_info *known = find_column(info, c->id);
	enum bst_status status;

	if (!known) {
		rows->skipped_columns++;
		return c->skippable ? BST_OK : BST_COLUMN_UNKNOWN;
	}
	status = check_column(c, known, rows->count);
	if (status || !(wanted & (UINT32_C(1) << c->id)))
		return status;
	return c->encoding == BST_BYTES ? decode_text(rows, c) : decode_numbers(rows, c);
}

static enum bst_status decode_columns(struct bst_rows *rows, const uint8_t *payload, size_t size,
				      uint32_t wanted)
{
	const struct bst_table_info *info = bst_table_info(rows->table);
	unsigned columns = get_u16(payload + 2);
	const uint8_t *header = payload + BST_TABLE_HEADER_BYTES;
	size_t at = BST_TABLE_HEADER_BYTES + (size_t)columns * BST_COLUMN_HEADER_BYTES;
	uint64_t seen[512] = {0}; /* one bit for each of the 32,768 column ids */

	if (!info)
		return BST_OK;
	for (unsigned i = 0; i < columns; i++, header += BST_COLUMN_HEADER_BYTES) {
		struct column c = parse_column(header);
		enum bst_status status;

		if (c.id == 0)
			return BST_COLUMN_ENCODING;
		if (seen[c.id / 64] & (UINT64_C(1) << c.id % 64))
			return BST_COLUMN_DUPLICATE;
		seen[c.id / 64] |= UINT64_C(1) << c.id % 64;
		if (c.stored_bytes > size - at)
			return BST_TABLE_SHORT;
		c.stored = payload + at;
		at += c.stored_bytes;
		status = decode_column(rows, info, &c, wanted);
		if (status)
			return status;
	}
	return at == size ? BST_OK : BST_TABLE_SHORT;
}

enum bst_status bst_rows_decode(struct bst_rows *rows, const uint8_t *payload, size_t size,
				uint32_t wanted)
{
	enum bst_status status;

	forget(rows);
	status = bst_rows_peek(payload, size, rows);
	if (!status)
		status = decode_columns(rows, payload, size, wanted);
	if (status)
		forget(rows);
	return status;
}
