/* Reads SIM_SCRIPT, and answers what each kernel, call and record is scripted to do. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define LINE_MAX_BYTES 4096

struct cost {
	struct cost *next;
	char *pattern;
	uint64_t ns;
};

struct fault {
	struct fault *next;
	char *pattern;
	uint64_t at, seen;
	int code;
	bool forever;
};

struct bad {
	struct bad *next;
	uint64_t at, every;
	enum sim_bad how;
};

struct kernel {
	struct kernel *next;
	struct script_kernel kernel;
};

struct script script = {
	.links =
		{
			[LINK_H2D] = {"h2d", 55000000000u, 1500},
			[LINK_H2D_PAGEABLE] = {"h2d_pageable", 12000000000u, 2500},
			[LINK_D2H] = {"d2h", 55000000000u, 1500},
			[LINK_D2H_PAGEABLE] = {"d2h_pageable", 10000000000u, 2500},
			[LINK_D2D] = {"d2d", 2000000000000u, 1000},
			[LINK_P2P] = {"p2p", 200000000000u, 2000},
			[LINK_H2H] = {"h2h", 10000000000u, 500},
			[LINK_SET] = {"set", 2500000000000u, 1000},
		},
	.launch_latency_ns = 3000,
	.queue_gap_ns = 1000,
	.sync_latency_ns = 2000,
	.graph_latency_ns = 5000,
	.graph_node_gap_ns = 800,
	.host_function_ns = 5000,
	.module_load_ns = 0,
	.pageable_async_bytes = 65536,
	.copy_data_bytes = 64u << 20,
	.queue_depth = 1024,
	.driver_version = 13000,
	.first_correlation = 1,
	.cupti.pm_record_bytes = 16384,
	.lazy_loading = true,
};

static const struct script_device h200 = {
	.name = "NVIDIA H200",
	.chip = "GH100",
	.cc_major = 9,
	.sms = 132,
	.memory_bytes = 150123053056u,
	.clock_hz = 1980000000,
	.memory_clock_hz = 3201000000,
	.bus_bits = 6144,
	.l2_bytes = 62914560,
};

/* CPU cost of a call, where the script has none. Orders of magnitude of an H200 host. */
static const struct {
	const char *pattern;
	uint64_t ns;
} default_costs[] = {
	{"*GetLastError", 50},
	{"*PeekAtLastError", 50},
	{"*GetDevice", 50},
	{"*SetDevice", 100},
	{"*IsCapturing", 200},
	{"*GetCaptureInfo*", 200},
	{"__cuda*Configuration", 30},
	{"*Launch*", 3000},
	{"*Memcpy*", 4000},
	{"*Memset*", 3000},
	{"*MallocAsync*", 1500},
	{"*FreeAsync*", 1000},
	{"cuda*Malloc*", 60000},
	{"cuMemAlloc*", 60000},
	{"cudaHostAlloc", 200000},
	{"cuMemHostAlloc", 200000},
	{"cudaFree*", 40000},
	{"cuMemFree*", 40000},
	{"*GraphInstantiate*", 50000},
	{"*ModuleLoad*", 50000},
	{"*LibraryLoad*", 50000},
	{"*StreamCreate*", 5000},
	{"*Event*", 500},
	{"*", 200},
};

static struct script_kernel default_kernel = {
	.pattern = "*",
	.durations_ns = {10000},
	.duration_count = 1,
	.registers = 32,
	.max_threads = 1024,
	.blocks_per_sm = 8,
	.counters[SIM_SM_ACTIVE] = 100,
};

static struct kernel *kernels;
static struct cost *costs;
static struct fault *faults;
static struct bad *bads;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *script_path;
static unsigned int script_line;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "sim: %s:%u: ", script_path, script_line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

/* A number with an optional unit; times to ns, sizes to bytes, rates to per second. */
static uint64_t number(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {
		{"", 1},      {"ns", 1},     {"us", 1e3},      {"ms", 1e6},         {"s", 1e9},
		{"B", 1},     {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"KB", 1e3},
		{"MB", 1e6},  {"GB", 1e9},   {"MB/s", 1e6},    {"GB/s", 1e9},       {"TB/s", 1e12},
		{"MHz", 1e6}, {"GHz", 1e9},  {"k", 1e3},
	};
	char *end;
	double value;

	if (text[0] == '0' && text[1] == 'x')
		return strtoull(text, NULL, 16);
	/* Plain integers exactly: correlation ids and counts do not fit a double's habits. */
	if (strspn(text, "0123456789") == strlen(text) && *text)
		return strtoull(text, NULL, 10);
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && !strcmp(end, units[i].unit))
			return (uint64_t)(value * units[i].factor + 0.5);
	die("bad number: %s", text);
}

