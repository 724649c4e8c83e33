# Stand-in libcudart, libcuda and libcupti, and the programs that tests trace with them.
# Included by the top Makefile; alone: make -f tests/sim/sim.mk sim
#
# BUILD     where to put things (default build); the libraries land in $(BUILD)/sim
# CUDA_INC  CUDA 13 headers; CUPTI_INC where CUPTI's lie elsewhere
# CUDA12_INC  CUDA 12.9's header directories, for sim-layout12 only
# SIM_SAN   sanitizer flags, e.g. -fsanitize=address

SIM_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
SIM_ROOT := $(SIM_DIR)../..
BUILD ?= build
CUDA_INC ?= /usr/local/cuda/include
CUPTI_INC ?= $(CUDA_INC)
CUDA12_INC ?=
SIM_OUT := $(BUILD)/sim
SIM_APPS_OUT := $(BUILD)/apps
SIM_CC ?= $(CC)
SIM_PYTHON ?= python3
SIM_SAN ?=
SIM_CFLAGS ?= -O1 -g
SIM_INC := $(addprefix -isystem ,$(filter-out /usr/include,$(sort $(CUDA_INC) $(CUPTI_INC))))
SIM_FLAGS := -std=gnu11 $(SIM_CFLAGS) $(SIM_SAN) -fPIC -fvisibility=hidden -fno-builtin-time \
	-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-sign-compare \
	-I$(SIM_DIR) -I$(SIM_OUT) -I$(SIM_ROOT)/shim/empty $(SIM_INC) -pthread -MMD -MP
SIM_LINK := -shared -Wl,-rpath,'$$ORIGIN' -Wl,--enable-new-dtags -Wl,-Bsymbolic -Wl,-z,defs -pthread $(SIM_SAN)

SIM_CUDA_SRC := $(addprefix $(SIM_DIR),call.c capture.c clock.c context.c counters.c driver_copy.c driver_graph.c \
	driver_init.c driver_launch.c driver_memory.c driver_stream.c function.c graph.c host.c memory.c \
	script.c stream.c truth.c)
SIM_CUDART_SRC := $(addprefix $(SIM_DIR),runtime.c runtime_copy.c runtime_graph.c runtime_register.c)
SIM_CUPTI_SRC := $(addprefix $(SIM_DIR),cupti.c cupti_activity.c cupti_callback.c cupti_pm.c)
SIM_LIBS := $(addprefix $(SIM_OUT)/,libcuda.so.1 libsimclock.so libcudart.so.12 libcudart.so.13 \
	libcupti.so.12 libcupti.so.13)

.PHONY: sim sim-layout12 sim-test sim-apps sim-clean
sim: $(SIM_LIBS) sim-apps

$(SIM_OUT) $(SIM_APPS_OUT):
	mkdir -p $@

# Generated entry points: one rule for each library.
define SIM_GENERATE
$(SIM_OUT)/gen_$(1).c: $(SIM_DIR)gen.py $(SIM_DIR)sim.mk $(2) $(wildcard $(SIM_DIR)$(1).names) | $(SIM_OUT)
	$(SIM_PYTHON) $(SIM_DIR)gen.py $(1) $(CUPTI_INC) $$@ $$(@:.c=.h) $(2)
$(SIM_OUT)/gen_$(1).h: $(SIM_OUT)/gen_$(1).c ;
endef
$(eval $(call SIM_GENERATE,cuda,$(SIM_CUDA_SRC)))
$(eval $(call SIM_GENERATE,cudart12,$(SIM_CUDART_SRC) $(SIM_DIR)runtime12.c))
$(eval $(call SIM_GENERATE,cudart13,$(SIM_CUDART_SRC) $(SIM_DIR)runtime13.c))
$(eval $(call SIM_GENERATE,cupti12,$(SIM_CUPTI_SRC)))
$(eval $(call SIM_GENERATE,cupti13,$(SIM_CUPTI_SRC)))

# Objects are per library: the same source is built for 12 and 13. $(1) library, $(2) flags
define SIM_OBJECTS
$(SIM_OUT)/$(1)/%.o: $(SIM_DIR)%.c $(SIM_OUT)/gen_$(1).h | $(SIM_OUT)
	@mkdir -p $$(@D)
	$$(SIM_CC) $$(SIM_FLAGS) $(2) -c -o $$@ $$<
$(SIM_OUT)/$(1)/gen.o: $(SIM_OUT)/gen_$(1).c | $(SIM_OUT)
	@mkdir -p $$(@D)
	$$(SIM_CC) $$(SIM_FLAGS) $(2) -c -o $$@ $$<
endef
SIM_RT_FLAGS = -DSIM_INVOKE=runtime_invoke -DSIM_STUB=runtime_stub -DSIM_CUDART=$(1) \
	-include $(SIM_DIR)runtime_early.h
