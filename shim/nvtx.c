/*
 * NVTX: the library that each program links calls us by the tables that we fill here. Declared by hand (nvtxTypes.h, NVTX 3, stable since
 * 2017), so that no CUDA is needed and only what we use is named. Names are interned at once: the program owns the text.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elder.h"
#include "names.h"
#include "recorder.h"
#include "session.h"
#include "trace/format.h"

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t struct_size;
	int (*get_module_function_table)(int module, nvtx_function ***table, unsigned *size);
};

typedef const void *(*nvtx_get_export_table)(uint32_t id);

#define EXPORT_CALLBACKS 1
#define MODULE_CORE 1
#define MODULE_CORE2 5

/* nvtxEventAttributes_t, version 2 */
struct nvtx_event {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

enum message_type {
	MESSAGE_ASCII = 1,
	MESSAGE_UNICODE = 2,
	MESSAGE_REGISTERED = 3,
};

_Static_assert(offsetof(struct nvtx_event, message) == 40, "nvtxEventAttributes_t");

int InitializeInjectionNvtx2(nvtx_get_export_table get_table);

static _Atomic uint64_t next_range = 1;

#define NARROW_BYTES 256

/* wchar_t text: bytes for ASCII, '?' for the rest. */
static const char *narrow(const uint32_t *text, char out[NARROW_BYTES])
{
	size_t n = 0;

	for (; text && text[n] && n < NARROW_BYTES - 1; n++)
		out[n] = text[n] < 128 ? (char)text[n] : '?';
	out[n] = 0;
	return text ? out : NULL;
}

/* Ranges before the first CUDA activity are not recorded, nor their names. */
static uint32_t intern(const char *text)
{
	return text && session_recording() ? names_intern(text, strnlen(text, NAME_BYTES_LIMIT))
					   : 0;
}

static uint32_t intern_wide(const uint32_t *text)
{
	char out[NARROW_BYTES];

	return intern(narrow(text, out));
}

/* Registered strings and domains are made early and used late: kept though nothing is recorded yet. */
static uint32_t intern_early(const char *text)
{
	if (!text ||
	    atomic_load_explicit(&session_state_now, memory_order_relaxed) == SESSION_OFF ||
	    names_init() != 0)
		return 0;
	return names_intern(text, strnlen(text, NAME_BYTES_LIMIT));
}

static uint32_t event_name(const struct nvtx_event *e)
{
	if (!e)
		return 0;
	switch (e->message_type) {
	case MESSAGE_ASCII:
		return intern(e->message);
	case MESSAGE_UNICODE:
		return intern_wide(e->message);
	case MESSAGE_REGISTERED:
		return (uint32_t)(uintptr_t)e->message;
	default:
		return 0;
	}
}

static void record(uint8_t kind, uint32_t name, const void *domain, uint64_t id)
{
	recorder_range(&(struct range_event){
		.kind = kind, .name = name, .domain = (uint64_t)(uintptr_t)domain, .id = id});
}

static uint64_t start_range(const void *domain, uint32_t name)
{
	uint64_t id = atomic_fetch_add_explicit(&next_range, 1, memory_order_relaxed);

	record(BST_ENUM_RANGE_KIND_START, name, domain, id);
	return id;
}

static int push(const void *domain, uint32_t name)
{
	struct thread *t;

	record(BST_ENUM_RANGE_KIND_PUSH, name, domain, 0);
	t = thread_peek();
	return t && t->range_depth ? (int)t->range_depth - 1 : 0;
}

static int pop(const void *domain)
{
	struct thread *t;

	record(BST_ENUM_RANGE_KIND_POP, 0, domain, 0);
	t = thread_peek();
	return t ? (int)t->range_depth : 0;
}

static void mark_ex(const struct nvtx_event *e)
{
	record(BST_ENUM_RANGE_KIND_MARK, event_name(e), NULL, 0);
}

static void mark_a(const char *text)
{
	record(BST_ENUM_RANGE_KIND_MARK, intern(text), NULL, 0);
}

static void mark_w(const uint32_t *text)
{
	record(BST_ENUM_RANGE_KIND_MARK, intern_wide(text), NULL, 0);
}

static uint64_t range_start_ex(const struct nvtx_event *e)
{
	return start_range(NULL, event_name(e));
}

static uint64_t range_start_a(const char *text)
{
	return start_range(NULL, intern(text));
}

static uint64_t range_start_w(const uint32_t *text)
{
	return start_range(NULL, intern_wide(text));
}

static void range_end(uint64_t id)
{
	record(BST_ENUM_RANGE_KIND_END, 0, NULL, id);
}

static int range_push_ex(const struct nvtx_event *e)
{
	return push(NULL, event_name(e));
}

static int range_push_a(const char *text)
{
	return push(NULL, intern(text));
}

static int range_push_w(const uint32_t *text)
{
	return push(NULL, intern_wide(text));
}

static int range_pop(void)
{
	return pop(NULL);
}

static void name_thread_a(uint32_t tid, const char *text)
{
	record(BST_ENUM_RANGE_KIND_THREAD_NAME, intern(text), NULL, tid);
}

static void name_thread_w(uint32_t tid, const uint32_t *text)
{
	record(BST_ENUM_RANGE_KIND_THREAD_NAME, intern_wide(text), NULL, tid);
}

static void domain_mark_ex(const void *domain, const struct nvtx_event *e)
{
	record(BST_ENUM_RANGE_KIND_MARK, event_name(e), domain, 0);
}

static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_event *e)
{
	return start_range(domain, event_name(e));
}