/* The value of key=value when word begins with that key. */
static const char *value_of(const char *word, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(word, key, len) && word[len] == '=' ? word + len + 1 : NULL;
}

static void read_durations(struct script_kernel *kernel, const char *text)
{
	char *copy = need(strdup(text)), *save = NULL;

	kernel->duration_count = 0;
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (kernel->duration_count < SCRIPT_DURATIONS)
			kernel->durations_ns[kernel->duration_count++] = number(w);
	free(copy);
	if (!kernel->duration_count)
		die("a kernel needs a duration");
}

/* dram_read:90,tensor:5 */
static void read_counters(float *counters, const char *text)
{
	static const char *const names[SIM_COUNTERS] = {
		[SIM_DRAM_READ] = "dram_read",
		[SIM_DRAM_WRITE] = "dram_write",
		[SIM_TENSOR] = "tensor",
		[SIM_FMA] = "fma",
		[SIM_ALU] = "alu",
		[SIM_FP64] = "fp64",
		[SIM_XU] = "xu",
		[SIM_L2] = "l2",
		[SIM_L1] = "l1",
		[SIM_SM_ACTIVE] = "sm_active",
	};
	char *copy = need(strdup(text)), *save = NULL;

	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *value = strchr(w, ':');
		int k = 0;

		if (value)
			*value++ = 0;
		while (k < SIM_COUNTERS && strcmp(names[k], w))
			k++;
		if (!value || k == SIM_COUNTERS)
			die("counters=NAME:PERCENT,..., not %s", text);
		counters[k] = strtof(value, NULL);
	}
	free(copy);
}

static void read_kernel(char **words, size_t count)
{
	struct kernel *k = need(calloc(1, sizeof(*k)));
	const char *v;

	k->kernel = default_kernel;
	k->kernel.pattern = need(strdup(words[1]));
	for (size_t i = 2; i < count; i++) {
		if ((v = value_of(words[i], "duration")))
			read_durations(&k->kernel, v);
		else if ((v = value_of(words[i], "per_block")))
			k->kernel.per_block_ps = (uint64_t)(strtod(v, NULL) * 1000 + 0.5);
		else if ((v = value_of(words[i], "registers")))
			k->kernel.registers = (uint32_t)number(v);
		else if ((v = value_of(words[i], "shared")))
			k->kernel.static_shared = (uint32_t)number(v);
		else if ((v = value_of(words[i], "max_threads")))
			k->kernel.max_threads = (uint32_t)number(v);
		else if ((v = value_of(words[i], "blocks_per_sm")))
			k->kernel.blocks_per_sm = (uint32_t)number(v);
		else if ((v = value_of(words[i], "overlap")))
			k->kernel.overlap_ns = number(v);
		else if ((v = value_of(words[i], "counters")))
			read_counters(k->kernel.counters, v);
		else
			die("unknown word for a kernel: %s", words[i]);
	}
	if (!strcmp(k->kernel.pattern, "*"))
		default_kernel = k->kernel;
	k->next = kernels;
	kernels = k;
}

static void read_device(char **words, size_t count)
{
	struct script_device *d;
	const char *v;

	if (script.device_count == SCRIPT_DEVICES)
		die("too many devices");
	d = &script.devices[script.device_count++];
	*d = h200;
	for (size_t i = 1; i < count; i++) {
		if ((v = value_of(words[i], "name"))) {
			snprintf(d->name, sizeof(d->name), "%s", v);
			for (char *c = d->name; *c; c++)
				if (*c == '_')
					*c = ' ';
		} else if ((v = value_of(words[i], "chip"))) {
			snprintf(d->chip, sizeof(d->chip), "%s", v);
		} else if ((v = value_of(words[i], "cc"))) {
			if (sscanf(v, "%u.%u", &d->cc_major, &d->cc_minor) != 2)
				die("cc=MAJOR.MINOR, not %s", v);
		} else if ((v = value_of(words[i], "sms"))) {
			d->sms = (uint32_t)number(v);
		} else if ((v = value_of(words[i], "memory"))) {
			d->memory_bytes = number(v);
		} else if ((v = value_of(words[i], "clock"))) {
			d->clock_hz = number(v);
		} else if ((v = value_of(words[i], "memory_clock"))) {
			d->memory_clock_hz = number(v);
		} else if ((v = value_of(words[i], "bus"))) {
			d->bus_bits = (uint32_t)number(v);
		} else if ((v = value_of(words[i], "l2"))) {
			d->l2_bytes = number(v);
		} else if ((v = value_of(words[i], "mps"))) {
			d->mps = strcmp(v, "on") == 0;
		} else {
			die("unknown word for a device: %s", words[i]);
		}
	}
}

