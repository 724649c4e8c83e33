/*
 * One thread, begun after the first launch: a burst (enable, configure, start, stop, decode,
 * disable), then a pause so long that decoding keeps within its share of one core, but for what
 * a short run may spend at once. Between bursts the counters are free for others. A device on
 * which nothing ran during a burst is left alone until its next launch.
 */
#define _GNU_SOURCE
#include "sampler.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "metric_set.h"
#include "session.h"
#include "spawn.h"

/*
 * A tenth of a core. A burst costs 0.15 s of CPU time (configuring 105 ms, disabling 40 ms) and 0.19 ms a
 * sample of 11 metrics, the first one 0.4 s more (H200, driver 580, CUDA 13.0): a tenth of a core is 200
 * samples a second in bursts of 50 ms, 300 in bursts of 100 ms, 350 in bursts of 150 ms.
 */
#define CPU_SHARE 0.10
#define BURST_NS 100000000u
/*
 * From the first launch on, whatever their cost, so that each run has one in its later part until a
 * tenth of a core has earned the next: preparing (0.3 s of CPU time) and these bursts make about a
 * second. A program that is over before the first pays nothing. Each waits for its while until the
 * program launches steadily, unless the last one found the GPU busy: of three PyTorch trainings on
 * an H200 none had begun its first step 1.5 s after its first launch, one at 1.8 s, one at 2.2, and
 * bursts before that saw an idle GPU.
 */
static const struct {
	uint64_t after_ns;
	uint64_t patience_ns;
} first[] = {
	{200000000u, 800000000u},
	{1500000000u, 1500000000u},
	{7500000000u, 1000000000u},
};
#define FIRST_BURSTS (sizeof(first) / sizeof(first[0]))
/* Steadily: something is launched in half of the last so many windows, or in more. */
#define WINDOW_NS 20000000u
#define WINDOWS 10u
#define FIRST_BURST_NS 40000000u
#define IDLE_NS 5000000000u
#define PAUSE_NS 20000000u /* at least: others can take the counters then */
#define UNASKED_MOST 100u
/* From the end on, while the program waits for its exit: samples not read by then are dropped, */
#define END_READING_NS 100000000u
/* and the thread is left behind. */
#define END_WAITING_NS 1500000000u
#define DECODE_CALLS 64u
/* Shorter ones than 10 us are not delivered whole; a burst should have a few. */
#define INTERVAL_LEAST_NS 10000u
#define INTERVAL_MOST_NS (BURST_NS / 10)
#define HARDWARE_BUFFER_BYTES (64u << 20) /* device memory while a burst lasts */
/*
 * Room in the counter-data image for a whole burst: when one fills up, the samples left are lost,
 * and others come twice (CUDA 13.0, H200). 28 kB a sample there; mapped once.
 */
#define IMAGE_SAMPLES_LEAST 64u
#define IMAGE_SAMPLES_MOST 2048u
#define RING_SAMPLES 8192u
#define BURSTS_KEPT 64u
#define DEVICES 64u

struct sample {
	uint64_t begin_ns;
	uint64_t duration_ns;
	uint32_t device;
	uint32_t set;
	uint64_t value[METRIC_SLOTS];
};

struct burst {
	uint32_t device;
	uint32_t set;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t interval_ns;
	uint64_t samples;
	uint64_t dropped;
	uint64_t cpu_ns;
	char reason[200]; /* "" = ended as planned */
};

/* What a device needs to be sampled; made at its first burst. */
struct device {
	int ready; /* 1 = set chosen, -1 = refused for good */
	struct metric_set set;
	int set_written;
	uint8_t *image; /* mapped at the first burst, kept */
	size_t image_bytes;
	bool found_work; /* the last burst did */
	bool was_busy;   /* in half of its samples, or more */
	unsigned bursts;
	unsigned unasked; /* bursts since one that a launch asked for */
};

