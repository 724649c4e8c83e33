/* Steps in sequences of kernels whose structure is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/steps.h"
#include "analysis/timeline.h"
#include "tests/unit/trace_image.h"

#define US UINT64_C(1000)

/* Kernels one behind the other; signatures below NAMES share no name, signature n + NAMES * g is
 * name n with another grid. */
#define NAMES 64
#define GRIDS 16

struct run {
	struct vocabulary v;
	struct sequence sequence;
	uint64_t now_ns, first_ns;
	uint64_t stream;
	uint32_t graph, correlation;
	struct step_list steps;
};

static void begin(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->v.signature_count = NAMES * GRIDS;
	r->v.signature = calloc(NAMES * GRIDS, sizeof(*r->v.signature));
	for (uint32_t i = 0; i < NAMES * GRIDS; i++)
		r->v.signature[i].name_key = i % NAMES + 2;
	sequence_init(&r->sequence);
	r->now_ns = r->first_ns = 1000 * US;
}

static void kernel(struct run *r, uint32_t signature, uint64_t duration_ns)
{
	struct op op = {.begin_ns = r->now_ns,
			.end_ns = r->now_ns + duration_ns,
			.signature = signature,
			.stream = r->stream,
			.graph = r->graph,
			.correlation = r->correlation};

	sequence_add(&r->sequence, &op);
	r->now_ns += duration_ns + 2 * US;
}

static void kernels(struct run *r, uint32_t from, uint32_t to)
{
	for (uint32_t s = from; s < to; s++)
		kernel(r, s, 10 * US);
}

static bool find(struct run *r)
{
	return steps_find(&r->sequence, &r->v, r->now_ns - r->first_ns, &r->steps);
}

static void end(struct run *r)
{
	steps_fini(&r->steps);
	sequence_fini(&r->sequence);
	free(r->v.signature);
}

/* 12 equal layers forwards, a loss, 12 equal layers backwards, an optimizer. */
static void transformer_step(struct run *r)
{
	kernels(r, 0, 2);
	for (unsigned layer = 0; layer < 12; layer++)
		kernels(r, 2, 10);
	kernels(r, 10, 12);
	for (unsigned layer = 0; layer < 12; layer++)
		kernels(r, 12, 24);
	kernels(r, 24, 30);
}

#define TRANSFORMER_KERNELS (2 + 12 * 8 + 2 + 12 * 12 + 6)

static void layers_inside_a_step_are_not_steps(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 30; i++)
		transformer_step(&r);
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_int_equal(r.steps.count, 29);
	assert_int_equal(r.steps.median_ns, TRANSFORMER_KERNELS * 12 * US);
	assert_int_equal(r.steps.interval_count, 1);
	assert_int_equal(r.steps.interval[0].begin_ns, r.first_ns);
	assert_int_equal(r.steps.warmup_count, 0);
	assert_int_equal(r.steps.outlier_count, 0);
	end(&r);
}

static void equal_layers_with_a_short_head(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned layer = 0; layer < 24; layer++)
			kernels(&r, 0, 12);
		kernels(&r, 20, 22);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 24 * 12 + 2);
	end(&r);
}

static void one_kernel_can_be_a_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	kernels(&r, 5, 15);
	for (unsigned i = 0; i < 200; i++)
		kernel(&r, 0, 900 * US);
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 1);
	assert_int_equal(r.steps.count, 199);
	assert_int_equal(r.steps.median_ns, 902 * US);
	end(&r);
}

static void a_replayed_graph_is_a_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	r.graph = 3;
	for (unsigned i = 0; i < 50; i++) {
		r.correlation = 1 + 7 * i;
		for (unsigned node = 0; node < 21; node++)
			kernel(&r, 0, 3 * US);
		r.now_ns += 10 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 21);
	assert_string_equal(r.steps.detected_by, "graph launch");
	end(&r);
}

