/* Stretches made by hand, played: every mechanism by itself, with the exact answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/stretch.h"
#include "analysis/stretch_chain.h"

#define ROOM 256
#define NONE STRETCH_NONE

struct scene {
	struct stretch s;
	struct stretch_times t;
};

static void begin(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->s.call = calloc(ROOM, sizeof(*scene->s.call));
	scene->s.op = calloc(ROOM, sizeof(*scene->s.op));
	scene->s.waits = calloc(ROOM, sizeof(*scene->s.waits));
	scene->s.mark = calloc(ROOM, sizeof(*scene->s.mark));
}

/* A call `host` ns after the one before it, that takes `own`. */
static uint32_t call(struct scene *scene, uint32_t before, double host, double own)
{
	scene->s.call[scene->s.call_count] = (struct stretch_call){
		.before = before, .host_ns = host, .own_ns = own, .room = NONE, .op = NONE};
	return (uint32_t)scene->s.call_count++;
}

/* An operation that the call issues: `launch` ns behind its return, or 1 ns behind `pred`. */
static uint32_t op(struct scene *scene, uint32_t by, uint32_t pred, double launch, double duration)
{
	scene->s.op[scene->s.op_count] = (struct stretch_op){.call = by,
							     .pred = pred,
							     .next = STRETCH_NONE,
							     .launch_ns = launch,
							     .pred_ns = 1,
							     .dep_ns = 1,
							     .duration_ns = duration,
							     .dep = {NONE, NONE, NONE}};
	return (uint32_t)scene->s.op_count++;
}

static void wait_for(struct scene *scene, uint32_t waiting, uint32_t awaited, double wake)
{
	struct stretch_call *c = &scene->s.call[waiting];

	if (!c->wait_count++)
		c->wait = (uint32_t)scene->s.wait_count;
	c->wake_ns = wake;
	scene->s.waits[scene->s.wait_count++] = awaited;
}

static void play(struct scene *scene)
{
	assert_int_equal(stretch_sort(&scene->s), 0);
	assert_int_equal(stretch_times_init(&scene->s, &scene->t), 0);
	stretch_play(&scene->s, &scene->t);
}

static void end(struct scene *scene)
{
	stretch_times_fini(&scene->t);
	stretch_fini(&scene->s);
}

/* Steps of one launch each; every operation is a mark. Returns the time of a step. */
static double loop(double host, double own, double launch, double duration)
{
	struct scene scene;
	uint32_t before = NONE, pred = NONE;
	double step;

	begin(&scene);
	for (unsigned i = 0; i < 20; i++) {
		before = call(&scene, before, host, own);
		pred = op(&scene, before, pred, launch, duration);
		scene.s.mark[scene.s.mark_count++] = pred;
	}
	play(&scene);
	step = stretch_step_ns(&scene.s, &scene.t);
	end(&scene);
	return step;
}

static void an_idle_gpu_waits_for_the_cpu(void **state)
{
	(void)state;
	assert_true(loop(10, 5, 2, 3) == 15);
}

static void a_busy_gpu_runs_one_after_the_other(void **state)
{
	(void)state;
	assert_true(loop(10, 5, 2, 20) == 21);
}

static void a_full_queue_blocks_the_launcher(void **state)
{
	struct scene scene;
	uint32_t before = NONE, pred = NONE;

	(void)state;
	begin(&scene);
	for (uint32_t i = 0; i < 8; i++) {
		before = call(&scene, before, 0, 10);
		pred = op(&scene, before, pred, 0, 99);
		if (i >= 2)
			scene.s.call[before].room = pred - 2;
	}
	play(&scene);
	/* Operations start at 10, 110, 210 ...: call i returns 10 after operation i - 2 started. */
	assert_true(scene.t.start_ns[7] == 710);
	assert_true(scene.t.end_ns[1] == 20);
	assert_true(scene.t.end_ns[2] == 30);
	assert_true(scene.t.end_ns[3] == 120);
	assert_true(scene.t.end_ns[7] == 520);
	end(&scene);
}

static void a_wait_returns_behind_what_it_waits_for(void **state)
{
	struct scene scene;
	uint32_t launch, wait, next, first;

	(void)state;
	begin(&scene);
	launch = call(&scene, NONE, 0, 5);
	first = op(&scene, launch, NONE, 2, 50);
	wait = call(&scene, launch, 1, 2);
	wait_for(&scene, wait, first, 4);
	next = call(&scene, wait, 10, 5);
	op(&scene, next, first, 2, 50);
	play(&scene);
	assert_true(scene.t.end_ns[wait] == 5 + 2 + 50 + 4);
	assert_true(scene.t.start_ns[1] == 61 + 10 + 5 + 2);
	end(&scene);
}

static void a_wait_for_what_is_over_takes_its_own_time(void **state)
{
	struct scene scene;
	uint32_t launch, wait;

	(void)state;
	begin(&scene);
	launch = call(&scene, NONE, 0, 5);
	op(&scene, launch, NONE, 2, 3);
	wait = call(&scene, launch, 100, 2);
	wait_for(&scene, wait, 0, 4);
	play(&scene);
	assert_true(scene.t.end_ns[wait] == 107);
	end(&scene);
}

static void an_event_holds_another_stream(void **state)
{
	struct scene scene;
	uint32_t a, b;

	(void)state;
	begin(&scene);
	a = call(&scene, NONE, 0, 5);
	op(&scene, a, NONE, 2, 70);
	b = call(&scene, a, 0, 5);
	op(&scene, b, NONE, 2, 10);
	scene.s.op[1].dep[0] = 0;
	op(&scene, b, NONE, 2, 10); /* without the event it starts at once */
	play(&scene);
	assert_true(scene.t.start_ns[1] == 5 + 2 + 70 + 1);
	assert_true(scene.t.start_ns[2] == 12);
	end(&scene);
}

