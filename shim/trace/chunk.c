/* Batches to bytes: planes, deflate, headers, checksums. */
#include "chunk.h"

#include <string.h>
#include <zlib.h>

#include "wire.h"

/* deflateInit asks for about 268 kB at these settings (zlib 1.2.13, zconf.h); the rest is slack for other versions. */
#define DEFLATE_BYTES (512u << 10)
#define ALIGNED(n) (((n) + 15) & ~(size_t)15)

/* A bump allocator inside the caller's block: zlib asks a few times at init and never again. */
struct arena {
	uint8_t *at;
	uint8_t *end;
};

struct deflater {
	z_stream stream;
	struct arena arena;
};

static void *arena_alloc(void *opaque, uInt items, uInt size)
{
	struct arena *arena = opaque;
	size_t bytes = ALIGNED((size_t)items * size);
	void *p = arena->at;

	if (bytes > (size_t)(arena->end - arena->at))
		return Z_NULL;
	arena->at += bytes;
	return p;
}

static void arena_free(void *opaque, void *p)
{
	(void)opaque;
	(void)p;
}

size_t bst_encoder_bytes(uint32_t rows, uint32_t text)
{
	return ALIGNED(sizeof(struct deflater)) + DEFLATE_BYTES + (size_t)rows * 16 + text;
}