static void two_alternating_phases_are_one_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 40; i++) {
		kernels(&r, 0, 20);  /* discriminator */
		kernels(&r, 10, 34); /* generator, shares some kernels */
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 44);
	end(&r);
}

static void accumulated_micro_steps_are_one_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned micro = 0; micro < 4; micro++)
			kernels(&r, 0, 20);
		kernels(&r, 40, 50);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 90);
	end(&r);
}

static void evaluate_between(unsigned epochs)
{
	struct run r;

	begin(&r);
	for (unsigned epoch = 0; epoch < epochs; epoch++) {
		for (unsigned i = 0; i < 50; i++)
			transformer_step(&r);
		for (unsigned i = 0; i < 10; i++) {
			kernels(&r, 0, 2);
			for (unsigned layer = 0; layer < 12; layer++)
				kernels(&r, 2, 10);
			kernels(&r, 40, 44);
		}
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_in_range(r.steps.count, epochs * 49 - 1, epochs * 50);
	assert_in_range(r.steps.interval_count, 1, 2 * epochs);
	end(&r);
}

static void evaluation_in_between_is_set_apart(void **state)
{
	(void)state;
	evaluate_between(4);
}

/* Epochs repeat too, and more exactly than their steps: they are not what is meant. */
static void many_epochs_are_not_steps(void **state)
{
	(void)state;
	evaluate_between(12);
}

static void set_up_is_no_step(void **state)
{
	struct run r;
	uint64_t from;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 300; i++)
		kernel(&r, 40 + (uint32_t)random_below(20), 5 * US);
	r.now_ns += 3000000 * US;
	from = r.now_ns;
	for (unsigned i = 0; i < 20; i++)
		transformer_step(&r);
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_true(r.steps.interval[0].begin_ns >= from);
	end(&r);
}

static void the_loop_with_the_most_time_wins(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 2000; i++)
		kernels(&r, 30, 36);
	for (unsigned i = 0; i < 100; i++)
		kernel(&r, 50, 5000 * US);
	for (unsigned i = 0; i < 20; i++)
		transformer_step(&r);
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 1);
	assert_int_equal(r.steps.median_ns, 5002 * US);
	end(&r);
}

static void no_repetition_is_no_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 5000; i++)
		kernel(&r, (uint32_t)random_below(40), (1 + random_below(20)) * US);
	assert_false(find(&r));
	end(&r);
}

static void a_log_line_every_tenth_step_makes_no_longer_steps(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 100; i++) {
		transformer_step(&r);
		if (i % 10 == 9)
			kernels(&r, 50, 53);
	}
	assert_true(find(&r));
	assert_in_range(r.steps.kernels, TRANSFORMER_KERNELS, TRANSFORMER_KERNELS + 3);
	end(&r);
}

static void slow_first_steps_are_warm_up(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 60; i++) {
		transformer_step(&r);
		r.now_ns += (i == 0 ? 900000 : i == 1 ? 50000 : i == 40 ? 80000 : 100) * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.warmup_count, 2);
	assert_int_equal(r.steps.outlier_count, 1);
	assert_int_equal(r.steps.count, 59 - 3);
	assert_int_equal(r.steps.interval_count, 2);
	end(&r);
}

/* The loop launches one kernel twice and then waits: half of the pieces are long, and none is an
 * exception. */
/* The first step loads each kernel's code, for longer than all others take together: that time is no layer's. MobileNet V2, batch 1. */
static void a_first_step_that_loads_code_makes_no_layers_steps(void **state)
{
	static const unsigned more[] = {0, 2, 1, 1, 0, 2, 0, 1};
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 57; i++) {
		uint64_t gap = (i ? 20 : 10000) * US;

		kernel(&r, 40, US);
		for (unsigned block = 0; block < 51; block++) {
			for (uint32_t s = 0; s < 4; s++, r.now_ns += gap)
				kernel(&r, s, US);
			for (uint32_t s = 0; s < more[block * block % 11 % 8]; s++, r.now_ns += gap)
				kernel(&r, 10 + s, US);
		}
	}
	assert_true(steps_find(&r.sequence, &r.v, r.sequence.count * US, &r.steps));
	assert_int_equal(r.steps.kernels, 1 + 51 * 4 + 64);
	assert_true(r.steps.count >= 54);
	end(&r);
}