static struct pm_api pm;
static enum counters_mode mode;
static uint64_t interval_ns;
static struct device devices[DEVICES];
static bool initialized;                 /* cuptiProfilerInitialize; this thread */
static uint64_t started_ns;              /* of this thread */
static _Atomic uint64_t busy_devices;    /* bits: launched on since the last burst began */
static _Atomic uint64_t refused_devices; /* bits */
static _Atomic uint32_t bell;            /* futex: changes when there is something to look at */
static _Atomic uint64_t ended_ns;        /* when the end was asked for, or 0 */
static _Atomic uint32_t running;         /* futex: 1 = the thread lives */
static _Atomic uint32_t idle;            /* 1 = nothing to sample, the thread waits for the bell */
static _Atomic uint32_t in_burst;        /* device + 1 */

/* Samples and bursts go to the writer through rings with one producer (this thread) and one
 * consumer. */
static struct sample *_Atomic ring; /* NULL = no sampling */
static _Atomic uint32_t ring_head, ring_tail;
static struct burst bursts[BURSTS_KEPT];
static _Atomic uint32_t burst_head, burst_tail;

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, (uint32_t *)word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
		       0);
}

/* Until *word is no longer `value` or so much time is over. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};

	futex(word, FUTEX_WAIT, value, &ts);
}

static void ring_bell(void)
{
	atomic_fetch_add(&bell, 1);
	futex(&bell, FUTEX_WAKE, INT_MAX, NULL);
}

static bool stopping(void)
{
	return atomic_load(&ended_ns) != 0;
}

void sampler_configure(enum counters_mode with, uint64_t ns)
{
	mode = with;
	interval_ns = ns < INTERVAL_LEAST_NS  ? INTERVAL_LEAST_NS
		      : ns > INTERVAL_MOST_NS ? INTERVAL_MOST_NS
					      : ns;
	if (mode != COUNTERS_OFF && interval_ns != ns)
		log_line("BOUNDSHIM_COUNTER_INTERVAL_US is out of range, %u is used",
			 (unsigned)(interval_ns / 1000));
}

/* Has the time since the first launch paid for what was spent? */
static bool earned(void)
{
	return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) <=
	       CPU_SHARE * (double)(host_now() - started_ns);
}

/* As long as an image has room for; short where its cost is not earned yet. */
static uint64_t burst_ns(void)
{
	uint64_t most = interval_ns * (IMAGE_SAMPLES_MOST * 3 / 4);
	uint64_t wanted = earned() ? BURST_NS : FIRST_BURST_NS;

	return most < wanted ? most : wanted;
}

/* The writer may be held up by a slow disk: no burst that it could not take. */
static bool has_room(void)
{
	return atomic_load(&ring_head) - atomic_load(&ring_tail) <=
		       RING_SAMPLES - IMAGE_SAMPLES_MOST &&
	       atomic_load(&burst_head) - atomic_load(&burst_tail) < BURSTS_KEPT;
}

static bool put_sample(const struct sample *s)
{
	uint32_t head = atomic_load_explicit(&ring_head, memory_order_relaxed);

	/* acquire: pairs with sampler_drain; the slot was read */
	if (head - atomic_load_explicit(&ring_tail, memory_order_acquire) == RING_SAMPLES)
		return false;
	atomic_load_explicit(&ring, memory_order_relaxed)[head % RING_SAMPLES] = *s;
	atomic_store_explicit(&ring_head, head + 1, memory_order_release);
	return true;
}

static void put_burst(const struct burst *b)
{
	uint32_t head = atomic_load_explicit(&burst_head, memory_order_relaxed);

	if (head - atomic_load_explicit(&burst_tail, memory_order_acquire) == BURSTS_KEPT)
		return;
	bursts[head % BURSTS_KEPT] = *b;
	atomic_store_explicit(&burst_head, head + 1, memory_order_release);
}

