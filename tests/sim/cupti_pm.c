/* CUPTI stand-in: PM sampling and the profiler's host API, counting what libcuda's virtual GPUs do.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#define PCT ".avg.pct_of_peak_sustained_elapsed"
#define PASS 12 /* how much fits into one; see struct metric */
#define CLOCK SIM_COUNTERS
#define AVAILABILITY_BYTES 512
#define CONFIG_BYTES 4096
#define SAMPLE_BYTES 1024 /* 28 kB in the real image */
#define REPEATED_WHEN_FULL 2
#define SYSCLK_GHZ 1.6
#define MAGIC_HOST 0x484f5354u
#define MAGIC_CONFIG 0x434f4e46u
#define MAGIC_IMAGE 0x494d4147u
#define MAGIC_OBJECT 0x4f424a31u

/* A metric of a chip: what it counts, and the part of a pass that it takes; PASS = a pass of its
 * own. */
struct metric {
	const char *chip;
	const char *name;
	int counter;
	int part;
};

static const struct metric metrics[] = {
	{"GH100", "FBSP.TriageCompute.dramc__read_throughput" PCT, SIM_DRAM_READ, 1},
	{"GH100", "FBSP.TriageCompute.dramc__write_throughput" PCT, SIM_DRAM_WRITE, 1},
	{"GH100", "TPC.TriageCompute.sm__cycles_active" PCT, SIM_SM_ACTIVE, 1},
	{"GH100", "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime" PCT, SIM_TENSOR, 1},
	{"GH100", "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime" PCT, SIM_FMA, 1},
	{"GH100", "TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime" PCT, SIM_ALU, 1},
	{"GH100", "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime" PCT, SIM_FP64, 1},
	{"GH100", "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime" PCT, SIM_XU, 1},
	{"GH100", "LTS.TriageCompute.lts__throughput" PCT, SIM_L2, 1},
	{"GH100", "SM_A.TriageCompute.l1tex__throughput" PCT, SIM_L1, 1},
	{"GH100", "sm__cycles_active" PCT, SIM_SM_ACTIVE, PASS},
	{"GH100", "lts__throughput" PCT, SIM_L2, PASS},
	{"GA100", "dramc__read_throughput" PCT, SIM_DRAM_READ, 2},
	{"GA100", "dramc__write_throughput" PCT, SIM_DRAM_WRITE, 2},
	{"GA100", "sm__cycles_active" PCT, SIM_SM_ACTIVE, 2},
	{"GA100", "sm__pipe_tensor_cycles_active_realtime" PCT, SIM_TENSOR, 2},
	{"GA100", "sm__inst_executed_pipe_fma_realtime" PCT, SIM_FMA, 2},
	{"GA100", "lts__throughput" PCT, SIM_L2, PASS},
	{"GA100", "l1tex__throughput" PCT, SIM_L1, PASS},
	{"AD102", "FBSP.TriageAC.dramc__read_throughput" PCT, SIM_DRAM_READ, 1},
	{"AD102", "FBSP.TriageAC.dramc__write_throughput" PCT, SIM_DRAM_WRITE, 1},
	{"AD102", "SM_A.TriageAC.sm__cycles_active" PCT, SIM_SM_ACTIVE, 1},
	{"AD102", "sm__pipe_tensor_cycles_active_realtime" PCT, SIM_TENSOR, 4},
	{"AD102", "SM_A.TriageAC.sm__inst_executed_pipe_fma_realtime" PCT, SIM_FMA, PASS},
	{"AD102", "LTS.TriageAC.lts__throughput" PCT, SIM_L2, 1},
	{"AD102", "SM_A.TriageAC.l1tex__throughput" PCT, SIM_L1, 1},
	{"*", "gpc__cycles_elapsed.avg.per_second", CLOCK, 1},
};
#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

static const char *const chips[] = {"GA100", "GH100", "AD102"};
#define CHIPS (sizeof(chips) / sizeof(chips[0]))

struct CUpti_Profiler_Host_Object {
	uint32_t magic;
	const char *chip;
	bool spoiled; /* by a name that the chip lacks */
	uint16_t metric[METRICS];
	uint16_t count;
};

struct config {
	uint32_t magic;
	uint16_t part;
	uint16_t count;
	uint16_t metric[METRICS];
};