static void a_kernel_twice_in_each_round(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 100; i++) {
		kernels(&r, 3, 4);
		kernels(&r, 3, 4);
		r.now_ns += 60 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.outlier_count, 0);
	assert_int_equal(r.steps.interval_count, 1);
	assert_true(r.steps.interval[0].end_ns - r.steps.interval[0].begin_ns > 98 * 84 * US);
	end(&r);
}

/* One name with two grids is the only thing that recurs so that all but 0.5 % of the time lies in one of two pieces. */
static void a_round_is_not_its_longest_piece(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 6000; i++) {
		kernel(&r, 3, 1 * US);
		kernel(&r, 3 + NAMES, 1 * US);
		kernel(&r, 4, 1000 * US);
		kernel(&r, 5, 1000 * US);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.outlier_count, 0);
	assert_int_equal((int)(r.steps.kernels + 0.5), 4);
	assert_true(r.steps.mark_count > 2);
	end(&r);
}

static void checkpoints_are_set_apart(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 200; i++) {
		transformer_step(&r);
		if (i % 25 == 24)
			r.now_ns += 2000000 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_int_equal(r.steps.outlier_count, 7);
	assert_int_equal(r.steps.count, 199 - 7);
	end(&r);
}

/* Thermal throttling, a growing cache: no step differs much from the one before. */
/* Three kernels, the last as long as is said; all else takes 26 us. */
static void step_of(struct run *r, uint64_t last_ns)
{
	kernels(r, 0, 2);
	kernel(r, 2, last_ns);
}

/* Steps of 26 us and 1 to 100 us more, in a mixed order: half of them are within 25 us of the median. */
static void what_is_usual_depends_on_how_much_steps_differ(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 100; i++)
		step_of(&r, (1 + i * 37 % 100) * US);
	step_of(&r, 250 * US); /* within eight deviations of wide steps */
	step_of(&r, 50 * US);
	assert_true(find(&r));
	assert_int_equal(r.steps.outlier_count, 0);
	assert_int_equal(r.steps.count, 101);
	assert_int_equal(r.steps.low_ns, (26 + 11) * US);
	assert_int_equal(r.steps.high_ns, (26 + 91) * US);
	end(&r);
	begin(&r);
	for (unsigned i = 0; i < 100; i++)
		step_of(&r, (50 + i * 37 % 5) * US);
	step_of(&r, 250 * US); /* the same step among steady ones */
	step_of(&r, 50 * US);
	step_of(&r, 50 * US);
	assert_true(find(&r));
	assert_int_equal(r.steps.outlier_count, 1);
	end(&r);
}

/* A good step between slow ones does not end it; five in a row do. */
static void warm_up_lasts_until_steps_are_usual_in_a_row(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 12; i++)
		step_of(&r, i % 3 == 1 ? 50 * US : 900 * US);
	for (unsigned i = 0; i < 100; i++)
		step_of(&r, 50 * US);
	assert_true(find(&r));
	assert_int_equal(r.steps.warmup_count, 12);
	assert_int_equal(r.steps.count, 99);
	assert_int_equal(r.steps.outlier_count, 0);
	end(&r);
}

static void a_step_time_that_drifts(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 200; i++) {
		transformer_step(&r);
		r.now_ns += (100 + 20 * i) * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_int_equal(r.steps.outlier_count, 0);
	assert_in_range(r.steps.count, 190, 199);
	end(&r);
}