SIM_CUPTI_FLAGS = -DSIM_STUB=cupti_stub -DSIM_CUPTI=$(1) -include $(SIM_DIR)cupti_early.h
$(eval $(call SIM_OBJECTS,cuda,))
$(eval $(call SIM_OBJECTS,cudart12,$(call SIM_RT_FLAGS,12)))
$(eval $(call SIM_OBJECTS,cudart13,$(call SIM_RT_FLAGS,13)))
$(eval $(call SIM_OBJECTS,cupti12,$(call SIM_CUPTI_FLAGS,12)))
$(eval $(call SIM_OBJECTS,cupti13,$(call SIM_CUPTI_FLAGS,13)))

sim_objects = $(patsubst $(SIM_DIR)%.c,$(SIM_OUT)/$(1)/%.o,$(2)) $(SIM_OUT)/$(1)/gen.o

$(SIM_OUT)/libcuda.so.1: $(call sim_objects,cuda,$(SIM_CUDA_SRC))
	$(SIM_CC) $(SIM_LINK) -Wl,-soname,libcuda.so.1 -o $@ $^ -ldl
	ln -sf libcuda.so.1 $(SIM_OUT)/libcuda.so

# As NVIDIA's: one version node named like the library on every symbol. $(1) stem, $(2) major
define SIM_VERSIONED
$(SIM_OUT)/lib$(1).so.$(2).map: | $(SIM_OUT)
	echo 'lib$(1).so.$(2) { global: cu*; __cuda*; Initialize*; local: *; };' >$$@
$(SIM_OUT)/lib$(1).so.$(2): $(3) $(SIM_OUT)/lib$(1).so.$(2).map
	$$(SIM_CC) $$(SIM_LINK) -Wl,-soname,lib$(1).so.$(2) \
		-Wl,--version-script=$(SIM_OUT)/lib$(1).so.$(2).map -o $$@ $(3) -ldl
endef
$(eval $(call SIM_VERSIONED,cudart,12,$(call sim_objects,cudart12,$(SIM_CUDART_SRC) $(SIM_DIR)runtime12.c)))
$(eval $(call SIM_VERSIONED,cudart,13,$(call sim_objects,cudart13,$(SIM_CUDART_SRC) $(SIM_DIR)runtime13.c)))
$(eval $(call SIM_VERSIONED,cupti,12,$(call sim_objects,cupti12,$(SIM_CUPTI_SRC))))
$(eval $(call SIM_VERSIONED,cupti,13,$(call sim_objects,cupti13,$(SIM_CUPTI_SRC))))

# Stand-in math libraries, in a folder of their own: Python programs must not find them by chance.
# $(1) file name, $(2) its number in math_library.c, $(3) name of what it tells, $(4) libraries beside
SIM_MATH_OUT := $(SIM_OUT)/math
define SIM_MATH_LIBRARY
$(SIM_MATH_OUT)/$(1): $(SIM_DIR)math_library.c $(SIM_DIR)math_call.h $(SIM_DIR)../../shim/library.def $(4)
	@mkdir -p $$(@D)
	echo '$(1) { global: cu*; nccl*; sim_*; local: *; };' >$$@.map
	$$(SIM_CC) $$(filter-out -MMD -MP,$$(SIM_FLAGS)) -Wno-missing-prototypes -DSIM_MATH=$(2) \
		-DSIM_MATH_LAST=sim_math_$(3) $$(SIM_LINK) -Wl,-soname,$(1) \
		$$(if $$(filter libnccl%,$(1)),,-Wl,--version-script=$$@.map) -o $$@ $$< $(4) -ldl
endef
$(eval $(call SIM_MATH_LIBRARY,libcublasLt.so.13,2,cublaslt,))
$(eval $(call SIM_MATH_LIBRARY,libcublas.so.13,1,cublas,$(SIM_MATH_OUT)/libcublasLt.so.13))
$(eval $(call SIM_MATH_LIBRARY,libcudnn.so.9,3,cudnn,))
$(eval $(call SIM_MATH_LIBRARY,libnccl.so.2,4,nccl,))
SIM_MATH_LIBS := $(addprefix $(SIM_MATH_OUT)/,libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libnccl.so.2)

$(SIM_OUT)/libsimclock.so: $(SIM_DIR)simclock.c | $(SIM_OUT)
	$(SIM_CC) $(SIM_FLAGS) $(SIM_LINK) -Wl,-soname,libsimclock.so -o $@ $< -ldl

# Test programs: C against the real headers, linked with the stand-in runtime.
SIM_APPS_DIR := $(SIM_DIR)../apps/
SIM_APP_FLAGS := -std=gnu11 $(SIM_CFLAGS) $(SIM_SAN) -Wall -Wextra -Wno-deprecated-declarations $(SIM_INC) -I$(SIM_APPS_DIR) \
	-I$(SIM_DIR) -pthread -MMD -MP
