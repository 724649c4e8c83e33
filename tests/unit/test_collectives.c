/* The n-th collective of each rank beside the others': what is waiting and what is transfer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <cmocka.h>

#include "analysis/report.h"

#define RANKS 3

struct scene {
	struct report report;
	struct process_report process[RANKS];
	struct device_report device[RANKS];
};

/* So many ranks of one device each, without collectives. */
static void scene_init(struct scene *s, size_t ranks)
{
	*s = (struct scene){0};
	s->report.processes = s->process;
	s->report.process_count = ranks;
	for (size_t r = 0; r < ranks; r++) {
		s->process[r].devices = &s->device[r];
		s->process[r].device_count = 1;
	}
}

static void scene_fini(struct scene *s)
{
	for (size_t r = 0; r < RANKS; r++)
		collectives_fini(&s->device[r].collectives);
	free(s->report.collectives.rank);
}

static void add(struct scene *s, size_t rank, uint64_t begin_ns, uint64_t duration_ns,
		const char *name)
{
	struct collective_run run = {begin_ns, duration_ns, collectives_name(name)};

	assert_int_equal(collectives_add(&s->device[rank].collectives, &run), 0);
}

static const struct collectives_report *compare(struct scene *s)
{
	collectives_compare(&s->report);
	return &s->report.collectives;
}

static void what_takes_longer_than_the_shortest_is_waiting(void **state)
{
	static const uint64_t durations[RANKS][2] = {{500, 80}, {100, 300}, {400, 200}};
	const struct collectives_report *c;
	struct scene s;

	(void)state;
	scene_init(&s, RANKS);
	for (size_t r = 0; r < RANKS; r++)
		for (size_t n = 0; n < 2; n++)
			add(&s, r, 1000 * n, durations[r][n], "all_reduce");
	c = compare(&s);
	assert_true(c->known);
	assert_int_equal(c->count, 2);
	assert_int_equal(c->rank_count, RANKS);
	for (size_t r = 0; r < RANKS; r++) {
		assert_int_equal(c->rank[r].total_ns, durations[r][0] + durations[r][1]);
		assert_int_equal(c->rank[r].waiting_ns, c->rank[r].total_ns - 180);
	}
	scene_fini(&s);
}

static void the_slowest_waits_least_and_stands_out(void **state)
{
	/* of rank 1, which the others wait for; none stands out in the second row */
	static const struct {
		uint64_t durations[RANKS];
		size_t slowest;
	} cases[] = {{{900, 100, 900}, 1}, {{102, 100, 103}, RANKS}, {{100, 100, 100}, RANKS}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s;

		scene_init(&s, RANKS);
		for (size_t r = 0; r < RANKS; r++)
			add(&s, r, 0, cases[i].durations[r], "all_reduce");
		assert_int_equal(compare(&s)->slowest, cases[i].slowest);
		scene_fini(&s);
	}
}

static void only_what_is_steady_on_all_ranks_counts(void **state)
{
	const struct collectives_report *c;
	struct scene s;

	(void)state;
	scene_init(&s, 2);
	for (uint64_t n = 0; n < 10; n++)
		for (size_t r = 0; r < 2; r++)
			add(&s, r, 100 * n, n ? 20 + 10 * r : 5000 * (r + 1), "all_reduce");
	s.device[0].steady = (struct window){.known = true, .begin_ns = 100, .window_ns = 1000};
	s.device[1].steady = (struct window){.known = true, .begin_ns = 0, .window_ns = 900};
	c = compare(&s);
	assert_int_equal(c->count, 8);
	assert_int_equal(c->rank[1].waiting_ns, 80);
	scene_fini(&s);
}

static void one_rank_or_none_says_nothing(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, 2);
	add(&s, 1, 0, 100, "all_reduce");
	assert_false(compare(&s)->known);
	assert_null(s.report.collectives.reason);
	scene_fini(&s);
}

static void other_names_or_another_order_are_not_compared(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, 2);
	add(&s, 0, 0, 100, "all_reduce");
	add(&s, 0, 1, 100, "broadcast");
	add(&s, 1, 0, 100, "all_reduce");
	add(&s, 1, 1, 100, "all_gather");
	assert_false(compare(&s)->known);
	assert_non_null(s.report.collectives.reason);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_longer_than_the_shortest_is_waiting),
		cmocka_unit_test(the_slowest_waits_least_and_stands_out),
		cmocka_unit_test(only_what_is_steady_on_all_ranks_counts),
		cmocka_unit_test(one_rank_or_none_says_nothing),
		cmocka_unit_test(other_names_or_another_order_are_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