struct sample {
	uint64_t begin_ns, end_ns; /* in CUPTI's clock */
	double value[SIM_COUNTERS + 1];
};
_Static_assert(sizeof(struct sample) <= SAMPLE_BYTES, "room for a sample");

struct image {
	uint32_t magic;
	const struct CUpti_PmSampling_Object *object;
	uint64_t most, count;
};

struct CUpti_PmSampling_Object {
	uint32_t magic;
	uint32_t device;
	bool running, dead;
	const uint8_t *config; /* the client's, which must stay as it is */
	uint8_t config_then[CONFIG_BYTES];
	struct config set;
	uint64_t interval_ns;
	uint64_t hardware_samples;
	uint64_t configured_ns, started_ns, stopped_ns;
	uint64_t taken; /* samples decoded so far; the first spans configuration to start */
};

static pthread_mutex_t pm_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_PmSampling_Object *sessions[64];
static _Atomic bool initialized, deinitialized;
static uint64_t first_configured_ns[64];

__attribute__((noreturn)) static void die(const char *function, const char *what)
{
	fprintf(stderr, "sim: %s: %s\n", function, what);
	abort();
}

static CUptiResult told_at(uint64_t at_ns, const char *function, uint32_t device,
			   CUptiResult result)
{
	cupti_core()->truth(
		"{\"t\":\"cupti\",\"pid\":%d,\"call\":\"%s\",\"device\":%u,\"time\":%llu,\"ret\":%d}",
		getpid(), function, device, (unsigned long long)at_ns, (int)result);
	return result;
}

static CUptiResult told(const char *function, uint32_t device, CUptiResult result)
{
	return told_at(cupti_core()->clock->now(), function, device, result);
}

/* What every function but the first begins with. The real one frees twice when it is called after
 * its own end. */
static _Atomic bool torn_down;

static CUptiResult enter(const char *function, size_t got, size_t wanted)
{
	CUptiResult err = cupti_enter(function);

	if (atomic_load(&torn_down))
		die(function, "called after the end of CUPTI's static objects");
	if (cupti_core() && cupti_core()->is_down())
		die(function, "called after the driver's exit handler");
	if (got < wanted)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return err;
}

static CUptiResult enter_target(const char *function, size_t got, size_t wanted)
{
	CUptiResult err = enter(function, got, wanted);

	return err || atomic_load(&initialized) ? err : CUPTI_ERROR_NOT_INITIALIZED;
}

/*
 * The real one has static objects, made in its functions' first calls and destroyed by exit in the
 * reverse order; a thread still inside frees twice.
 */
static _Atomic int inside;
static pid_t made_by; /* a forked child has no such thread */

static void leave(const int *entered)
{
	(void)entered;
	atomic_fetch_sub(&inside, 1);
}

static void tear_down(void)
{
	if (getpid() != made_by || cupti_core()->cupti->pm_no_statics)
		return;
	atomic_store(&torn_down, true);
	if (atomic_load(&inside))
		die("exit", "another thread is inside PM sampling: double free or corruption");
}

static void make_statics(_Atomic bool *made)
{
	made_by = getpid();
	if (!atomic_exchange(made, true))
		atexit(tear_down);
}

/* Those that take long in the real one: 40 to 150 ms. */
static void spend(void)
{
	if (cupti_core()->cupti->pm_call_ns)
		cupti_core()->clock->work(cupti_core()->cupti->pm_call_ns);
}

#define ENTER(how, function, type)                                                                 \
	__attribute__((cleanup(leave))) int entered = atomic_fetch_add(&inside, 1);                \
	static _Atomic bool made;                                                                  \
	CUptiResult err = how(#function, p ? p->structSize : 0, type##_STRUCT_SIZE);               \
	(void)entered;                                                                             \
	make_statics(&made);                                                                       \
	if (err)                                                                                   \
	return told(#function, 0, err)

EXPORTED(cuptiProfilerInitialize)
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	ENTER(enter, cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params);
	/* 13.0 inside cuInit */
	if (!cupti_core()->is_up())
		return told("cuptiProfilerInitialize", 0, CUPTI_ERROR_UNKNOWN);
	spend();
	atomic_store(&initialized, true);
	return told("cuptiProfilerInitialize", 0, CUPTI_SUCCESS);
}

/* Not counted: the second crashes in older ones. After the first, 13.0 samples as before. */
EXPORTED(cuptiProfilerDeInitialize)
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p)
{
	ENTER(enter, cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params);
	if (atomic_exchange(&deinitialized, true))
		die("cuptiProfilerDeInitialize", "called twice");
	return told("cuptiProfilerDeInitialize", 0, CUPTI_SUCCESS);
}

