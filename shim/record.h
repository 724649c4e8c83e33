/* One host-side event on its way from a traced thread to the writer: a cache line, plain data. */
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

enum record_kind {
	RECORD_CALL = 1, /* a call into CUDA */
	RECORD_WAKE,     /* what the thread did in a silence before a call */
	RECORD_RANGE,    /* NVTX */
	RECORD_NODE,     /* a graph node was made */
	RECORD_LIBRARY,  /* a call into a math library */
	RECORD_LOST,     /* records that did not fit, at this place */
};

struct record {
	_Alignas(64) uint8_t kind;
	uint8_t flags; /* call, library: bits of call_flag, library_flag in enums.def */
	uint16_t api;
	uint32_t correlation;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	union {
		struct {
			uint64_t duration_ns;
			uint64_t stream; /* handle as the program has it */
			uint64_t bytes;
			uint64_t object;
			uint32_t result;
		} call;
		struct {
			uint64_t silence_ns;
			uint64_t cpu_ns; /* of the thread since it began */
			uint64_t voluntary;
			uint64_t involuntary;
		} wake;
		struct {
			uint64_t domain;
			uint64_t id;
			uint32_t name; /* id of names.h */
			uint8_t kind;
		} range;
		struct {
			uint64_t node;
			uint64_t source;
			uint32_t graph;
			uint32_t range; /* name of the NVTX range in force */
			uint32_t shape; /* of the library call around it, id of shapes.h */
			uint8_t kind;
			uint64_t library; /* its begin, 0 if there is none */
		} node;
		struct {
			uint64_t duration_ns;
			uint32_t shape; /* id of shapes.h */
			uint32_t result;
			uint64_t operand[2]; /* addresses, 0 = none that is known */
		} library;
		struct {
			uint64_t count;
			uint64_t end_ns;
		} lost;
	} u;
};

_Static_assert(sizeof(struct record) == 64, "one record is one cache line");

#endif