static void threads_run_side_by_side(void **state)
{
	struct scene scene;
	uint32_t a = NONE, b = NONE, x = NONE, y = NONE;

	(void)state;
	begin(&scene);
	for (unsigned i = 0; i < 4; i++) {
		a = call(&scene, a, 10, 5);
		x = op(&scene, a, x, 2, 1);
		b = call(&scene, b, 30, 5);
		y = op(&scene, b, y, 2, 1);
	}
	play(&scene);
	assert_true(scene.t.start_ns[x] == 4 * 15 + 2);
	assert_true(scene.t.start_ns[y] == 4 * 35 + 2);
	end(&scene);
}

static void nodes_of_a_graph_follow_each_other(void **state)
{
	struct scene scene;
	uint32_t launch, node = NONE;

	(void)state;
	begin(&scene);
	launch = call(&scene, NONE, 0, 8);
	for (unsigned i = 0; i < 3; i++)
		node = op(&scene, launch, node, 5, 10);
	play(&scene);
	assert_true(scene.t.start_ns[0] == 13);
	assert_true(scene.t.start_ns[2] == 13 + 2 * 11);
	end(&scene);
}

static void a_blocking_copy_holds_its_caller(void **state)
{
	struct scene scene;
	uint32_t kernel, copy;

	(void)state;
	begin(&scene);
	kernel = call(&scene, NONE, 0, 5);
	op(&scene, kernel, NONE, 2, 100);
	copy = call(&scene, kernel, 0, 6);
	op(&scene, copy, 0, 3, 40);
	scene.s.op[1].inside = true;
	wait_for(&scene, copy, 1, 7);
	play(&scene);
	/* The kernel runs from 7 to 107, the copy from 108 to 148. */
	assert_true(scene.t.start_ns[1] == 108);
	assert_true(scene.t.end_ns[copy] == 155);
	end(&scene);
}

static void waits_in_a_circle_are_dropped(void **state)
{
	struct scene scene;
	uint32_t a;

	(void)state;
	begin(&scene);
	a = call(&scene, NONE, 0, 5);
	op(&scene, a, NONE, 2, 10);
	wait_for(&scene, a, 0, 1); /* it waits for what starts when it returns */
	play(&scene);
	assert_true(scene.t.end_ns[a] >= 5);
	end(&scene);
}

static void copies_share_nothing_that_changes(void **state)
{
	struct scene scene;
	struct stretch copy;
	uint32_t a;

	(void)state;
	begin(&scene);
	a = call(&scene, NONE, 0, 5);
	op(&scene, a, NONE, 2, 10);
	play(&scene);
	assert_int_equal(stretch_copy(&scene.s, &copy), 0);
	copy.op[0].launch_ns = 100;
	copy.call[0].own_ns = 100;
	assert_true(scene.s.op[0].launch_ns == 2);
	stretch_play(&copy, &scene.t);
	assert_true(scene.t.start_ns[0] == 200);
	stretch_drop(&copy);
	end(&scene);
}

/* Two threads with `calls` calls each a turn, for 10 turns. Returns the number of chains. */
static unsigned chains(unsigned calls, uint64_t apart)
{
	struct stretch_chains threads = {0};
	struct scene scene;
	unsigned found = 0;
	uint64_t now = 0;

	begin(&scene);
	for (unsigned turn = 0; turn < 20; turn++)
		for (unsigned i = 0; i < calls; i++) {
			struct stretch_call *c = &scene.s.call[call(&scene, NONE, 0, 5)];

			c->thread = 1 + turn % 2;
			c->begin_ns = now;
			c->end_ns = now + 5;
			now += apart;
		}
	assert_int_equal(stretch_chains_link(&threads, &scene.s), 0);
	for (size_t i = 0; i < scene.s.call_count; i++)
		found += scene.s.call[i].before == NONE;
	stretch_chains_fini(&threads);
	end(&scene);
	return found;
}

static void threads_that_hand_over_are_one_chain(void **state)
{
	(void)state;
	assert_int_equal(chains(12, 10), 1);
}

static void threads_that_alternate_are_two(void **state)
{
	(void)state;
	assert_int_equal(chains(1, 10), 2);
}

static void threads_that_overlap_are_two(void **state)
{
	(void)state;
	assert_int_equal(chains(12, 3), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_gpu_waits_for_the_cpu),
		cmocka_unit_test(a_busy_gpu_runs_one_after_the_other),
		cmocka_unit_test(a_full_queue_blocks_the_launcher),
		cmocka_unit_test(a_wait_returns_behind_what_it_waits_for),
		cmocka_unit_test(a_wait_for_what_is_over_takes_its_own_time),
		cmocka_unit_test(an_event_holds_another_stream),
		cmocka_unit_test(threads_run_side_by_side),
		cmocka_unit_test(nodes_of_a_graph_follow_each_other),
		cmocka_unit_test(a_blocking_copy_holds_its_caller),
		cmocka_unit_test(waits_in_a_circle_are_dropped),
		cmocka_unit_test(copies_share_nothing_that_changes),
		cmocka_unit_test(threads_that_hand_over_are_one_chain),
		cmocka_unit_test(threads_that_alternate_are_two),
		cmocka_unit_test(threads_that_overlap_are_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
