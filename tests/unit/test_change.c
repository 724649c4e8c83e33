/* Changes that depend on what kernels are, made to stretches by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/change.h"
#include "analysis/whatif.h"

#define STEPS 8
#define KERNELS 21
#define MS 1e6

/* A loop of kernels that keep the device busy, the host far ahead; gaps take no time. */
struct scene_of {
	struct device_report device;
	struct kernel_report kernel[KERNELS];
	char name[KERNELS][64];
	struct stretch stretch;
};

static void begin(struct scene_of *s)
{
	memset(s, 0, sizeof(*s));
	s->device.kernels = s->kernel;
	s->device.attributes = (struct device_attributes){
		.cc_major = 9,
		.sm_count = 132,
		.clock_khz = 1980000,
		.memory_clock_khz = 3201000,
		.memory_bus_bits = 6144,
	};
	s->device.peaks = ceilings_derive(&s->device.attributes);
	s->device.ceilings = s->device.peaks;
}

static struct kernel_report *kernel(struct scene_of *s, const char *name, const char *category,
				    double duration_ns)
{
	struct kernel_report *k = &s->kernel[s->device.kernel_count];
	char *copy = s->name[s->device.kernel_count];

	snprintf(copy, sizeof(s->name[0]), "%s", name);
	*k = (struct kernel_report){.signature = (uint32_t)s->device.kernel_count++,
				    .name = copy,
				    .category = category,
				    .class = CLASS_REST,
				    .mean_ns = duration_ns,
				    .pipe = CEILING_COUNT};
	return k;
}

static const struct whatif *play(struct scene_of *s)
{
	size_t count = (STEPS - 1) * s->device.kernel_count + 1;
	struct stretch *stretch = &s->stretch;

	stretch->call = calloc(count, sizeof(*stretch->call));
	stretch->op = calloc(count, sizeof(*stretch->op));
	stretch->mark = calloc(STEPS, sizeof(*stretch->mark));
	stretch->streams = 1;
	for (uint32_t i = 0; i < count; i++) {
		const struct kernel_report *k = &s->kernel[i % s->device.kernel_count];

		stretch->call[i] = (struct stretch_call){.before = i ? i - 1 : STRETCH_NONE,
							 .room = STRETCH_NONE,
							 .op = i,
							 .op_count = 1,
							 .own_ns = 1};
		stretch->op[i] = (struct stretch_op){
			.duration_ns = k->mean_ns,
			.begin_ns = i ? stretch->op[i - 1].end_ns : 1,
			.call = i,
			.next = STRETCH_NONE,
			.pred = i ? i - 1 : STRETCH_NONE,
			.dep = {STRETCH_NONE, STRETCH_NONE, STRETCH_NONE},
			.signature = k->signature,
		};
		stretch->op[i].end_ns = stretch->op[i].begin_ns + (uint64_t)k->mean_ns;
		if (i % s->device.kernel_count == 0)
			stretch->mark[stretch->mark_count++] = i;
	}
	stretch->call_count = stretch->op_count = count;
	assert_int_equal(stretch_sort(stretch), 0);
	whatif_fill(stretch, &(struct vocabulary){.signature_count = KERNELS}, &s->device);
	stretch_fini(stretch);
	assert_true(s->device.whatif.known);
	assert_true(s->device.whatif.error == 0);
	return &s->device.whatif;
}

static void step_is(const struct whatif *w, enum change_kind kind, double best, double likely,
		    double worst)
{
	const struct measure *step = &w->change[kind].step;

	if (fabs(step->value - likely) > 1 || fabs(step->low - best) > 1 ||
	    fabs(step->high - worst) > 1)
		print_message("%s: %.0f (%.0f to %.0f), expected %.0f (%.0f to %.0f)\n",
			      change_id(kind), step->value, step->low, step->high, likely, best,
			      worst);
	assert_true(w->change[kind].known);
	assert_true(fabs(step->value - likely) <= 1);
	assert_true(fabs(step->low - best) <= 1);
	assert_true(fabs(step->high - worst) <= 1);
}

/* A large product in fp32 at 50 TFLOP/s, for 1 ms. */
static struct kernel_report *product(struct scene_of *s)
{
	struct kernel_report *k = kernel(s, "ampere_sgemm_128x64_nn", "gemm_simt", MS);

	k->class = CLASS_CONTRACTION;
	k->pipe = CEILING_FP32;
	k->flops = measure_exact(50e9);
	k->waves = measure_exact(20);
	return k;
}

static void fp32_products_move_to_tensor_cores(void **state)
{
	struct scene_of s;
	const struct whatif *w;
	double ratio;

	(void)state;
	begin(&s);
	product(&s);
	w = play(&s);
	ratio = s.device.peaks.of[CEILING_FP32].measure.value /
		s.device.peaks.of[CEILING_TENSOR_TF32].measure.value;
	/* As near to the new peak as to the old at best; a little less likely; 0.6 at worst. */
	step_is(w, CHANGE_TF32, ratio * MS, 1.15 * ratio * MS, 0.6 * MS);
	assert_int_equal(w->change[CHANGE_TF32].touched, 1);
	assert_int_equal(w->change[CHANGE_TF32].target_count, 1);
	assert_true(w->change[CHANGE_BF16].step.low < w->change[CHANGE_TF32].step.low);
}

