/* Chunk by chunk; after damage, forward to the next header that proves itself. */
#include "reader.h"

#include <string.h>
#include <zlib.h>

#include "wire.h"

enum bst_status bst_reader_init(struct bst_reader *reader, const uint8_t *data, size_t size)
{
	enum bst_status status;

	memset(reader, 0, sizeof(*reader));
	reader->data = data;
	reader->size = size;
	status = bst_decode_file_header(data, size, &reader->header);
	if (status)
		return status;
	if (reader->header.header_bytes > size)
		return BST_HEADER_TORN;
	reader->run = get_u64(reader->header.run_id);
	reader->at = reader->header.header_bytes;
	return BST_OK;
}

static int crc_good(uint32_t expected, const uint8_t *data, size_t size)
{
	return expected == (uint32_t)crc32(0, data, (uInt)size);
}

static const uint8_t chunk_magic[4] = {0xC5, 0x42, 0x53, 0x43}; /* BST_CHUNK_MAGIC as bytes */

/* Is there a good chunk header at `at`? BST_TORN when the file ends inside header or payload. */
static enum bst_status check_header(const struct bst_reader *reader, size_t at)
{
	const uint8_t *p = reader->data + at;
	size_t left = reader->size - at;

	if (memcmp(p, chunk_magic, left < 4 ? left : 4) != 0)
		return BST_CHUNK_MAGIC_BAD;
	if (left < BST_CHUNK_HEADER_BYTES)
		return BST_TORN;
	if (!crc_good(get_u32(p + 92), p, 92))
		return BST_CHUNK_HEADER_BAD;
	if (get_u16(p + 4) == 0)
		return BST_CHUNK_TYPE_ZERO;
	if (get_u64(p + 16) != reader->run || get_u64(p + 32) != at)
		return BST_CHUNK_STALE;
	if (get_u32(p + 8) > BST_MAX_PAYLOAD_BYTES)
		return BST_CHUNK_TOO_LARGE;
	return get_u32(p + 8) > left - BST_CHUNK_HEADER_BYTES ? BST_TORN : BST_OK;
}

static void note_damage(struct bst_reader *reader, uint64_t offset, uint64_t bytes,
			enum bst_status reason)
{
	if (reader->damage_count < BST_DAMAGE_KEPT)
		reader->damage[reader->damage_count] = (struct bst_damage){offset, bytes, reason};
	reader->damage_count++;
	reader->damage_bytes += bytes;
}

static int all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return 0;
	return 1;
}

/*
 * What a cut leaves behind the last chunk: the beginning of one, or the zeros of a file that was lengthened before it was
 * written.
 */
static int looks_torn(const uint8_t *p, size_t n)
{
	if (all_zero(p, n))
		return 1;
	return memcmp(p, chunk_magic, n < 4 ? n : 4) == 0 && n < BST_CHUNK_HEADER_BYTES;
}

/* Next place at or behind `from` that holds a good header (whole or torn), or the end of the file. */
static size_t resync(const struct bst_reader *reader, size_t from)
{
	while (from < reader->size) {
		const uint8_t *p = memchr(reader->data + from, 0xC5, reader->size - from);
		enum bst_status status;

		if (!p)
			break;
		from = (size_t)(p - reader->data);
		status = check_header(reader, from);
		if (status == BST_OK)
			return from;
		if (status == BST_TORN && reader->size - from >= BST_CHUNK_HEADER_BYTES)
			return from;
		from++;
	}
	return reader->size;
}

/* Stands at something that is no good header: records it and moves to the next good one. */
static void skip_damage(struct bst_reader *reader, enum bst_status reason)
{
	size_t next = resync(reader, reader->at + 1);
	size_t length = next - reader->at;

	if (next == reader->size && looks_torn(reader->data + reader->at, length))
		reader->torn_bytes += length;
	else
		note_damage(reader, reader->at, length, reason);
	reader->at = next;
}

