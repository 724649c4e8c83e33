# Builds libboundshim.so (shim/) and the boundshim command (analysis/), and runs every check.
#
#   VARIANT=release|asan|tsan|portable   one tree of objects each: build/ or build/VARIANT/
#   WERROR=0   warnings stay warnings          V=1   show the commands
#   CUDA_HOME  the toolkit, if it is neither in /usr/local/cuda nor found by nvcc on PATH
#
# Sources are found by wildcard. A product whose sources or headers are missing is left out with a
# line that says why, so that the analysis half builds without CUDA and the shim without jansson.

VERSION := 0.1.0
VARIANT ?= release
WERROR ?= 1
V ?= 0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec
MANDIR ?= $(PREFIX)/share/man
CC ?= cc
CLANG ?= clang

B := $(if $(filter release,$(VARIANT)),build,build/$(VARIANT))
Q := $(if $(filter 1,$(V)),,@)

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

# --- flags -------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla \
	$(if $(filter 1,$(WERROR)),-Werror)
OPT_release := -O2
OPT_portable := -O2
OPT_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPT_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread
ifeq ($(OPT_$(VARIANT)),)
$(error unknown VARIANT '$(VARIANT)'; one of release, portable, asan, tsan)
endif

# _GNU_SOURCE is empty, not 1, so that a file may define it again the usual way.
BASE_CPPFLAGS := -I. -D_GNU_SOURCE= -DBOUNDSHIM_VERSION='"$(VERSION)"'
BASE_CFLAGS := -std=c11 $(WARNINGS) $(OPT_$(VARIANT)) -g -pthread
# No FORTIFY in the shim: its failure path aborts the program that hosts us.
SHIM_CFLAGS := -Ishim/empty -fPIC -fvisibility=hidden -ftls-model=initial-exec -U_FORTIFY_SOURCE
SHIM_LDFLAGS := -shared -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,text -Wl,--as-needed \
	-Wl,--exclude-libs,ALL -Wl,-soname,libboundshim.so
# zlib is linked in privately, so that the host's own zlib neither changes us nor is changed.
SHIM_LIBS := -l:libz.a -ldl -lpthread
ANALYSIS_LIBS := -lz -ljansson -lstdc++ -lm
ifeq ($(VARIANT),portable)
ANALYSIS_LIBS := -l:libz.a -l:libjansson.a -l:libstdc++.a -lm
endif

# --- what is here ------------------------------------------------------------------------------

# By -include, not by text: make 4.3 changed what \# means inside a function.
has_header = $(shell $(CC) -std=c11 -E $(addprefix -include ,stdio.h $(1)) -x c /dev/null >/dev/null 2>&1 && echo 1)
HAVE_ZLIB := $(call has_header,zlib.h)
HAVE_ANALYSIS := $(and $(HAVE_ZLIB),$(call has_header,jansson.h),$(call has_header,uthash.h))
HAVE_CMOCKA := $(call has_header,stdarg.h stddef.h stdint.h setjmp.h cmocka.h)

NVCC ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc) $(shell command -v nvcc))
CUDA_ROOTS := $(CUDA_HOME) /usr/local/cuda $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# Each header from the first place that has it: a toolkit may come without CUPTI.
CUDA_PLACES := $(CUDA_ROOTS:%=%/include) $(CUDA_ROOTS:%=%/extras/CUPTI/include) \
	build/cuda/include /usr/include
cuda_dir = $(patsubst %/$(1),%,$(firstword $(wildcard $(CUDA_PLACES:%=%/$(1)))))
CUDA_INC := $(call cuda_dir,cuda_runtime_api.h)
CUPTI_INC := $(call cuda_dir,cupti_activity.h)
HAVE_CUDA := $(and $(CUDA_INC),$(CUPTI_INC))
cuda_flags = $(patsubst %,-isystem %,$(filter-out /usr/include,$(1)))
CUDA_CPPFLAGS := $(call cuda_flags,$(CUDA_INC) $(filter-out $(CUDA_INC),$(CUPTI_INC)))
CUDA12_INC ?= $(wildcard build/cuda12/include)

