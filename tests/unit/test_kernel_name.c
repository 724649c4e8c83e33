/* Kinds and short names of kernels, on names as CUPTI delivered them on an H200 and as other
 * libraries give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/kernel_name.h"

static const struct {
	const char *name;
	const char *kind;
	const char *short_name;
} cases[] = {
	{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
	 "elementwise", "vectorized_elementwise FillFunctor<float>"},
	{"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cudaERNS_18TensorIteratorBaseEEUlfE_"
	 "St5arrayIPcLm2EEEEviT0_T1_",
	 "copy", "vectorized_elementwise bfloat16_copy(float)"},
	{"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, "
	 "at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, "
	 "float)#1}>, unsigned int, c10::BFloat16, 4, 8> >(int)",
	 "reduce", "reduce sum<bf16,float,bf16>"},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::cos_kernel_cuda(at::TensorIteratorBase&)::"
	 "{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
	 "elementwise", "vectorized_elementwise cos(float)"},
	{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> "
	 ">(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int)",
	 "elementwise", "elementwise CUDAFunctor_add<float>"},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
	 "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, "
	 "std::multiplies<float>, float>(int)",
	 "optimizer", "multi_tensor_apply BinaryOpScalarFunctor,multiplies,float"},
	{"nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT", "gemm",
	 "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT"},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_"
	 "cublas",
	 "gemm_simt", "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_32x32x8_stage3_ffma"},
	{"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align2>(int)",
	 "gemm", "cutlass_80_wmma_bf16_s161616gemm_bf16_16x16_128x2_tn_align2"},
	{"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, false>(int)",
	 "gemm_epilogue", "splitKreduce int,float,bf16"},
	{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, 7, false>(int)",
	 "gemv", "gemvx::kernel int,float"},
	{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
	 "attention", "cudnn_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1"},
	{"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_g1",
	 "convolution", "sm90_xmma_fprop_implicit_gemm_bf16bf16_b..nhwc_128x128x64_g1"},
	{"triton_poi_fused_add_cos_relu_0", "inductor_pointwise",
	 "triton_poi_fused_add_cos_relu_0"},
	{"triton_red_fused_native_layer_norm_12", "inductor_reduction",
	 "triton_red_fused_native_layer_norm_12"},
	{"_Z23ncclDevKernel_AllReduce24ncclDevKernelArgsStorageILm4096EE", "collective",
	 "ncclDevKernel_AllReduce"},
	{"loop_add_fusion_3", "fusion", "loop_add_fusion_3"},
	{"_Z5saxpyPfPKffi", "unknown", "saxpy"},
	/* "{lambda" and "property" must not be read as LAMB and rope. */
	{"void property<{lambda()#1}>(int)", "unknown", "property {lambda()#1}"},
	{"", "unknown", "(no name)"},
};

static void test_kinds_and_short_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *demangled = kernel_demangle(cases[i].name);
		char *short_name = kernel_short_name(demangled);

		assert_string_equal(short_name, cases[i].short_name);
		assert_string_equal(kernel_kind_of(cases[i].name)->name, cases[i].kind);
		assert_string_equal(kernel_kind_of(demangled)->name, cases[i].kind);
		free(demangled);
		free(short_name);
	}
}

static void test_only_collectives_are_collective(void **state)
{
	(void)state;
	assert_true(kernel_kind_of("ncclDevKernel_AllGather_RING_LL(int)")->collective);
	assert_false(kernel_kind_of("void at::native::vectorized_gather_kernel<16, long>()")
			     ->collective);
	assert_int_equal(kernel_kind_of("ncclDevKernel_SendRecv")->prior, LEAF_COMMUNICATION);
}

static void test_an_unknown_name_gives_no_guess(void **state)
{
	const struct kernel_kind *kind = kernel_kind_of("my_kernel");

	(void)state;
	assert_int_equal(kind->prior, LEAF_UNKNOWN);
	assert_true(kind->confidence == 0);
}

/* Each further argument doubles what the one before stands for: 238 characters are 142 MB when
 * demangled. */
static void test_a_name_that_explodes_is_left_mangled(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1AIiiE", *demangled;

	(void)state;
	for (int i = 0; i < 60; i++) {
		char id[3] = {digits[2 * i / 36], digits[2 * i % 36], 0}, *p = id + (2 * i < 36);

		snprintf(name + strlen(name), sizeof(name) - strlen(name), "1CIS%s_S%s_E", p, p);
	}
	demangled = kernel_demangle(name);
	assert_string_equal(demangled, name);
	free(demangled);
}

/* libstdc++ takes no more than 1,024 characters; CUTLASS writes more. Such kernels stay readable
 * and distinct. */
static void test_a_name_too_long_to_demangle_is_short_and_distinct(void **state)
{
	char a[4000] = "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJ",
	     b[4000];
	char *short_a, *short_b;

	(void)state;
	memset(a + strlen(a), 'i', 3000);
	memcpy(b, a, sizeof(a));
	strcat(a, "Li1EEEEEvv");
	strcat(b, "Li2EEEEEvv");
	short_a = kernel_short_name(a);
	short_b = kernel_short_name(b);
	assert_int_equal(strncmp(short_a, "device_kernel GemmUniversal #", 29), 0);
	assert_string_not_equal(short_a, short_b);
	assert_string_equal(kernel_kind_of(a)->name, "gemm");
	free(short_a);
	free(short_b);
}

static void test_hostile_names_give_printable_short_names(void **state)
{
	static const char *const names[] = {"((((((",
					    "<<<<<<",
					    "::",
					    "a<b",
					    "operator()",
					    "{lambda",
					    "f<operator<>(int)",
					    "\033[2J<\r\n>",
					    "\xff\xfe(x",
					    "a::<::>",
					    "void  x",
					    "_Z",
					    "_ZN",
					    "_ZN99999999a"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *short_name = kernel_short_name(names[i]);

		assert_true(strlen(short_name) > 0 && strlen(short_name) <= KERNEL_SHORT_COLUMNS);
		for (const char *p = short_name; *p; p++)
			assert_true(*p >= 0x20 && *p < 0x7f);
		free(short_name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_short_names),
		cmocka_unit_test(test_only_collectives_are_collective),
		cmocka_unit_test(test_an_unknown_name_gives_no_guess),
		cmocka_unit_test(test_a_name_that_explodes_is_left_mangled),
		cmocka_unit_test(test_a_name_too_long_to_demangle_is_short_and_distinct),
		cmocka_unit_test(test_hostile_names_give_printable_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