static void grids_that_follow_the_sequence_length(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 60; i++) {
		uint32_t grid = NAMES * (uint32_t)random_below(GRIDS);

		for (unsigned layer = 0; layer < 6; layer++)
			kernels(&r, grid, grid + 10);
		kernels(&r, grid + 10, grid + 14);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 64);
	assert_int_equal(r.steps.count, 59);
	end(&r);
}

static void two_models_interleaved_on_two_streams(void **state)
{
	struct run r;
	unsigned a = 0, b = 0;

	(void)state;
	begin(&r);
	while (a < 60 * 40) {
		if (random_below(3)) {
			r.stream = 1;
			kernel(&r, a++ % 40, 10 * US);
		} else {
			r.stream = 2;
			kernel(&r, 40 + b++ % 13, 10 * US);
		}
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 40);
	end(&r);
}

static void steps_without_any_kernel_of_their_own(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 50; i++)
		for (uint32_t k = 0; k < 24; k++)
			kernel(&r, k / 4, 10 * US);
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 24);
	assert_int_equal(r.steps.count, 49);
	end(&r);
}

static void times_far_apart_are_kept(void **state)
{
	struct run r;
	struct sequence_walk walk = {0};
	struct sequence_item item;

	(void)state;
	begin(&r);
	kernel(&r, 1, US);
	r.now_ns += UINT64_C(5000000000);
	kernel(&r, 2, US);
	kernel(&r, 3, US);
	assert_true(sequence_next(&r.sequence, &walk, &item));
	assert_int_equal(item.begin_ns, r.first_ns);
	assert_true(sequence_next(&r.sequence, &walk, &item));
	assert_int_equal(item.begin_ns, r.first_ns + UINT64_C(5000003000));
	assert_true(sequence_next(&r.sequence, &walk, &item));
	assert_int_equal(item.begin_ns, r.first_ns + UINT64_C(5000006000));
	assert_int_equal(item.signature, 3);
	assert_false(sequence_next(&r.sequence, &walk, &item));
	end(&r);
}

/* 45 steps, each longer than the one before: stretches of two, in order, the last five left out. */
static void stretches_follow_the_run(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 46; i++) {
		kernels(&r, 0, 20);
		r.now_ns += i * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.count, 45);
	assert_int_equal(r.steps.batch_count, STEP_BATCHES);
	for (unsigned i = 0; i < STEP_BATCHES; i++)
		assert_int_equal(r.steps.batch_ns[i], 20 * 12 * US + (2 * i + 1) * US);
	end(&r);
}

/* 200 steps, of which the 50 in the middle take what most of them take. */
static void marks_are_at_typical_steps(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 200; i++) {
		kernels(&r, 0, 5);
		r.now_ns += i < 70 ? 90 * US : i < 130 ? 100 * US : 110 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.mark_count, STEP_MARKS);
	assert_true(r.steps.mark_ns[0] > r.first_ns + 60 * 150 * US);
	for (unsigned i = 1; i < r.steps.mark_count; i++) {
		uint64_t length = r.steps.mark_ns[i] - r.steps.mark_ns[i - 1];

		assert_true(length + 5 * US > r.steps.median_ns);
		assert_true(length < r.steps.median_ns + 5 * US);
	}
	end(&r);
}

/* Marks never go over what is no step. */
static void marks_keep_to_one_run_of_steps(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 60; i++) {
		kernels(&r, 0, 5);
		r.now_ns += i % 10 == 9 ? 10000 * US : 50 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.mark_count, 10);
	assert_true(r.steps.mark_ns[9] - r.steps.mark_ns[0] < 9 * 200 * US);
	end(&r);
}

static void few_steps_are_stretches_of_one(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		kernels(&r, 0, 20);
	assert_true(find(&r));
	assert_int_equal(r.steps.batch_count, r.steps.count);
	end(&r);
}

/* Twelve small layers, a head and a search for the next token as long as five of them: no epoch. */
static void a_decoded_token_is_a_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned layer = 0; layer < 12; layer++)
			kernels(&r, 0, 8);
		kernels(&r, 8, 48);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 12 * 8 + 40);
	end(&r);
}

