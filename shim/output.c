/* Appending chunks to a file so that after any end everything but the last moments is in it. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "loss.h"
#include "quiet.h"
#include "trace/chunk.h"
#include "trim.h"

#define ROWS_MOST 8192u
#define TEXT_MOST (256u << 10)
#define INTERRUPTIONS_MOST                                                                         \
	100u /* of one write: signals are blocked, so that something else is wrong then */
#define INDEX_LIMIT 65536u /* chunks that the index can hold; longer traces have none */
#define CHUNK_BYTES_MOST ((size_t)ROWS_MOST * 16 * 8 + (1u << 20))
/* Kept free under the size limit for dictionaries and clocks, the last flush, the index and the trailer: an eighth, at most this. */
#define CLOSING_BYTES_MOST (4u << 20)
/*
 * Where the newest is kept: a file of this size is made this short, in eighths of the limit. Both lie there while one is copied, and
 * what comes in that time needs room too.
 */
#define TRIM_FROM 5
#define TRIM_TO 2

/* How many rows, and bytes in each text column, a batch of a table gathers before it is written. */
struct capacity {
	enum bst_table table;
	uint32_t rows;
	uint32_t text;
};

/* In the order in which they are written: what is referred to comes first. */
static const struct capacity capacities[] = {
	{BST_TABLE_SCHEMA, 256, 16 << 10}, {BST_TABLE_ENUM, 256, 16 << 10},
	{BST_TABLE_META, 64, 64 << 10},    {BST_TABLE_STRING, 1024, TEXT_MOST},
	{BST_TABLE_API, 256, 16 << 10},    {BST_TABLE_THREAD, 256, 16 << 10},
	{BST_TABLE_DEVICE, 128, 8 << 10},  {BST_TABLE_CONTEXT, 64, 0},
	{BST_TABLE_HANDLE, 1024, 0},       {BST_TABLE_KERNEL, 1024, 0},
	{BST_TABLE_SHAPE, 1024, 64 << 10}, {BST_TABLE_CLOCK, 64, 0},
	{BST_TABLE_LOSS, 256, 0},          {BST_TABLE_COST, 64, 0},
	{BST_TABLE_NODE, 2048, 0},         {BST_TABLE_CALL, ROWS_MOST, 0},
	{BST_TABLE_WAKE, 1024, 0},         {BST_TABLE_RANGE, 4096, 0},
	{BST_TABLE_RUN, ROWS_MOST, 0},     {BST_TABLE_COPY, 4096, 0},
	{BST_TABLE_OVERHEAD, 1024, 0},     {BST_TABLE_METRIC, 64, 16 << 10},
	{BST_TABLE_SAMPLE, 2048, 0},       {BST_TABLE_BURST, 64, 16 << 10},
	{BST_TABLE_LIBRARY, ROWS_MOST, 0},
};

#define TABLES_USED (sizeof(capacities) / sizeof(capacities[0]))
/* The first tables of `capacities` are dictionaries: a failed write keeps their rows for the next try. */
#define DICTIONARIES 11u

struct output {
	int fd;
	int failed; /* a write failed and it was said: once is enough */
	int full; /* the size limit was reached: no more rows of data, so that what is there is a beginning */
	int limit_told; /* what becomes of rows beyond the limit was said */
	/* The last batch that did not fit, where, and whether the end could use what is kept free: it is not encoded again for nothing. */
	uint64_t refused_offset;
	uint16_t refused_table;
	int refused_closing;
	int keep_newest;
	int beyond_limit; /* what was not written last did not fit under the size limit */
	int part;         /* the shorter file, -1 = none is being made */
	struct trim trim;
	int closing; /* the last chunks may use what was kept free */
	uint64_t max_bytes;
	uint64_t beyond
		[3]; /* rows beyond the size limit: count, and between which times of the host */
	struct bst_encoder encoder;
	struct bst_batch batch[BST_TABLE_LIMIT];
	struct bst_batch index;
	int index_overflow;
	uint8_t *chunk;
	char path[4096];
};