SHIM_SRC := $(wildcard shim/*.c)
TRACE_SRC := $(wildcard shim/trace/*.c)
ANALYSIS_SRC := $(wildcard analysis/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_SUPPORT_SRC := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
BENCH_SRC := $(wildcard tests/bench/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

SHIM_OBJ := $(SHIM_SRC:%.c=$(B)/pic/%.o)
TRACE_PIC_OBJ := $(TRACE_SRC:%.c=$(B)/pic/%.o)
TRACE_OBJ := $(TRACE_SRC:%.c=$(B)/obj/%.o)
ANALYSIS_OBJ := $(ANALYSIS_SRC:%.c=$(B)/obj/%.o)
UNIT_SUPPORT_OBJ := $(UNIT_SUPPORT_SRC:%.c=$(B)/obj/%.o)

BUILD_SHIM := $(and $(HAVE_CUDA),$(HAVE_ZLIB),$(SHIM_SRC),$(wildcard shim/hooks.def))
BUILD_ANALYSIS := $(and $(HAVE_ANALYSIS),$(wildcard analysis/main.c))
SHIM := $(if $(BUILD_SHIM),$(B)/libboundshim.so)
COMMAND := $(if $(BUILD_ANALYSIS),$(B)/boundshim)
# What scripts/validate labels ncu's measurements with.
LABEL := $(if $(BUILD_ANALYSIS),$(B)/tools/label)
# What the unit, bench and fuzz programs link: archives, so that each takes only what it names.
LINKED := $(if $(ANALYSIS_SRC),$(if $(HAVE_ANALYSIS),$(B)/libanalysis.a)) \
	$(if $(TRACE_SRC),$(B)/libtrace.a)
LINKED_LIBS := $(if $(HAVE_ANALYSIS),$(ANALYSIS_LIBS),-lz) -ldl
# Programs that name a header of the shim itself link its parts too, and go with it: without CUDA
# headers there is nothing to link.
TEST_SRC := $(UNIT_SRC) $(BENCH_SRC) $(FUZZ_SRC)
OF_SHIM := $(if $(TEST_SRC),$(shell grep -lE '"shim/[a-z0-9_]+\.(h|def)"' $(TEST_SRC)))
BUILT := $(if $(BUILD_SHIM),$(TEST_SRC),$(filter-out $(OF_SHIM),$(TEST_SRC)))
UNIT := $(if $(HAVE_CMOCKA),$(patsubst tests/%.c,$(B)/%,$(filter $(UNIT_SRC),$(BUILT))))
BENCH := $(patsubst tests/%.c,$(B)/%,$(filter $(BENCH_SRC),$(BUILT)))
REPLAY := $(patsubst tests/fuzz/%.c,$(B)/replay/%,$(filter $(FUZZ_SRC),$(BUILT)))
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)

# The micro-kernels need nvcc to build and a GPU to be of use: part of `all` only where both are.
# Code for the architectures of KERNEL_ARCHS, and PTX of the first and last for all later ones.
KERNEL_SRC := $(if $(NVCC),$(wildcard kernels/*.cu))
KERNEL_OBJ := $(KERNEL_SRC:%.cu=build/obj/%.o)
KERNELS := $(if $(KERNEL_SRC),build/boundshim-kernels)
NVCC_KNOWS = $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch))
# wgmma, without which 9.0 stays far below its peak, is in 90a alone.
KERNEL_ARCHS ?= $(filter 80,$(NVCC_KNOWS)) $(if $(filter 90,$(NVCC_KNOWS)),90a) \
	$(filter 100,$(NVCC_KNOWS))
KERNEL_PTX = $(filter-out %a,$(firstword $(KERNEL_ARCHS)) $(lastword $(KERNEL_ARCHS)))
NVCC_FLAGS = -std=c++17 -O2 -I. -Xcompiler -Wall,-Wextra \
	$(foreach a,$(KERNEL_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
	$(foreach a,$(sort $(KERNEL_PTX)),-gencode arch=compute_$(a),code=compute_$(a))

# The simulated CUDA: target sim, libraries in build/sim, programs to trace in build/apps.
-include tests/sim/sim.mk
HAVE_SIM := $(and $(HAVE_CUDA),$(SIM_OUT))

# --- targets -----------------------------------------------------------------------------------

.PHONY: all kernels lint format test bench asan tsan fuzz fuzz-replay test-gpu demo install uninstall \
	man help clean
.PHONY: portable run-tests layout-check FORCE

all: setup-hint $(SHIM) $(COMMAND) $(LABEL) layout-check $(if $(wildcard /dev/nvidia0),$(KERNELS)) ## build libboundshim.so and boundshim (default)

kernels: $(KERNELS) ## build boundshim-kernels, the micro-kernels, with nvcc
	@: $(if $(NVCC),,$(error boundshim: nvcc not found: boundshim-kernels cannot be built))

test: ## set up what is missing, build and run every test that needs no GPU
	$(Q)scripts/setup
	$(Q)$(MAKE) --no-print-directory run-tests

demo: ## trace the bundled CUDA program, or without a GPU report on a recorded trace
	$(Q)scripts/setup
	$(Q)$(MAKE) --no-print-directory all
	$(Q)scripts/demo

lint: ## format, warnings, cppcheck, shellcheck, and the checks of layers, hooks and ELF
	$(Q)scripts/lint

format: ## rewrite the sources as .clang-format says
	$(Q)scripts/sources c | xargs -r clang-format -i

bench: all $(if $(HAVE_SIM),sim) $(BENCH) ## print costs and rates as ratios, all from one run
	$(Q)BUILD=$(B) scripts/bench

asan: ## build with ASan and UBSan in build/asan, and run the tests that can carry them
	$(Q)$(MAKE) --no-print-directory VARIANT=asan run-tests

tsan: ## build with TSan in build/tsan, and run the unit tests
	$(Q)$(MAKE) --no-print-directory VARIANT=tsan run-tests

fuzz: ## build the fuzz targets with clang and run each for FUZZ_SECONDS (60)
	$(Q)$(MAKE) --no-print-directory fuzzers
	$(Q)BUILD=$(B) scripts/fuzz

fuzz-replay: ## replay the fuzz corpus under ASan and UBSan
	$(Q)$(MAKE) --no-print-directory VARIANT=asan replayers
	$(Q)BUILD=build/asan scripts/fuzz-replay

test-gpu: all ## run the tests that need a GPU, all or part I/N with SHARD=I/N (tests/gpu/README.md)
	$(Q)tests/gpu/shard $(SHARD)

portable: ## build in build/portable with jansson, zlib and libstdc++ linked in
	$(Q)$(MAKE) --no-print-directory VARIANT=portable all

man: $(COMMAND) ## write the man pages to build/man
	$(Q)scripts/make-man $(COMMAND) $(B)/man

install: all ## install under PREFIX (/usr/local), below DESTDIR if set
	$(Q)$(MAKE) --no-print-directory $(if $(COMMAND),man)
	$(if $(COMMAND),install -D -m 755 $(COMMAND) $(DESTDIR)$(BINDIR)/boundshim)
	$(if $(SHIM),install -D -m 755 $(SHIM) $(DESTDIR)$(LIBDIR)/libboundshim.so)
	$(if $(wildcard $(KERNELS)),install -D -m 755 $(KERNELS) $(DESTDIR)$(LIBEXECDIR)/boundshim-kernels)
	$(if $(COMMAND),install -d $(DESTDIR)$(MANDIR)/man1)
	$(if $(COMMAND),install -m 644 $(B)/man/*.1 $(DESTDIR)$(MANDIR)/man1)

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/boundshim $(DESTDIR)$(LIBDIR)/libboundshim.so \
		$(DESTDIR)$(LIBEXECDIR)/boundshim-kernels
	rm -f $(DESTDIR)$(MANDIR)/man1/boundshim.1 $(DESTDIR)$(MANDIR)/man1/boundshim-*.1

help: ## this list
	$(Q)sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | \
		while IFS='|' read -r name line; do printf '%-14s %s\n' "$$name" "$$line"; done

clean: ## remove everything built; the downloaded CUDA headers stay
	$(Q)find build -mindepth 1 -maxdepth 1 ! -name cuda ! -name cuda12 -exec rm -rf {} + \
		2>/dev/null || true

# --- rules -------------------------------------------------------------------------------------

.PHONY: setup-hint fuzzers replayers unit
setup-hint:
	@: $(if $(HAVE_ZLIB),,$(info boundshim: zlib.h not found: nothing can be built; run scripts/setup)) \
	$(if $(HAVE_CUDA),,$(info boundshim: no CUDA and CUPTI headers: libboundshim.so is left out; run scripts/setup)) \
	$(if $(HAVE_ANALYSIS),,$(info boundshim: jansson.h or uthash.h not found: the boundshim command is left out; run scripts/setup))

# The release run has the simulated CUDA, which a sanitized shim cannot be loaded into, and replays
# the fuzz corpus with objects of the asan tree.
run-tests: all unit $(if $(filter release,$(VARIANT)),$(B)/bench/make_trace)
	$(if $(and $(filter release,$(VARIANT)),$(HAVE_SIM)),$(Q)$(MAKE) -s --no-print-directory sim \
		$(if $(wildcard tests/sim/selftest.c),$(SIM_OUT)/selftest))
	$(if $(and $(filter release,$(VARIANT)),$(FUZZ_SRC)),$(Q)$(MAKE) --no-print-directory VARIANT=asan replayers)
	$(Q)BUILD=$(B) VARIANT=$(VARIANT) tests/run $(TESTS)

unit: $(UNIT)
	@: $(if $(HAVE_CMOCKA),,$(info boundshim: cmocka.h not found: unit tests are left out; run scripts/setup))
fuzzers: $(FUZZERS)
replayers: $(REPLAY)

# A file that changes only when what we would compile with does: every object depends on it.
FLAGS_NOW := $(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) | $(SHIM_CFLAGS) \
	$(CUDA_CPPFLAGS) | $(SHIM_LDFLAGS) $(SHIM_LIBS) $(ANALYSIS_LIBS) $(LDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(B)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' >$@

COMPILE = $(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(COMPILE) -c -o $@ $<

$(B)/pic/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  CC    $< (shim)'
	$(Q)$(COMPILE) $(SHIM_CFLAGS) $(CUDA_CPPFLAGS) -c -o $@ $<

$(B)/obj/tests/fuzz/%.o: CFLAGS += -Wno-missing-prototypes
$(B)/obj/tests/unit/%.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(B)/obj/tests/bench/%.o: CPPFLAGS += $(CUDA_CPPFLAGS)

# shim/trace sees no CUDA header, in either half.
$(TRACE_PIC_OBJ): CUDA_CPPFLAGS :=

$(B)/libtrace.a: $(TRACE_OBJ)
$(B)/libanalysis.a: $(filter-out $(B)/obj/analysis/main.o $(B)/obj/analysis/memory.o,$(ANALYSIS_OBJ))
$(B)/libshim.a: $(SHIM_OBJ)
$(B)/%.a:
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# The export list is hooks.def and library.def and nothing beside them.
$(B)/exports.map: shim/exports.map.in shim/hooks.def shim/library.def shim/cupti_share.def $(B)/flags
	$(Q)$(CC) -std=c11 -E -P -x c -I. -o $@ $<

$(B)/libboundshim.so: $(SHIM_OBJ) $(TRACE_PIC_OBJ) $(B)/exports.map
	@echo '  LINK  $@'
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(SHIM_LDFLAGS) $(LDFLAGS) \
		-Wl,--version-script=$(B)/exports.map -o $@ $(SHIM_OBJ) $(TRACE_PIC_OBJ) $(SHIM_LIBS)

# Out of memory the command ends with words: analysis/memory.c.
WRAPPED := malloc calloc realloc reallocarray strdup strndup asprintf vasprintf open_memstream
$(B)/boundshim: $(ANALYSIS_OBJ) $(TRACE_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(ANALYSIS_LIBS)

build/obj/kernels/%.o: kernels/%.cu
	@mkdir -p $(@D)
	@echo '  NVCC  $<'
	$(Q)$(NVCC) $(NVCC_FLAGS) -MD -MF $(@:.o=.d) -c -o $@ $<

build/boundshim-kernels: $(KERNEL_OBJ)
	@echo '  LINK  $@'
	$(Q)$(NVCC) -o $@ $^ -ldl

# shim/*_layout.c assert the layout of CUPTI's records: once more, against CUDA 12's headers.
LAYOUT12 := $(if $(CUDA12_INC),$(if $(BUILD_SHIM),$(filter %_layout.c,$(SHIM_SRC))))
layout-check: $(LAYOUT12:%.c=$(B)/layout12/%.o)
$(B)/layout12/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  CC    $< (CUDA 12)'
	$(Q)$(COMPILE) $(SHIM_CFLAGS) -isystem $(CUDA12_INC) -c -o $@ $<

LINK_TEST = $(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
$(OF_SHIM:tests/%.c=$(B)/%) $(OF_SHIM:tests/fuzz/%.c=$(B)/replay/%): $(B)/libshim.a

$(B)/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_SUPPORT_OBJ) $(LINKED)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(LINK_TEST) -lcmocka $(LINKED_LIBS)

$(B)/bench/%: $(B)/obj/tests/bench/%.o $(LINKED)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(LINK_TEST) $(LINKED_LIBS)

$(B)/tools/label: $(B)/obj/tests/gpu/label.o $(LINKED)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(LINK_TEST) $(LINKED_LIBS)

# Programs to preload into: the stand-in CUDA runtime, and nothing of ours.
$(B)/bench/preload_%: $(B)/obj/tests/bench/preload_%.o $(SIM_OUT)/libcudart.so.13
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< -Wl,-rpath,'$$ORIGIN/../sim' \
		$(SIM_OUT)/libcudart.so.13 -ldl

$(B)/replay/%: $(B)/obj/tests/fuzz/%.o $(B)/obj/tests/fuzz/replay_main.o $(LINKED)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(LINK_TEST) $(LINKED_LIBS)

# libFuzzer wants every object instrumented: a tree of its own.
FUZZ_CC = $(Q)$(CLANG) $(BASE_CPPFLAGS) $(CPPFLAGS) -std=c11 -g -O2 -fno-sanitize-recover=all
FUZZ_LIB := $(B)/fuzz/libboundshim.a
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(TRACE_SRC) \
	$(if $(HAVE_ANALYSIS),$(filter-out analysis/main.c analysis/memory.c,$(ANALYSIS_SRC))))
$(B)/fuzz/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  FUZZ  $<'
	$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<
$(FUZZ_LIB): $(FUZZ_OBJ)
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_LIB)
	@echo '  FUZZ  $@'
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LINKED_LIBS)

-include $(patsubst %.o,%.d,$(FUZZ_OBJ) $(SHIM_OBJ) $(TRACE_PIC_OBJ) $(TRACE_OBJ) $(ANALYSIS_OBJ) \
	$(UNIT_SUPPORT_OBJ) $(KERNEL_OBJ) $(LAYOUT12:%.c=$(B)/layout12/%.o) \
	$(UNIT_SRC:%.c=$(B)/obj/%.o) $(BENCH_SRC:%.c=$(B)/obj/%.o) $(FUZZ_SRC:%.c=$(B)/obj/%.o) $(LABEL:%/tools/label=%/obj/tests/gpu/label.o))