/* Words for the codes that say who is in the way; others by number. */
static void explain(struct burst *b, const char *what, CUptiResult result)
{
	const char *words = "failed";

	if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
	    result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
		words = "not permitted; an administrator can allow it (NVreg_RestrictProfilingToAdminUsers=0, or CAP_PERFMON)";
	else if (result == CUPTI_ERROR_HARDWARE_BUSY)
		words = "another tool holds the counters";
	else if (result == CUPTI_ERROR_INVALID_OPERATION)
		words = "refused; this program seems to sample them itself";
	else if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_DEVICE ||
		 (result >= CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED &&
		  result <= CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED)) /* MIG among them */
		words = "not supported on this device";
	else if (result == CUPTI_ERROR_OUT_OF_MEMORY)
		words = "no memory, or the hardware buffer overflowed";
	snprintf(b->reason, sizeof(b->reason), "%s: %s (CUPTI %d)", what, words, (int)result);
}

/* The image of counters that this process may use; the first place where a missing permission
 * shows. */
static uint8_t *availability(uint32_t index, CUptiResult *result)
{
	PM_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, p);

	p.deviceIndex = index;
	*result = pm.cuptiPmSamplingGetCounterAvailability(&p);
	if (*result != CUPTI_SUCCESS)
		return NULL;
	p.pCounterAvailabilityImage = malloc(p.counterAvailabilityImageSize);
	if (!p.pCounterAvailabilityImage) {
		*result = CUPTI_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	*result = pm.cuptiPmSamplingGetCounterAvailability(&p);
	if (*result == CUPTI_SUCCESS)
		return p.pCounterAvailabilityImage;
	free(p.pCounterAvailabilityImage);
	return NULL;
}

static CUptiResult prepare(uint32_t index, struct burst *b)
{
	PM_PARAMS(CUpti_Profiler_Initialize_Params, init);
	PM_PARAMS(CUpti_Device_GetChipName_Params, chip);
	CUptiResult result = CUPTI_SUCCESS;
	uint8_t *image;

	/* inside cuInit, where the tracer starts, this fails with CUPTI_ERROR_UNKNOWN (13.0): so
	 * only now, after a launch */
	if (!initialized)
		result = pm.cuptiProfilerInitialize(&init);
	initialized = result == CUPTI_SUCCESS;
	if (result != CUPTI_SUCCESS) {
		explain(b, "cuptiProfilerInitialize", result);
		return result;
	}
	if (stopping())
		return result;
	chip.deviceIndex = index;
	result = pm.cuptiDeviceGetChipName(&chip);
	if (result != CUPTI_SUCCESS) {
		explain(b, "cuptiDeviceGetChipName", result);
		return result;
	}
	image = availability(index, &result);
	if (!image) {
		explain(b, "hardware counters", result);
		return result;
	}
	session_exit_first();
	if (!stopping())
		result = metric_set_choose(&devices[index].set, &pm, chip.pChipName, image);
	if (result != CUPTI_SUCCESS)
		explain(b, "choosing metrics", result);
	free(image);
	return result;
}

/* One session on a device: what has to be undone in reverse order. */
struct session {
	CUpti_PmSampling_Object *object;
	struct device *device;
	uint64_t burst_ns;
	uint64_t last_end_ns; /* of the last sample kept: samples can repeat or go backwards when an
				 image fills */
	bool first_seen;      /* the first sample spans configuration to start: no sample */
	bool found_work;      /* SMs were active, or nothing tells whether they were */
	uint64_t active;      /* samples in which they were */
};

static CUptiResult reset_image(const struct session *s)
{
	PM_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params, p);

	p.pPmSamplingObject = s->object;
	p.counterDataSize = s->device->image_bytes;
	p.pCounterData = s->device->image;
	return pm.cuptiPmSamplingCounterDataImageInitialize(&p);
}

/* The image's size depends on session and metrics; it is asked each time and mapped when it grew.
 */
