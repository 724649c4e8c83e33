/* boundshim info: what a trace file holds. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "dump.h"
#include "printable.h"
#include "quantity.h"
#include "shim/trace/reader.h"
#include "shim/trace/rows.h"
#include "table.h"

#define TEXT_LIMIT 1024
#define KEY_LIMIT 64

enum option {
	DUMP,
	OPTION_COUNT_
};

static const struct option_info option_list[] = {
	[DUMP] = {"dump", 0, OPTION_TEXT, "TABLE", NULL,
		  "print every row, or those of one table, tab-separated", true},
	[OPTION_COUNT_] = {0},
};

static const struct option_table options = {
	.command = "boundshim info",
	.arguments = "TRACE",
	.description =
		"Says what a trace file holds: tables, sizes, devices, what was lost, what is damaged.",
	.notes =
		"Exit status: 0 done (also for a trace that was cut off), 1 the file is damaged, foreign or of an "
		"incompatible version, 2 wrong usage.",
	.options = option_list,
	.least_arguments = 1,
	.most_arguments = 1,
};

struct content {
	uint64_t chunks, rows, bytes;
};

/* What one walk over the file finds. */
struct inventory {
	struct bst_reader reader;
	struct content
		table[BST_TABLE_LIMIT + 1]; /* the last one: tables unknown to this version */
	uint64_t skipped_columns;
	uint64_t host_min, host_max, device_min, device_max;
	struct table meta, devices;
};

static void widen(uint64_t *least, uint64_t *most, const struct bst_rows *rows)
{
	if (rows->time_min && (!*least || rows->time_min < *least))
		*least = rows->time_min;
	if (rows->time_max > *most)
		*most = rows->time_max;
}

static void add_text(struct table *table, const struct bst_text *text, size_t limit)
{
	char *copy = strndup((const char *)text->data,
			     text->size < TEXT_LIMIT ? text->size : TEXT_LIMIT);
	char *line = printable_copy(copy, PRINTABLE_LINE, limit);

	table_add(table, "%s", line);
	free(line);
	free(copy);
}

static void note_meta(struct inventory *inventory, const struct bst_rows *rows)
{
	if (!rows->text[BST_META_KEY] || !rows->text[BST_META_VALUE])
		return;
	for (uint32_t i = 0; i < rows->count; i++) {
		add_text(&inventory->meta, &rows->text[BST_META_KEY][i], KEY_LIMIT);
		add_text(&inventory->meta, &rows->text[BST_META_VALUE][i], TEXT_LIMIT);
	}
}

static void note_device(struct inventory *inventory, const struct bst_rows *rows)
{
	const struct bst_text *texts = rows->text[BST_DEVICE_TEXT];

	if (!rows->text[BST_DEVICE_KEY])
		return;
	for (uint32_t i = 0; i < rows->count; i++) {
		table_add(&inventory->devices, "%" PRIu64,
			  bst_value(rows, BST_DEVICE_DEVICE, i, 0));
		add_text(&inventory->devices, &rows->text[BST_DEVICE_KEY][i], KEY_LIMIT);
		if (texts && texts[i].size)
			add_text(&inventory->devices, &texts[i], TEXT_LIMIT);
		else
			table_add(&inventory->devices, "%" PRIu64,
				  bst_value(rows, BST_DEVICE_NUMBER, i, 0));
	}
}

static void note_chunk(struct inventory *inventory, const struct bst_chunk *chunk,
		       struct bst_rows *rows)
{
	enum bst_status status =
		bst_rows_decode(rows, chunk->payload, chunk->payload_bytes, BST_ALL_COLUMNS);
	struct content *content;

	if (status) {
		bst_reader_reject(&inventory->reader, chunk, status);
		return;
	}
	content = &inventory->table[bst_table_info(rows->table) ? rows->table : BST_TABLE_LIMIT];
	content->chunks++;
	content->rows += rows->count;
	content->bytes += BST_CHUNK_HEADER_BYTES + (uint64_t)chunk->payload_bytes;
	inventory->skipped_columns += rows->skipped_columns;
	if (rows->table == BST_TABLE_META)
		note_meta(inventory, rows);
	if (rows->table == BST_TABLE_DEVICE)
		note_device(inventory, rows);
	if (rows->table == BST_TABLE_CALL)
		widen(&inventory->host_min, &inventory->host_max, rows);
	if (rows->table == BST_TABLE_RUN || rows->table == BST_TABLE_COPY)
		widen(&inventory->device_min, &inventory->device_max, rows);
}

