/* Layers told from where their operands lie, or from the pauses before them and the durations of their kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/layer_steps.h"
#include "analysis/layers.h"
#include "tests/unit/trace_image.h"

#define KERNELS 2
#define PIECE_NS 40000
#define FAR_NS UINT64_C(1000000000) /* from one sample to the next */

/* A loop of pieces of two kernels, 20 us each. */
struct loop {
	unsigned every;       /* pieces from one pause to the next */
	uint32_t pause_ns;    /* of the host */
	uint32_t idle_ns;     /* of the device, meanwhile */
	uint32_t own_ns[256]; /* by piece since the pause: what its first kernel takes more */
	uint32_t noise_ns;    /* of everything */
	bool irregular;       /* pauses come at random, as often */
	size_t pieces;        /* of a sample */
	/* Of the kernel of a piece, by its number since the sequence broke off; NULL = none known. */
	struct layer_operand (*operand)(uint64_t number, unsigned kernel);
	bool shifts; /* the sequence breaks off in the middle of passes */
	struct layer_series series;
};

static uint32_t noise(const struct loop *l)
{
	return l->noise_ns ? (uint32_t)random_below(l->noise_ns) : 0;
}

static void fill_piece(struct loop *l, size_t row, uint64_t number)
{
	uint64_t since = (number + l->every - 3) % l->every;
	bool pauses = l->irregular ? random_below(l->every) == 0 : since == 0;

	for (unsigned k = 0; k < KERNELS; k++, row++) {
		bool here = pauses && k == 1; /* the loop begins in the middle of the piece */

		l->series.host_ns[row] = 10000 + noise(l) + (here ? l->pause_ns : 0);
		l->series.apart_ns[row] = 20000 + noise(l) + (here ? l->idle_ns : 0);
		l->series.run_ns[row] = 20000 + noise(l) + (k ? 0 : l->own_ns[since]);
		if (l->operand)
			l->series.operand[row] = l->operand(number, k);
	}
}

static bool find(struct loop *l, struct layers *layers)
{
	size_t rows = l->pieces * LAYER_SAMPLES * KERNELS;
	uint64_t number = 0;
	bool found;

	l->series.kernels = KERNELS;
	l->series.sample_count = LAYER_SAMPLES;
	l->series.host_ns = calloc(rows, sizeof(uint32_t));
	l->series.run_ns = calloc(rows, sizeof(uint32_t));
	l->series.apart_ns = calloc(rows, sizeof(uint32_t));
	l->series.operand = l->operand ? calloc(rows, sizeof(struct layer_operand)) : NULL;
	for (unsigned i = 0; i < LAYER_SAMPLES; i++) {
		struct layer_sample *sample = &l->series.sample[i];

		number += random_below(1000);
		*sample = (struct layer_sample){i * FAR_NS, i * FAR_NS + l->pieces * PIECE_NS,
						number - (l->shifts ? i : 0), l->pieces};
		for (size_t k = 0; k < l->pieces; k++, number++)
			fill_piece(l, (i * l->pieces + k) * KERNELS, number);
	}
	found = layers_find(&l->series, layers);
	free(l->series.host_ns);
	free(l->series.run_ns);
	free(l->series.apart_ns);
	free(l->series.operand);
	return found;
}

/* What one layer takes more than another, in no order. */
static void own(struct loop *l)
{
	for (unsigned i = 0; i < l->every; i++)
		l->own_ns[i] = (i * 37 + 11) % 64 * 10;
}

static void expect_layers(struct loop *l)
{
	struct layers layers;

	assert_true(find(l, &layers));
	assert_int_equal(layers.count, l->every);
	assert_int_equal(layers.first, 3);
	assert_int_equal(layers.offset, 1);
}

static void expect_none(struct loop *l)
{
	struct layers layers;

	assert_false(find(l, &layers));
}