enum bst_status bst_encoder_init(struct bst_encoder *encoder, const uint8_t run_id[16],
				 uint32_t rows, uint32_t text, void *memory, size_t bytes)
{
	struct deflater *d = memory;
	uint8_t *base = memory;

	if (bytes < bst_encoder_bytes(rows, text))
		return BST_FULL;
	memset(encoder, 0, sizeof(*encoder));
	memset(d, 0, sizeof(*d));
	encoder->run = get_u64(run_id);
	encoder->offset = BST_FILE_HEADER_BYTES;
	d->arena.at = base + ALIGNED(sizeof(*d));
	d->arena.end = d->arena.at + DEFLATE_BYTES;
	encoder->values = (uint64_t *)(void *)d->arena.end;
	encoder->raw = d->arena.end + (size_t)rows * 8;
	encoder->rows = rows;
	encoder->text = text;
	d->stream.zalloc = arena_alloc;
	d->stream.zfree = arena_free;
	d->stream.opaque = &d->arena;
	if (deflateInit2(&d->stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return BST_NO_MEMORY;
	encoder->deflater = d;
	return BST_OK;
}

void bst_encode_file_header(struct bst_encoder *encoder, const uint8_t run_id[16],
			    uint64_t created_ns, uint8_t out[BST_FILE_HEADER_BYTES])
{
	memset(out, 0, BST_FILE_HEADER_BYTES);
	memcpy(out, BST_FILE_MAGIC, 8);
	put_u16(out + 8, BST_MAJOR);
	put_u16(out + 10, BST_MINOR);
	put_u32(out + 12, BST_FILE_HEADER_BYTES);
	memcpy(out + 32, run_id, 16);
	put_u64(out + 48, created_ns);
	put_u32(out + 60, (uint32_t)crc32(0, out, 60));
	encoder->offset = BST_FILE_HEADER_BYTES;
}

enum bst_status bst_decode_file_header(const uint8_t *data, size_t size,
				       struct bst_file_header *header)
{
	size_t compare = size < 8 ? size : 8;

	if (size == 0)
		return BST_EMPTY;
	if (memcmp(data, BST_FILE_MAGIC, compare) != 0)
		return BST_FOREIGN;
	if (size < BST_FILE_HEADER_BYTES)
		return BST_HEADER_TORN;
	if (get_u32(data + 60) != (uint32_t)crc32(0, data, 60))
		return BST_HEADER_DAMAGED;
	header->major = get_u16(data + 8);
	header->minor = get_u16(data + 10);
	header->header_bytes = get_u32(data + 12);
	header->incompatible = get_u64(data + 16);
	header->compatible = get_u64(data + 24);
	memcpy(header->run_id, data + 32, 16);
	header->created_ns = get_u64(data + 48);
	if (header->major != BST_MAJOR)
		return BST_MAJOR_UNKNOWN;
	if (header->incompatible & ~BST_KNOWN_INCOMPATIBLE)
		return BST_FEATURE_UNKNOWN;
	if (header->header_bytes < BST_FILE_HEADER_BYTES ||
	    header->header_bytes > BST_MAX_FILE_HEADER_BYTES)
		return BST_HEADER_DAMAGED;
	return BST_OK;
}

size_t bst_chunk_bytes(const struct bst_batch *batch)
{
	size_t bytes = BST_CHUNK_HEADER_BYTES + BST_TABLE_HEADER_BYTES;

	for (const struct bst_column_info *c = batch->info->column; c->id; c++)
		bytes += BST_COLUMN_HEADER_BYTES + (size_t)batch->rows * 8 +
			 batch->text_bytes[c->id];
	return bytes;
}

static void encode_chunk_header(const struct bst_encoder *encoder, uint16_t type, uint8_t *chunk,
				size_t payload_bytes)
{
	memset(chunk, 0, BST_CHUNK_HEADER_BYTES);
	put_u32(chunk, BST_CHUNK_MAGIC);
	put_u16(chunk + 4, type);
	put_u32(chunk + 8, (uint32_t)payload_bytes);
	put_u32(chunk + 12,
		(uint32_t)crc32(0, chunk + BST_CHUNK_HEADER_BYTES, (uInt)payload_bytes));
	put_u64(chunk + 16, encoder->run);
	put_u64(chunk + 24, encoder->sequence);
	put_u64(chunk + 32, encoder->offset);
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		put_u32(chunk + 40 + 4 * i, encoder->losses[i]);
	put_u32(chunk + 92, (uint32_t)crc32(0, chunk, 92));
}

void bst_chunk_move(uint8_t *header, uint64_t sequence, uint64_t offset, uint64_t file_limit)
{
	uint8_t *lost = header + 40 + 4 * (BST_ENUM_LOSS_FILE_LIMIT - 1);
	uint64_t sum = get_u32(lost) + file_limit;

	put_u64(header + 24, sequence);
	put_u64(header + 32, offset);
	put_u32(lost, sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX);
	put_u32(header + 92, (uint32_t)crc32(0, header, 92));
}

/* Values of a column turned into what its planes hold; the least plain value becomes the base. */
static uint64_t transform(const struct bst_column_info *c, const uint64_t *in, uint64_t *out,
			  uint32_t rows)
{
	uint64_t base = in[0], last = in[0];

	if (c->encoding == BST_DELTA) {
		for (uint32_t i = 0; i < rows; i++) {
			out[i] = zigzag(in[i] - last);
			last = in[i];
		}
		return base;
	}
	for (uint32_t i = 1; i < rows; i++)
		if (in[i] < base)
			base = in[i];
	if (c->encoding == BST_BYTES)
		base = 0;
	for (uint32_t i = 0; i < rows; i++)
		out[i] = in[i] - base;
	return base;
}

static unsigned width_of(const uint64_t *values, uint32_t rows)
{
	uint64_t all = 0;
	unsigned width = 0;

	for (uint32_t i = 0; i < rows; i++)
		all |= values[i];
	for (; all; all >>= 8)
		width++;
	return width;
}

/* The low `width` bytes of the values as planes. */
static void split_planes(const uint64_t *values, uint8_t *raw, unsigned width, uint32_t rows)
{
	for (unsigned w = 0; w < width; w++)
		for (uint32_t i = 0; i < rows; i++)
			raw[w * (size_t)rows + i] = (uint8_t)(values[i] >> (8 * w));
}

/* Deflates raw into out; 0 if it did not get smaller than `bytes`, or the stored size. */
static size_t deflate_into(struct bst_encoder *encoder, const uint8_t *raw, size_t bytes,
			   uint8_t *out)
{
	z_stream *z = &((struct deflater *)encoder->deflater)->stream;

	if (bytes < 16 || deflateReset(z) != Z_OK)
		return 0;
	z->next_in = (Bytef *)raw;
	z->avail_in = (uInt)bytes;
	z->next_out = out;
	z->avail_out = (uInt)(bytes - 1);
	return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

/* One column: its header at `header`, its bytes at `out`. Returns the stored size. */
static size_t encode_column(struct bst_encoder *encoder, const struct bst_batch *batch,
			    const struct bst_column_info *c, uint8_t *header, uint8_t *out)
{
	uint64_t base = transform(c, batch->number[c->id], encoder->values, batch->rows);
	unsigned width = width_of(encoder->values, batch->rows);
	size_t raw_bytes = (size_t)width * batch->rows, stored;

	split_planes(encoder->values, encoder->raw, width, batch->rows);
	if (batch->text_bytes[c->id])
		memcpy(encoder->raw + raw_bytes, batch->text[c->id], batch->text_bytes[c->id]);
	raw_bytes += batch->text_bytes[c->id];
	stored = deflate_into(encoder, encoder->raw, raw_bytes, out);
	memset(header, 0, BST_COLUMN_HEADER_BYTES);
	put_u16(header, c->id);
	header[2] = c->encoding;
	header[3] = (uint8_t)width;
	header[4] = stored ? BST_DEFLATE : BST_STORED;
	if (!stored) {
		memcpy(out, encoder->raw, raw_bytes);
		stored = raw_bytes;
	}
	put_u32(header + 8, (uint32_t)stored);
	put_u32(header + 12, (uint32_t)raw_bytes);
	put_u64(header + 16, base);
	return stored;
}

enum bst_status bst_encode_batch(struct bst_encoder *encoder, const struct bst_batch *batch,
				 uint8_t *out, size_t capacity, size_t *size)
{
	uint8_t *payload = out + BST_CHUNK_HEADER_BYTES, *header = payload + BST_TABLE_HEADER_BYTES;
	unsigned columns = 0;
	uint8_t *data;

	if (batch->rows > encoder->rows || capacity < bst_chunk_bytes(batch))
		return BST_FULL;
	for (const struct bst_column_info *c = batch->info->column; c->id; c++) {
		if (batch->text_bytes[c->id] > encoder->text)
			return BST_FULL;
		columns++;
	}
	memset(payload, 0, BST_TABLE_HEADER_BYTES);
	put_u16(payload, batch->info->id);
	put_u16(payload + 2, (uint16_t)columns);
	put_u32(payload + 4, batch->rows);
	put_u64(payload + 8, batch->first_row);
	put_u64(payload + 16, batch->time_min);
	put_u64(payload + 24, batch->time_max);
	data = header + columns * BST_COLUMN_HEADER_BYTES;
	for (const struct bst_column_info *c = batch->info->column; c->id; c++) {
		data += encode_column(encoder, batch, c, header, data);
		header += BST_COLUMN_HEADER_BYTES;
	}
	if ((size_t)(data - payload) > BST_MAX_PAYLOAD_BYTES)
		return BST_FULL;
	encode_chunk_header(encoder, BST_CHUNK_TABLE, out, (size_t)(data - payload));
	*size = (size_t)(data - out);
	return BST_OK;
}

size_t bst_encode_trailer(struct bst_encoder *encoder, uint64_t index_offset, uint32_t index_chunks,
			  uint8_t *out)
{
	uint8_t *payload = out + BST_CHUNK_HEADER_BYTES;

	put_u64(payload, index_offset);
	put_u32(payload + 8, index_chunks);
	put_u32(payload + 12, BST_TRAILER_MAGIC);
	encode_chunk_header(encoder, BST_CHUNK_TRAILER, out, BST_TRAILER_BYTES);
	return BST_CHUNK_HEADER_BYTES + BST_TRAILER_BYTES;
}

void bst_encoder_commit(struct bst_encoder *encoder, size_t size)
{
	encoder->sequence++;
	encoder->offset += size;
}
