/*
 * shim/ring.h in every interleaving of a producer and a consumer, with atomics that may give any value that C11 allows: a
 * load sees any store that is not older than one it is ordered behind, and only an acquire that reads from a release orders
 * what lies around them. Slots are plain memory, so that two accesses without an order are a race, found by vector clocks
 * (Flanagan and Freund, FastTrack, 2009). Each order weakened to relaxed must show as one.
 *
 * Each function of the ring makes one access that the other thread sees, so that stepping function by function is every
 * interleaving. Sizes are small: 2 slots, 6 records, 5 looks of the consumer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#define RING_RECORDS 2u
#define RECORDS 6u
#define LOOKS 5u
/* Near the end of 32 bits, so that the counters wrap. */
#define START (UINT32_MAX - 2)

enum thread {
	PRODUCER,
	CONSUMER,
	THREADS
};

/* What a thread knows of its own and the other's steps: those up to this number lie before. */
struct clock {
	uint32_t of[THREADS];
};

struct store {
	uint32_t value;
	struct clock before; /* what its writer knew */
	enum thread writer;
	bool release;
};

#define STORES (RECORDS + LOOKS + 1)

/* One atomic variable: its stores in modification order, and the newest that each thread has seen. */
struct location {
	struct store store[STORES];
	unsigned count, seen[THREADS];
};

static uint32_t model_load(_Atomic uint32_t *object, memory_order order);
static void model_store(_Atomic uint32_t *object, uint32_t value, memory_order order);

#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(object, order) model_load(object, order)
#define atomic_store_explicit(object, value, order) model_store(object, value, order)
#include "shim/ring.h"

/* All that there is, copied at each choice. */
struct world {
	struct ring ring;
	struct location head, tail;
	struct clock now[THREADS];
	uint32_t written[RING_RECORDS], read[RING_RECORDS]; /* step of the last access, by slot */
	uint32_t made, dropped, looks, expected, peeked;
	bool has_room;
};

static struct world w;
static enum thread running;
static unsigned choice, choices; /* of the load that comes: which store it sees, and of how many */
static unsigned long worlds, races, wrong;
static memory_order weakened; /* this order counts as relaxed */
static bool weaken_head, weaken_tail;

static bool weak(const struct location *l, memory_order order)
{
	return order == weakened && (l == &w.head ? weaken_head : weaken_tail);
}

static struct location *location_of(const _Atomic uint32_t *object)
{
	return object == &w.ring.head ? &w.head : &w.tail;
}

/* The oldest store that the running thread may still see: no older than what it has seen, or knows of. */
static unsigned oldest(const struct location *l)
{
	unsigned least = l->seen[running];

	for (unsigned i = least + 1; i < l->count; i++) {
		enum thread writer = l->store[i].writer;

		if (l->store[i].before.of[writer] <= w.now[running].of[writer])
			least = i;
	}
	return least;
}

static void learn(const struct clock *clock)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (clock->of[i] > w.now[running].of[i])
			w.now[running].of[i] = clock->of[i];
}

static uint32_t model_load(_Atomic uint32_t *object, memory_order order)
{
	struct location *l = location_of(object);
	unsigned from = oldest(l), at = from;

	if (l->count - from > 1) {
		choices = l->count - from;
		at = from + choice;
	}
	l->seen[running] = at;
	if (order == memory_order_acquire && l->store[at].release && !weak(l, order))
		learn(&l->store[at].before);
	return l->store[at].value;
}

static void model_store(_Atomic uint32_t *object, uint32_t value, memory_order order)
{
	struct location *l = location_of(object);

	l->seen[running] = l->count;
	l->store[l->count++] =
		(struct store){.value = value,
			       .before = w.now[running],
			       .writer = running,
			       .release = order == memory_order_release && !weak(l, order)};
}

/* A plain access to a slot: is the other thread's last one behind us? */
static void touch(uint32_t *mine, const uint32_t *others, enum thread other)
{
	races += *others > w.now[running].of[other];
	*mine = w.now[running].of[running];
}

static void put(void)
{
	struct record record = {.kind = RECORD_CALL, .begin_ns = w.made};
	unsigned slot = w.head.store[w.head.count - 1].value % RING_RECORDS;

	touch(&w.written[slot], &w.read[slot], CONSUMER);
	ring_put(&w.ring, &record);
	w.made++;
	w.has_room = false;
}

static void producer(void)
{
	if (w.has_room) {
		put();
	} else if (ring_has_room(&w.ring, 1)) {
		w.has_room = true;
	} else {
		w.made++;
		w.dropped++;
	}
}

static void read_slots(const struct record *first)
{
	for (uint32_t i = 0; i < w.peeked; i++) {
		unsigned slot = (unsigned)(first + i - w.ring.slot);

		touch(&w.read[slot], &w.written[slot], PRODUCER);
		wrong += first[i].kind != RECORD_CALL || first[i].begin_ns < w.expected;
		w.expected = (uint32_t)first[i].begin_ns + 1;
	}
}

static void consumer(void)
{
	const struct record *first;

	if (w.peeked) {
		ring_take(&w.ring, w.peeked);
		w.peeked = 0;
		return;
	}
	w.looks++;
	w.peeked = ring_peek(&w.ring, &first);
	wrong += w.peeked > RING_RECORDS;
	read_slots(first);
}

static bool can_run(enum thread thread)
{
	return thread == PRODUCER ? w.made < RECORDS : w.looks < LOOKS || w.peeked;
}

static void step(enum thread thread)
{
	running = thread;
	w.now[thread].of[thread]++;
	if (thread == PRODUCER)
		producer();
	else
		consumer();
}

static void explore(void)
{
	struct world saved = w;

	worlds++;
	for (enum thread thread = PRODUCER; thread < THREADS; thread++) {
		unsigned count = 1;

		for (unsigned i = 0; i < count && can_run(thread); i++) {
			choice = i;
			choices = 1;
			step(thread);
			if (i == 0)
				count = choices;
			explore();
			w = saved;
		}
	}
}

static void run(void)
{
	memset(&w, 0, sizeof(w));
	w.ring.tail_seen = START;
	w.head.store[0] = w.tail.store[0] = (struct store){.value = START};
	w.head.count = w.tail.count = 1;
	worlds = races = wrong = 0;
	explore();
}

static void every_interleaving_is_ordered(void **state)
{
	(void)state;
	weaken_head = weaken_tail = false;
	run();
	print_message("%lu states\n", worlds);
	assert_int_equal(races, 0);
	assert_int_equal(wrong, 0);
	assert_true(worlds > 100000);
}

static void no_order_can_be_spared(void **state)
{
	static const memory_order orders[] = {memory_order_acquire, memory_order_release};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		weakened = orders[i & 1];
		weaken_head = i < 2;
		weaken_tail = i >= 2;
		run();
		assert_true(races > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_interleaving_is_ordered),
		cmocka_unit_test(no_order_can_be_spared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
