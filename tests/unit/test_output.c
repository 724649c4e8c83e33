/*
 * The file under every misfortune: short writes, EINTR, a full disk at each write, a size limit of
 * the system and of ours, names that exist, links, closed standard streams. After each: the file
 * decodes, and kept + lost = produced.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/log.h"
#include "shim/loss.h"
#include "shim/output.h"
#include "tests/unit/trace_file.h"

/* How the file system behaves: pwrite below is what the shim calls. */
static struct {
	unsigned calls;
	unsigned fail_at; /* the n-th call fails, 0 = none */
	int forever;      /* and all later ones */
	int code;
	size_t most;     /* bytes that one call takes, 0 = all */
	size_t torn;     /* bytes that the failing call has written before it fails */
	int interrupted; /* every second call is */
} disk;

static ssize_t write_really(int fd, const void *data, size_t size, off_t offset)
{
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	unsigned call = ++disk.calls;

	if (disk.interrupted && call % 2) {
		errno = EINTR;
		return -1;
	}
	if (disk.fail_at && (call == disk.fail_at || (disk.forever && call > disk.fail_at))) {
		if (disk.torn && size > disk.torn) {
			/* a short write first: the error comes with the next call */
			disk.fail_at = disk.forever ? disk.fail_at : call + 1;
			size = disk.torn;
			disk.torn = 0;
			return write_really(fd, data, size, offset);
		}
		errno = disk.code;
		return -1;
	}
	if (disk.most && size > disk.most)
		size = disk.most;
	return write_really(fd, data, size, offset);
}

static char folder[64];
static struct output_options options;
static uint64_t produced;