static void a_pause_and_durations_tell_layers(void **state)
{
	static const unsigned counts[] = {6, 7, 8, 12, 24, 33, 48};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct loop l = {.every = counts[i],
				 .pause_ns = 3000,
				 .idle_ns = 3000,
				 .noise_ns = 400,
				 .pieces = 1600};

		own(&l);
		expect_layers(&l);
	}
}

/* After a wait the device was idle for longer than a layer: what differs is in no order all the same. */
static void a_wait_in_each_pass_tells_layers(void **state)
{
	struct loop l = {.every = 12,
			 .pause_ns = 300000,
			 .idle_ns = 300000,
			 .noise_ns = 400,
			 .pieces = 1600};

	(void)state;
	own(&l);
	expect_layers(&l);
}

/* A line of log, or the driver's own doing. */
static void a_pause_alone_tells_nothing(void **state)
{
	static const unsigned counts[] = {10, 16, 64};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct loop l = {.every = counts[i],
				 .pause_ns = 30000,
				 .idle_ns = 30000,
				 .noise_ns = 400,
				 .pieces = 2000};

		expect_none(&l);
		l.noise_ns = 0;
		expect_none(&l);
	}
}

static void durations_alone_tell_nothing(void **state)
{
	struct loop l = {.every = 12, .noise_ns = 400, .pieces = 1600};

	(void)state;
	own(&l);
	expect_none(&l);
}

/* The clock comes down again after a wait: each step takes a little longer than the one before. */
static void what_settles_after_a_pause_is_no_layer(void **state)
{
	struct loop l = {.every = 10,
			 .pause_ns = 300000,
			 .idle_ns = 300000,
			 .noise_ns = 400,
			 .pieces = 1600};

	(void)state;
	for (unsigned i = 0; i < l.every; i++)
		l.own_ns[i] = 1000 - 1000 / (i + 1);
	expect_none(&l);
	for (unsigned i = 0; i < l.every; i++)
		l.own_ns[i] = 2000 >> i;
	expect_none(&l);
}

/* A step writes where the one before it did not. */
static void memory_taken_in_turns_makes_no_layers(void **state)
{
	struct loop l = {.every = 10, .pause_ns = 9000, .noise_ns = 400, .pieces = 1600};

	(void)state;
	for (unsigned i = 0; i < l.every; i++)
		l.own_ns[i] = i % 2 * 500;
	expect_none(&l);
}

static void pauses_out_of_step_are_no_passes(void **state)
{
	struct loop l = {
		.every = 12, .pause_ns = 30000, .noise_ns = 400, .irregular = true, .pieces = 1600};

	(void)state;
	own(&l);
	expect_none(&l);
}

static void few_layers_are_not_looked_for(void **state)
{
	struct loop l = {
		.every = LAYERS_LEAST - 1, .pause_ns = 3000, .noise_ns = 400, .pieces = 1600};

	(void)state;
	own(&l);
	expect_none(&l);
}

static void few_passes_are_not_enough(void **state)
{
	struct loop l = {.every = 12, .pause_ns = 3000, .noise_ns = 400, .pieces = 40};

	(void)state;
	own(&l);
	expect_none(&l);
}

static void nothing_to_look_at(void **state)
{
	struct layer_series none = {.kernels = 1};
	struct layers layers;

	(void)state;
	assert_false(layers_find(&none, &layers));
}

/* --- operands --- */

static struct layer_operand pair(uint64_t a, uint64_t b)
{
	struct layer_operand operand = {(uint16_t)a, (uint16_t)b};

	return operand;
}

/* Weights of so many layers; activations in two buffers, the first one's input in a third. */
static unsigned layers_of_model;

static struct layer_operand of_model(uint64_t number, unsigned kernel)
{
	unsigned layer = (unsigned)(number % layers_of_model);
	unsigned b = 1000 + (layer ? 1 + layer % 2 : 0);

	return kernel ? pair(0, 0) : pair(layer + 1, b);
}

