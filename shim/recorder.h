/*
 * Recording: what hooks, CUPTI callbacks and NVTX report becomes records in the calling thread's ring. The one entry to the
 * recording side; knows no CUDA and no files. All functions keep errno and call no malloc.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

struct call_result {
	int error;       /* as the function returned it */
	uint64_t stream; /* handle, 0 if none or default */
	uint64_t bytes;
	uint64_t object;
};

/*
 * A hooked call begins. False: not recorded (tracing is off, or this call is made from inside another hooked one); then
 * recorder_end must not be called. `call` stays on the caller's stack until recorder_end.
 */
bool recorder_begin(struct call *call, uint16_t api);
void recorder_end(struct call *call, const struct call_result *result);

/*
 * A call into a math library begins. False: not recorded (tracing is off, or it is made from inside another whose work is known),
 * and then neither of the others must be called. recorder_library_enter when the shape is read, right before the real function:
 * device operations and graph nodes up to recorder_library_end belong to it. `flags`: BST_ENUM_LIBRARY_FLAG_DEFERRED or 0.
 * In between, the hook may say in call->operand where the operands lie.
 */
bool recorder_library_begin(struct library_call *call, uint16_t api);
void recorder_library_enter(struct library_call *call, const struct shape *shape, uint8_t flags);
void recorder_library_end(struct library_call *call, int result);

/*
 * A driver call that CUPTI reports. With a hooked call in progress on this thread it is part of that one: its correlation goes
 * there, and 0 is returned. Otherwise the time of its begin is returned, to be handed to recorder_driver_end.
 */
uint64_t recorder_driver_begin(uint16_t api, bool device_operation, uint32_t correlation);
void recorder_driver_end(uint16_t api, uint64_t begin_ns, uint32_t correlation, int error);

/* Raised by resource callbacks: call_flag bits for the call in progress on this thread. */
void recorder_flag(uint8_t flags);

struct range_event {
	uint8_t kind;  /* BST_ENUM_RANGE_KIND_* */
	uint32_t name; /* id of names.h, 0 if none */
	uint64_t domain;
	uint64_t id;
};
void recorder_range(const struct range_event *event);

struct node_event {
	uint8_t kind; /* BST_ENUM_NODE_KIND_* */
	uint32_t graph;
	uint64_t node;
	uint64_t source;
};
void recorder_node(const struct node_event *event);

#endif
