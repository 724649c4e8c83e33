/* A whole file: walked and decoded as it is, then with its checksums repaired, so that the fuzzer
 * gets past them. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shim/trace/reader.h"
#include "shim/trace/wire.h"
#include "tests/fuzz/touch.h"

static void must(int good)
{
	if (!good)
		abort();
}

static void read_file(const uint8_t *data, size_t size)
{
	struct bst_reader reader;
	struct bst_chunk chunk;
	struct bst_rows rows;
	uint64_t last = 0;

	if (bst_reader_init(&reader, data, size))
		return;
	bst_rows_init(&rows);
	while (bst_reader_next(&reader, &chunk)) {
		volatile uint64_t sink;
		enum bst_status status;

		must(chunk.offset >= last && chunk.offset + BST_CHUNK_HEADER_BYTES <= size);
		must(chunk.payload + chunk.payload_bytes <= data + size);
		last = chunk.offset + BST_CHUNK_HEADER_BYTES;
		if (chunk.type != BST_CHUNK_TABLE)
			continue;
		status =
			bst_rows_decode(&rows, chunk.payload, chunk.payload_bytes, BST_ALL_COLUMNS);
		if (status)
			bst_reader_reject(&reader, &chunk, status);
		sink = touch_rows(&rows);
		(void)sink;
	}
	must(reader.damage_bytes + reader.torn_bytes <= size);
	must(!bst_reader_complete(&reader) || reader.damage_bytes + reader.torn_bytes == 0);
	bst_rows_fini(&rows);
}

/* Every chunk header gets the checksums, the run and the offset that it needs to pass. */
static void repair(uint8_t *data, size_t size)
{
	static const uint8_t magic[4] = {0xC5, 0x42, 0x53, 0x43};

	if (size < BST_FILE_HEADER_BYTES)
		return;
	put_u32(data + 60, (uint32_t)crc32(0, data, 60));
	for (size_t at = BST_FILE_HEADER_BYTES; at + BST_CHUNK_HEADER_BYTES <= size; at++) {
		size_t left = size - at - BST_CHUNK_HEADER_BYTES;
		uint8_t *p = data + at;

		if (memcmp(p, magic, 4) != 0)
			continue;
		if (get_u32(p + 8) <= left)
			put_u32(p + 12,
				(uint32_t)crc32(0, p + BST_CHUNK_HEADER_BYTES, get_u32(p + 8)));
		memcpy(p + 16, data + 32, 8);
		put_u64(p + 32, at);
		put_u32(p + 92, (uint32_t)crc32(0, p, 92));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	read_file(data, size);
	memcpy(copy, data, size);
	repair(copy, size);
	read_file(copy, size);
	free(copy);
	return 0;
}
