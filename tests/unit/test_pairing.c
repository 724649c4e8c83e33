/* Processes and devices of two reports find each other by rank, by command, by place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/pairing.h"
#include "tests/unit/report_fixture.h"

static struct process_report process(const char *rank, const char *command,
				     struct device_report *devices, size_t count)
{
	return (struct process_report){.rank = (char *)rank,
				       .command = (char *)command,
				       .devices = devices,
				       .device_count = count};
}

static void test_ranks_before_commands_before_places(void **state)
{
	struct device_report d[6] = {{0}};
	struct process_report in_a[] = {process("0", "x", &d[0], 1), process("1", "x", &d[1], 1),
					process("", "tool", &d[2], 1)};
	struct process_report in_b[] = {process("", "tool", &d[3], 1), process("1", "y", &d[4], 1),
					process("0", "y", &d[5], 1)};
	struct report a = {.processes = in_a, .process_count = 3},
		      b = {.processes = in_b, .process_count = 3};
	struct pairing_list list;

	(void)state;
	assert_int_equal(pairing_make(&a, &b, &list), 0);
	assert_int_equal(list.count, 3);
	assert_ptr_equal(list.pair[0].process_b, &in_b[2]);
	assert_ptr_equal(list.pair[1].process_b, &in_b[1]);
	assert_ptr_equal(list.pair[2].process_b, &in_b[0]);
	assert_int_equal(list.alone_a + list.alone_b, 0);
	pairing_fini(&list);
}

static void test_devices_by_index_and_the_only_ones(void **state)
{
	struct device_report in_a[] = {{.index = 0}, {.index = 1}};
	struct device_report in_b[] = {{.index = 1}, {.index = 2}, {.index = 3}};
	struct process_report pa = process("", "x", in_a, 2), pb = process("", "x", in_b, 3);
	struct report a = {.processes = &pa, .process_count = 1},
		      b = {.processes = &pb, .process_count = 1};
	struct pairing_list list;

	(void)state;
	assert_int_equal(pairing_make(&a, &b, &list), 0);
	assert_int_equal(list.count, 1);
	assert_ptr_equal(list.pair[0].device_a, &in_a[1]);
	assert_ptr_equal(list.pair[0].device_b, &in_b[0]);
	assert_int_equal(list.alone_a, 1);
	assert_int_equal(list.alone_b, 2);
	pairing_fini(&list);
	pa.device_count = 1;
	pb.devices = &in_b[2];
	pb.device_count = 1;
	assert_int_equal(pairing_make(&a, &b, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.alone_a + list.alone_b, 0);
	pairing_fini(&list);
}

static void test_processes_that_find_none_are_counted(void **state)
{
	struct report a, b;
	struct pairing_list list;

	(void)state;
	report_fixture_ranks(&a);
	report_fixture_mlp(&b);
	assert_int_equal(pairing_make(&a, &b, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.alone_a, 1);
	assert_int_equal(list.alone_b, 0);
	pairing_fini(&list);
	assert_int_equal(pairing_make(&b, &a, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.alone_a, 0);
	assert_int_equal(list.alone_b, 1);
	pairing_fini(&list);
	report_fini(&a);
	report_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks_before_commands_before_places),
		cmocka_unit_test(test_devices_by_index_and_the_only_ones),
		cmocka_unit_test(test_processes_that_find_none_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