EXPORTED(cuptiDeviceGetChipName)
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	uint64_t hz;

	ENTER(enter, cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params);
	p->pChipName = cupti_core()->device_chip((uint32_t)p->deviceIndex, &hz);
	return p->pChipName ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE;
}

/* --- host: names to configurations --- */

static bool host_ok(const CUpti_Profiler_Host_Object *host)
{
	return host && host->magic == MAGIC_HOST;
}

static int find_metric(const char *chip, const char *name)
{
	for (size_t i = 0; i < METRICS; i++)
		if ((metrics[i].chip[0] == '*' || !strcmp(metrics[i].chip, chip)) &&
		    !strcmp(metrics[i].name, name))
			return (int)i;
	return -1;
}

EXPORTED(cuptiProfilerHostInitialize)
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	CUpti_Profiler_Host_Object *host;

	ENTER(enter, cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params);
	if (p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING || !p->pChipName)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < CHIPS; i++) {
		if (strcmp(chips[i], p->pChipName))
			continue;
		host = calloc(1, sizeof(*host));
		if (!host)
			abort();
		host->magic = MAGIC_HOST;
		host->chip = chips[i];
		p->pHostObject = host;
		return CUPTI_SUCCESS;
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORTED(cuptiProfilerHostDeinitialize)
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	ENTER(enter, cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
	if (!host_ok(p->pHostObject))
		die("cuptiProfilerHostDeinitialize", "no such host object");
	p->pHostObject->magic = 0;
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiProfilerHostGetSupportedChips)
CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p)
{
	ENTER(enter, cuptiProfilerHostGetSupportedChips,
	      CUpti_Profiler_Host_GetSupportedChips_Params);
	p->numChips = CHIPS;
	p->ppChipNames = chips;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiProfilerHostGetBaseMetrics)
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *p)
{
	static __thread const char *names[METRICS];
	size_t n = 0;

	ENTER(enter, cuptiProfilerHostGetBaseMetrics, CUpti_Profiler_Host_GetBaseMetrics_Params);
	if (!host_ok(p->pHostObject))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < METRICS; i++)
		if (find_metric(p->pHostObject->chip, metrics[i].name) == (int)i)
			names[n++] = metrics[i].name;
	p->ppMetricNames = names;
	p->numMetrics = n;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiProfilerHostConfigAddMetrics)
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	ENTER(enter, cuptiProfilerHostConfigAddMetrics,
	      CUpti_Profiler_Host_ConfigAddMetrics_Params);
	if (!host_ok(p->pHostObject) || p->pHostObject->spoiled)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->numMetrics; i++) {
		int at = find_metric(p->pHostObject->chip, p->ppMetricNames[i]);

		if (at < 0 || p->pHostObject->count == METRICS) {
			p->pHostObject->spoiled = true;
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		}
		p->pHostObject->metric[p->pHostObject->count++] = (uint16_t)at;
	}
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiProfilerHostGetConfigImageSize)
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	ENTER(enter, cuptiProfilerHostGetConfigImageSize,
	      CUpti_Profiler_Host_GetConfigImageSize_Params);
	if (!host_ok(p->pHostObject) || p->pHostObject->spoiled || !p->pHostObject->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->configImageSize = CONFIG_BYTES;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiProfilerHostGetConfigImage)
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	struct config c = {.magic = MAGIC_CONFIG};
	int part = 0;

	ENTER(enter, cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
	if (!host_ok(p->pHostObject) || p->pHostObject->spoiled ||
	    p->configImageSize < CONFIG_BYTES || !p->pConfigImage)
		return CUPTI_ERROR_INVALID_PARAMETER;
	c.count = p->pHostObject->count;
	for (int i = 0; i < c.count; i++) {
		c.metric[i] = p->pHostObject->metric[i];
		part += metrics[c.metric[i]].part;
	}
	c.part = (uint16_t)part;
	memset(p->pConfigImage, 0x3c, CONFIG_BYTES);
	memcpy(p->pConfigImage, &c, sizeof(c));
	return CUPTI_SUCCESS;
}