static void memory_is_a_floor_under_faster_arithmetic(void **state)
{
	struct scene_of s;
	const struct whatif *w;
	double floor;

	(void)state;
	begin(&s);
	product(&s)->bytes = measure_exact(3.6e9); /* three quarters of a millisecond */
	w = play(&s);
	floor = 0.7 * 3.6e9 / (0.7 * s.device.peaks.of[CEILING_DRAM_READ].measure.value) * 1e9;
	assert_true(fabs(w->change[CHANGE_TF32].step.value - floor) <= 1);
}

static void tensor_cores_in_use_are_left_alone(void **state)
{
	struct scene_of s;
	const struct whatif *w;
	struct kernel_report *k;

	(void)state;
	begin(&s);
	k = product(&s);
	snprintf(k->name, sizeof(s.name[0]), "nvjet_sm90_tst_128x64");
	k->category = "gemm";
	k->pipe = CEILING_TENSOR_BF16;
	w = play(&s);
	assert_false(w->change[CHANGE_TF32].known);
	assert_false(w->change[CHANGE_BF16].known);
}

static void small_products_may_gain_nothing(void **state)
{
	struct scene_of s;
	const struct whatif *w;

	(void)state;
	begin(&s);
	product(&s)->waves = measure_exact(0.2);
	w = play(&s);
	assert_true(w->change[CHANGE_TF32].step.high == MS);
}

static void a_batch_is_free_until_the_gpu_is_full(void **state)
{
	struct scene_of s;
	const struct whatif *w;
	struct kernel_report *k;

	(void)state;
	begin(&s);
	k = kernel(&s, "small", "unknown", MS);
	k->waves = measure_exact(0.2);
	k->verdict.leaf = LEAF_UNDERFILLED;
	k = kernel(&s, "full", "unknown", MS);
	k->waves = measure_exact(10);
	w = play(&s);
	/* For twice the items: 1 + 2, per item half of it; at worst 1.15 + 2. */
	step_is(w, CHANGE_BATCH, 1.5 * MS, 1.5 * MS, 1.575 * MS);
	assert_int_equal(w->change[CHANGE_BATCH].touched, 1);
}

static void communication_hides_behind_computation(void **state)
{
	struct scene_of s;
	const struct whatif *w;

	(void)state;
	begin(&s);
	kernel(&s, "backward_1", "unknown", MS);
	kernel(&s, "ncclDevKernel_AllReduce", "collective", MS);
	kernel(&s, "backward_2", "unknown", 2 * MS);
	kernel(&s, "multi_tensor_apply_kernel", "optimizer", MS);
	w = play(&s);
	/* What follows the collective runs beside it, from 1 to 3 ms at best. */
	step_is(w, CHANGE_OVERLAP, 4 * MS, 4.2 * MS, 4.6 * MS);
	assert_int_equal(w->change[CHANGE_OVERLAP].touched, 1);
}

static void without_collectives_there_is_nothing_to_overlap(void **state)
{
	struct scene_of s;

	(void)state;
	begin(&s);
	kernel(&s, "k", "unknown", MS);
	assert_false(play(&s)->change[CHANGE_OVERLAP].known);
}

static void an_optimizer_of_single_tensors_uses_lists(void **state)
{
	struct scene_of s;
	const struct whatif *w;
	const char *add = "at::native::vectorized_elementwise_kernel<add>";

	(void)state;
	begin(&s);
	kernel(&s, "gemm", "gemm", MS);
	for (unsigned i = 1; i < KERNELS; i++)
		kernel(&s, add, "elementwise", 1000);
	w = play(&s);
	/* 20 a step: each shorter, one after the other. */
	step_is(w, CHANGE_OPTIMIZER, MS + 6000, MS + 12000, MS + 20000);
	assert_int_equal(w->change[CHANGE_OPTIMIZER].touched, KERNELS - 1);
}

static void only_what_is_of_pytorch_is_compiled(void **state)
{
	struct scene_of s;
	const struct whatif *w;

	(void)state;
	begin(&s);
	kernel(&s, "k", "unknown", MS);
	assert_false(play(&s)->change[CHANGE_COMPILE].known);
	begin(&s);
	kernel(&s, "at::native::vectorized_elementwise_kernel", "elementwise", MS);
	kernel(&s, "at::native::reduce_kernel", "reduce", MS);
	w = play(&s);
	/* A chain of two as long as each other, and of the same grid. */
	step_is(w, CHANGE_COMPILE, 0.8 * MS, MS, 1.3 * MS);
	begin(&s);
	kernel(&s, "triton_poi_fused_0", "inductor_pointwise", MS);
	assert_false(play(&s)->change[CHANGE_COMPILE].known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fp32_products_move_to_tensor_cores),
		cmocka_unit_test(memory_is_a_floor_under_faster_arithmetic),
		cmocka_unit_test(tensor_cores_in_use_are_left_alone),
		cmocka_unit_test(small_products_may_gain_nothing),
		cmocka_unit_test(a_batch_is_free_until_the_gpu_is_full),
		cmocka_unit_test(communication_hides_behind_computation),
		cmocka_unit_test(without_collectives_there_is_nothing_to_overlap),
		cmocka_unit_test(an_optimizer_of_single_tensors_uses_lists),
		cmocka_unit_test(only_what_is_of_pytorch_is_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
