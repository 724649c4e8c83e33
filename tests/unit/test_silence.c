/* What the CPU time of a thread tells of its silences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

#include "analysis/silence.h"

#define US UINT64_C(1000)

/* A thread that is followed: each round it waits for the device, then makes no call for a while. */
struct thread {
	struct silences silences;
	uint64_t now_ns, cpu_ns, sync_ns, sleeps, losses, others_ns;
};

static void call(struct thread *t, uint64_t silence_ns)
{
	struct wake wake = {t->now_ns, silence_ns, t->cpu_ns, t->sleeps, t->losses, 1};

	silences_add(&t->silences, &wake, t->sync_ns, t->others_ns);
}

static struct thread begin(void)
{
	struct thread t = {.now_ns = 1000 * US, .cpu_ns = 50 * US};

	call(&t, 200 * US);
	return t;
}

static void wait_for_device(struct thread *t, uint64_t ns, bool spins)
{
	t->now_ns += ns;
	t->sync_ns += ns;
	t->cpu_ns += spins ? ns : 0;
	t->sleeps += !spins;
}

static struct host_parts silence(struct thread *t, uint64_t works_ns, uint64_t sleeps_ns)
{
	uint64_t from = t->now_ns;

	t->now_ns += works_ns + sleeps_ns;
	t->cpu_ns += works_ns;
	t->sleeps += sleeps_ns > 0;
	call(t, works_ns + sleeps_ns);
	return silences_split(&t->silences, from, t->now_ns);
}

static void assert_parts(struct host_parts p, uint64_t running_us, uint64_t blocked_us,
			 uint64_t preempted_us)
{
	assert_int_equal(p.running_ns, running_us * US);
	assert_int_equal(p.blocked_ns, blocked_us * US);
	assert_int_equal(p.preempted_ns, preempted_us * US);
	assert_int_equal(p.unmeasured_ns, 0);
}

static void work_and_sleep_are_told_apart(void **state)
{
	struct thread t = begin();

	(void)state;
	assert_parts(silence(&t, 300 * US, 0), 300, 0, 0);
	assert_parts(silence(&t, 0, 400 * US), 0, 400, 0);
	assert_parts(silence(&t, 100 * US, 300 * US), 100, 300, 0);
	silences_fini(&t.silences);
}

static void switches_tell_sleep_from_a_lost_core(void **state)
{
	struct thread t = begin();

	(void)state;
	t.losses += 3;
	t.sleeps -= 1; /* silence() counts one */
	assert_parts(silence(&t, 100 * US, 300 * US), 100, 0, 300);
	t.losses += 1;
	assert_parts(silence(&t, 0, 300 * US), 0, 150, 150);
	silences_fini(&t.silences);
}

static void waits_that_spin_are_no_work_of_the_silence(void **state)
{
	struct thread t = begin();

	(void)state;
	wait_for_device(&t, 500 * US, true);
	assert_parts(silence(&t, 0, 400 * US), 0, 400, 0);
	wait_for_device(&t, 500 * US, true);
	assert_parts(silence(&t, 400 * US, 0), 400, 0, 0);
	silences_fini(&t.silences);
}

static void waits_that_sleep_are_no_sleep_of_the_silence(void **state)
{
	struct thread t = begin();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		wait_for_device(&t, 300 * US, false);
		assert_parts(silence(&t, 400 * US, 0), 400, 0, 0);
		wait_for_device(&t, 300 * US, false);
		assert_parts(silence(&t, 50 * US, 350 * US), 50, 350, 0);
	}
	silences_fini(&t.silences);
}

static void a_thread_sleeps_while_another_launches(void **state)
{
	struct thread t = begin();
	uint64_t from = t.now_ns;

	(void)state;
	t.others_ns = t.now_ns + 300 * US;
	silence(&t, 100 * US, 300 * US);
	assert_parts(silences_split(&t.silences, from, from + 300 * US), 0, 300, 0);
	assert_parts(silences_split(&t.silences, from + 300 * US, from + 400 * US), 100, 0, 0);
	silences_fini(&t.silences);
}

static void what_was_not_measured_is_said_so(void **state)
{
	struct silences none = {0};
	struct thread t = begin();
	struct host_parts p = silences_split(&none, 100, 300);

	(void)state;
	assert_int_equal(p.unmeasured_ns, 200);
	p = silences_split(&t.silences, t.now_ns - 100 * US, t.now_ns + 50 * US);
	assert_int_equal(p.unmeasured_ns, 100 * US);
	assert_int_equal(p.running_ns, 50 * US);
	silences_fini(&t.silences);
}

static void rows_that_go_back_are_passed_over(void **state)
{
	struct thread t = begin();
	struct wake wake = {t.now_ns + 100 * US, 900 * US, 0, 0, 0, 1};

	(void)state;
	silences_add(&t.silences, &wake, 0, 0);
	wake.begin_ns -= 200 * US;
	silences_add(&t.silences, &wake, 0, 0);
	assert_int_equal(t.silences.last, 0);
	silences_fini(&t.silences);
}

static void memory_is_bounded(void **state)
{
	struct thread t = begin();
	struct host_parts p;
	uint64_t from = t.now_ns;

	(void)state;
	for (unsigned i = 0; i < 200000; i++)
		silence(&t, 100 * US, 100 * US);
	assert_true(t.silences.capacity <= 65536);
	p = silences_split(&t.silences, from, t.now_ns);
	assert_int_equal(p.running_ns + p.blocked_ns + p.preempted_ns + p.unmeasured_ns,
			 t.now_ns - from);
	assert_int_equal(p.unmeasured_ns, (200000 - 65536) * 200 * US);
	silences_fini(&t.silences);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_and_sleep_are_told_apart),
		cmocka_unit_test(switches_tell_sleep_from_a_lost_core),
		cmocka_unit_test(waits_that_spin_are_no_work_of_the_silence),
		cmocka_unit_test(waits_that_sleep_are_no_sleep_of_the_silence),
		cmocka_unit_test(a_thread_sleeps_while_another_launches),
		cmocka_unit_test(what_was_not_measured_is_said_so),
		cmocka_unit_test(rows_that_go_back_are_passed_over),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
