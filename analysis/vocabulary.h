/* The dictionaries of a trace in memory: names, APIs, threads, kernels, devices, clocks, losses and
 * own cost. */
#ifndef VOCABULARY_H
#define VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dict.h"
#include "shim/trace/rows.h"

struct api_row {
	const char *name;
	uint8_t klass; /* enum class, BST_ENUM_CLASS_... */
	bool blocking; /* a copy or set that returns when it is done, by its name */
};

struct thread_row {
	uint32_t tid;
	const char *name;
};

/* A kernel as reports list it: one name with one grid and block. Row 0 stands for kernels that the
 * trace does not name. */
struct signature {
	const char *name; /* as recorded, "" if unknown */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t registers;
	uint64_t shared_bytes; /* per block, static and dynamic */
	uint32_t name_key;     /* equal for equal names; never 0 */
	bool known;            /* the geometry is */
};

struct attribute_row {
	uint32_t device;
	const char *key;
	uint64_t number;
	const char *text;
};

struct clock_row {
	uint64_t device_ns;
	uint64_t host_ns;
	uint64_t error_ns;
	unsigned reason; /* enum clock_reason */
};

struct loss_row {
	unsigned cause;
	uint64_t count;
	uint64_t thread; /* id, 0 = not a thread's */
	uint64_t begin_ns;
	uint64_t end_ns;
};

struct cost_row {
	uint64_t count;
	uint64_t total_ns;
};

#define COST_KINDS 8

/* What a slot of a sample's values holds; see metrics.def of the shim. */
struct metric_row {
	uint32_t set;
	uint32_t slot;
	const char *name; /* "dram_read", "tensor" ... */
	double scale;
};

struct burst_row {
	uint32_t device;
	uint64_t samples;
	uint64_t dropped;
	uint64_t cpu_ns;
	uint64_t interval_ns;
	const char *reason; /* "" = ended as planned */
};

struct meta_row {
	const char *key;
	const char *value;
};

struct vocabulary {
	struct dict strings, apis, threads, contexts, kernels, handles;
	const char **string;
	struct api_row *api;
	struct thread_row *thread;
	uint32_t *context_device;
	uint32_t *kernel_signature; /* by kernel index */
	uint64_t *handle;           /* addresses, by handle index */
	struct signature *signature;
	size_t signature_count;
	struct meta_row *meta;
	size_t meta_count;
	struct attribute_row *attribute;
	size_t attribute_count;
	struct clock_row *clock;
	size_t clock_count;
	struct loss_row *loss;
	size_t loss_count;
	struct metric_row *metric;
	size_t metric_count;
	struct burst_row *burst;
	size_t burst_count;
	struct cost_row cost[COST_KINDS]; /* by enum cost_kind: the last, largest figures */
	size_t capacity[14];              /* of the arrays above */
	void *signature_index;            /* uthash */
	char **text;                      /* blocks that hold all text */
	size_t text_blocks, text_capacity, text_used, text_total;
	bool truncated; /* something did not fit into memory or limits: rows are unknown */
};

void vocabulary_init(struct vocabulary *v);
void vocabulary_fini(struct vocabulary *v);

/* Does this table belong here? */
bool vocabulary_has(uint16_t table);

/* Takes the rows of one chunk of such a table. Rows without sense are left out. */
void vocabulary_add(struct vocabulary *v, const struct bst_rows *rows);

/* The last value of a key, or NULL. */
const char *vocabulary_meta(const struct vocabulary *v, const char *key);
/* A device's attribute; false if the trace has none. */
bool vocabulary_number(const struct vocabulary *v, uint32_t device, const char *key,
		       uint64_t *value);
const char *vocabulary_text(const struct vocabulary *v, uint32_t device, const char *key);

/* The signature of a kernel id; 0 where it is unknown. */
static inline uint32_t vocabulary_signature(const struct vocabulary *v, uint64_t kernel)
{
	uint32_t index;

	return dict_find(&v->kernels, kernel, &index) ? v->kernel_signature[index] : 0;
}

#endif