static bool read_config(const uint8_t *image, size_t size, struct config *c)
{
	if (!image || size < CONFIG_BYTES)
		return false;
	memcpy(c, image, sizeof(*c));
	return c->magic == MAGIC_CONFIG && c->count <= METRICS;
}

EXPORTED(cuptiProfilerHostGetNumOfPasses)
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	struct config c;

	ENTER(enter, cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
	if (!read_config(p->pConfigImage, p->configImageSize, &c))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->numOfPasses = (size_t)(c.part + PASS - 1) / PASS;
	return CUPTI_SUCCESS;
}

static struct sample *sample_at(const uint8_t *image, size_t i)
{
	return (struct sample *)(image + SAMPLE_BYTES * (i + 1));
}

EXPORTED(cuptiProfilerHostEvaluateToGpuValues)
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	const struct image *image;

	ENTER(enter, cuptiProfilerHostEvaluateToGpuValues,
	      CUpti_Profiler_Host_EvaluateToGpuValues_Params);
	image = (const struct image *)p->pCounterDataImage;
	if (!host_ok(p->pHostObject) || p->pHostObject->spoiled || !image ||
	    image->magic != MAGIC_IMAGE || p->rangeIndex >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->numMetrics; i++) {
		int at = find_metric(p->pHostObject->chip, p->ppMetricNames[i]);

		if (at < 0)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		p->pMetricValues[i] =
			sample_at(p->pCounterDataImage, p->rangeIndex)->value[metrics[at].counter];
	}
	return CUPTI_SUCCESS;
}

/* --- sampling --- */

static CUpti_PmSampling_Object *object_of(const char *function, CUpti_PmSampling_Object *object)
{
	if (!object || object->magic != MAGIC_OBJECT)
		die(function, "no such PM sampling object");
	/* freed or changed: the real one hangs or crashes */
	if (object->config && memcmp(object->config, object->config_then, CONFIG_BYTES))
		die(function, "the configuration was freed or changed while sampling is enabled");
	return object;
}

#define OBJECT(function) CUpti_PmSampling_Object *o = object_of(#function, p->pPmSamplingObject)

EXPORTED(cuptiPmSamplingGetCounterAvailability)
CUptiResult cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *p)
{
	ENTER(enter_target, cuptiPmSamplingGetCounterAvailability,
	      CUpti_PmSampling_GetCounterAvailability_Params);
	if (p->deviceIndex >= cupti_core()->device_count())
		return CUPTI_ERROR_INVALID_DEVICE;
	if (p->pCounterAvailabilityImage) {
		if (p->counterAvailabilityImageSize < AVAILABILITY_BYTES)
			return CUPTI_ERROR_INVALID_PARAMETER;
		memset(p->pCounterAvailabilityImage, 0xa5, AVAILABILITY_BYTES);
		spend();
	}
	p->counterAvailabilityImageSize = AVAILABILITY_BYTES;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiPmSamplingEnable)
CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
	CUpti_PmSampling_Object *o;

	ENTER(enter_target, cuptiPmSamplingEnable, CUpti_PmSampling_Enable_Params);
	if (p->deviceIndex >= cupti_core()->device_count())
		return told("cuptiPmSamplingEnable", (uint32_t)p->deviceIndex,
			    CUPTI_ERROR_INVALID_DEVICE);
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	o->magic = MAGIC_OBJECT;
	o->device = (uint32_t)p->deviceIndex;
	pthread_mutex_lock(&pm_lock);
	if (sessions[o->device])
		err = CUPTI_ERROR_INVALID_OPERATION;
	else
		sessions[o->device] = p->pPmSamplingObject = o;
	pthread_mutex_unlock(&pm_lock);
	if (err)
		free(o);
	return told("cuptiPmSamplingEnable", (uint32_t)p->deviceIndex, err);
}

EXPORTED(cuptiPmSamplingDisable)
CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
	uint32_t device;

	ENTER(enter_target, cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params);
	OBJECT(cuptiPmSamplingDisable);
	device = o->device;
	spend();
	told("cuptiPmSamplingDisable", device, CUPTI_SUCCESS);
	pthread_mutex_lock(&pm_lock);
	sessions[device] = NULL;
	o->magic = 0;
	free(o);
	pthread_mutex_unlock(&pm_lock);
	return CUPTI_SUCCESS;
}

