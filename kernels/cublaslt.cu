/* Finds libcublasLt and its functions. */
#include "kernels/cublaslt.h"

#include <dlfcn.h>

/* As the dynamic linker finds it (LD_LIBRARY_PATH), then where toolkits are. The newest first. */
static const char *const places[] = {
	"libcublasLt.so.13",
	"libcublasLt.so.12",
	"/usr/local/cuda/lib64/libcublasLt.so.13",
	"/usr/local/cuda/lib64/libcublasLt.so.12",
	"libcublasLt.so.11",
	"libcublasLt.so",
};

static void *open_library()
{
	for (const char *place : places) {
		void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL);

		if (library)
			return library;
	}
	return NULL;
}

const char *cublaslt_load(struct cublaslt *lt)
{
	const struct {
		const char *name;
		void *function;
	} table[] = {
		{"cublasLtCreate", &lt->create},
		{"cublasLtDestroy", &lt->destroy},
		{"cublasLtMatrixLayoutCreate", &lt->layout_create},
		{"cublasLtMatrixLayoutDestroy", &lt->layout_destroy},
		{"cublasLtMatmulDescCreate", &lt->desc_create},
		{"cublasLtMatmulDescDestroy", &lt->desc_destroy},
		{"cublasLtMatmulDescSetAttribute", &lt->desc_set},
		{"cublasLtMatmulPreferenceCreate", &lt->preference_create},
		{"cublasLtMatmulPreferenceDestroy", &lt->preference_destroy},
		{"cublasLtMatmulPreferenceSetAttribute", &lt->preference_set},
		{"cublasLtMatmulAlgoGetHeuristic", &lt->heuristic},
		{"cublasLtMatmul", &lt->matmul},
	};
	void *library = open_library();

	if (!library)
		return "libcublasLt was not found; name its folder in LD_LIBRARY_PATH";
	for (const auto &entry : table) {
		void *symbol = dlsym(library, entry.name);

		if (!symbol)
			return "libcublasLt lacks a function";
		*(void **)entry.function = symbol;
	}
	return NULL;
}