static void domain_range_end(const void *domain, uint64_t id)
{
	record(BST_ENUM_RANGE_KIND_END, 0, domain, id);
}

static int domain_range_push_ex(const void *domain, const struct nvtx_event *e)
{
	return push(domain, event_name(e));
}

static int domain_range_pop(const void *domain)
{
	return pop(domain);
}

/* A handle that the program passes back in events: the id of the name. */
static void *domain_register_string_a(const void *domain, const char *text)
{
	(void)domain;
	return (void *)(uintptr_t)intern_early(text);
}

static void *domain_register_string_w(const void *domain, const uint32_t *text)
{
	char out[NARROW_BYTES];

	(void)domain;
	return (void *)(uintptr_t)intern_early(narrow(text, out));
}

/* Never NULL, which would mean the default domain. */
static void *domain_create_a(const char *text)
{
	return (void *)((uintptr_t)intern_early(text) | (uintptr_t)1 << 40);
}

static void *domain_create_w(const uint32_t *text)
{
	char out[NARROW_BYTES];

	return (void *)((uintptr_t)intern_early(narrow(text, out)) | (uintptr_t)1 << 40);
}

struct entry {
	unsigned id;
	nvtx_function function;
};

#define ENTRY(id, function)                                                                        \
	{                                                                                          \
		id, (nvtx_function)function                                                        \
	}

/* NVTX_CBID_CORE_* */
static const struct entry core[] = {
	ENTRY(1, mark_ex),        ENTRY(2, mark_a),        ENTRY(3, mark_w),
	ENTRY(4, range_start_ex), ENTRY(5, range_start_a), ENTRY(6, range_start_w),
	ENTRY(7, range_end),      ENTRY(8, range_push_ex), ENTRY(9, range_push_a),
	ENTRY(10, range_push_w),  ENTRY(11, range_pop),    ENTRY(14, name_thread_a),
	ENTRY(15, name_thread_w),
};

/* NVTX_CBID_CORE2_* */
static const struct entry core2[] = {
	ENTRY(1, domain_mark_ex),
	ENTRY(2, domain_range_start_ex),
	ENTRY(3, domain_range_end),
	ENTRY(4, domain_range_push_ex),
	ENTRY(5, domain_range_pop),
	ENTRY(10, domain_register_string_a),
	ENTRY(11, domain_register_string_w),
	ENTRY(12, domain_create_a),
	ENTRY(13, domain_create_w),
};

static void fill(const struct nvtx_callbacks *callbacks, int module, const struct entry *entries,
		 size_t count)
{
	nvtx_function **table;
	unsigned size;

	if (!callbacks->get_module_function_table(module, &table, &size))
		return;
	for (size_t i = 0; i < count; i++)
		if (entries[i].id < size && table[entries[i].id])
			*table[entries[i].id] = entries[i].function;
}

/* Called by NVTX in each library that uses it, at its first NVTX call. 1 = installed. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_export_table get_table)
{
	int (*elder)(nvtx_get_export_table) =
		(int (*)(nvtx_get_export_table))elder_symbol("InitializeInjectionNvtx2");
	const struct nvtx_callbacks *callbacks;

	if (elder)
		return elder(get_table);
	callbacks = get_table(EXPORT_CALLBACKS);
	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	fill(callbacks, MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
	fill(callbacks, MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}
