/* Chunks stand by themselves, so a shorter trace is the chunks that stay, each with a new place in its header. */
#define _GNU_SOURCE
#include "trim.h"

#include <string.h>
#include <unistd.h>

#include "trace/chunk.h"
#include "trace/format.h"
#include "trace/wire.h"

struct seen {
	uint64_t bytes; /* of the whole chunk */
	uint16_t table;
	uint32_t rows;
	uint64_t time_min, time_max;
};

static int read_all(int fd, uint8_t *to, uint64_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(fd, to, size, (off_t)offset);

		if (n <= 0)
			return -1;
		to += n;
		size -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int write_all(int fd, const uint8_t *from, uint64_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, from, size, (off_t)offset);

		if (n <= 0)
			return -1;
		from += n;
		size -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int look(int fd, uint64_t offset, struct seen *seen)
{
	uint8_t head[BST_CHUNK_HEADER_BYTES + BST_TABLE_HEADER_BYTES];
	const uint8_t *table = head + BST_CHUNK_HEADER_BYTES;

	if (read_all(fd, head, sizeof(head), offset) != 0)
		return -1;
	*seen = (struct seen){
		.bytes = BST_CHUNK_HEADER_BYTES + (uint64_t)get_u32(head + 8),
		.table = get_u16(table),
		.rows = get_u32(table + 4),
		.time_min = get_u64(table + 16),
		.time_max = get_u64(table + 24),
	};
	return 0;
}

static bool has_host_times(uint16_t table)
{
	return table == BST_TABLE_CALL || table == BST_TABLE_WAKE || table == BST_TABLE_RANGE ||
	       table == BST_TABLE_LIBRARY;
}

/* What a program produces by the million, and counts as lost. */
static bool is_event(uint16_t table)
{
	return has_host_times(table) || table == BST_TABLE_RUN || table == BST_TABLE_COPY ||
	       table == BST_TABLE_OVERHEAD;
}

/* What is of use only beside events of its time. */
static bool may_go(uint16_t table)
{
	return is_event(table) || table == BST_TABLE_SAMPLE || table == BST_TABLE_BURST ||
	       table == BST_TABLE_CLOCK || table == BST_TABLE_COST;
}

static void leave_out(struct trim *trim, const struct seen *seen)
{
	if (is_event(seen->table))
		trim->dropped += seen->rows;
	if (!has_host_times(seen->table))
		return;
	if (!trim->host_begin || seen->time_min < trim->host_begin)
		trim->host_begin = seen->time_min;
	if (seen->time_max > trim->host_end)
		trim->host_end = seen->time_max;
}

int trim_begin(struct trim *trim, int from, uint64_t end, uint64_t most_bytes)
{
	uint64_t staying = BST_FILE_HEADER_BYTES, going = 0;
	struct seen seen;
	uint64_t at;

	*trim = (struct trim){
		.from = from,
		.at = BST_FILE_HEADER_BYTES,
	};
	for (at = BST_FILE_HEADER_BYTES; at < end; at += seen.bytes) {
		if (look(from, at, &seen) != 0)
			return -1;
		if (may_go(seen.table))
			going += seen.bytes;
		else
			staying += seen.bytes;
	}
	/* a file of little but names is not worth being copied again and again */
	if (at != end || staying > most_bytes / 2)
		return -1;
	for (at = BST_FILE_HEADER_BYTES; at < end && staying + going > most_bytes;
	     at += seen.bytes) {
		if (look(from, at, &seen) != 0)
			return -1;
		if (!may_go(seen.table))
			continue;
		going -= seen.bytes;
		leave_out(trim, &seen);
	}
	trim->cut = at;
	return 0;
}

static int copy_header(struct trim *trim, int to)
{
	uint8_t header[BST_FILE_HEADER_BYTES];

	if (read_all(trim->from, header, sizeof(header), 0) != 0 ||
	    write_all(to, header, sizeof(header), 0) != 0)
		return -1;
	trim->size = sizeof(header);
	return 0;
}

int trim_copy(struct trim *trim, int to, uint64_t end, uint8_t *buffer, uint64_t capacity)
{
	uint64_t until = trim->at + TRIM_PIECE;
	struct seen seen;

	if (!trim->size && copy_header(trim, to) != 0)
		return -1;
	for (; trim->at < end && trim->at < until; trim->at += seen.bytes) {
		if (look(trim->from, trim->at, &seen) != 0)
			return -1;
		if (trim->at < trim->cut && may_go(seen.table))
			continue;
		if (seen.bytes > capacity || seen.bytes > end - trim->at ||
		    read_all(trim->from, buffer, seen.bytes, trim->at) != 0)
			return -1;
		bst_chunk_move(buffer, trim->sequence, trim->size, trim->dropped);
		if (write_all(to, buffer, seen.bytes, trim->size) != 0)
			return -1;
		trim->size += seen.bytes;
		trim->sequence++;
	}
	return trim->at < end;
}