SIM_APP_NAMES := $(basename $(notdir $(filter-out %/plugin.c %/caller.c %/app.c,$(wildcard $(SIM_APPS_DIR)*.c))))
SIM_APPS := $(addprefix $(SIM_APPS_OUT)/,$(SIM_APP_NAMES))

# Found next to the build without LD_LIBRARY_PATH; RUNPATH, so that LD_LIBRARY_PATH still wins.
SIM_RPATH := -Wl,-rpath,'$$ORIGIN/../sim' -Wl,--enable-new-dtags

sim-apps: $(SIM_APPS) $(addprefix $(SIM_APPS_OUT)/,all_doors12 launch_loop12) \
	$(SIM_APPS_OUT)/plugin.so $(SIM_APPS_OUT)/caller12.so $(SIM_APPS_OUT)/caller13.so

# These reach CUDA only through dlopen.
SIM_APPS_UNLINKED := static_like dlopen_local two_cudarts
$(SIM_APPS_OUT)/%: $(SIM_APPS_DIR)%.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.13 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) \
		$(if $(filter $*,$(SIM_APPS_UNLINKED)),,$(SIM_OUT)/libcudart.so.13) -ldl
$(SIM_APPS_OUT)/all_doors12: $(SIM_APPS_DIR)all_doors.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.12 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -DAPP_CUDART=12 -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) $(SIM_OUT)/libcudart.so.12 -ldl
$(SIM_APPS_OUT)/launch_loop12: $(SIM_APPS_DIR)launch_loop.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.12 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -DAPP_CUDART=12 -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) $(SIM_OUT)/libcudart.so.12 -ldl
$(SIM_APPS_OUT)/plugin.so: $(SIM_APPS_DIR)plugin.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.13 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -fPIC -shared -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) $(SIM_OUT)/libcudart.so.13
$(SIM_APPS_OUT)/caller12.so: $(SIM_APPS_DIR)caller.c $(SIM_OUT)/libcudart.so.12 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -fPIC -shared -DCALLER=12 -o $@ $< $(SIM_RPATH) $(SIM_OUT)/libcudart.so.12
$(SIM_APPS_OUT)/caller13.so: $(SIM_APPS_DIR)caller.c $(SIM_OUT)/libcudart.so.13 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -fPIC -shared -DCALLER=13 -o $@ $< $(SIM_RPATH) $(SIM_OUT)/libcudart.so.13

# Of the driver API alone.
$(SIM_APPS_OUT)/contexts: $(SIM_APPS_DIR)contexts.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcuda.so.1 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) $(SIM_OUT)/libcuda.so.1 -ldl

# Calls CUPTI itself, through the dynamic linker, as libtorch_cpu does.
$(SIM_APPS_OUT)/profiler: $(SIM_APPS_DIR)profiler.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.13 $(SIM_OUT)/libcupti.so.13 | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) $(SIM_OUT)/libcudart.so.13 $(SIM_OUT)/libcupti.so.13 -ldl

# Loads the stand-in cuBLAS if it is told to.
$(SIM_APPS_OUT)/play: $(SIM_APPS_DIR)play.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.13 $(SIM_MATH_LIBS) | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) -Wl,-rpath,'$$ORIGIN/../sim/math' \
		$(SIM_OUT)/libcudart.so.13 -ldl

# Links the stand-in math libraries too.
$(SIM_APPS_OUT)/library_calls: $(SIM_APPS_DIR)library_calls.c $(SIM_APPS_DIR)app.c $(SIM_OUT)/libcudart.so.13 $(SIM_MATH_LIBS) | $(SIM_APPS_OUT)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< $(SIM_APPS_DIR)app.c $(SIM_RPATH) -Wl,-rpath,'$$ORIGIN/../sim/math' \
		$(SIM_OUT)/libcudart.so.13 $(SIM_MATH_LIBS) -ldl

# The toy CUPTI client compares records with the truth, for both majors.
$(SIM_OUT)/selftest: $(SIM_DIR)selftest.c $(SIM_LIBS)
	$(SIM_CC) $(SIM_APP_FLAGS) -o $@ $< -Wl,-rpath,'$$ORIGIN' $(SIM_OUT)/libcudart.so.13 -ldl

sim-test: sim $(SIM_OUT)/selftest
	$(SIM_DIR)selftest.sh $(BUILD)

# Proves layout12.h, where CUDA 12 headers are at hand.
sim-layout12: $(SIM_DIR)layout12.c $(SIM_DIR)layout12.h
	$(SIM_CC) -std=gnu11 -fsyntax-only -Wno-deprecated-declarations $(addprefix -isystem ,$(CUDA12_INC)) \
		-I$(SIM_DIR) $<

sim-clean:
	rm -rf $(SIM_OUT) $(SIM_APPS_OUT)

-include $(wildcard $(SIM_OUT)/*/*.d $(SIM_OUT)/*.d $(SIM_APPS_OUT)/*.d)