static void parse_chunk(const struct bst_reader *reader, struct bst_chunk *chunk)
{
	const uint8_t *p = reader->data + reader->at;

	chunk->offset = reader->at;
	chunk->type = get_u16(p + 4);
	chunk->flags = get_u16(p + 6);
	chunk->payload_bytes = get_u32(p + 8);
	chunk->payload = p + BST_CHUNK_HEADER_BYTES;
	chunk->sequence = get_u64(p + 24);
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		chunk->losses[i] = get_u32(p + 40 + 4 * i);
}

/* A header that proved itself: its sequence and losses count even if its payload turns out bad. */
static void note_header(struct bst_reader *reader, const struct bst_chunk *chunk)
{
	uint64_t most = UINT64_MAX - reader->missing_chunks, jump = 0;

	if (chunk->sequence > reader->next_sequence)
		jump = chunk->sequence - reader->next_sequence;
	reader->missing_chunks += jump < most ? jump : most;
	reader->next_sequence = chunk->sequence + 1;
	memcpy(reader->losses, chunk->losses, sizeof(reader->losses));
}

static int payload_good(const struct bst_chunk *chunk)
{
	const uint8_t *header = chunk->payload - BST_CHUNK_HEADER_BYTES;

	return crc_good(get_u32(header + 12), chunk->payload, chunk->payload_bytes);
}

static int trailer_good(const struct bst_chunk *chunk)
{
	return chunk->payload_bytes == BST_TRAILER_BYTES &&
	       get_u32(chunk->payload + 12) == BST_TRAILER_MAGIC;
}

/* Moves past a chunk that is whole. Is it one for the caller? */
static int take_chunk(struct bst_reader *reader, const struct bst_chunk *chunk)
{
	uint64_t bytes = BST_CHUNK_HEADER_BYTES + (uint64_t)chunk->payload_bytes;

	reader->at += bytes;
	if (!payload_good(chunk)) {
		note_damage(reader, chunk->offset, bytes, BST_PAYLOAD_BAD);
		return 0;
	}
	switch (chunk->type) {
	case BST_CHUNK_TABLE:
		break;
	case BST_CHUNK_TRAILER:
		if (!trailer_good(chunk)) {
			note_damage(reader, chunk->offset, bytes, BST_TABLE_SHORT);
			return 0;
		}
		reader->trailer = reader->at == reader->size;
		break;
	default:
		if (chunk->flags & BST_CHUNK_SKIPPABLE) {
			reader->skipped_chunks++;
			return 0;
		}
		reader->stopped_by = BST_CHUNK_UNKNOWN;
		note_damage(reader, chunk->offset, reader->size - chunk->offset, BST_CHUNK_UNKNOWN);
		return 0;
	}
	reader->chunks++;
	return 1;
}

int bst_reader_next(struct bst_reader *reader, struct bst_chunk *chunk)
{
	while (reader->at < reader->size && !reader->stopped_by) {
		enum bst_status status = check_header(reader, reader->at);
		int header_good =
			status == BST_OK ||
			(status == BST_TORN && reader->size - reader->at >= BST_CHUNK_HEADER_BYTES);

		if (!header_good) {
			skip_damage(reader, status);
			continue;
		}
		parse_chunk(reader, chunk);
		note_header(reader, chunk);
		if (status == BST_TORN) {
			reader->torn_bytes += reader->size - reader->at;
			reader->at = reader->size;
			return 0;
		}
		if (take_chunk(reader, chunk))
			return 1;
	}
	return 0;
}

void bst_reader_reject(struct bst_reader *reader, const struct bst_chunk *chunk,
		       enum bst_status why)
{
	reader->chunks--;
	note_damage(reader, chunk->offset, BST_CHUNK_HEADER_BYTES + (uint64_t)chunk->payload_bytes,
		    why);
}

int bst_reader_complete(const struct bst_reader *reader)
{
	return reader->trailer && reader->damage_count == 0 && !reader->missing_chunks &&
	       !reader->stopped_by;
}