static CUptiResult map_image(struct session *s)
{
	PM_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, size);
	uint64_t samples = s->burst_ns / interval_ns * 4 / 3;
	struct device *d = s->device;
	CUptiResult result;
	void *p;

	samples = samples < IMAGE_SAMPLES_LEAST ? IMAGE_SAMPLES_LEAST : samples;
	size.pPmSamplingObject = s->object;
	size.pMetricNames = d->set.name_list;
	size.numMetrics = d->set.count;
	size.maxSamples = (uint32_t)(samples < IMAGE_SAMPLES_MOST ? samples : IMAGE_SAMPLES_MOST);
	result = pm.cuptiPmSamplingGetCounterDataSize(&size);
	if (result != CUPTI_SUCCESS)
		return result;
	if (size.counterDataSize > d->image_bytes) {
		p = mmap(NULL, size.counterDataSize, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return CUPTI_ERROR_OUT_OF_MEMORY;
		if (d->image)
			munmap(d->image, d->image_bytes);
		d->image = p;
		d->image_bytes = size.counterDataSize;
	}
	return reset_image(s);
}

/* Turing and GA100 have no time interval; their system clock runs at about 1.6 GHz. */
static CUptiResult configure(const struct session *s)
{
	PM_PARAMS(CUpti_PmSampling_SetConfig_Params, config);
	CUptiResult result;

	config.pPmSamplingObject = s->object;
	config.configSize = s->device->set.config_bytes;
	config.pConfig = s->device->set.config;
	config.hardwareBufferSize = HARDWARE_BUFFER_BYTES;
	config.samplingInterval = interval_ns;
	config.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
	config.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
	result = pm.cuptiPmSamplingSetConfig(&config);
	if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_PARAMETER) {
		config.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
		config.samplingInterval = interval_ns * 16 / 10;
		result = pm.cuptiPmSamplingSetConfig(&config);
	}
	return result;
}

static CUptiResult open_session(struct session *s, uint32_t index, struct burst *b)
{
	PM_PARAMS(CUpti_PmSampling_Enable_Params, enable);
	const char *what = "cuptiPmSamplingEnable";
	CUptiResult result;

	enable.deviceIndex = index;
	result = pm.cuptiPmSamplingEnable(&enable);
	if (result == CUPTI_SUCCESS) {
		s->object = enable.pPmSamplingObject;
		what = "cuptiPmSamplingSetConfig";
		result = configure(s);
	}
	if (result == CUPTI_SUCCESS && !stopping()) {
		what = "counter data image";
		result = map_image(s);
	}
	if (result != CUPTI_SUCCESS)
		explain(b, what, result);
	return result;
}

static void close_session(struct session *s)
{
	PM_PARAMS(CUpti_PmSampling_Disable_Params, disable);

	if (s->object) {
		disable.pPmSamplingObject = s->object;
		pm.cuptiPmSamplingDisable(&disable);
	}
	s->object = NULL;
}

/* False for what is no measurement: infinite, negative, not a number. */
static bool whole_number(double value, uint32_t scale, uint64_t *whole)
{
	double scaled = value * scale + 0.5;

	if (!(scaled >= 0 && scaled < 1e18))
		return false;
	*whole = (uint64_t)scaled;
	return true;
}

/* One decoded sample: its times and values. False if it is none (see struct session). */
static bool read_sample(struct session *s, size_t at, struct burst *b)
{
	PM_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, info);
	PM_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, values);
	struct metric_set *set = &s->device->set;
	struct sample sample = {.device = b->device, .set = b->set};
	double value[METRIC_SLOTS];

	info.pPmSamplingObject = s->object;
	info.pCounterDataImage = values.pCounterDataImage = s->device->image;
	info.counterDataImageSize = values.counterDataImageSize = s->device->image_bytes;
	info.sampleIndex = values.rangeIndex = at;
	if (pm.cuptiPmSamplingCounterDataGetSampleInfo(&info) != CUPTI_SUCCESS)
		return false;
	if (!s->first_seen || info.startTimestamp < s->last_end_ns ||
	    info.endTimestamp <= info.startTimestamp) {
		s->first_seen = true;
		if (info.endTimestamp > s->last_end_ns && info.startTimestamp >= s->last_end_ns)
			s->last_end_ns = info.endTimestamp;
		return false;
	}
	values.pHostObject = set->host;
	values.ppMetricNames = set->name_list;
	values.numMetrics = set->count;
	values.pMetricValues = value;
	if (pm.cuptiProfilerHostEvaluateToGpuValues(&values) != CUPTI_SUCCESS)
		return false;
	s->last_end_ns = info.endTimestamp;
	sample.begin_ns = info.startTimestamp;
	sample.duration_ns = info.endTimestamp - info.startTimestamp;
	for (unsigned i = 0; i < set->count; i++)
		if (!whole_number(value[i], metric_info(set->slot[i]).scale,
				  &sample.value[set->slot[i]]))
			return false;
	if (sample.value[METRIC_SLOT_SM_ACTIVE]) {
		s->found_work = true;
		s->active++;
	}
	return put_sample(&sample);
}