static void read_link(char **words, size_t count)
{
	struct script_link *link = NULL;
	const char *v;

	for (size_t i = 0; i < LINK_COUNT; i++)
		if (!strcmp(script.links[i].name, words[1]))
			link = &script.links[i];
	if (!link)
		die("unknown copy: %s", words[1]);
	for (size_t i = 2; i < count; i++) {
		if ((v = value_of(words[i], "bandwidth")))
			link->bytes_per_s = number(v);
		else if ((v = value_of(words[i], "latency")))
			link->latency_ns = number(v);
		else
			die("unknown word for a copy: %s", words[i]);
	}
}

static void read_cost(char **words)
{
	struct cost *c = need(calloc(1, sizeof(*c)));

	c->pattern = need(strdup(words[1]));
	c->ns = number(words[2]);
	c->next = costs;
	costs = c;
}

static void read_fault(char **words, size_t count)
{
	struct fault *f = need(calloc(1, sizeof(*f)));

	f->pattern = need(strdup(words[1]));
	f->at = number(words[2]);
	f->code = atoi(words[3]);
	f->forever = count > 4 && !strcmp(words[4], "forever");
	f->next = faults;
	faults = f;
}

static void read_record(char **words, size_t count)
{
	static const char *const names[] = {
		[SIM_BAD_ZERO] = "zero",           [SIM_BAD_INVERTED] = "inverted",
		[SIM_BAD_SENTINEL] = "sentinel",   [SIM_BAD_UNKNOWN_KIND] = "unknown_kind",
		[SIM_BAD_LONG_NAME] = "long_name", [SIM_BAD_NAME_BYTES] = "name_bytes",
		[SIM_BAD_DUPLICATE] = "duplicate", [SIM_BAD_NULL_NAME] = "null_name",
	};
	struct bad *b = need(calloc(1, sizeof(*b)));
	const char *how = words[count - 1];

	if (count == 4 && !strcmp(words[1], "every"))
		b->every = number(words[2]);
	else
		b->at = number(words[1]);
	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(how, names[i]))
			b->how = (enum sim_bad)i;
	if (!b->how)
		die("unknown kind of bad record: %s", how);
	b->next = bads;
	bads = b;
}

static const struct {
	const char *word;
	uint64_t *value;
} times[] = {
	{"launch_latency", &script.launch_latency_ns},
	{"queue_gap", &script.queue_gap_ns},
	{"sync_latency", &script.sync_latency_ns},
	{"graph_latency", &script.graph_latency_ns},
	{"graph_node_gap", &script.graph_node_gap_ns},
	{"host_function", &script.host_function_ns},
	{"module_load", &script.module_load_ns},
	{"pageable_async", &script.pageable_async_bytes},
	{"copy_data", &script.copy_data_bytes},
	{"cupti_activity_cost", &script.cupti.activity_cost_ns},
	{"cupti_callback_cost", &script.cupti.callback_cost_ns},
	{"cupti_api_cost", &script.cupti.api_cost_ns},
	{"cupti_flush_cost", &script.cupti.flush_cost_ns},
	{"cupti_gap", &script.cupti.gap_ns},
	{"cupti_node", &script.cupti.node_ns},
	{"cupti_delay", &script.cupti.delay_ns},
	{"pm_writeback", &script.cupti.pm_writeback_ns},
	{"pm_call_cost", &script.cupti.pm_call_ns},
	{"pm_late_stop", &script.cupti.pm_late_stop_ns},
	{"pm_decode_cost", &script.cupti.pm_decode_ns},
	{"pm_decode_most", &script.cupti.pm_decode_most},
	{"pm_image_most", &script.cupti.pm_image_most},
	{"pm_record_bytes", &script.cupti.pm_record_bytes},
};

static const struct {
	const char *word;
	uint32_t *value;
} counts[] = {
	{"queue_depth", &script.queue_depth},
	{"driver_version", &script.driver_version},
	{"correlation", &script.first_correlation},
	{"cupti_version", &script.cupti.version},
	{"lose_buffer_every", &script.cupti.lose_buffer_every},
	{"cupti_buffer_records", &script.cupti.buffer_records},
};

static const struct {
	const char *word;
	bool *value;
} flags[] = {
	{"lazy_loading", &script.lazy_loading},
	{"serial_kernels", &script.serial_kernels},
	{"sync_spins", &script.sync_spins},
	{"cupti_reversed", &script.cupti.reversed},
	{"pm_no_statics", &script.cupti.pm_no_statics},
	{"cupti_unlocked_callbacks", &script.cupti.unlocked_callbacks},
};

