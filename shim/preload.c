/*
 * What happens when the library is loaded: next to nothing. Also the door that the CUDA driver opens by itself, and the
 * environment that makes it open.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "elder.h"
#include "session.h"

#ifndef BOUNDSHIM_VERSION
#define BOUNDSHIM_VERSION "0.1.0"
#endif

int InitializeInjection(void);
const char *boundshim_version(void);

/*
 * The driver and NVTX load the library that these variables name: so kernels of programs that we cannot hook (static cudart, JAX)
 * are seen, and NVTX ranges. Variables that are set belong to another tool and stay. Tools that set them themselves do not start
 * where they find ours (Nsight Compute 2025.3), which a shell before them may have passed on.
 */
static void ask_to_be_loaded(bool wanted)
{
	static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)&boundshim_version, &self) || !self.dli_fname ||
	    self.dli_fname[0] != '/')
		return;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *set = getenv(variables[i]);

		if (wanted)
			setenv(variables[i], self.dli_fname, 0);
		else if (set && strcmp(set, self.dli_fname) == 0)
			unsetenv(variables[i]);
	}
}

/* One of NVIDIA's tools, or a program that one has started. */
static bool is_under_tool(void)
{
	static const char *const tools[] = {"ncu", "nsys", "compute-sanitizer"};
	const char *preload = getenv("LD_PRELOAD");

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strcmp(program_invocation_short_name, tools[i]) == 0)
			return true;
	/* what Nsight Compute gives its programs, then what it and others preload */
	return getenv("NV_TPS_LAUNCH_TOKEN") ||
	       (preload && (strstr(preload, "TreeLauncher") || strstr(preload, "ToolsInjection")));
}

__attribute__((constructor)) static void loaded(void)
{
	const char *mode = getenv("BOUNDSHIM_MODE");

	if (getauxval(AT_SECURE) || (mode && strcmp(mode, "off") == 0))
		return;
	if (elder_symbol("boundshim_version")) {
		session_stop();
		return;
	}
	session_prepare();
	ask_to_be_loaded(!is_under_tool());
}

/* Called by the driver once, inside cuInit, where CUDA_INJECTION64_PATH names us. 1 = fine. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	int (*elder)(void) = (int (*)(void))elder_symbol("InitializeInjection");

	if (elder)
		return elder();
	session_injected();
	return 1;
}

/* The version of this library, for `boundshim info` and for a debugger. Static. */
__attribute__((visibility("default"))) const char *boundshim_version(void)
{
	return BOUNDSHIM_VERSION;
}
