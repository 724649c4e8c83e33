/*
 * The ring between a traced thread and the writer (shim/ring.h), the counting of losses around it (put in
 * shim/recorder.c; drain_ring, tell_lost and drain_rings in shim/writer.c), a thread that ends at any step and leaves its
 * slot to the next (shim/thread.c), and a kill of the process at any step. README.md says which line is which line of C,
 * and what this does not see.
 *
 * SLOTS, RECORDS: sizes. MUTANT=n: one mistake, which the check must find.
 */
#ifndef SLOTS
#define SLOTS 4
#endif
#ifndef RECORDS
#define RECORDS 9
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define LIVES 2
/* The counters wrap around at a multiple of SLOTS, as 2^32 is one. */
#define WRAP (2 * SLOTS)
#define NOTHING 255
#define AT(counter) ((counter) % SLOTS)
#define BETWEEN(low, high) (((high) + WRAP - (low)) % WRAP)

mtype = { FREE, LIVE, EXITED };

/* What both threads see. */
mtype state = LIVE;
byte head, tail;
byte slot[SLOTS];       /* an ordinary record is its number; NOTHING while it is being written */
byte lost_slot[SLOTS];  /* of a RECORD_LOST: how many were lost; else 0 */
byte lost_count;        /* the thread's until it has exited, then the writer's */

/* What really happened, which no code can see. */
byte made, dropped;     /* records that the threads made; those for which there was no room */
byte taken, told;       /* records that reached the writer; losses that it was told of */
byte expected;          /* the record that the writer must see next, those told as lost passed over */
bool over;              /* no thread will make records any more */

/* ring_has_room */
inline has_room(count)
{
	room = (BETWEEN(tail_seen, head) + count <= SLOTS);
	if
	:: room
	:: else ->
		tail_seen = tail;
#if MUTANT == 2
		room = (BETWEEN(tail_seen, head) + count <= SLOTS + 1)
#else
		room = (BETWEEN(tail_seen, head) + count <= SLOTS)
#endif
	fi
}

/* ring_put: the slot in several steps, so that a half-written record is seen if anything lets it; then the head. */
inline put(number, lost)
{
#if MUTANT == 1
	head = (head + 1) % WRAP;
	slot[AT(head + WRAP - 1)] = NOTHING;
	lost_slot[AT(head + WRAP - 1)] = lost;
	slot[AT(head + WRAP - 1)] = number
#else
	slot[AT(head)] = NOTHING;
	lost_slot[AT(head)] = lost;
	slot[AT(head)] = number;
	head = (head + 1) % WRAP
#endif
}

/* put in recorder.c */
inline record()
{
	d_step { number = made; made++ };
#if MUTANT == 3
	has_room(1);
#else
	has_room((lost_count > 0 -> 2 : 1));
#endif
	if
	:: !room ->
		d_step { lost_count++; dropped++ }
	:: else ->
		if
		:: lost_count > 0 ->
			put(number, lost_count);
			lost_count = 0
		:: else
		fi;
		put(number, 0)
	fi
}

/* The threads that have the slot, one after another. */
proctype Threads()
{
	bool room;
	byte number, tail_seen, lives;

	do
	:: made < RECORDS -> record()
	:: lives < LIVES - 1 ->
		state = EXITED;         /* leave */
		state == FREE;          /* reuse_slot, attach */
		lost_count = 0;
		lives++;
		state = LIVE
	:: true -> break
	od;
	over = true;
	state = EXITED
}

/* drain_ring: ring_peek, the records, ring_take, until there are none. */
inline drain()
{
	do
	:: true ->
		n = BETWEEN(tail, head);
		assert(n <= SLOTS);
		n = (n < SLOTS - AT(tail) -> n : SLOTS - AT(tail));
		first = tail;
		if
		:: n == 0 -> break
		:: else
		fi;
#if MUTANT == 4
		tail = (tail + n) % WRAP;
#endif
		i = 0;
		do
		:: i < n ->
			/* whole, in order, none twice, none missing but those told of */
			assert(slot[AT(first + i)] != NOTHING);
			if
			:: lost_slot[AT(first + i)] > 0 ->
				d_step {
					told = told + lost_slot[AT(first + i)];
					expected = expected + lost_slot[AT(first + i)]
				}
			:: else ->
				assert(slot[AT(first + i)] == expected);
				d_step { expected++; taken++ }
			fi;
			i++
		:: else -> break
		od;
#if MUTANT != 4
		tail = (tail + n) % WRAP
#else
		skip
#endif
	od
}

/* drain_rings, for ever */
proctype Writer()
{
	byte n, i, first;
	mtype seen;

	do
	:: over && state == FREE -> break
	:: else ->
#if MUTANT == 5
		drain();
		seen = state;         /* after the ring: what came between is never seen */
#else
		seen = state;
		if
		:: seen != FREE -> drain()
		:: else
		fi;
#endif
		if
		:: seen == EXITED ->
#if MUTANT == 6
			state = FREE;           /* thread_recycle before tell_lost */
#endif
			d_step { told = told + lost_count; expected = expected + lost_count };
			lost_count = 0;
#if MUTANT != 6
			state = FREE
#else
			skip
#endif
		:: else
		fi
	od;
	/* All that was made is in the file, or was lost, counted and told. */
	assert(taken + dropped == made);
	assert(told == dropped);
	assert(expected == made)
}

/* A kill at any step: what is missing then is what the ring holds, and what its thread was just about to put. */
proctype Kill()
{
	atomic {
		assert(expected <= made);
		assert(made <= taken + dropped + SLOTS + 1)
	}
}

init
{
	atomic { run Threads(); run Writer(); run Kill() }
}