/* The samples of the image from `from` on. */
static void read_samples(struct session *s, struct burst *b, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		uint64_t ended = atomic_load_explicit(&ended_ns, memory_order_relaxed);

		if (!(ended && host_now() > ended + END_READING_NS) && read_sample(s, i, b))
			b->samples++;
		else
			b->dropped++;
	}
}

/*
 * After a burst: all that the hardware delivered. A call may end early, with reason OTHER or
 * because the image is full; the records left come with the next one.
 */
static CUptiResult decode(struct session *s, struct burst *b)
{
	PM_PARAMS(CUpti_PmSampling_DecodeData_Params, data);
	PM_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, info);
	CUptiResult result = CUPTI_SUCCESS;
	size_t before = 0;

	data.pPmSamplingObject = s->object;
	data.pCounterDataImage = s->device->image;
	data.counterDataImageSize = s->device->image_bytes;
	info.pCounterDataImage = s->device->image;
	info.counterDataImageSize = s->device->image_bytes;
	for (unsigned calls = 0; calls < DECODE_CALLS && result == CUPTI_SUCCESS; calls++) {
		result = pm.cuptiPmSamplingDecodeData(&data);
		if (result == CUPTI_SUCCESS)
			result = pm.cuptiPmSamplingGetCounterDataInfo(&info);
		if (result != CUPTI_SUCCESS)
			break;
		read_samples(s, b, before, info.numCompletedSamples);
		if (data.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS ||
		    info.numCompletedSamples <= before)
			break;
		before = info.numCompletedSamples;
		if (data.decodeStopReason != CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
			continue;
		before = 0;
		result = reset_image(s);
	}
	return result;
}

/* Until this time of the host's clock, or the end. */
static void pause_until(uint64_t until_ns)
{
	for (;;) {
		uint32_t rung = atomic_load(&bell);
		uint64_t now = host_now();

		if (stopping() || now >= until_ns)
			return;
		sleep_on(&bell, rung, until_ns - now);
	}
}

/*
 * The hardware's buffer is full when this thread, on a busy machine, came to stop it long after its
 * time: a burst that is lost, where one that was in time means that no other will do better.
 */
static bool lost_to_lateness(const struct session *s, CUptiResult result, uint64_t lasted_ns)
{
	return result == CUPTI_ERROR_OUT_OF_MEMORY && lasted_ns > s->burst_ns + s->burst_ns / 2;
}

static CUptiResult sample_for(struct session *s, struct burst *b)
{
	PM_PARAMS(CUpti_PmSampling_Start_Params, start);
	PM_PARAMS(CUpti_PmSampling_Stop_Params, stop);
	const char *what = "cuptiPmSamplingStart";
	uint64_t began = host_now(), lasted = 0;
	CUptiResult result;

	start.pPmSamplingObject = stop.pPmSamplingObject = s->object;
	result = pm.cuptiPmSamplingStart(&start);
	if (result == CUPTI_SUCCESS) {
		pause_until(host_now() + s->burst_ns);
		what = "cuptiPmSamplingStop";
		result = pm.cuptiPmSamplingStop(&stop);
		lasted = host_now() - began;
	}
	if (result == CUPTI_SUCCESS) {
		what = "decoding";
		result = decode(s, b);
	}
	if (lost_to_lateness(s, result, lasted)) {
		b->dropped += lasted / interval_ns;
		result = CUPTI_SUCCESS;
	}
	if (result != CUPTI_SUCCESS)
		explain(b, what, result);
	return result;
}