static struct output output_memory;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Expands %p, %h and %r of BOUNDSHIM_OUT. -1 if it does not fit. */
static int expand(const struct output_options *o, char *path, size_t size)
{
	size_t n = 0;

	for (const char *p = o->out; *p; p++) {
		int done;

		if (n + 1 >= size)
			return -1;
		if (p[0] == '%' && p[1] == 'p')
			done = snprintf(path + n, size - n, "%d", (int)getpid());
		else if (p[0] == '%' && p[1] == 'h')
			done = snprintf(path + n, size - n, "%s", o->host);
		else if (p[0] == '%' && p[1] == 'r')
			done = snprintf(path + n, size - n, "%s", o->rank);
		else
			done = snprintf(path + n, size - n, "%c", *p);
		if (done < 0 || (size_t)done >= size - n)
			return -1;
		n += (size_t)done;
		p += p[0] == '%' && p[1] && strchr("phr", p[1]);
	}
	path[n] = 0;
	return 0;
}

static int is_folder(const char *path)
{
	struct stat st;
	size_t n = strlen(path);

	return (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The path to try: attempt 0 is the wanted one, later ones get a suffix before ".bst". */
static int make_path(const struct output_options *o, unsigned attempt, char *path, size_t size)
{
	char base[4096], suffix[16] = "";
	int n;

	if (attempt)
		snprintf(suffix, sizeof(suffix), "-%u", attempt);
	if (o->out && expand(o, base, sizeof(base)) != 0)
		return -1;
	if (o->out && !is_folder(base)) {
		size_t stem = strlen(base);

		if (stem > 4 && strcmp(base + stem - 4, ".bst") == 0)
			stem -= 4;
		n = snprintf(path, size, "%.*s%s%s", (int)stem, base, suffix, base + stem);
	} else {
		n = snprintf(path, size, "%s%sboundshim.%s.%d.%lld%s.bst", o->out ? base : "",
			     o->out && base[0] && base[strlen(base) - 1] != '/' ? "/" : "", o->host,
			     (int)getpid(), (long long)o->start_ms, suffix);
	}
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

/* A program that has closed its standard streams would otherwise print into the trace. */
static int above_standard(int fd)
{
	int high, saved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return high;
}

static int open_file(struct output *out, const struct output_options *o)
{
	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		if (make_path(o, attempt, out->path, sizeof(out->path)) != 0) {
			log_line("BOUNDSHIM_OUT is too long for a path; nothing is recorded");
			return -1;
		}
		out->fd = above_standard(
			open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
		if (out->fd >= 0) {
			if (attempt && o->out)
				log_line("the file named by BOUNDSHIM_OUT exists; writing to %s",
					 out->path);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	log_line(
		"%s: cannot create the trace: %s; nothing is recorded. Set BOUNDSHIM_OUT to a writable place",
		out->path, strerror(errno));
	return -1;
}

/* The whole buffer at `offset`, or -1 with errno. A short write is continued. */
static int write_at(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	unsigned interrupted = 0;

	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR && ++interrupted < INTERRUPTIONS_MOST)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENOSPC;
			return -1;
		}
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static void note_in_index(struct output *out, const struct bst_batch *batch)
{
	uint64_t row[] = {out->encoder.offset, batch->info->id, batch->rows,
			  batch->first_row,    batch->time_min, batch->time_max};

	if (bst_batch_add_numbers(&out->index, row) != BST_OK)
		out->index_overflow = 1;
}

static void say_write_failed(struct output *out)
{
	if (!out->failed)
		log_line("%s: writing the trace failed: %s; what does not fit is lost and counted",
			 out->path, strerror(errno));
	out->failed = 1;
}

/* What a program produces by the million; the other tables stay small. */
static bool is_data(uint16_t table)
{
	return table == BST_TABLE_CALL || table == BST_TABLE_WAKE || table == BST_TABLE_RUN ||
	       table == BST_TABLE_COPY || table == BST_TABLE_OVERHEAD || table == BST_TABLE_RANGE ||
	       table == BST_TABLE_NODE || table == BST_TABLE_LIBRARY;
}

/* Is there room for so many bytes of this table under the size limit? The index goes beyond it rather than be missing. */
static bool fits(struct output *out, uint16_t table, size_t size)
{
	uint64_t limit = out->max_bytes, end = out->encoder.offset + size;
	uint64_t closing = limit / 8 < CLOSING_BYTES_MOST ? limit / 8 : CLOSING_BYTES_MOST;

	if (out->part >= 0)
		end += out->trim.size;
	if (!limit || table == BST_TABLE_INDEX)
		return true;
	if (!is_data(table))
		return end + (out->closing ? 0 : closing / 2) <= limit;
	if (out->keep_newest)
		return end + closing <= limit; /* there will be room again */
	if (!out->full && end + closing > limit) {
		if (!out->limit_told)
			log_line("%s: reached BOUNDSHIM_MAX_MB; the rest is counted, not kept",
				 out->path);
		out->full = out->limit_told = 1;
	}
	return !out->full;
}

/* A chunk at the end of the file; 0, or -1 and nothing of it stays. */
static int append(struct output *out, const uint8_t *chunk, size_t size)
{
	int cut;

	if (write_at(out->fd, chunk, size, out->encoder.offset) == 0)
		return 0;
	say_write_failed(out);
	/* what was written of it lies behind the end as the next chunk's place sees it */
	cut = ftruncate(out->fd, (off_t)out->encoder.offset);
	(void)cut;
	return -1;
}

/* A batch that only grew is refused where it was refused before. */
static bool refused_here(const struct output *out, uint16_t table)
{
	return out->refused_table == table && out->refused_offset == out->encoder.offset &&
	       out->refused_closing == out->closing && out->part < 0;
}

/* Writes a batch; -1 = not written, the batch keeps its rows. */
static int write_batch(struct output *out, struct bst_batch *batch)
{
	size_t size;

	if (!is_data(batch->info->id) && refused_here(out, batch->info->id)) {
		out->beyond_limit = 1;
		return -1;
	}
	loss_read(out->encoder.losses);
	if (bst_encode_batch(&out->encoder, batch, out->chunk, CHUNK_BYTES_MOST, &size) != BST_OK)
		return -1;
	out->beyond_limit = !fits(out, batch->info->id, size);
	if (out->beyond_limit) {
		out->refused_offset = out->encoder.offset;
		out->refused_table = batch->info->id;
		out->refused_closing = out->closing;
	}
	if (out->beyond_limit || append(out, out->chunk, size) != 0)
		return -1;
	if (batch != &out->index)
		note_in_index(out, batch);
	bst_encoder_commit(&out->encoder, size);
	return 0;
}

/* 0 when the table has no rows left that wait. */
static int flush_table(struct output *out, unsigned at)
{
	struct bst_batch *batch = &out->batch[capacities[at].table];

	if (batch->rows == 0)
		return 0;
	if (write_batch(out, batch) != 0)
		return -1;
	bst_batch_clear(batch);
	return 0;
}

static int flush_dictionaries(struct output *out)
{
	for (unsigned at = 0; at < DICTIONARIES; at++)
		if (flush_table(out, at) != 0)
			return -1;
	return 0;
}

static bool has_host_times(uint16_t table)
{
	return table == BST_TABLE_CALL || table == BST_TABLE_WAKE || table == BST_TABLE_RANGE ||
	       table == BST_TABLE_NODE || table == BST_TABLE_LIBRARY;
}

/* Losses beyond the size limit become one row at the end, so that telling them does not fill what is left. */
static void stretch_beyond(struct output *out, const struct bst_batch *batch)
{
	out->beyond[0] += batch->rows;
	if (!has_host_times(batch->info->id))
		return;
	if (!out->beyond[1] || batch->time_min < out->beyond[1])
		out->beyond[1] = batch->time_min;
	if (batch->time_max > out->beyond[2])
		out->beyond[2] = batch->time_max;
}

/*
 * Rows that cannot be written are lost: counted, and placed by a row of `loss` where their times are the host's. Others are placed
 * by the jump of first_row between the chunks before and after.
 */
static void drop(struct output *out, struct bst_batch *batch)
{
	uint64_t row[] = {BST_ENUM_LOSS_WRITE_ERROR, batch->rows, 0, batch->time_min,
			  batch->time_max};
	bool placed = has_host_times(batch->info->id);

	if (out->full)
		stretch_beyond(out, batch);
	else if (out->beyond_limit)
		row[0] = BST_ENUM_LOSS_FILE_LIMIT;
	loss_add(out->full ? BST_ENUM_LOSS_FILE_LIMIT : (enum bst_enum)row[0], batch->rows);
	bst_batch_clear(batch);
	if (placed && !out->full)
		output_add_numbers(out, BST_TABLE_LOSS, row);
}

/* Writes what waits, dictionaries first: rows that refer to one which did not get into the file wait with it. */
void output_flush(struct output *out)
{
	if (flush_dictionaries(out) != 0)
		return;
	for (unsigned at = DICTIONARIES; at < TABLES_USED; at++)
		if (flush_table(out, at) != 0)
			drop(out, &out->batch[capacities[at].table]);
}

/* Makes room in a full batch: everything that it may refer to goes first. */
static void make_room(struct output *out, enum bst_table table)
{
	int refused = flush_dictionaries(out);

	for (unsigned at = DICTIONARIES; at < TABLES_USED; at++)
		if (capacities[at].table == table && (refused || flush_table(out, at) != 0))
			drop(out, &out->batch[table]);
}

void output_add(struct output *out, enum bst_table table, const struct bst_cell *cells)
{
	if (bst_batch_add(&out->batch[table], cells) == BST_OK)
		return;
	make_room(out, table);
	if (bst_batch_add(&out->batch[table], cells) != BST_OK)
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
}

void output_add_numbers(struct output *out, enum bst_table table, const uint64_t *numbers)
{
	if (bst_batch_add_numbers(&out->batch[table], numbers) == BST_OK)
		return;
	make_room(out, table);
	if (bst_batch_add_numbers(&out->batch[table], numbers) != BST_OK)
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
}

static struct bst_cell text_cell(const char *text)
{
	return (struct bst_cell){.text = text, .size = (uint32_t)strlen(text)};
}

void output_meta(struct output *out, const char *key, const char *value)
{
	if (value)
		output_add(out, BST_TABLE_META,
			   (struct bst_cell[]){text_cell(key), text_cell(value)});
}

void output_meta_number(struct output *out, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	output_meta(out, key, text);
}

static void add_schema(struct output *out)
{
	for (uint16_t id = 1; id < BST_TABLE_LIMIT; id++) {
		const struct bst_table_info *t = bst_table_info(id);

		if (!t)
			continue;
		output_add(
			out, BST_TABLE_SCHEMA,
			(struct bst_cell[]){
				{.number = id}, {.number = 0}, text_cell(t->name), text_cell("")});
		for (const struct bst_column_info *c = t->column; c->id; c++)
			output_add(out, BST_TABLE_SCHEMA,
				   (struct bst_cell[]){{.number = id},
						       {.number = c->id},
						       text_cell(c->name),
						       text_cell(c->unit)});
	}
}

static void add_vocabularies(struct output *out)
{
	unsigned count;
	const struct bst_enum_info *e = bst_enum_info(&count);

	for (unsigned i = 0; i < count; i++)
		output_add(out, BST_TABLE_ENUM,
			   (struct bst_cell[]){text_cell(e[i].set),
					       {.number = e[i].value},
					       text_cell(e[i].name)});
}

static int map_batches(struct output *out)
{
	const struct bst_table_info *index = bst_table_info(BST_TABLE_INDEX);
	void *p;

	for (unsigned at = 0; at < TABLES_USED; at++) {
		const struct capacity *c = &capacities[at];
		const struct bst_table_info *info = bst_table_info((uint16_t)c->table);

		p = map(bst_batch_bytes(info, c->rows, c->text));
		if (!p)
			return -1;
		bst_batch_init(&out->batch[c->table], info, c->rows, c->text, p);
	}
	p = map(bst_batch_bytes(index, INDEX_LIMIT, 0));
	if (!p)
		return -1;
	bst_batch_init(&out->index, index, INDEX_LIMIT, 0, p);
	out->chunk = map(CHUNK_BYTES_MOST);
	return out->chunk ? 0 : -1;
}

static int begin_file(struct output *out)
{
	uint8_t header[BST_FILE_HEADER_BYTES], run_id[16];
	size_t bytes = bst_encoder_bytes(ROWS_MOST, TEXT_MOST);
	void *memory = map(bytes);
	struct quiet quiet;
	int error;

	if (getrandom(run_id, sizeof(run_id), GRND_NONBLOCK) != (ssize_t)sizeof(run_id)) {
		uint64_t seed[2] = {clock_ns(CLOCK_REALTIME),
				    (uint64_t)getpid() << 32 ^ host_now()};

		memcpy(run_id, seed, sizeof(run_id));
	}
	if (!memory || bst_encoder_init(&out->encoder, run_id, ROWS_MOST, TEXT_MOST, memory,
					bytes) != BST_OK) {
		log_line("no memory for the trace; nothing is recorded");
		return -1;
	}
	bst_encode_file_header(&out->encoder, run_id, clock_ns(CLOCK_REALTIME), header);
	quiet_begin(&quiet);
	error = write_at(out->fd, header, sizeof(header), 0);
	quiet_end(&quiet);
	if (error) {
		log_line("%s: cannot write the trace: %s; nothing is recorded", out->path,
			 strerror(errno));
		return -1;
	}
	return 0;
}

static int open_part(struct output *out)
{
	char path[sizeof(out->path) + 8];

	snprintf(path, sizeof(path), "%s.part", out->path);
	return above_standard(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/* From here on what comes is not kept, as without the wish. */
static void give_up_trimming(struct output *out, const char *why)
{
	log_line(
		"%s: BOUNDSHIM_KEEP=newest: %s; from BOUNDSHIM_MAX_MB on the rest is counted, not kept",
		out->path, why);
	out->keep_newest = 0;
	out->limit_told = 1;
}

static int begin_trim(struct output *out)
{
	if (trim_begin(&out->trim, out->fd, out->encoder.offset, out->max_bytes / 8 * TRIM_TO) !=
	    0) {
		give_up_trimming(out, "there is little but names to drop");
		return -1;
	}
	out->part = open_part(out);
	if (out->part < 0) {
		give_up_trimming(out, strerror(errno));
		return -1;
	}
	return 0;
}

/* The shorter file takes the place of the longer one, whose rows that it lacks have a time. */
static void change_over(struct output *out)
{
	const struct trim *t = &out->trim;
	char path[sizeof(out->path) + 8];

	snprintf(path, sizeof(path), "%s.part", out->path);
	if (rename(path, out->path) != 0) {
		close(out->part);
		unlink(path);
		give_up_trimming(out, strerror(errno));
		out->part = -1;
		return;
	}
	close(out->fd);
	out->fd = out->part;
	out->part = -1;
	out->encoder.offset = t->size;
	out->encoder.sequence = t->sequence;
	out->refused_table = 0;                         /* there is room again */
	loss_add(BST_ENUM_LOSS_FILE_LIMIT, t->dropped); /* as the copied chunks say */
	out->index_overflow = 1; /* its offsets were the longer file's; readers need none */
	if (t->host_end)
		output_add_numbers(out, BST_TABLE_LOSS,
				   (uint64_t[]){BST_ENUM_LOSS_FILE_LIMIT, t->dropped, 0,
						t->host_begin, t->host_end});
}

bool output_trim(struct output *out)
{
	char path[sizeof(out->path) + 8];
	int more;

	if (out->part < 0) {
		if (!out->keep_newest || !out->max_bytes ||
		    out->encoder.offset < out->max_bytes / 8 * TRIM_FROM || begin_trim(out) != 0)
			return false;
	}
	more = trim_copy(&out->trim, out->part, out->encoder.offset, out->chunk, CHUNK_BYTES_MOST);
	if (more > 0)
		return true;
	if (more == 0) {
		change_over(out);
		return false;
	}
	snprintf(path, sizeof(path), "%s.part", out->path);
	close(out->part);
	unlink(path);
	out->part = -1;
	out->refused_table = 0;
	give_up_trimming(out, strerror(errno));
	return false;
}

struct output *output_open(const struct output_options *options)
{
	struct output *out = &output_memory;

	memset(out, 0, sizeof(*out));
	out->fd = out->part = -1;
	out->max_bytes = options->max_bytes;
	out->keep_newest = options->keep_newest;
	if (map_batches(out) != 0) {
		log_line("no memory for the trace; nothing is recorded");
		return NULL;
	}
	if (open_file(out, options) != 0)
		return NULL;
	if (begin_file(out) != 0) {
		close(out->fd);
		unlink(out->path);
		return NULL;
	}
	add_schema(out);
	add_vocabularies(out);
	return out;
}

/* The index in pieces that a chunk holds, one behind the other, then the trailer. */
static void write_index(struct output *out)
{
	uint8_t trailer[BST_CHUNK_HEADER_BYTES + BST_TRAILER_BYTES];
	uint64_t offset = out->encoder.offset;
	struct bst_batch all = out->index;
	uint32_t chunks = 0;
	size_t size;

	for (uint32_t at = 0; at < all.rows && !out->index_overflow; at += ROWS_MOST) {
		struct bst_batch piece = all;

		piece.rows = all.rows - at < ROWS_MOST ? all.rows - at : ROWS_MOST;
		piece.first_row = at;
		for (const struct bst_column_info *c = all.info->column; c->id; c++)
			piece.number[c->id] = all.number[c->id] + at;
		out->index = piece;
		if (write_batch(out, &out->index) != 0)
			return;
		chunks++;
	}
	loss_read(out->encoder.losses);
	size = bst_encode_trailer(&out->encoder, offset, chunks, trailer);
	if (append(out, trailer, size) == 0)
		bst_encoder_commit(&out->encoder, size);
}

void output_close(struct output *out)
{
	out->closing = 1;
	output_flush(out);
	for (unsigned at = DICTIONARIES; at < TABLES_USED; at++)
		if (out->batch[capacities[at].table].rows)
			make_room(out, capacities[at].table);
	if (out->beyond[2])
		output_add_numbers(out, BST_TABLE_LOSS,
				   (uint64_t[]){BST_ENUM_LOSS_FILE_LIMIT, out->beyond[0], 0,
						out->beyond[1], out->beyond[2]});
	/* the rows of `loss` that all this made */
	output_flush(out);
	write_index(out);
	close(out->fd);
	out->fd = -1;
}

void output_abandon(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->part >= 0)
		close(out->part);
	out->fd = out->part = -1;
}

uint64_t output_bytes(const struct output *out)
{
	return out->encoder.offset;
}

const char *output_path(const struct output *out)
{
	return out->path;
}
