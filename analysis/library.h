/*
 * What kernels compute, from the calls of math libraries (cuBLAS, cuDNN, NCCL) that launched them:
 * FLOPs and least bytes for each kernel signature and each shape that it served.
 *
 * A call's arithmetic belongs to its kernels as a group: a GEMM may be a main kernel, a reduction
 * of its split parts and a memset. It goes to the kernels of the group that multiply or communicate
 * by their name (role MAIN), split by their time if there are several; without such a one to the one
 * that took longest, those that help by their name (role HELPER) last. So the others of the group
 * have launches in calls and no FLOPs of their own, and FLOPs over a signature's time is the rate of
 * that kernel alone. Bytes likewise: what helpers move comes on top of the least bytes, which a call
 * needs whatever its kernels.
 *
 * How to use it, for a whole trace (what process.c would do, before labels are made):
 *
 *	struct library *l = library_create(roles, vocabulary.signature_count);	roles[i] =
 * library_role_of(signature[i].name) library_read(l, trace.data, trace.size, &trace.vocabulary);
 * library_read.h
 *	library_sum(l, signature, &sum)		for each signature: if sum.launches == its launches
 * or nearly so, flops = sum.flops / sum.launches, bytes = sum.bytes / sum.launches, evidence
 *"library"; achieved rate = sum.flops / sum.total_ns
 *	library_stats(l, &count)		the same split by shape
 *	library_destroy(l)
 *
 * and inside a walk over calls and kernels, to tell the launches of one kernel apart by shape
 *(attribution: a signature is then the pair of both):
 *
 *	uint32_t of = library_at(l, call->thread, call->begin_ns);	0 = outside of library calls
 *	const struct library_shape *shape = library_shape_of_call(l, of);
 *
 * Or, without library_read, piece by piece: library_add_shape, library_add_call and
 * library_add_node for all rows of their tables, library_ready, then library_add_kernel and
 * library_add_graph_kernel in about the order of time, library_finish. One thread at a time. Memory:
 * 32 bytes for each library call of the trace, 24 for each graph node made in one, and bounded
 * tables.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct library;

/* What a kernel does in a library call, by its name. */
enum library_role {
	LIBRARY_HELPER,  /* reduces, converts, copies, fills */
	LIBRARY_UNKNOWN, /* the name says nothing */
	LIBRARY_MAIN,    /* multiplies or communicates */
};
enum library_role library_role_of(const char *kernel_name);

/* A row of table `shape` (FORMAT.md). */
struct library_shape {
	uint8_t library, operation, compute, type[3];
	uint16_t flags;
	uint64_t m, n, k, batch;
	uint64_t flops, bytes; /* known where `flags` has BST_ENUM_SHAPE_FLAG_FLOPS, ..BYTES */
	char *detail;          /* "" if none */
};

struct library_call {
	uint64_t begin_ns; /* host */
	uint64_t end_ns;
	uint32_t thread;     /* any numbering, the same in library_at */
	uint32_t shape;      /* id */
	uint8_t flags;       /* BST_ENUM_LIBRARY_FLAG_* */
	uint16_t operand[2]; /* numbers of the addresses of A and B (FORMAT.md); 0 = not known */
};

struct library_node {
	uint64_t node, source; /* CUPTI ids; source 0 = none */
	uint64_t library_ns;   /* begin of the library call around its creation, 0 = none */
	uint32_t thread;
	uint32_t shape;
};

/* NULL without memory. `role` (an enum library_role for each signature) is kept by reference. */
struct library *library_create(const uint8_t *role, size_t signatures);
void library_destroy(struct library *l);

/* Rows of the trace. -1 without memory. `detail` is copied, `shape->detail` not looked at. */
int library_add_shape(struct library *l, uint64_t id, const struct library_shape *shape,
		      const char *detail, size_t detail_size);
int library_add_call(struct library *l, const struct library_call *call);
int library_add_node(struct library *l, const struct library_node *node);
/* All calls are added. -1 without memory. */
int library_ready(struct library *l);

/* The call that holds this moment of a thread, counted from 1; 0 = none. Fast where moments of a
 * thread come in order. */
uint32_t library_at(struct library *l, uint32_t thread, uint64_t host_ns);

/*
 * From here on the shapes of single launches are kept: 8 bytes for each launch inside a library
 * call, of LIBRARY_LAUNCHES at most. Before library_read.
 */
#define LIBRARY_LAUNCHES (16u << 20)
void library_keep_launches(struct library *l);
/* A launch inside a call; library_read does it. -1 without memory. */
int library_add_launch(struct library *l, uint32_t correlation, uint32_t call);
/* Id of the shape that a launch, or the kernel of a graph's node, served; 0 = of no library call, or
 * not known. After library_finish. */
uint32_t library_shape_of_launch(struct library *l, uint32_t correlation);
uint32_t library_shape_of_node(const struct library *l, uint64_t node);

/* What a call computes; NULL for call 0 and where the trace does not say. */
const struct library_shape *library_shape_of_call(const struct library *l, uint32_t call);
const struct library_shape *library_shape(const struct library *l, uint64_t id);
/* Numbers of the addresses of A and B of a matrix product, filter and input of a convolution,
 * weights and input of an RNN. Both 0 for call 0, where the trace does not say, and for batches of
 * matrix products. */
void library_operands_of_call(const struct library *l, uint32_t call, uint16_t *a, uint16_t *b);

/* A kernel launched inside a call, or by a graph: of node `node`, launched with `correlation`. -1
 * without memory. */
int library_add_kernel(struct library *l, uint32_t call, uint32_t signature, uint64_t duration_ns);
int library_add_graph_kernel(struct library *l, uint32_t correlation, uint64_t node,
			     uint32_t signature, uint64_t duration_ns);
/* Nothing comes any more. -1 without memory. */
int library_finish(struct library *l);

/* A kernel signature and one shape that it served. */
struct library_stat {
	uint32_t signature;
	uint32_t shape;           /* id */
	uint64_t launches;        /* that carried the arithmetic of calls */
	uint64_t helper_launches; /* that were part of calls whose arithmetic another kernel carried
				   */
	double total_ns;          /* of `launches` */
	double flops, bytes;      /* of `launches`; 0 where the shape does not say */
};

struct library_sum {
	uint64_t launches, helper_launches;
	uint64_t flops_launches,
		bytes_launches; /* of `launches`, those whose FLOPs or bytes are known */
	double total_ns, flops, bytes;
	uint32_t shapes; /* that it served */
	uint32_t shape;  /* id of the one that took most time; 0 = none */
	bool nominal;    /* some FLOPs are upper limits */
};

/* After library_finish. False where the signature carried nothing; *sum is zeroed then. */
bool library_sum(const struct library *l, uint32_t signature, struct library_sum *sum);
/* All, by signature and then by time, longest first; and those of one signature. */
const struct library_stat *library_stats(const struct library *l, size_t *count);
const struct library_stat *library_stats_of(const struct library *l, uint32_t signature,
					    size_t *count);

struct library_counts {
	uint64_t calls; /* that ran: neither captured nor deferred */
	uint64_t captured;
	uint64_t kernels; /* given */
	uint64_t kernels_carrying;
	uint64_t kernels_helping;
	uint64_t kernels_unknown; /* inside calls of which the trace does not say what they compute
				   */
	uint64_t kernels_late;    /* of a call that had been closed for want of room: counted for
				     nothing */
};
struct library_counts library_counts(const struct library *l);

#endif
