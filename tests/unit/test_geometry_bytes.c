/* Bytes by names and grids: names as CUPTI gave them on an H200 (PyTorch 2.11), bytes by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/geometry_bytes.h"
#include "analysis/kernel_name.h"
#include "analysis/template_args.h"

#define NS "_ZN2at6native"

static const struct device_shape h200 = {.sm_count = 132, .threads_per_sm = 2048};

struct launch {
	const char *name;
	uint32_t grid[3], block[3];
	uint64_t shared_bytes;
	struct tensor_sizes sizes;
	double low, value, high; /* 0 = unknown */
};

static struct measure bytes_of(const struct launch *l)
{
	struct signature s = {.name = l->name, .shared_bytes = l->shared_bytes, .known = true};
	char *name = kernel_demangle(l->name);
	struct measure bytes;

	assert_non_null(name);
	memcpy(s.grid, l->grid, sizeof(s.grid));
	memcpy(s.block, l->block, sizeof(s.block));
	bytes = geometry_bytes_of(name, &s, &h200, &l->sizes);
	free(name);
	return bytes;
}

static void check(const struct launch *launches, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct measure m = bytes_of(&launches[i]);

		if (m.known != (launches[i].high > 0) ||
		    (m.known && (m.low != launches[i].low || m.value != launches[i].value ||
				 m.high != launches[i].high)))
			fail_msg("%s: %.0f [%.0f %.0f], not %.0f [%.0f %.0f]", launches[i].name,
				 m.value, m.low, m.high, launches[i].value, launches[i].low,
				 launches[i].high);
	}
}

#define CHECK(launches) check(launches, sizeof(launches) / sizeof((launches)[0]))