static int set_up(void **state)
{
	(void)state;
	memset(&disk, 0, sizeof(disk));
	loss_reset();
	log_set_level(1); /* the few lines of a process begin anew */
	produced = 0;
	strcpy(folder, "/tmp/boundshim-output-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	options = (struct output_options){.host = "box", .rank = "3", .start_ms = 1700000000123};
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void add_handle(struct output *out, uint64_t n)
{
	output_add_numbers(out, BST_TABLE_HANDLE, (uint64_t[]){n, 0x1000 * n});
}

/* A call that refers to handle n; every value is different, so that chunks do not shrink to
 * nothing. */
static void add_call(struct output *out, uint64_t n)
{
	uint64_t noise = (produced + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	output_add_numbers(out, BST_TABLE_CALL,
			   (uint64_t[]){1, 5, 1000 + n * 10, noise & 0xffffff, n, n, noise, 0, 0,
					noise >> 10});
	produced++;
}

/* `flushes` rounds of a new handle and some calls that refer to it, as the writer does. */
static void write_rounds(struct output *out, unsigned flushes, unsigned calls)
{
	for (unsigned f = 0; f < flushes; f++) {
		add_handle(out, f + 1);
		for (unsigned i = 0; i < calls; i++)
			add_call(out, f + 1);
		output_flush(out);
	}
}

static uint64_t lost_rows(const struct trace_file *t)
{
	return trace_lost(t, BST_ENUM_LOSS_FILE_LIMIT) + trace_lost(t, BST_ENUM_LOSS_WRITE_ERROR);
}

/* Rows of `call` refer to handles that earlier chunks have: the promise about dictionaries. */
static void check_dictionary_before_use(const struct trace_file *t)
{
	uint64_t greatest = 0, *values;
	struct bst_reader reader;
	struct bst_chunk chunk;
	struct bst_rows rows;

	assert_int_equal(bst_reader_init(&reader, t->data, t->size), BST_OK);
	bst_rows_init(&rows);
	while (bst_reader_next(&reader, &chunk)) {
		if (chunk.type != BST_CHUNK_TABLE ||
		    bst_rows_decode(&rows, chunk.payload, chunk.payload_bytes, BST_ALL_COLUMNS) !=
			    BST_OK)
			continue;
		values = (uint64_t *)rows.number[rows.table == BST_TABLE_HANDLE ? BST_HANDLE_ID
										: BST_CALL_STREAM];
		for (uint32_t i = 0; i < rows.count; i++) {
			if (rows.table == BST_TABLE_HANDLE && values[i] > greatest)
				greatest = values[i];
			else if (rows.table == BST_TABLE_CALL && values[i] > greatest)
				fail_msg("a call refers to handle %u before it is told",
					 (unsigned)values[i]);
		}
	}
	bst_rows_fini(&rows);
}

/* The file is whole as far as it goes: nothing damaged, no chunk missing, every chunk decodes. */
static void check_sound(const struct trace_file *t)
{
	assert_int_equal(t->reader.damage_count, 0);
	assert_int_equal(t->reader.missing_chunks, 0);
	assert_int_equal(t->undecoded, 0);
	check_dictionary_before_use(t);
}

static void check_complete(const char *path)
{
	struct trace_file t;

	trace_load(&t, path);
	check_sound(&t);
	assert_true(t.complete);
	assert_int_equal(trace_count(&t, BST_TABLE_CALL) + lost_rows(&t), produced);
	trace_free(&t);
}

static struct output *open_at(const char *path)
{
	struct output *out;

	options.out = path;
	out = output_open(&options);
	assert_non_null(out);
	return out;
}

static void a_good_disk_keeps_everything(void **state)
{
	struct output *out = open_at("t.bst");
	struct trace_file t;
	char *text;

	(void)state;
	output_meta(out, "a.key", "a value");
	output_meta(out, "not.known", NULL);
	output_meta_number(out, "a.number", UINT64_MAX);
	write_rounds(out, 5, 3000);
	output_close(out);
	check_complete("t.bst");
	trace_load(&t, "t.bst");
	assert_int_equal(trace_count(&t, BST_TABLE_CALL), 15000);
	assert_int_equal(lost_rows(&t), 0);
	assert_true(trace_count(&t, BST_TABLE_INDEX) > 5);
	text = trace_meta(&t, "a.key");
	assert_string_equal(text, "a value");
	free(text);
	text = trace_meta(&t, "a.number");
	assert_string_equal(text, "18446744073709551615");
	free(text);
	assert_null(trace_meta(&t, "not.known"));
	assert_int_equal(t.size, output_bytes(out));
	trace_free(&t);
}

static void batches_larger_than_their_room_go_out_by_themselves(void **state)
{
	struct output *out = open_at("t.bst");

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		add_handle(out, i + 1);
		for (unsigned k = 0; k < 10; k++)
			add_call(out, i + 1);
	}
	output_close(out);
	check_complete("t.bst");
}

static void short_writes_are_continued(void **state)
{
	static const size_t most[] = {1, 7, 95, 4096};

	(void)state;
	for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		struct output *out;

		disk.most = most[i];
		produced = 0;
		out = open_at("t.bst");
		write_rounds(out, 3, 200);
		output_close(out);
		check_complete("t.bst");
		unlink("t.bst");
	}
}

static void interrupted_writes_are_repeated(void **state)
{
	struct output *out;

	(void)state;
	disk.interrupted = 1;
	out = open_at("t.bst");
	write_rounds(out, 10, 500);
	output_close(out);
	disk.interrupted = 0;
	check_complete("t.bst");
}

/* Writes one file with a failure at write n; returns 0 when n is behind the last write. */
static int fail_at(unsigned n, int code, int forever, size_t torn)
{
	struct output *out;
	struct trace_file t;
	char *said;
	int reached;

	set_up(NULL);
	disk.fail_at = n;
	disk.code = code;
	disk.forever = forever;
	disk.torn = torn;
	options.out = "t.bst";
	stderr_begin();
	out = output_open(&options);
	if (out) {
		write_rounds(out, 8, 300);
		output_close(out);
	}
	said = stderr_end();
	reached = disk.calls >= n;
	if (reached && lines_of(said) != 1)
		fail_msg("write %u failed with %s, and the lines on stderr are:\n%s", n,
			 strerror(code), said);
	if (!reached)
		assert_string_equal(said, "");
	free(said);
	if (!out) {
		/* the header could not be written: nothing stays */
		assert_int_equal(access("t.bst", F_OK), -1);
		return reached;
	}
	trace_load(&t, "t.bst");
	check_sound(&t);
	if (!forever) {
		uint64_t kept = trace_count(&t, BST_TABLE_CALL);

		if (kept + lost_rows(&t) < produced)
			fail_msg("write %u failed: %u rows kept, %u said to be lost, %u produced",
				 n, (unsigned)kept, (unsigned)lost_rows(&t), (unsigned)produced);
		assert_int_equal(t.reader.torn_bytes, 0);
	}
	trace_free(&t);
	tear_down(NULL);
	return reached;
}

static void a_failure_once_loses_what_it_says(void **state)
{
	static const int codes[] = {ENOSPC, EIO, EDQUOT};
	unsigned points = 0;

	(void)state;
	for (unsigned c = 0; c < 3; c++)
		for (unsigned n = 1; fail_at(n, codes[c], 0, 0); n++)
			points++;
	assert_true(points > 40);
}

static void a_torn_write_is_taken_back(void **state)
{
	unsigned points = 0;

	(void)state;
	for (unsigned n = 1; fail_at(n, ENOSPC, 0, 50); n++)
		points++;
	assert_true(points > 10);
}

static void a_disk_full_for_good_leaves_a_sound_beginning(void **state)
{
	unsigned points = 0;

	(void)state;
	for (unsigned n = 1; fail_at(n, ENOSPC, 1, 0); n++)
		points++;
	for (unsigned n = 1; fail_at(n, ENOSPC, 1, 50); n++)
		points++;
	assert_true(points > 20);
}

static void dictionaries_that_could_not_be_written_come_later(void **state)
{
	struct output *out = open_at("t.bst");
	struct trace_file t;

	(void)state;
	output_flush(out);
	disk.fail_at = disk.calls + 1;
	disk.code = ENOSPC;
	stderr_begin();
	write_rounds(out, 4, 10);
	free(stderr_end());
	output_close(out);
	trace_load(&t, "t.bst");
	check_sound(&t);
	assert_int_equal(trace_count(&t, BST_TABLE_HANDLE), 4);
	assert_int_equal(trace_count(&t, BST_TABLE_CALL) + lost_rows(&t), produced);
	trace_free(&t);
}

static void the_rows_lost_to_a_failed_write_have_a_place(void **state)
{
	struct output *out = open_at("t.bst");
	uint64_t *cause, *begin, *end;
	struct trace_file t;
	size_t n;

	(void)state;
	write_rounds(out, 1, 10);
	add_call(out, 1);
	disk.fail_at = disk.calls + 1;
	disk.code = EIO;
	stderr_begin();
	output_flush(out);
	free(stderr_end());
	add_call(out, 1);
	output_close(out);
	trace_load(&t, "t.bst");
	check_sound(&t);
	assert_int_equal(trace_lost(&t, BST_ENUM_LOSS_WRITE_ERROR), 1);
	cause = trace_numbers(&t, BST_TABLE_LOSS, BST_LOSS_CAUSE, &n);
	begin = trace_numbers(&t, BST_TABLE_LOSS, BST_LOSS_BEGIN, &n);
	end = trace_numbers(&t, BST_TABLE_LOSS, BST_LOSS_END, &n);
	assert_int_equal(n, 1);
	assert_int_equal(cause[0], BST_ENUM_LOSS_WRITE_ERROR);
	assert_true(begin[0] <= 1010 && end[0] >= 1010);
	free(cause);
	free(begin);
	free(end);
	trace_free(&t);
}

/* In a child with that limit and the default action of SIGXFSZ, which is to die. */
static int with_file_limit(rlim_t bytes, void (*body)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, bytes});
		signal(SIGXFSZ, SIG_DFL);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void open_only(void)
{
	options.out = "t.bst";
	if (!freopen("/dev/null", "w", stderr))
		_exit(3);
	_exit(output_open(&options) ? 1 : 0);
}

