/* What is hidden of a command line, the host's name and the rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/process.h"

#define ROOM 256

/* Arguments are joined by blanks here, and by NUL in a command line. */
static size_t pack(const char *words, char *command)
{
	size_t size = strlen(words);

	memcpy(command, words, size + 1);
	for (size_t i = 0; i < size; i++)
		if (command[i] == ' ')
			command[i] = 0;
	return size + 1;
}

static void expect(const char *given, const char *wanted)
{
	char command[ROOM], text[ROOM];
	size_t size = process_redact(command, pack(given, command), sizeof(command));

	assert_true(size <= sizeof(command));
	memcpy(text, command, size);
	for (size_t i = 0; i + 1 < size; i++)
		if (text[i] == 0)
			text[i] = ' ';
	assert_string_equal(text, wanted);
}

static void values_behind_secret_names_are_hidden(void **state)
{
	(void)state;
	expect("train.py --api-key abc --lr 3", "train.py --api-key *** --lr 3");
	expect("train.py --api-key=abc --lr=3", "train.py --api-key=*** --lr=3");
	expect("train.py --API_KEY=abc", "train.py --API_KEY=***");
	expect("train.py --hf-token abc", "train.py --hf-token ***");
	expect("run HF_TOKEN=abc cmd", "run HF_TOKEN=*** cmd");
	expect("mysql --password=a", "mysql --password=***");
	expect("mysql --password a b", "mysql --password *** b");
	expect("x --passwd=abcdef", "x --passwd=***");
	expect("x --client-secret s3cr3t --verbose", "x --client-secret *** --verbose");
	expect("x SECRET=a=b=c", "x SECRET=***");
}

static void everything_else_stays(void **state)
{
	(void)state;
	expect("python train.py --epochs 3 --name=run", "python train.py --epochs 3 --name=run");
	expect("x --token --verbose", "x --token --verbose");
	expect("x --key=", "x --key=");
	expect("x token", "x token");
	expect("x token value", "x token value");
	expect("x", "x");
	expect("", "");
}

static void a_secret_at_the_very_end_is_hidden(void **state)
{
	char command[ROOM];
	size_t size;

	(void)state;
	expect("x --token", "x --token");
	/* without a final NUL, as a command line that was cut off */
	memcpy(command, "x\0--token\0abc", 13);
	size = process_redact(command, 13, sizeof(command));
	assert_memory_equal(command, "x\0--token\0***", 13);
	assert_int_equal(size, 13);
}

static void a_longer_mark_than_room_still_hides(void **state)
{
	char command[] = "x\0--key\0a\0rest";
	size_t size = process_redact(command, sizeof(command), sizeof(command));

	(void)state;
	assert_true(size <= sizeof(command));
	assert_null(memchr(command, 'a', size));
	assert_memory_equal(command + size - 5, "rest", 5);
}

static void redacting_never_leaves_its_memory(void **state)
{
	/* each call on a block of exactly that size: ASan watches the edges */
	static const char text[] =
		"p\0--key\0v\0K=\0TOKEN=x\0--password\0\0--secret\0long long value\0=\0-\0";

	(void)state;
	for (size_t size = 0; size <= sizeof(text); size++) {
		for (size_t extra = 0; extra < 5; extra++) {
			char *block = malloc(size + extra + 1);

			memcpy(block, text, size);
			assert_true(process_redact(block, size, size + extra) <= size + extra);
			free(block);
		}
	}
}

static void the_host_name_fits_a_file_name(void **state)
{
	char host[64];

	(void)state;
	process_host(host, sizeof(host));
	assert_true(strlen(host) > 0);
	assert_int_equal(
		strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
		strlen(host));
	process_host(host, 2);
	assert_true(strlen(host) == 1);
}

static void the_rank_is_the_first_that_is_set(void **state)
{
	(void)state;
	unsetenv("RANK");
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMI_RANK");
	unsetenv("SLURM_PROCID");
	assert_string_equal(process_rank(), "");
	setenv("SLURM_PROCID", "5", 1);
	assert_string_equal(process_rank(), "5");
	setenv("RANK", "", 1);
	assert_string_equal(process_rank(), "5");
	setenv("RANK", "0", 1);
	assert_string_equal(process_rank(), "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_behind_secret_names_are_hidden),
		cmocka_unit_test(everything_else_stays),
		cmocka_unit_test(a_secret_at_the_very_end_is_hidden),
		cmocka_unit_test(a_longer_mark_than_room_still_hides),
		cmocka_unit_test(redacting_never_leaves_its_memory),
		cmocka_unit_test(the_host_name_fits_a_file_name),
		cmocka_unit_test(the_rank_is_the_first_that_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