/* Turing and GA100 have no time interval. */
static bool set_interval(CUpti_PmSampling_Object *o, const CUpti_PmSampling_SetConfig_Params *p)
{
	uint64_t hz;
	const char *chip = cupti_core()->device_chip(o->device, &hz);

	if (p->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
		o->interval_ns = (uint64_t)((double)p->samplingInterval / SYSCLK_GHZ);
	else if (!strcmp(chip, "GA100"))
		return false;
	else
		o->interval_ns = p->samplingInterval;
	return o->interval_ns >= 1000;
}

EXPORTED(cuptiPmSamplingSetConfig)
CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	ENTER(enter_target, cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params);
	OBJECT(cuptiPmSamplingSetConfig);
	if (o->running || !read_config(p->pConfig, p->configSize, &o->set) || !set_interval(o, p))
		return told("cuptiPmSamplingSetConfig", o->device, CUPTI_ERROR_INVALID_PARAMETER);
	if (o->set.part > PASS)
		return told("cuptiPmSamplingSetConfig", o->device, CUPTI_ERROR_NOT_SUPPORTED);
	o->config = p->pConfig;
	memcpy(o->config_then, p->pConfig, CONFIG_BYTES);
	o->hardware_samples = p->hardwareBufferSize / cupti_core()->cupti->pm_record_bytes;
	/* the first sample of every session spans from the first configuration of the process */
	if (!first_configured_ns[o->device])
		first_configured_ns[o->device] = cupti_core()->clock->now();
	o->configured_ns = first_configured_ns[o->device];
	spend();
	return told("cuptiPmSamplingSetConfig", o->device, CUPTI_SUCCESS);
}

EXPORTED(cuptiPmSamplingGetCounterDataSize)
CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
	ENTER(enter_target, cuptiPmSamplingGetCounterDataSize,
	      CUpti_PmSampling_GetCounterDataSize_Params);
	OBJECT(cuptiPmSamplingGetCounterDataSize);
	if (!o->config || !p->maxSamples || !p->numMetrics)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->counterDataSize = SAMPLE_BYTES * ((size_t)p->maxSamples + 1);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiPmSamplingCounterDataImageInitialize)
CUptiResult cuptiPmSamplingCounterDataImageInitialize(
	CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
	uint64_t most = cupti_core()->cupti->pm_image_most;
	struct image *image;

	ENTER(enter_target, cuptiPmSamplingCounterDataImageInitialize,
	      CUpti_PmSampling_CounterDataImage_Initialize_Params);
	OBJECT(cuptiPmSamplingCounterDataImageInitialize);
	if (!p->pCounterData || p->counterDataSize < 2 * SAMPLE_BYTES)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(p->pCounterData, 0, p->counterDataSize);
	image = (struct image *)p->pCounterData;
	*image = (struct image){MAGIC_IMAGE, o, p->counterDataSize / SAMPLE_BYTES - 1, 0};
	if (most && image->most > most)
		image->most = most;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiPmSamplingStart)
CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	ENTER(enter_target, cuptiPmSamplingStart, CUpti_PmSampling_Start_Params);
	OBJECT(cuptiPmSamplingStart);
	if (!o->config || o->running || o->dead)
		return told("cuptiPmSamplingStart", o->device, CUPTI_ERROR_INVALID_OPERATION);
	o->started_ns = cupti_core()->clock->now();
	o->taken = 0;
	o->running = true;
	return told_at(o->started_ns, "cuptiPmSamplingStart", o->device, CUPTI_SUCCESS);
}

EXPORTED(cuptiPmSamplingStop)
CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	ENTER(enter_target, cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params);
	static _Atomic bool stopped;

	OBJECT(cuptiPmSamplingStop);
	if (!o->running)
		return told("cuptiPmSamplingStop", o->device, CUPTI_ERROR_INVALID_OPERATION);
	if (!atomic_exchange(&stopped, true))
		cupti_core()->clock->work(cupti_core()->cupti->pm_late_stop_ns);
	o->stopped_ns = cupti_core()->clock->now();
	o->running = false;
	return told_at(o->stopped_ns, "cuptiPmSamplingStop", o->device, CUPTI_SUCCESS);
}

/* The beginning of sample n: sample 0 spans configuration to start. */
static uint64_t edge(const CUpti_PmSampling_Object *o, uint64_t n)
{
	return n ? o->started_ns + (n - 1) * o->interval_ns : o->configured_ns;
}