/* On one stream: four steps of the one for each of the other, not in a fixed order. The one with the
 * most time makes the steps. */
static void two_models_in_turns_on_one_stream(void **state)
{
	struct run r;
	unsigned large = 0;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 300; i++) {
		if (random_below(5)) {
			transformer_step(&r);
			large++;
		} else {
			kernels(&r, 40, 62);
		}
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	/* Those with a step of the other model behind them are set apart. */
	assert_in_range(r.steps.count, large / 2, large);
	end(&r);
}

/* Lengths of sequences that vary, an evaluation after each epoch, and a checkpoint behind it. */
static void everything_that_disturbs_at_once(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 3; i++)
		kernel(&r, 60, 2000 * US);
	for (unsigned epoch = 0; epoch < 5; epoch++) {
		for (unsigned i = 0; i < 60; i++) {
			uint32_t grid = NAMES * (uint32_t)random_below(GRIDS);

			for (unsigned layer = 0; layer < 6; layer++)
				kernels(&r, grid, grid + 10);
			kernels(&r, grid + 10, grid + 14);
			if (i % 10 == 9)
				kernel(&r, 50, 5 * US);
			r.now_ns += random_below(100) * US;
		}
		for (unsigned i = 0; i < 12; i++)
			for (unsigned layer = 0; layer < 6; layer++)
				kernels(&r, 0, 5);
		r.now_ns += 10000 * US;
	}
	assert_true(find(&r));
	assert_in_range(r.steps.kernels, 64, 65);
	assert_in_range(r.steps.count, 290, 300);
	assert_int_equal(r.steps.outlier_count, 4);
	end(&r);
}

/* Passes of eight layers of three kernels, a pause before the second kernel of the first layer, and another model's run after some. */
static void layers_are_joined_into_passes(void **state)
{
	const struct layers layers = {8, 0, 1, false};
	struct run r;

	(void)state;
	begin(&r);
	kernels(&r, 40, 60);
	for (unsigned i = 0; i < 300; i++) {
		for (unsigned layer = 0; layer < 8; layer++) {
			kernel(&r, 0, 10 * US);
			r.now_ns += layer ? 0 : 6 * US;
			kernels(&r, 1, 3);
		}
		if (i % 100 == 99)
			kernels(&r, 40, 60);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 3);
	assert_int_equal(r.steps.sample_count, LAYER_SAMPLES);
	for (unsigned i = 0; i < r.steps.sample_count; i++) {
		const struct layer_sample *sample = &r.steps.sample[i];

		assert_true(sample->count > 100);
		assert_true(i == 0 || sample->begin_ns >= sample[-1].end_ns);
	}
	steps_join(&r.sequence, &r.v, r.now_ns - r.first_ns, &layers, &r.steps);
	assert_int_equal(r.steps.layers, 8);
	assert_int_equal(r.steps.kernels, 24);
	assert_in_range(r.steps.count, 294, 299);
	assert_int_equal(r.steps.median_ns, (24 * 12 + 6) * US);
	assert_int_equal(r.steps.low_ns, r.steps.high_ns);
	end(&r);
}

/* What is said to be passes covers nothing: the layers stay. */
static void layers_that_are_none_stay_steps(void **state)
{
	const struct layers layers = {50, 40, 0, false};
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 300; i++) {
		for (unsigned step = 0; step < 20; step++)
			kernels(&r, 0, 3);
		kernel(&r, 40, 10 * US);
	}
	if (find(&r) && r.steps.kernels == 3)
		steps_join(&r.sequence, &r.v, r.now_ns - r.first_ns, &layers, &r.steps);
	assert_int_equal(r.steps.layers, 0);
	assert_true(r.steps.count > 4);
	end(&r);
}

/* --- more kernels than are looked at one by one --- */

#define LONG_RUN (5u << 19)