static void a_file_size_limit_of_0_does_not_kill_the_program(void **state)
{
	int status = with_file_limit(0, open_only);

	(void)state;
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void write_much(void)
{
	struct output *out;
	sigset_t all;

	options.out = "t.bst";
	if (!freopen("/dev/null", "w", stderr))
		_exit(3);
	out = output_open(&options);
	/* as in the writer thread */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!out)
		_exit(2);
	write_rounds(out, 30, 2000);
	output_close(out);
}

static void a_file_size_limit_is_an_error_of_write(void **state)
{
	int status = with_file_limit(200000, write_much);
	struct trace_file t;

	(void)state;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	trace_load(&t, "t.bst");
	check_sound(&t);
	assert_true(t.size <= 200000 && t.size > 100000);
	assert_true(trace_count(&t, BST_TABLE_CALL) > 1000);
	trace_free(&t);
}

/* Produces far more than the limit; the file must stay within it, with room for its end. */
static void run_with_limit(uint64_t limit, struct trace_file *t)
{
	struct output *out;
	char *said;

	options.max_bytes = limit;
	out = open_at("t.bst");
	stderr_begin();
	write_rounds(out, (unsigned)(limit >> 12), 2000);
	output_add_numbers(out, BST_TABLE_CLOCK,
			   (uint64_t[]){1, 2, 3, 4, BST_ENUM_CLOCK_REASON_FINISH});
	output_meta(out, "end.reason", "exit");
	output_close(out);
	said = stderr_end();
	if (lines_of(said) != 1)
		fail_msg("%u bytes written, and on stderr: %s", (unsigned)output_bytes(out), said);
	free(said);
	trace_load(t, "t.bst");
	check_sound(t);
	assert_true(t->complete);
	assert_true(t->size <= limit);
	assert_true(trace_lost(t, BST_ENUM_LOSS_FILE_LIMIT) > 0);
	assert_int_equal(trace_count(t, BST_TABLE_CALL) + trace_lost(t, BST_ENUM_LOSS_FILE_LIMIT),
			 produced);
}