static void expect_operands(struct loop *l, unsigned first, unsigned offset)
{
	struct layers layers;

	assert_true(find(l, &layers));
	assert_int_equal(layers.count, layers_of_model);
	assert_int_equal(layers.first, first % layers_of_model);
	assert_int_equal(layers.offset, offset);
	assert_true(layers.by_operands);
}

/* Without a pause, all kernels taking the same time. */
static void operands_alone_tell_layers(void **state)
{
	static const unsigned counts[] = {2, 3, 5, 6, 12, 64, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct loop l = {.every = 7, .operand = of_model, .pieces = 800};

		layers_of_model = counts[i];
		expect_operands(&l, 0, 0);
		l.shifts = true;
		expect_operands(&l, 0, 0);
		l.pieces = 2 * counts[i];
		expect_operands(&l, 0, 0);
		l.pieces = 2 * counts[i] - 1;
		expect_none(&l);
	}
}

static void the_pass_begins_where_the_host_pauses(void **state)
{
	static const unsigned counts[] = {2, 3, 5, 12, 64, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct loop l = {.every = counts[i],
				 .pause_ns = 30000,
				 .noise_ns = 400,
				 .operand = of_model,
				 .pieces = 800};

		layers_of_model = counts[i];
		expect_operands(&l, 3, 1);
	}
}

/* A pause that comes at another number has nothing to say. */
static void a_pause_at_another_number_is_no_begin(void **state)
{
	struct loop l = {.every = 10, .pause_ns = 30000, .operand = of_model, .pieces = 800};

	(void)state;
	layers_of_model = 7;
	expect_operands(&l, 0, 0);
}

static struct layer_operand with_losses(uint64_t number, unsigned kernel)
{
	struct layer_operand operand = of_model(number, kernel);

	if (!kernel && random_below(100) == 0)
		operand.a = (uint16_t)(random_below(2) * 7);
	return operand;
}

static struct layer_operand with_many_losses(uint64_t number, unsigned kernel)
{
	struct layer_operand operand = of_model(number, kernel);

	if (!kernel && random_below(10) == 0)
		operand.a = 7;
	return operand;
}

static void exceptions_are_few(void **state)
{
	struct loop l = {.every = 7, .operand = with_losses, .pieces = 1600};

	(void)state;
	layers_of_model = 6;
	expect_operands(&l, 0, 0);
	l.operand = with_many_losses;
	expect_none(&l);
}

/* The other kernel's A is another buffer in each pass. */
static struct layer_operand with_new_buffers(uint64_t number, unsigned kernel)
{
	return kernel ? pair(300 + random_below(50), 2000) : of_model(number, kernel);
}

static void buffers_allocated_anew_say_nothing(void **state)
{
	struct loop l = {.every = 7, .operand = with_new_buffers, .pieces = 1600};

	(void)state;
	layers_of_model = 6;
	expect_operands(&l, 0, 0);
}

static struct layer_operand one_weight(uint64_t number, unsigned kernel)
{
	return pair(1 + kernel, 10 + number % 4);
}

static struct layer_operand one_weight_as_b(uint64_t number, unsigned kernel)
{
	return pair(10 + number % 4, 1 + kernel);
}

static struct layer_operand unknown_b(uint64_t number, unsigned kernel)
{
	return pair(of_model(number, kernel).a, 0);
}

/* Its filter's gradient is of inputs in turns. */
static struct layer_operand training(uint64_t number, unsigned kernel)
{
	uint64_t input = 10 + number % 3, gradient = 20 + number % 2;

	return kernel ? pair(input, gradient) : pair(1, input);
}

static struct layer_operand two_periods(uint64_t number, unsigned kernel)
{
	return kernel ? pair(300 + number % 2, 2000) : of_model(number, kernel);
}