static void take_inventory(struct inventory *inventory)
{
	static const char *const meta[] = {"key", "value", NULL};
	static const char *const devices[] = {">device", "key", "value", NULL};
	struct bst_chunk chunk;
	struct bst_rows rows;

	table_init(&inventory->meta, meta);
	table_init(&inventory->devices, devices);
	bst_rows_init(&rows);
	while (bst_reader_next(&inventory->reader, &chunk))
		if (chunk.type == BST_CHUNK_TABLE)
			note_chunk(inventory, &chunk, &rows);
	bst_rows_fini(&rows);
}

static void print_file(const struct inventory *inventory, const char *path,
		       const struct terminal *terminal)
{
	const struct bst_reader *reader = &inventory->reader;
	time_t created = (time_t)(reader->header.created_ns / 1000000000);
	char *name = printable_copy(path, PRINTABLE_LINE, TEXT_LIMIT), when[64] = "unknown";
	struct tm tm;

	if (gmtime_r(&created, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	terminal_print(terminal, STYLE_BOLD, "%s\n", name);
	printf("  format %u.%u, run ", reader->header.major, reader->header.minor);
	for (unsigned i = 0; i < sizeof(reader->header.run_id); i++)
		printf("%02x", reader->header.run_id[i]);
	printf("\n  created %s\n  %s in %s chunks", when, quantity_bytes((double)reader->size).text,
	       quantity_count(reader->chunks).text);
	if (inventory->host_max > inventory->host_min)
		printf(", calls over %s",
		       quantity_time((double)(inventory->host_max - inventory->host_min)).text);
	if (inventory->device_max > inventory->device_min)
		printf(", device activity over %s",
		       quantity_time((double)(inventory->device_max - inventory->device_min)).text);
	putchar('\n');
	free(name);
}

/* Complete, or why not: the words for the screen and for stderr. */
static const char *state_words(const struct bst_reader *reader)
{
	if (bst_reader_complete(reader))
		return "complete";
	if (reader->stopped_by)
		return "holds chunks of an incompatible kind; what stands before them was read";
	if (reader->damage_count)
		return "damaged inside; the rest was read";
	if (reader->missing_chunks)
		return "chunks are missing inside; the rest was read";
	if (reader->torn_bytes)
		return "incomplete: cut off inside a chunk; all before it was read";
	return "incomplete: no trailer (the program was killed, still runs, or the disk was full); all chunks were read";
}

static void print_tables(const struct inventory *inventory, const struct terminal *terminal)
{
	static const char *const headings[] = {"table",  ">id",    ">chunks", ">rows",
					       ">bytes", ">B/row", NULL};
	struct table table;

	table_init(&table, headings);
	for (unsigned i = 0; i <= BST_TABLE_LIMIT; i++) {
		const struct content *content = &inventory->table[i];

		if (!content->chunks)
			continue;
		table_add(&table, "%s",
			  i < BST_TABLE_LIMIT ? bst_table_info((uint16_t)i)->name : "(unknown)");
		if (i < BST_TABLE_LIMIT)
			table_add(&table, "%u", i);
		else
			table_add(&table, "%s", "");
		table_add(&table, "%s", quantity_count(content->chunks).text);
		table_add(&table, "%s", quantity_count(content->rows).text);
		table_add(&table, "%s", quantity_count(content->bytes).text);
		table_add(&table, "%.1f", (double)content->bytes / (double)content->rows);
	}
	if (table.cell_count) {
		putchar('\n');
		table_print(&table, terminal);
	}
	table_fini(&table);
}

static void print_section(const char *title, const struct table *table,
			  const struct terminal *terminal)
{
	if (!table->cell_count)
		return;
	terminal_print(terminal, STYLE_BOLD, "\n%s\n", title);
	table_print(table, terminal);
}

static void print_losses(const struct bst_reader *reader, const struct terminal *terminal)
{
	bool any = false;

	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++) {
		const char *name = bst_enum_name("loss", i + 1);

		if (!reader->losses[i])
			continue;
		if (!any)
			terminal_print(terminal, STYLE_BOLD, "\nLost\n");
		any = true;
		printf("  %s %s\n", quantity_count(reader->losses[i]).text,
		       name ? name : "unknown cause");
	}
	if (!any)
		printf("\nNothing lost while recording\n");
}

static void print_damage(const struct inventory *inventory, const struct terminal *terminal)
{
	const struct bst_reader *reader = &inventory->reader;

	if (reader->damage_count)
		terminal_print(terminal, STYLE_BOLD, "\nDamage\n");
	for (unsigned i = 0; i < reader->damage_count && i < BST_DAMAGE_KEPT; i++)
		printf("  offset %" PRIu64 ", %" PRIu64 " bytes: %s\n", reader->damage[i].offset,
		       reader->damage[i].bytes, bst_status_text(reader->damage[i].reason));
	if (reader->damage_count > BST_DAMAGE_KEPT)
		printf("  and %u places more\n", reader->damage_count - BST_DAMAGE_KEPT);
	if (reader->missing_chunks)
		printf("  %" PRIu64 " chunks are missing\n", reader->missing_chunks);
	if (reader->torn_bytes)
		printf("  %" PRIu64 " bytes at the end are a part of a chunk\n",
		       reader->torn_bytes);
	if (reader->skipped_chunks || inventory->table[BST_TABLE_LIMIT].chunks ||
	    inventory->skipped_columns)
		printf("  skipped, of a later version: %" PRIu64 " chunks, %" PRIu64 " columns\n",
		       reader->skipped_chunks + inventory->table[BST_TABLE_LIMIT].chunks,
		       inventory->skipped_columns);
}

/* The thing, the place, the reason, and what is left, for stderr. */
static void warn_of_state(const struct bst_reader *reader, const char *path)
{
	uint64_t intact = reader->size - reader->damage_bytes - reader->torn_bytes;

	fprintf(stderr, "boundshim: %s: ", path);
	if (reader->damage_count)
		fprintf(stderr, "at offset %" PRIu64 ": %s", reader->damage[0].offset,
			bst_status_text(reader->damage[0].reason));
	else if (reader->torn_bytes)
		fprintf(stderr, "at offset %" PRIu64 ": cut off inside a chunk",
			(uint64_t)reader->size - reader->torn_bytes);
	else if (reader->missing_chunks)
		fprintf(stderr, "%" PRIu64 " chunks are missing", reader->missing_chunks);
	else
		fputs("no trailer: the program was killed, still runs, or the disk was full",
		      stderr);
	fprintf(stderr, "; %" PRIu64 " of %zu bytes are intact\n", intact, reader->size);
}

static int print_info(const char *path, const uint8_t *data, size_t size)
{
	struct terminal terminal = terminal_of(stdout, COLOR_AUTO);
	struct inventory inventory = {0};
	enum bst_status status = bst_reader_init(&inventory.reader, data, size);
	const struct bst_reader *reader = &inventory.reader;

	if (status) {
		fprintf(stderr, "boundshim: %s: at offset 0: %s\n", path, bst_status_text(status));
		return EXIT_FAILED;
	}
	take_inventory(&inventory);
	print_file(&inventory, path, &terminal);
	printf("  %s\n", state_words(reader));
	print_tables(&inventory, &terminal);
	print_section("Run", &inventory.meta, &terminal);
	print_section("Devices", &inventory.devices, &terminal);
	print_losses(reader, &terminal);
	print_damage(&inventory, &terminal);
	table_fini(&inventory.meta);
	table_fini(&inventory.devices);
	if (!bst_reader_complete(reader))
		warn_of_state(reader, path);
	return reader->damage_count || reader->missing_chunks || reader->stopped_by ? EXIT_FAILED
										    : EXIT_DONE;
}

/* The id of the table with this name; exits with a sentence when there is none. */
static unsigned table_id(const char *name)
{
	for (unsigned i = 1; i < BST_TABLE_LIMIT; i++)
		if (bst_table_info((uint16_t)i) && !strcmp(bst_table_info((uint16_t)i)->name, name))
			return i;
	fprintf(stderr, "boundshim: --dump: no table '%s'; the tables:", name);
	for (unsigned i = 1; i < BST_TABLE_LIMIT; i++)
		if (bst_table_info((uint16_t)i))
			fprintf(stderr, " %s", bst_table_info((uint16_t)i)->name);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

/* Maps the file; NULL with errno set. An empty file gives an address and size 0. */
static uint8_t *map_file(const char *path, size_t *size)
{
	static uint8_t nothing[1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		*size = (size_t)st.st_size;
		if (S_ISDIR(st.st_mode))
			errno = EISDIR;
		else if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (!st.st_size)
			data = nothing;
		else
			data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (data == MAP_FAILED)
		data = NULL;
	close(fd);
	return data;
}

static int run(int argc, char **argv)
{
	struct option_value values[OPTION_COUNT_ + 1];
	const char *path = argv[options_parse(&options, argc, argv, values)];
	const char *name = values[DUMP].given ? values[DUMP].text[0] : NULL;
	unsigned table = name ? table_id(name) : 0;
	size_t size = 0;
	uint8_t *data = map_file(path, &size);
	int status;

	if (!data) {
		fprintf(stderr, "boundshim: %s: %s\n", path, strerror(errno));
		return EXIT_FAILED;
	}
	status = values[DUMP].given ? dump_print(data, size, table, stdout)
				    : print_info(path, data, size);
	if (size)
		munmap(data, size);
	return status;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "say what a trace file holds, what was lost and what is damaged",
	.options = &options,
	.run = run,
};