static void a_long_run_of_one_loop(void **state)
{
	unsigned steps = LONG_RUN / TRANSFORMER_KERNELS;
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < steps; i++) {
		transformer_step(&r);
		if (i % 5000 == 4999)
			r.now_ns += 3000000 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, TRANSFORMER_KERNELS);
	assert_int_equal(r.steps.count + r.steps.outlier_count, steps - 1);
	assert_int_equal(r.steps.outlier_count, steps / 5000);
	end(&r);
}

/* Neither fills the stretches that are looked at first: all of the run is. */
static void a_long_run_of_two_loops(void **state)
{
	struct run r;
	unsigned large = LONG_RUN / 2 / TRANSFORMER_KERNELS;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < large; i++)
		transformer_step(&r);
	for (unsigned i = 0; i < LONG_RUN / 2 / 13; i++) {
		kernels(&r, 40, 53);
		r.now_ns += 200 * US;
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 13);
	assert_in_range(r.steps.count, LONG_RUN / 2 / 13 - 2, LONG_RUN / 2 / 13);
	end(&r);
}

/* Longer than the stretches. */
static void a_long_run_of_huge_steps(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 30; i++) {
		kernels(&r, 0, 3);
		for (uint32_t layer = 0; layer < 10000; layer++)
			kernels(&r, 3 + layer / 1000 * 5, 13 + layer / 1000 * 5);
	}
	assert_true(find(&r));
	assert_int_equal(r.steps.kernels, 100003);
	assert_int_equal(r.steps.count, 29);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_inside_a_step_are_not_steps),
		cmocka_unit_test(equal_layers_with_a_short_head),
		cmocka_unit_test(one_kernel_can_be_a_step),
		cmocka_unit_test(a_replayed_graph_is_a_step),
		cmocka_unit_test(two_alternating_phases_are_one_step),
		cmocka_unit_test(accumulated_micro_steps_are_one_step),
		cmocka_unit_test(evaluation_in_between_is_set_apart),
		cmocka_unit_test(many_epochs_are_not_steps),
		cmocka_unit_test(set_up_is_no_step),
		cmocka_unit_test(the_loop_with_the_most_time_wins),
		cmocka_unit_test(no_repetition_is_no_step),
		cmocka_unit_test(a_log_line_every_tenth_step_makes_no_longer_steps),
		cmocka_unit_test(slow_first_steps_are_warm_up),
		cmocka_unit_test(a_first_step_that_loads_code_makes_no_layers_steps),
		cmocka_unit_test(a_kernel_twice_in_each_round),
		cmocka_unit_test(a_round_is_not_its_longest_piece),
		cmocka_unit_test(checkpoints_are_set_apart),
		cmocka_unit_test(what_is_usual_depends_on_how_much_steps_differ),
		cmocka_unit_test(warm_up_lasts_until_steps_are_usual_in_a_row),
		cmocka_unit_test(a_step_time_that_drifts),
		cmocka_unit_test(grids_that_follow_the_sequence_length),
		cmocka_unit_test(two_models_interleaved_on_two_streams),
		cmocka_unit_test(steps_without_any_kernel_of_their_own),
		cmocka_unit_test(times_far_apart_are_kept),
		cmocka_unit_test(stretches_follow_the_run),
		cmocka_unit_test(marks_are_at_typical_steps),
		cmocka_unit_test(marks_keep_to_one_run_of_steps),
		cmocka_unit_test(few_steps_are_stretches_of_one),
		cmocka_unit_test(a_decoded_token_is_a_step),
		cmocka_unit_test(two_models_in_turns_on_one_stream),
		cmocka_unit_test(everything_that_disturbs_at_once),
		cmocka_unit_test(layers_are_joined_into_passes),
		cmocka_unit_test(layers_that_are_none_stay_steps),
		cmocka_unit_test(a_long_run_of_one_loop),
		cmocka_unit_test(a_long_run_of_two_loops),
		cmocka_unit_test(a_long_run_of_huge_steps),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