/* Blocks of 128 threads x 8 elements; the last may have next to none. */
static void pointwise_kernels_move_each_tensor_once(void **state)
{
	static const struct launch launches[] = {
		/* two floats in, one out: 12 bytes */
		{NS
		 "29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
		 {3072, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 3071 * 1024 * 12.0,
		 3072 * 1024 * 12.0,
		 3072 * 1024 * 12.0},
		/* float to bf16: 6 */
		{NS "29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cudaERNS_"
		    "18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
		 {3072, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 3071 * 1024 * 6.0,
		 3072 * 1024 * 6.0,
		 3072 * 1024 * 6.0},
		/* a mask of bool and bf16 in, bf16 out: 5 */
		{NS
		 "29vectorized_elementwise_kernelILi8EZNS0_43_GLOBAL__N__50f1b6c4_10_Dropout_cu_"
		 "0e96ed3819masked_scale_kernelIbN3c108BFloat16EfEEvRNS_6TensorERKS6_S9_T1_EUlS5_bE_"
		 "St5arrayIPcLm3EEEEviT0_SA_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 1024 * 5.0,
		 2048 * 5.0,
		 2048 * 5.0},
		/* a clamp between scalars, bf16 in and out: 4 */
		{NS
		 "29vectorized_elementwise_kernelILi8EZZZNS0_49_GLOBAL__N__d2ba64fb_16_TensorCompare_"
		 "cu_71e06f4e19launch_clamp_scalarERNS_18TensorIteratorBaseEN3c106ScalarES6_NS0_"
		 "6detail11ClampLimitsEENKUlvE_clEvENKUlvE7_clEvEUlNS5_8BFloat16EE_St5arrayIPcLm2EEEEviT0_T1_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 1024 * 4.0,
		 2048 * 4.0,
		 2048 * 4.0},
		/* written only: 4 */
		{NS
		 "29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 1024 * 4.0,
		 2048 * 4.0,
		 2048 * 4.0},
		/* before PyTorch 2.7: 4 elements a thread */
		{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		 "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 512 * 4.0,
		 1024 * 4.0,
		 1024 * 4.0},
		/* bf16 twice in, once out, strides unknown: 2 to 12 */
		{NS
		 "18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIN3c10"
		 "8BFloat16ES5_S5_ZNS0_67_GLOBAL__N__06c19b41_28_ActivationThresholdKernel_cu_751192d7_"
		 "1581121threshold_kernel_implIS5_EEvRNS_18TensorIteratorBaseET_SA_EUlS5_S5_E_EEEEvS9_RKSA_"
		 "EUliE_EEviT1_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 512 * 2.0,
		 1024 * 6.0,
		 1024 * 12.0},
		/* no such functor is known: nothing is said */
		{"void at::native::vectorized_elementwise_kernel<4, odd, std::array<char*, 3ul> >(int)",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 0,
		 0,
		 0},
		{"void triad(float*, float const*, float)",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 0,
		 0,
		 0},
	};

	(void)state;
	CHECK(launches);
}

static void a_cast_hides_a_type(void **state)
{
	static const struct launch launches[] = {
		/* floats, of which one is of another type: 1 to 8 bytes; half as wide by value */
		{NS
		 "27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_"
		 "clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory"
		 "12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 512 * 2.0,
		 1024 * 6.0,
		 1024 * 12.0},
		{NS
		 "27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELi4E23TrivialOffsetCalculator"
		 "ILi2EjES7_ILi1EjENS0_6memory12LoadWithCastILi2EEENSA_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
		 {2, 1, 1},
		 {128, 1, 1},
		 0,
		 {0, 0},
		 512 * 3.0,
		 1024 * 10.0,
		 1024 * 16.0},
	};

	(void)state;
	CHECK(launches);
}

/* 65536 elements a block; of 320 blocks of a list of depth 1 at most 110 are the last of a tensor. */
static void lists_of_tensors_are_chunks(void **state)
{
	static const struct launch launches[] = {
		/* read and written: 8 bytes */
		{NS
		 "57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor_apply_kernelINS1_18TensorList"
		 "MetadataILi1EEENS1_21BinaryOpScalarFunctorIfLi1ELi1ELi0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_",
		 {320, 1, 1},
		 {512, 1, 1},
		 0,
		 {0, 0},
		 210 * 65536 * 8.0,
		 292.5 * 65536 * 8.0,
		 320 * 65536 * 8.0},
		/* parameter, gradient and two moments: read four, write three of 4 bytes; at most 36 tensors */
		{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
		 "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
		 "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(int)",
		 {36, 1, 1},
		 {512, 1, 1},
		 0,
		 {0, 0},
		 0,
		 27 * 65536 * 28.0,
		 36 * 65536 * 28.0},
	};

	(void)state;
	CHECK(launches);
}

#define SUM                                                                                        \
	NS "13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapper_tIS4_ZNS0_"  \
	   "11sum_functorIS4_fS4_EclERNS_14TensorIteratorEEUlffE_EEjS4_Li4ELi8EEEEEvT1_"

static void a_reduction_dealt_in_the_least_parts_is_known(void **state)
{
	static const struct launch launches[] = {
		/* 4096 x 768 bf16 over the rows: 6 x 64 blocks of 128 threads, 16 values of 4 columns */
		{SUM,
		 {6, 64, 1},
		 {32, 4, 1},
		 2064,
		 {0, 0},
		 6 * 128 * 64 * 31.5 * 2,
		 4096 * 768 * 2.0,
		 4096 * 768 * 2.0},
		/* 88 parts are all that the device holds (132 x 16 / 24): each may be larger */
		{SUM, {24, 88, 1}, {32, 4, 1}, 2064, {0, 0}, 0, 0, 0},
		{SUM, {24, 1, 1}, {32, 4, 1}, 0, {0, 0}, 0, 0, 0},
	};

	(void)state;
	CHECK(launches);
}

#define ELEMT                                                                                       \
	NS "46batch_norm_backward_elemt_channels_last_kernelILi4EN3c108BFloat16EffEEvPKT0_S6_PKT1_" \
	   "S9_PKT2_S9_S9_PS4_S7_ii"

static void normalisations_need_their_sizes(void **state)
{
	static const struct launch launches[] = {
		/* 1024 channels, 98 x 16 x 16 rows; two tensors in, one out of bf16 */
		{ELEMT,
		 {32, 98, 1},
		 {32, 16, 1},
		 0,
		 {0, 0},
		 31 * 32 * 97 * 256 * 6.0,
		 1024 * 25088 * 6.0,
		 1024 * 25088 * 6.0},
		/* 128 blocks are the most: the rows are not told by the grid */
		{ELEMT, {8, 128, 1}, {32, 16, 1}, 0, {0, 0}, 0, 0, 0},
		{ELEMT,
		 {8, 128, 1},
		 {32, 16, 1},
		 0,
		 {0, 401408},
		 224 * 401408 * 6.0,
		 256 * 401408 * 6.0,
		 256 * 401408 * 6.0},
		/* rows of 768 floats, three tensors */
		{NS
		 "53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a39layer_norm_grad_input_kernel_"
		 "vectorizedIffLb0EEEvPKT_S5_PKT0_S8_S5_PS3_i",
		 {4096, 1, 1},
		 {128, 1, 1},
		 0,
		 {768, 0},
		 4096 * 768 * 12.0,
		 4096 * 768 * 12.0,
		 4096 * 768 * 12.0},
		/* bf16 in and out, and two more passes over the input */
		{NS
		 "43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6319cunn_SoftMaxForwardILi8EN3c108BFloat16EfS4_NS1_"
		 "25LogSoftMaxForwardEpilogueEEEvPT2_PKT0_i",
		 {4096, 1, 1},
		 {1024, 1, 1},
		 0,
		 {30522, 0},
		 4096 * 30522 * 4.0,
		 4096 * 30522 * 4.0,
		 4096 * 30522 * 8.0},
		{NS
		 "43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6319cunn_SoftMaxForwardILi8EN3c108BFloat16EfS4_NS1_"
		 "25LogSoftMaxForwardEpilogueEEEvPT2_PKT0_i",
		 {4096, 1, 1},
		 {1024, 1, 1},
		 0,
		 {0, 0},
		 0,
		 0,
		 0},
		/* 128 images of 64 channels (12288 bytes: 2 a thread, of 6), 64 x 56 outputs at most */
		{NS
		 "52_GLOBAL__N__e57809e0_19_DilatedMaxPool2d_cu_6258b57421max_pool_forward_nhwcIN3c108BFloat16EiEEv"
		 "PKT_iT0_S8_S8_S8_S8_iiiiiiiiS8_S8_S8_S8_iiPS5_Pl",
		 {128, 1, 28},
		 {32, 32, 1},
		 12288,
		 {0, 0},
		 128.0 * 64 * 64 * 56 * 2,
		 128.0 * 64 * 64 * 56 * 18,
		 128.0 * 64 * 64 * 56 * 28},
	};

	(void)state;
	CHECK(launches);
}

/* An H200: 4.8e12 bytes/s, 60 MiB of L2. */
static void hits_in_l2_are_not_dram_traffic(void **state)
{
	const struct measure peak = {true, 4.8e12, 4e12, 4.8e12};
	const struct measure large = measure_exact(480e6), small = measure_exact(24e6), none = {0};
	struct measure m;

	(void)state;
	/* 480 us at peak for what takes 200 us */
	m = geometry_dram_pct(&large, 200e3, &peak, 60e6, false);
	assert_true(m.known);
	assert_float_equal(m.high, 50, 1e-6);
	assert_float_equal(m.value, 50 * 465.0 / 480, 1e-6);
	assert_float_equal(m.low, 50 * 420.0 / 480, 1e-6);
	m = geometry_dram_pct(&large, 200e3, &peak, 60e6, true);
	assert_float_equal(m.value, 50, 1e-6);
	m = geometry_dram_pct(&small, 10e3, &peak, 60e6, false);
	assert_float_equal(m.high, 50, 1e-6);
	assert_float_equal(m.value, 25, 1e-6);
	assert_float_equal(m.low, 0, 1e-6);
	/* More than DRAM has: it came from elsewhere. */
	m = geometry_dram_pct(&large, 50e3, &peak, 0, false);
	assert_float_equal(m.value, 100, 1e-6);
	assert_false(geometry_dram_pct(&none, 50e3, &peak, 0, false).known);
	assert_false(geometry_dram_pct(&large, 0, &peak, 0, false).known);
	assert_false(geometry_dram_pct(&large, 50e3, &none, 0, false).known);
}

static void assert_part(struct name_part part, const char *text)
{
	assert_int_equal(part.size, strlen(text));
	assert_memory_equal(part.at, text, part.size);
}

static void arguments_are_split_outside_of_brackets(void **state)
{
	struct name_part name = name_part_of(
		"void f_kernel(int) g::kernel<4, foo<int, (bar)1>::{lambda(float, bool)#1}, 3ul >(x)");
	struct template_args args;
	uint64_t number;

	(void)state;
	assert_true(template_args_of(name, "kernel", &args));
	assert_int_equal(args.count, 3);
	assert_part(args.arg[0], "4");
	assert_part(args.arg[1], "foo<int, (bar)1>::{lambda(float, bool)#1}");
	assert_part(args.arg[2], "3ul");
	assert_true(name_part_number(args.arg[2], &number));
	assert_int_equal(number, 3);
	assert_true(name_part_number(name_part_of("(bar)12u"), &number));
	assert_int_equal(number, 12);
	assert_false(name_part_number(args.arg[1], &number));
	assert_false(name_part_number(name_part_of(""), &number));
	assert_false(name_part_number(name_part_of("(1"), &number));
	assert_false(template_args_of(name, "absent", &args));
	assert_false(template_args_of(name_part_of("kernel<4, foo<"), "kernel", &args));
	assert_false(template_args_of(name_part_of("kernel"), "kernel", &args));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pointwise_kernels_move_each_tensor_once),
		cmocka_unit_test(a_cast_hides_a_type),
		cmocka_unit_test(lists_of_tensors_are_chunks),
		cmocka_unit_test(a_reduction_dealt_in_the_least_parts_is_known),
		cmocka_unit_test(normalisations_need_their_sizes),
		cmocka_unit_test(hits_in_l2_are_not_dram_traffic),
		cmocka_unit_test(arguments_are_split_outside_of_brackets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