static void the_size_limit_keeps_a_beginning_and_the_end(void **state)
{
	struct trace_file t;
	uint64_t *stream, gaps = 0;
	char *reason;
	size_t n;

	(void)state;
	run_with_limit(8 << 20, &t);
	assert_true(t.size > 3 << 20);
	stream = trace_numbers(&t, BST_TABLE_CALL, BST_CALL_STREAM, &n);
	for (size_t i = 1; i < n; i++)
		gaps += stream[i] > stream[i - 1] + 1;
	assert_int_equal(gaps, 0);
	free(stream);
	assert_int_equal(trace_count(&t, BST_TABLE_CLOCK), 1);
	reason = trace_meta(&t, "end.reason");
	assert_string_equal(reason, "exit");
	free(reason);
	trace_free(&t);
}

static void a_small_size_limit_keeps_something(void **state)
{
	struct trace_file t;

	(void)state;
	run_with_limit(1 << 20, &t);
	assert_true(trace_count(&t, BST_TABLE_CALL) > 1000);
	trace_free(&t);
}

static void the_default_name_says_who_and_when(void **state)
{
	struct output *out;
	char wanted[128];
	struct stat st;

	(void)state;
	options.out = NULL;
	out = output_open(&options);
	assert_non_null(out);
	snprintf(wanted, sizeof(wanted), "boundshim.box.%d.1700000000123.bst", (int)getpid());
	assert_string_equal(output_path(out), wanted);
	assert_int_equal(stat(wanted, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	output_close(out);
}

static void expect_path(const char *given, const char *wanted, unsigned lines)
{
	struct output *out;
	char *said;

	options.out = given;
	stderr_begin();
	out = output_open(&options);
	said = stderr_end();
	assert_non_null(out);
	assert_string_equal(output_path(out), wanted);
	assert_int_equal(access(wanted, F_OK), 0);
	assert_int_equal(lines_of(said), lines);
	if (lines)
		assert_non_null(strstr(said, wanted));
	free(said);
	output_close(out);
}

static void names_that_exist_get_a_suffix_said_once(void **state)
{
	(void)state;
	expect_path("t.bst", "t.bst", 0);
	expect_path("t.bst", "t-1.bst", 1);
	expect_path("t.bst", "t-2.bst", 1);
	expect_path("plain", "plain", 0);
	expect_path("plain", "plain-1", 1);
	expect_path(".bst", ".bst", 0);
	expect_path(".bst", ".bst-1", 1);
}

static void patterns_and_folders_are_understood(void **state)
{
	char wanted[128], given[32];

	(void)state;
	snprintf(wanted, sizeof(wanted), "p%d-box-3.bst", (int)getpid());
	expect_path("p%p-%h-%r.bst", wanted, 0);
	expect_path("a%x%", "a%x%", 0);
	assert_int_equal(mkdir("d", 0700), 0);
	snprintf(wanted, sizeof(wanted), "d/boundshim.box.%d.1700000000123.bst", (int)getpid());
	expect_path("d", wanted, 0);
	snprintf(wanted, sizeof(wanted), "d/boundshim.box.%d.1700000000123-1.bst", (int)getpid());
	expect_path("d/", wanted, 1);
	snprintf(given, sizeof(given), "%%p");
	snprintf(wanted, sizeof(wanted), "%d", (int)getpid());
	expect_path(given, wanted, 0);
}

static void links_are_not_followed(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlink("target", "dangling.bst"), 0);
	expect_path("dangling.bst", "dangling-1.bst", 1);
	assert_int_equal(access("target", F_OK), -1);
	fclose(fopen("precious", "w"));
	assert_int_equal(symlink("precious", "link.bst"), 0);
	expect_path("link.bst", "link-1.bst", 1);
	assert_int_equal(stat("precious", &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void no_place_to_write_is_one_line_and_no_file(void **state)
{
	static char too_long[5000];
	const char *const places[] = {"missing/t.bst", "missing/", "precious/t.bst", too_long};

	(void)state;
	memset(too_long, 'x', sizeof(too_long) - 1);
	fclose(fopen("precious", "w"));
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *said;

		options.out = places[i];
		stderr_begin();
		assert_null(output_open(&options));
		said = stderr_end();
		assert_int_equal(lines_of(said), 1);
		assert_non_null(strstr(said, "nothing is recorded"));
		free(said);
	}
}

static void closed_standard_streams_do_not_become_the_trace(void **state)
{
	int in = dup(STDIN_FILENO);
	struct stat zero, trace;
	struct output *out;

	(void)state;
	close(STDIN_FILENO);
	out = open_at("t.bst");
	assert_int_equal(stat("t.bst", &trace), 0);
	if (fstat(STDIN_FILENO, &zero) == 0)
		assert_true(zero.st_ino != trace.st_ino);
	write_rounds(out, 1, 5);
	output_close(out);
	dup2(in, STDIN_FILENO);
	close(in);
	check_complete("t.bst");
}

static void an_abandoned_file_stays_as_it_is(void **state)
{
	struct output *out = open_at("t.bst");
	struct stat before, after;
	struct trace_file t;

	(void)state;
	write_rounds(out, 2, 5);
	assert_int_equal(stat("t.bst", &before), 0);
	add_call(out, 1);
	output_abandon(out);
	output_abandon(out);
	assert_int_equal(stat("t.bst", &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	trace_load(&t, "t.bst");
	check_sound(&t);
	assert_false(t.complete);
	trace_free(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_disk_keeps_everything),
		TEST(batches_larger_than_their_room_go_out_by_themselves),
		TEST(short_writes_are_continued),
		TEST(interrupted_writes_are_repeated),
		cmocka_unit_test(a_failure_once_loses_what_it_says),
		cmocka_unit_test(a_torn_write_is_taken_back),
		cmocka_unit_test(a_disk_full_for_good_leaves_a_sound_beginning),
		TEST(dictionaries_that_could_not_be_written_come_later),
		TEST(the_rows_lost_to_a_failed_write_have_a_place),
		TEST(a_file_size_limit_of_0_does_not_kill_the_program),
		TEST(a_file_size_limit_is_an_error_of_write),
		TEST(the_size_limit_keeps_a_beginning_and_the_end),
		TEST(a_small_size_limit_keeps_something),
		TEST(the_default_name_says_who_and_when),
		TEST(names_that_exist_get_a_suffix_said_once),
		TEST(patterns_and_folders_are_understood),
		TEST(links_are_not_followed),
		TEST(no_place_to_write_is_one_line_and_no_file),
		TEST(closed_standard_streams_do_not_become_the_trace),
		TEST(an_abandoned_file_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
