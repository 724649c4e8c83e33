/* Conversion between clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/clock.h"
#include "tests/unit/trace_image.h"

#define DEVICE UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)

static uint64_t convert(const struct clock_row *rows, size_t count, uint64_t device_ns)
{
	struct clock clock;
	struct clock_cursor cursor = {0};
	uint64_t host;

	assert_int_equal(clock_init(&clock, rows, count), 0);
	host = clock_host(&clock, device_ns, &cursor);
	assert_int_equal(clock_host(&clock, device_ns, &cursor), host); /* now by the cursor */
	clock_fini(&clock);
	return host;
}

static void one_reading_is_an_offset(void **state)
{
	struct clock_row rows[] = {{DEVICE, 5 * SECOND, 100, 1}};

	(void)state;
	assert_int_equal(convert(rows, 1, DEVICE + 7), 5 * SECOND + 7);
	assert_int_equal(convert(rows, 1, DEVICE - SECOND), 4 * SECOND);
	assert_int_equal(convert(rows, 1, DEVICE + 3600 * SECOND), 3605 * SECOND);
}

static void between_readings_it_is_a_line(void **state)
{
	/* The host's clock gains 10 us a second. In any order of rows. */
	struct clock_row rows[] = {{DEVICE + 2 * SECOND, 7 * SECOND + 20000, 0, 2},
				   {DEVICE, 5 * SECOND, 0, 1},
				   {DEVICE + SECOND, 6 * SECOND + 10000, 0, 2}};

	(void)state;
	assert_int_equal(convert(rows, 3, DEVICE + SECOND / 2), 5 * SECOND + SECOND / 2 + 5000);
	assert_int_equal(convert(rows, 3, DEVICE + SECOND), 6 * SECOND + 10000);
	/* Outside, by the nearest. */
	assert_int_equal(convert(rows, 3, DEVICE + 4 * SECOND), 9 * SECOND + 20000);
	assert_int_equal(convert(rows, 3, DEVICE - SECOND), 4 * SECOND);
}

static void a_step_forward_is_taken_out(void **state)
{
	/* CLOCK_REALTIME is set an hour on between two readings 1 ms apart. */
	struct clock_row rows[] = {
		{DEVICE, 5 * SECOND, 0, 1},
		{DEVICE + SECOND, 6 * SECOND, 0, 3},
		{DEVICE + 3601 * SECOND + 1000000, 6 * SECOND + 1000000, 0, 4},
	};

	(void)state;
	assert_int_equal(convert(rows, 3, DEVICE + SECOND / 2), 5 * SECOND + SECOND / 2);
	assert_int_equal(convert(rows, 3, DEVICE + 3602 * SECOND + 1000000), 7 * SECOND + 1000000);
	assert_in_range(convert(rows, 3, DEVICE + 1800 * SECOND), 6 * SECOND, 6 * SECOND + 1000000);
}

static void a_step_back_takes_the_later_reading(void **state)
{
	struct clock_row rows[] = {
		{DEVICE, 5 * SECOND, 0, 1},
		{DEVICE + 10 * SECOND, 15 * SECOND, 0, 3},
		{DEVICE + 8 * SECOND, 15 * SECOND + 1000, 0, 4},
		{DEVICE + 20 * SECOND, 27 * SECOND + 1000, 0, 2},
	};

	(void)state;
	assert_int_equal(convert(rows, 4, DEVICE + 3 * SECOND), 8 * SECOND);
	assert_int_equal(convert(rows, 4, DEVICE + 12 * SECOND), 19 * SECOND + 1000);
	assert_int_equal(convert(rows, 4, DEVICE + 9 * SECOND), 16 * SECOND + 1000);
}