/* A pass of three layers whose first and last share their weights. */
static struct layer_operand shared(uint64_t number, unsigned kernel)
{
	return kernel ? pair(0, 0) : pair(number % 3 == 1 ? 2 : 1, 10 + number % 3);
}

static struct layer_operand at_random(uint64_t number, unsigned kernel)
{
	(void)number;
	(void)kernel;
	return pair(1 + random_below(6), 10 + random_below(6));
}

static void other_operands_tell_nothing(void **state)
{
	struct layer_operand (*const operands[])(uint64_t, unsigned) = {
		one_weight, one_weight_as_b, unknown_b, training, two_periods, shared, at_random};

	(void)state;
	layers_of_model = 6;
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		struct loop l = {.every = 7, .operand = operands[i], .pieces = 840};

		expect_none(&l);
	}
}

/* --- reports side by side --- */

#define PASSES                                                                                     \
	{                                                                                          \
		.known = true, .layers = 8, .kernels = 16, .count = 100, .period_ns = 8000,        \
		.low_ns = 7200, .high_ns = 8800, .batch_count = 1, .batch_ns = {8000},             \
	}

static void agree(struct steps *a, struct steps *b)
{
	struct device_report devices[2] = {{.steps = *a}, {.steps = *b}};
	struct process_report processes[2] = {{.devices = &devices[0], .device_count = 1},
					      {.devices = &devices[1], .device_count = 1}};
	struct report reports[2] = {{.processes = &processes[0], .process_count = 1},
				    {.processes = &processes[1], .process_count = 1}};

	layer_steps_agree(reports, 2);
	*a = devices[0].steps;
	*b = devices[1].steps;
}

static void a_layer_is_compared_with_a_layer(void **state)
{
	struct steps pass = PASSES;
	struct steps layer = {.known = true, .kernels = 2, .count = 300, .period_ns = 1300};

	(void)state;
	agree(&layer, &pass);
	assert_int_equal(pass.layers, 0);
	assert_int_equal(pass.kernels, 2);
	assert_int_equal(pass.count, 800);
	assert_int_equal(pass.period_ns, 1000);
	assert_int_equal(pass.low_ns, 900);
	assert_int_equal(pass.high_ns, 1100);
	assert_int_equal(pass.batch_ns[0], 1000);
	assert_int_equal(layer.count, 300);
	assert_int_equal(layer.period_ns, 1300);
}

static void passes_are_compared_with_passes(void **state)
{
	struct steps a = PASSES, b = PASSES, graph = {.known = true, .kernels = 16, .count = 9};

	(void)state;
	agree(&a, &b);
	assert_int_equal(a.layers, 8);
	assert_int_equal(b.period_ns, 8000);
	agree(&a, &graph);
	assert_int_equal(a.layers, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_and_durations_tell_layers),
		cmocka_unit_test(a_wait_in_each_pass_tells_layers),
		cmocka_unit_test(a_pause_alone_tells_nothing),
		cmocka_unit_test(durations_alone_tell_nothing),
		cmocka_unit_test(what_settles_after_a_pause_is_no_layer),
		cmocka_unit_test(memory_taken_in_turns_makes_no_layers),
		cmocka_unit_test(pauses_out_of_step_are_no_passes),
		cmocka_unit_test(few_layers_are_not_looked_for),
		cmocka_unit_test(few_passes_are_not_enough),
		cmocka_unit_test(nothing_to_look_at),
		cmocka_unit_test(operands_alone_tell_layers),
		cmocka_unit_test(the_pass_begins_where_the_host_pauses),
		cmocka_unit_test(a_pause_at_another_number_is_no_begin),
		cmocka_unit_test(exceptions_are_few),
		cmocka_unit_test(buffers_allocated_anew_say_nothing),
		cmocka_unit_test(other_operands_tell_nothing),
		cmocka_unit_test(a_layer_is_compared_with_a_layer),
		cmocka_unit_test(passes_are_compared_with_passes),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