static bool has_slot(const struct metric_set *set, uint8_t slot)
{
	return set->count && memchr(set->slot, slot, set->count);
}

/* One burst on a device; after a refusal the device is left alone. */
static void burst_on(uint32_t index)
{
	struct device *d = &devices[index];
	struct session s = {.device = d};
	struct burst b = {.device = index, .set = index + 1, .interval_ns = interval_ns};
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	CUptiResult result = CUPTI_SUCCESS;
	bool launched;

	b.begin_ns = host_now();
	if (!d->ready)
		result = prepare(index, &b);
	if (stopping())
		return;
	/* before, not after: a launch meanwhile asks for the next burst */
	launched = atomic_fetch_and(&busy_devices, ~(UINT64_C(1) << index)) >> index & 1;
	d->unasked = launched ? 0 : d->unasked + 1;
	if (result == CUPTI_SUCCESS) {
		d->ready = 1;
		s.burst_ns = burst_ns();
		s.found_work = !has_slot(&d->set, METRIC_SLOT_SM_ACTIVE);
		result = open_session(&s, index, &b);
		if (result == CUPTI_SUCCESS && !stopping())
			result = sample_for(&s, &b);
		close_session(&s);
		if (d->bursts++ == 0)
			session_exit_first();
	}
	if (stopping() && !b.samples && result == CUPTI_SUCCESS)
		return;
	if (result != CUPTI_SUCCESS) {
		d->ready = -1;
		atomic_fetch_or(&refused_devices, UINT64_C(1) << index);
		if (mode == COUNTERS_ON && !stopping())
			log_line("hardware counters are off on GPU %u: %s", index, b.reason);
	}
	b.end_ns = host_now();
	b.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	put_burst(&b);
	d->found_work = s.found_work;
	d->was_busy = s.active && s.active * 2 >= b.samples;
}

/* What was found may be another process's work: for long kernels of ours, but not for ever. */
static bool is_busy(const struct device *d, bool launched)
{
	return d->ready >= 0 && (launched || (d->found_work && d->unasked < UNASKED_MOST));
}

/* The next device after `last` that is busy and may be sampled, or DEVICES. */
static uint32_t next_device(uint32_t last)
{
	uint64_t busy = atomic_load(&busy_devices);

	for (uint32_t i = 1; i <= DEVICES; i++) {
		uint32_t at = (last + i) % DEVICES;

		if (is_busy(&devices[at], busy >> at & 1))
			return at;
	}
	return DEVICES;
}

/*
 * When the next burst may begin, after `count` of which the last began at began_ns and took cost_ns
 * of CPU time: when all that was spent and one more such burst are the share of the time since the
 * start, and that burst of the time since its begin, as an hour without work is no credit. The
 * first few do not wait that long.
 */
static uint64_t next_burst_ns(unsigned count, uint64_t began_ns, uint64_t cost_ns)
{
	uint64_t spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cost_ns;
	uint64_t paid = began_ns + (uint64_t)((double)cost_ns / CPU_SHARE);
	uint64_t due = started_ns + (uint64_t)((double)spent / CPU_SHARE);

	due = due > paid ? due : paid;
	if (count < FIRST_BURSTS && due > started_ns + first[count].after_ns)
		return started_ns + first[count].after_ns;
	return due;
}

/* From due_ns on until the program launches steadily, at most so long. */
static void await_launches(uint64_t due_ns, uint64_t patience_ns)
{
	uint64_t seen = 0, now;
	uint32_t windows = 0;

	pause_until(due_ns - WINDOWS * WINDOW_NS);
	while (!stopping() && (now = host_now()) < due_ns + patience_ns) {
		uint64_t busy = atomic_exchange(&busy_devices, 0);

		seen |= busy;
		windows = (windows << 1 | (busy != 0)) & ((1u << WINDOWS) - 1);
		if (now >= due_ns && __builtin_popcount(windows) >= (int)WINDOWS / 2)
			break;
		pause_until(now + WINDOW_NS);
	}
	atomic_fetch_or(&busy_devices, seen);
}