/* Two and a half ticks a nanosecond from the change on, counted from the start of the machine. */
static void another_clock_goes_by_its_own_readings(void **state)
{
	struct clock_row rows[] = {
		{DEVICE, 5 * SECOND, 0, 1},
		{DEVICE + 10 * SECOND, 15 * SECOND, 0, 3},
		{7000 * SECOND, 15 * SECOND + 1000, 0, 4},
		{7025 * SECOND, 25 * SECOND + 1000, 0, 2},
	};

	(void)state;
	assert_int_equal(convert(rows, 4, DEVICE + 3 * SECOND), 8 * SECOND);
	assert_int_equal(convert(rows, 4, DEVICE - SECOND / 2), 4 * SECOND + SECOND / 2);
	assert_int_equal(convert(rows, 4, 7005 * SECOND), 17 * SECOND + 1000);
	/* what began a little before the change was finished by the new clock */
	assert_int_equal(convert(rows, 4, 7000 * SECOND - SECOND / 2),
			 15 * SECOND + 1000 - SECOND / 5);
	/* after its last reading it ticks as before */
	assert_int_equal(convert(rows, 4, 7030 * SECOND), 27 * SECOND + 1000);
}

/* A periodic reading during the change is of one clock or the other. */
static void a_reading_during_the_change_belongs_to_one_clock(void **state)
{
	static const uint64_t during[] = {DEVICE + 10 * SECOND + 500, 7000 * SECOND - 1250};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct clock_row rows[] = {
			{DEVICE, 5 * SECOND, 0, 1},
			{DEVICE + 10 * SECOND, 15 * SECOND, 0, 3},
			{during[i], 15 * SECOND + 500, 0, 2},
			{7000 * SECOND, 15 * SECOND + 1000, 0, 4},
			{7025 * SECOND, 25 * SECOND + 1000, 0, 2},
		};

		assert_int_equal(convert(rows, 5, DEVICE + 3 * SECOND), 8 * SECOND);
		assert_int_equal(convert(rows, 5, 7005 * SECOND), 17 * SECOND + 1000);
	}
}

static void it_never_goes_back_and_never_wraps(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct clock_row rows[8];
		struct clock clock;
		struct clock_cursor cursor = {0};
		uint64_t times[64], last = 0;

		for (unsigned i = 0; i < 8; i++) {
			bool wild = random_below(20) == 0;

			rows[i] = (struct clock_row){
				wild ? random_next() : DEVICE + random_below(100 * SECOND),
				wild ? random_next() : random_below(100 * SECOND), 0, 2};
		}
		assert_int_equal(clock_init(&clock, rows, 8), 0);
		for (unsigned i = 0; i < 64; i++)
			times[i] = i < 60 ? DEVICE - 10 * SECOND + i * 2 * SECOND +
						    random_below(SECOND)
					  : UINT64_MAX - 64 + i;
		for (unsigned i = 0; i < 64; i++) {
			uint64_t host = clock_host(&clock, times[i], &cursor);

			assert_true(host >= last);
			last = host;
		}
		clock_fini(&clock);
	}
}

/* CUPTI came on after the first reading: what ran before the second one is told by that one alone. */
static void a_reading_without_the_device_is_none(void **state)
{
	struct clock_row rows[] = {{0, 4 * SECOND, 0, 2},
				   {DEVICE, 5 * SECOND, 0, 1},
				   {0, 5 * SECOND + 1000, 900, 2},
				   {DEVICE + SECOND, 6 * SECOND, 0, 2}};
	struct clock clock;

	(void)state;
	assert_int_equal(convert(rows, 4, DEVICE - 98), 5 * SECOND - 98);
	assert_int_equal(convert(rows, 4, DEVICE + SECOND / 2), 5 * SECOND + SECOND / 2);
	assert_int_equal(convert(rows, 2, DEVICE + 3 * SECOND), 8 * SECOND);
	assert_int_equal(convert(rows, 1, DEVICE), DEVICE);
	assert_int_equal(clock_init(&clock, rows, 4), 0);
	assert_int_equal(clock.error_ns, 0);
	clock_fini(&clock);
}

static void without_readings_times_stay(void **state)
{
	(void)state;
	assert_int_equal(convert(NULL, 0, DEVICE), DEVICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reading_is_an_offset),
		cmocka_unit_test(between_readings_it_is_a_line),
		cmocka_unit_test(a_step_forward_is_taken_out),
		cmocka_unit_test(a_step_back_takes_the_later_reading),
		cmocka_unit_test(another_clock_goes_by_its_own_readings),
		cmocka_unit_test(a_reading_during_the_change_belongs_to_one_clock),
		cmocka_unit_test(a_reading_without_the_device_is_none),
		cmocka_unit_test(it_never_goes_back_and_never_wraps),
		cmocka_unit_test(without_readings_times_stay),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