static void fill(const CUpti_PmSampling_Object *o, uint8_t *image, uint64_t first, uint64_t count)
{
	uint64_t *edges = malloc((count + 1) * sizeof(*edges)), hz = 0;
	double(*values)[SIM_COUNTERS] = malloc(count * sizeof(*values));
	struct image *head = (struct image *)image;

	if (!edges || !values)
		abort();
	for (uint64_t i = 0; i <= count; i++)
		edges[i] = edge(o, first + i);
	cupti_core()->read_counters(o->device, edges, count, values);
	cupti_core()->device_chip(o->device, &hz);
	for (uint64_t i = 0; i < count; i++) {
		struct sample *s = sample_at(image, head->count++);

		s->begin_ns = cupti_core()->clock->realtime(edges[i]);
		s->end_ns = cupti_core()->clock->realtime(edges[i + 1]);
		memcpy(s->value, values[i], sizeof(values[i]));
		s->value[CLOCK] = (double)hz;
	}
	free(edges);
	free(values);
	if (cupti_core()->cupti->pm_decode_ns)
		cupti_core()->clock->work(cupti_core()->cupti->pm_decode_ns * count);
}

EXPORTED(cuptiPmSamplingDecodeData)
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	uint64_t now, delivered, waiting, room, most = cupti_core()->cupti->pm_decode_most;
	struct image *image;

	ENTER(enter_target, cuptiPmSamplingDecodeData, CUpti_PmSampling_DecodeData_Params);
	OBJECT(cuptiPmSamplingDecodeData);
	image = (struct image *)p->pCounterDataImage;
	if (!image || image->magic != MAGIC_IMAGE || image->object != o || !o->started_ns)
		return told("cuptiPmSamplingDecodeData", o->device, CUPTI_ERROR_INVALID_PARAMETER);
	now = o->running ? cupti_core()->clock->now() : o->stopped_ns;
	delivered = 1 + (now - o->started_ns) / o->interval_ns;
	waiting = delivered > o->taken ? delivered - o->taken : 0;
	if (waiting > o->hardware_samples || o->dead) {
		o->dead = true;
		p->overflow = 1;
		return told("cuptiPmSamplingDecodeData", o->device, CUPTI_ERROR_OUT_OF_MEMORY);
	}
	p->overflow = 0;
	p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	room = image->most - image->count;
	if (waiting > room) {
		p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
		waiting = room;
	}
	if (most && waiting > most) {
		p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
		waiting = most;
	}
	if (waiting)
		fill(o, p->pCounterDataImage, o->taken, waiting);
	o->taken += waiting;
	/* 13.0 on an H200: what did not fit is gone; while the hardware delivers some come twice */
	if (p->decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
		o->taken = o->running ? o->taken - REPEATED_WHEN_FULL : delivered;
	return told("cuptiPmSamplingDecodeData", o->device, CUPTI_SUCCESS);
}

EXPORTED(cuptiPmSamplingGetCounterDataInfo)
CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
	const struct image *image;

	ENTER(enter_target, cuptiPmSamplingGetCounterDataInfo,
	      CUpti_PmSampling_GetCounterDataInfo_Params);
	image = (const struct image *)p->pCounterDataImage;
	if (!image || image->magic != MAGIC_IMAGE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->numTotalSamples = image->most;
	p->numPopulatedSamples = p->numCompletedSamples = image->count;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiPmSamplingCounterDataGetSampleInfo)
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
	CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
	const struct image *image;

	ENTER(enter_target, cuptiPmSamplingCounterDataGetSampleInfo,
	      CUpti_PmSampling_CounterData_GetSampleInfo_Params);
	image = (const struct image *)p->pCounterDataImage;
	if (!image || image->magic != MAGIC_IMAGE || p->sampleIndex >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->startTimestamp = sample_at(p->pCounterDataImage, p->sampleIndex)->begin_ns;
	p->endTimestamp = sample_at(p->pCounterDataImage, p->sampleIndex)->end_ns;
	return CUPTI_SUCCESS;
}

/* A process whose hardware buffer overflowed can hang in its exit unless sampling is disabled
 * before. */
__attribute__((destructor)) static void at_end(void)
{
	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++)
		if (sessions[i] && sessions[i]->dead)
			die("exit", "PM sampling overflowed and was never disabled");
}