/*
 * Until the next burst, after `count`, of which the last was on this device: if the GPU was busy
 * then, whatever is launched, there is nothing to wait for.
 */
static void await_burst(unsigned count, uint64_t due_ns, uint32_t device)
{
	if (count < FIRST_BURSTS && due_ns == started_ns + first[count].after_ns &&
	    !devices[device].was_busy)
		await_launches(due_ns, first[count].patience_ns);
	else
		pause_until(due_ns);
}

static void *sampler_main(void *unused)
{
	uint32_t device = DEVICES - 1;
	unsigned count = 0;

	(void)unused;
	prctl(PR_SET_NAME, "boundshim-pm");
	/* the program goes first where cores are scarce; for a thread on Linux */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
	started_ns = host_now();
	await_burst(0, started_ns + first[0].after_ns, device);
	while (!stopping()) {
		uint64_t began = host_now(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), due;
		uint32_t rung =
			atomic_load(&bell); /* before looking: what comes after changes it */
		uint32_t next = next_device(device);

		if (next == DEVICES) {
			atomic_store(&idle, 1);
			sleep_on(&bell, rung, IDLE_NS);
			atomic_store(&idle, 0);
			continue;
		}
		if (has_room()) {
			device = next;
			atomic_store(&in_burst, device + 1);
			burst_on(device);
			count++;
			atomic_store(&in_burst, 0);
		}
		due = next_burst_ns(count, began, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
		began = host_now() + PAUSE_NS;
		await_burst(count, due > began ? due : began, device);
	}
	atomic_store(&running, 0);
	futex(&running, FUTEX_WAKE, INT_MAX, NULL);
	return NULL;
}

/* Counters are off from the start. No sampling thread exists. */
static void refuse(const char *why, const char *name)
{
	struct burst b = {.begin_ns = host_now()};

	snprintf(b.reason, sizeof(b.reason), "%s%s", why, name);
	b.end_ns = b.begin_ns;
	put_burst(&b);
	if (mode == COUNTERS_ON)
		log_line("hardware counters are off: %s", b.reason);
}

void sampler_start(void *libcupti)
{
	const char *missing;
	void *p;

	if (mode == COUNTERS_OFF || atomic_load(&ring))
		return;
	missing = pm_load(&pm, libcupti);
	if (missing) {
		refuse("this CUPTI has no PM sampling, which CUDA 12.6 brings; it lacks ", missing);
		return;
	}
	p = mmap(NULL, RING_SAMPLES * sizeof(struct sample), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		refuse("no memory for samples", "");
	else
		/* release: pairs with sampler_saw_launch; the table of functions is there */
		atomic_store_explicit(&ring, p, memory_order_release);
}

void sampler_refused(const char *why)
{
	if (mode == COUNTERS_ON)
		log_line("hardware counters are off: %s", why);
}

void sampler_saw_launch(uint32_t device)
{
	uint64_t bit = UINT64_C(1) << device % DEVICES;
	uint64_t known = atomic_load_explicit(&busy_devices, memory_order_relaxed) |
			 atomic_load_explicit(&refused_devices, memory_order_relaxed);

	/* acquire: pairs with sampler_start */
	if (device >= DEVICES || (known & bit) ||
	    !atomic_load_explicit(&ring, memory_order_acquire))
		return;
	atomic_fetch_or(&busy_devices, bit);
}

void sampler_tend(void)
{
	if (!atomic_load(&busy_devices) || !atomic_load(&ring) || stopping())
		return;
	if (atomic_load(&running)) {
		if (atomic_load(&idle))
			ring_bell();
		return;
	}
	atomic_store(&running, 1);
	if (spawn(sampler_main) == 0)
		return;
	atomic_store(&running, 0);
	atomic_store(&ring, NULL);
	refuse("no thread for them", "");
}

static struct bst_cell text(const char *s)
{
	return (struct bst_cell){.text = s, .size = (uint32_t)strlen(s)};
}

static void write_set(struct output *output, uint32_t device)
{
	struct device *d = &devices[device];

	if (d->set_written)
		return;
	d->set_written = 1;
	for (unsigned i = 0; i < d->set.count; i++) {
		struct metric_info info = metric_info(d->set.slot[i]);

		output_add(output, BST_TABLE_METRIC,
			   (struct bst_cell[]){{.number = device + 1},
					       {.number = d->set.slot[i]},
					       text(info.name),
					       {.number = info.scale},
					       text(info.unit),
					       text(d->set.name[i])});
	}
}

static void write_sample(struct output *output, const struct sample *s)
{
	uint64_t row[4 + METRIC_SLOTS] = {s->device, s->set, s->begin_ns, s->duration_ns};

	write_set(output, s->device);
	memcpy(row + 4, s->value, sizeof(s->value));
	output_add_numbers(output, BST_TABLE_SAMPLE, row);
}

static void write_burst(struct output *output, const struct burst *b)
{
	output_add(output, BST_TABLE_BURST,
		   (struct bst_cell[]){{.number = b->device},
				       {.number = b->set},
				       {.number = b->begin_ns},
				       {.number = b->end_ns},
				       {.number = b->interval_ns},
				       {.number = b->samples},
				       {.number = b->dropped},
				       {.number = b->cpu_ns},
				       text(b->reason)});
}

void sampler_drain(struct output *output)
{
	/* acquire: pairs with put_burst. Read first, so that the samples of these bursts are in the ring. */
	uint32_t ended = atomic_load_explicit(&burst_head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&ring_tail, memory_order_relaxed);
	/* acquire: pairs with put_sample */
	uint32_t head = atomic_load_explicit(&ring_head, memory_order_acquire);

	for (; tail != head; tail++)
		write_sample(output, &atomic_load_explicit(
					     &ring, memory_order_relaxed)[tail % RING_SAMPLES]);
	atomic_store_explicit(&ring_tail, tail, memory_order_release);
	tail = atomic_load_explicit(&burst_tail, memory_order_relaxed);
	for (; tail != ended; tail++)
		write_burst(output, &bursts[tail % BURSTS_KEPT]);
	atomic_store_explicit(&burst_tail, tail, memory_order_release);
}

void sampler_end(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&ended_ns, &none, host_now());
	ring_bell();
}

bool sampler_await(void)
{
	uint64_t until = atomic_load(&ended_ns) + END_WAITING_NS, now;

	while (atomic_load(&running) && (now = host_now()) < until)
		sleep_on(&running, 1, until - now);
	return !atomic_load(&running);
}

void sampler_give_up(struct output *output)
{
	uint32_t device = atomic_load(&in_burst);
	struct burst b = {.interval_ns = interval_ns, .reason = "not ended when the program did"};

	if (!device)
		return;
	b.device = device - 1;
	b.set = device;
	b.begin_ns = b.end_ns = host_now();
	write_burst(output, &b);
}

void sampler_forget(void)
{
	void *p = atomic_load(&ring);

	if (p)
		munmap(p, RING_SAMPLES * sizeof(struct sample));
	for (uint32_t i = 0; i < DEVICES; i++)
		if (devices[i].image)
			munmap(devices[i].image, devices[i].image_bytes);
	memset(devices, 0, sizeof(devices));
	initialized = false;
	atomic_store(&ring, NULL);
	atomic_store(&running, 0);
	atomic_store(&idle, 0);
	atomic_store(&in_burst, 0);
	atomic_store(&ended_ns, 0);
	atomic_store(&busy_devices, 0);
	atomic_store(&refused_devices, 0);
	atomic_store(&ring_head, 0);
	atomic_store(&ring_tail, 0);
	atomic_store(&burst_head, 0);
	atomic_store(&burst_tail, 0);
}