static bool read_setting(char **words, size_t count)
{
	if (count != 2)
		return false;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (!strcmp(words[0], times[i].word)) {
			*times[i].value = number(words[1]);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (!strcmp(words[0], counts[i].word)) {
			*counts[i].value = (uint32_t)number(words[1]);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(words[0], flags[i].word)) {
			*flags[i].value = !strcmp(words[1], "on");
			return true;
		}
	}
	return false;
}

static void read_line(char **words, size_t count)
{
	if (!strcmp(words[0], "kernel") && count >= 2)
		read_kernel(words, count);
	else if (!strcmp(words[0], "device"))
		read_device(words, count);
	else if (!strcmp(words[0], "devices") && count == 2)
		for (uint64_t n = number(words[1]); script.device_count < n;)
			read_device(words, 1);
	else if (!strcmp(words[0], "copy") && count >= 2)
		read_link(words, count);
	else if (!strcmp(words[0], "cost") && count == 3)
		read_cost(words);
	else if (!strcmp(words[0], "fail") && count >= 4)
		read_fault(words, count);
	else if (!strcmp(words[0], "record") && count >= 3)
		read_record(words, count);
	else if (!strcmp(words[0], "drop") && count == 3) {
		script.cupti.drop_first = number(words[1]);
		script.cupti.drop_count = number(words[2]);
	} else if (!strcmp(words[0], "pm_idle") && count == 2)
		read_counters(script.cupti.pm_idle, words[1]);
	else if (!strcmp(words[0], "pm_noise") && count == 2)
		script.cupti.pm_noise = strtod(words[1], NULL);
	else if (!strcmp(words[0], "clock_step") && count == 3)
		sim_clock->step(sim_clock->origin() + number(words[1]),
				words[2][0] == '-' ? -(int64_t)number(words[2] + 1)
						   : (int64_t)number(words[2]));
	else if (!read_setting(words, count))
		die("cannot read this line: %s ...", words[0]);
}

void script_load(void)
{
	char line[LINE_MAX_BYTES];
	FILE *f;

	script_path = getenv("SIM_SCRIPT");
	f = script_path && *script_path ? fopen(script_path, "re") : NULL;
	if (script_path && *script_path && !f)
		die("cannot open");
	while (f && fgets(line, sizeof(line), f)) {
		char *words[64], *save = NULL;
		size_t count = 0;

		script_line++;
		line[strcspn(line, "#\n")] = 0;
		for (char *w = strtok_r(line, " \t", &save); w && count < 64;
		     w = strtok_r(NULL, " \t", &save))
			words[count++] = w;
		if (count)
			read_line(words, count);
	}
	if (f)
		fclose(f);
	if (!script.device_count)
		script.devices[script.device_count++] = h200;
}

const struct script_kernel *script_kernel(const char *name)
{
	for (const struct kernel *k = kernels; k; k = k->next)
		if (!fnmatch(k->kernel.pattern, name, 0))
			return &k->kernel;
	return &default_kernel;
}

uint64_t script_duration(const struct script_kernel *kernel, uint64_t instance, uint64_t blocks)
{
	return kernel->durations_ns[instance % kernel->duration_count] +
	       blocks * kernel->per_block_ps / 1000;
}

static uint64_t find_cost(const struct sim_api *api)
{
	for (const struct cost *c = costs; c; c = c->next)
		if (!fnmatch(c->pattern, api->name, 0))
			return c->ns;
	for (size_t i = 0; i < sizeof(default_costs) / sizeof(default_costs[0]); i++)
		if (!fnmatch(default_costs[i].pattern, api->name, 0))
			return default_costs[i].ns;
	return 0;
}

uint64_t script_cost(const struct sim_api *api)
{
	uint64_t ns = __atomic_load_n(api->cost_ns, __ATOMIC_RELAXED);

	if (ns == SIM_COST_UNKNOWN) {
		ns = find_cost(api);
		__atomic_store_n(api->cost_ns, ns, __ATOMIC_RELAXED);
	}
	return ns;
}

int script_fault(const char *function)
{
	int code = 0;

	if (!faults)
		return 0;
	pthread_mutex_lock(&fault_lock);
	for (struct fault *f = faults; f; f = f->next) {
		if (fnmatch(f->pattern, function, 0))
			continue;
		f->seen++;
		if (f->seen == f->at || (f->forever && f->seen > f->at))
			code = f->code;
	}
	pthread_mutex_unlock(&fault_lock);
	return code;
}

enum sim_bad script_bad_record(uint64_t number)
{
	for (const struct bad *b = bads; b; b = b->next)
		if (b->at == number || (b->every && number % b->every == 0))
			return b->how;
	return SIM_GOOD;
}
