/* A whole file through the whole analysis and into every form of report, as it is and with its checksums repaired. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "shim/trace/reader.h"
#include "shim/trace/wire.h"
#include "tests/fuzz/render.h"

static void analyze(const uint8_t *data, size_t size)
{
	const char *path = "/proc/self/fd/100";
	struct report report;
	int fd = memfd_create("trace", 0);

	must(fd >= 0 && dup2(fd, 100) == 100);
	close(fd);
	must(write(100, data, size) == (ssize_t)size);
	report_init(&report);
	analyze_paths(&path, 1, &report, NULL);
	render_report(&report);
	report_fini(&report);
	close(100);
}

/* Chunks one behind the other get the checksums, run and offset that they need. */
static void repair(uint8_t *data, size_t size)
{
	size_t at = BST_FILE_HEADER_BYTES;

	put_u32(data + 60, (uint32_t)crc32(0, data, 60));
	while (size - at > BST_CHUNK_HEADER_BYTES) {
		uint32_t payload = get_u32(data + at + 8);

		if (payload > size - at - BST_CHUNK_HEADER_BYTES)
			return;
		put_u32(data + at, BST_CHUNK_MAGIC);
		put_u32(data + at + 12,
			(uint32_t)crc32(0, data + at + BST_CHUNK_HEADER_BYTES, payload));
		memcpy(data + at + 16, data + 32, 8);
		put_u64(data + at + 32, at);
		put_u32(data + at + 92, (uint32_t)crc32(0, data + at, 92));
		at += BST_CHUNK_HEADER_BYTES + payload;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	analyze(data, size);
	if (size < BST_FILE_HEADER_BYTES)
		return 0;
	copy = malloc(size);
	must(copy != NULL);
	memcpy(copy, data, size);
	repair(copy, size);
	analyze(copy, size);
	free(copy);
	return 0;
}
