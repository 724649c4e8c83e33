/* Mapping and walking a trace file. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"

/* What is known of an event table while the file is walked. */
struct progress {
	bool seen;
	uint64_t rows; /* produced so far, by first_row */
	uint64_t time_min, time_max;
	uint64_t offset;
	uint64_t losses; /* of device records, counted up to here */
	uint64_t losses_behind;
};

static char *words(const char *text)
{
	return strdup(text);
}

static int map_file(struct trace *trace, char **reason)
{
	struct stat st;
	int fd = open(trace->path, O_RDONLY | O_CLOEXEC);
	void *p;

	if (fd < 0) {
		*reason = words(strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		*reason = words("not a regular file");
		close(fd);
		return -1;
	}
	if (st.st_size == 0) {
		*reason = words(bst_status_text(BST_EMPTY));
		close(fd);
		return -1;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		*reason = words(strerror(errno));
	close(fd);
	if (p == MAP_FAILED)
		return -1;
	trace->data = p;
	trace->size = (size_t)st.st_size;
	madvise(p, trace->size, MADV_SEQUENTIAL);
	return 0;
}

static void note_hole(struct trace *trace, uint16_t table, uint64_t begin_ns, uint64_t end_ns)
{
	struct trace_hole hole = {table, begin_ns, end_ns};

	if (hole.begin_ns > hole.end_ns) {
		hole.begin_ns = end_ns;
		hole.end_ns = begin_ns;
	}
	if (array_reserve((void **)&trace->hole, &trace->hole_capacity, trace->hole_count + 1,
			  sizeof(hole)) == 0)
		trace->hole[trace->hole_count++] = hole;
}

/* Records of the device that are missing without a row of `loss` that says when: losses by cause
 * - 1. */
static uint64_t device_losses(const uint32_t losses[BST_CAUSE_COUNT])
{
	return (uint64_t)losses[BST_ENUM_LOSS_POOL_EXHAUSTED - 1] +
	       losses[BST_ENUM_LOSS_CUPTI_DROPPED - 1] + losses[BST_ENUM_LOSS_WRITE_ERROR - 1] +
	       losses[BST_ENUM_LOSS_NO_MEMORY - 1];
}

/* What the size limit costs is cut off at the end, or (the newest is kept) at the beginning, where
 * first_row says so. */
static uint64_t losses_behind(const uint32_t losses[BST_CAUSE_COUNT])
{
	return device_losses(losses) + losses[BST_ENUM_LOSS_FILE_LIMIT - 1];
}

/* Samples, what threads had used and ranges are extra: without them the timeline is whole. */
static bool makes_holes(uint16_t table)
{
	return table != BST_TABLE_SAMPLE && table != BST_TABLE_WAKE && table != BST_TABLE_RANGE;
}

static void list_chunk(struct trace *trace, const struct bst_chunk *chunk,
		       const struct bst_rows *rows, struct progress *progress)
{
	struct trace_chunk listed = {
		.offset = chunk->offset,
		.payload = chunk->payload,
		.payload_bytes = chunk->payload_bytes,
		.table = rows->table,
		.rows = rows->count,
		.time_min = rows->time_min,
		.time_max = rows->time_max,
	};

	if (rows->first_row > progress->rows && makes_holes(rows->table))
		note_hole(trace, rows->table, progress->seen ? progress->time_max : 0,
			  rows->time_min);
	/* The recorder learns of what CUPTI dropped when it drops it, somewhere since the chunk
	 * before. */
	if (rows->table != BST_TABLE_CALL && makes_holes(rows->table) &&
	    device_losses(chunk->losses) > progress->losses)
		note_hole(trace, rows->table, progress->time_min, rows->time_max);
	progress->seen = true;
	progress->rows = rows->first_row + rows->count;
	progress->time_min = rows->time_min;
	progress->time_max = rows->time_max;
	progress->offset = chunk->offset;
	progress->losses = device_losses(chunk->losses);
	progress->losses_behind = losses_behind(chunk->losses);
	if (array_reserve((void **)&trace->chunk, &trace->chunk_capacity, trace->chunk_count + 1,
			  sizeof(listed)) == 0)
		trace->chunk[trace->chunk_count++] = listed;
}

static bool is_event_table(uint16_t table)
{
	return table == BST_TABLE_RUN || table == BST_TABLE_COPY || table == BST_TABLE_CALL ||
	       table == BST_TABLE_SAMPLE || table == BST_TABLE_WAKE || table == BST_TABLE_RANGE;
}

/*
 * Are device records missing behind the last chunk of them? Counted losses and damage there say so,
 * and so does a cut: the calls of the last moments are written earlier than the operations that
 * they issued.
 */
static bool lacks_end(const struct trace *trace, const struct progress *last)
{
	const struct bst_reader *reader = &trace->reader;

	if (!reader->trailer || reader->stopped_by ||
	    losses_behind(reader->losses) > last->losses_behind)
		return true;
	for (unsigned i = 0; i < reader->damage_count && i < BST_DAMAGE_KEPT; i++)
		if (reader->damage[i].offset > last->offset)
			return true;
	return reader->damage_count > BST_DAMAGE_KEPT;
}

static void close_holes(struct trace *trace, const struct progress *progress)
{
	const struct progress *run = &progress[BST_TABLE_RUN], *copy = &progress[BST_TABLE_COPY];
	const struct progress *last = run->time_max > copy->time_max ? run : copy;

	if (last->seen && lacks_end(trace, run->offset > copy->offset ? run : copy))
		note_hole(trace, BST_TABLE_RUN, last->time_max, UINT64_MAX);
}

static void walk(struct trace *trace)
{
	struct progress progress[BST_TABLE_LIMIT];
	struct bst_chunk chunk;
	struct bst_rows rows;

	memset(progress, 0, sizeof(progress));
	bst_rows_init(&rows);
	while (bst_reader_next(&trace->reader, &chunk)) {
		enum bst_status status;

		if (chunk.type != BST_CHUNK_TABLE)
			continue;
		status = bst_rows_peek(chunk.payload, chunk.payload_bytes, &rows);
		if (!status && is_event_table(rows.table)) {
			list_chunk(trace, &chunk, &rows, &progress[rows.table]);
			if (trace->chunk_count)
				trace_forget(trace, &trace->chunk[trace->chunk_count - 1]);
			continue;
		}
		if (!status && vocabulary_has(rows.table)) {
			status = bst_rows_decode(&rows, chunk.payload, chunk.payload_bytes,
						 BST_ALL_COLUMNS);
			if (!status)
				vocabulary_add(&trace->vocabulary, &rows);
		}
		if (status)
			bst_reader_reject(&trace->reader, &chunk, status);
	}
	bst_rows_fini(&rows);
	close_holes(trace, progress);
}

int trace_open(struct trace *trace, const char *path, char **reason)
{
	enum bst_status status;

	memset(trace, 0, sizeof(*trace));
	trace->path = path;
	vocabulary_init(&trace->vocabulary);
	if (map_file(trace, reason))
		return -1;
	status = bst_reader_init(&trace->reader, trace->data, trace->size);
	if (status) {
		*reason = words(bst_status_text(status));
		trace_close(trace);
		return -1;
	}
	walk(trace);
	return 0;
}

void trace_close(struct trace *trace)
{
	if (trace->data)
		munmap(trace->data, trace->size);
	vocabulary_fini(&trace->vocabulary);
	free(trace->chunk);
	free(trace->hole);
	memset(trace, 0, sizeof(*trace));
}

void trace_reject(struct trace *trace, struct trace_chunk *chunk, enum bst_status why)
{
	struct bst_chunk header = {.offset = chunk->offset, .payload_bytes = chunk->payload_bytes};

	if (chunk->bad)
		return;
	chunk->bad = true;
	bst_reader_reject(&trace->reader, &header, why);
	note_hole(trace, chunk->table, chunk->time_min, chunk->time_max);
}

void trace_forget(const struct trace *trace, const struct trace_chunk *chunk)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t begin = (size_t)(chunk->payload - trace->data) & ~(page - 1);
	size_t end = ((size_t)(chunk->payload - trace->data) + chunk->payload_bytes) & ~(page - 1);

	if (end > begin)
		madvise(trace->data + begin, end - begin, MADV_DONTNEED);
}

bool trace_complete(const struct trace *trace)
{
	return bst_reader_complete(&trace->reader);
}

bool trace_damaged(const struct trace *trace)
{
	return trace->reader.damage_count || trace->reader.missing_chunks ||
	       trace->reader.stopped_by;
}

static void describe(const struct trace *trace, char *text, size_t size)
{
	const struct bst_reader *r = &trace->reader;

	if (r->damage_count)
		snprintf(text, size, "chunk at %" PRIu64 ": %s", r->damage[0].offset,
			 bst_status_text(r->damage[0].reason));
	else if (r->stopped_by)
		snprintf(text, size, "chunk at %zu: %s", r->at, bst_status_text(r->stopped_by));
	else if (r->missing_chunks)
		snprintf(text, size, "%" PRIu64 " chunks are missing", r->missing_chunks);
	else if (r->torn_bytes)
		snprintf(text, size,
			 "cut off inside the chunk at %" PRIu64 ": the program was killed, "
			 "or still runs",
			 (uint64_t)(trace->size - r->torn_bytes));
	else
		snprintf(text, size, "no end mark: the program was killed, or still runs");
}

char *trace_damage(const struct trace *trace, uint64_t intact_ns, uint64_t traced_ns)
{
	char what[256], more[64] = "", *text;

	if (trace_complete(trace))
		return NULL;
	describe(trace, what, sizeof(what));
	if (trace->reader.damage_count > 1)
		snprintf(more, sizeof(more), " (and %u more places)",
			 trace->reader.damage_count - 1);
	if (!trace->reader.damage_count && !trace->reader.missing_chunks &&
	    !trace->reader.stopped_by) {
		/* cut off, and whole up to there: what the recorder had not written yet is gone */
		if (asprintf(&text, "%s; up to the last second of the run may be missing", what) <
		    0)
			return NULL;
		return text;
	}
	if (asprintf(&text, "%s%s; %.1f s of %.1f s are intact", what, more,
		     (double)intact_ns / 1e9, (double)traced_ns / 1e9) < 0)
		return NULL;
	return text;
}
