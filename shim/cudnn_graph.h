/*
 * cuDNN's graph API: an execution plan does not tell what it computes, so what the program says
 * while it builds one is followed, from tensors over operations and their graph to engine
 * configurations and plans.
 */
#ifndef CUDNN_GRAPH_H
#define CUDNN_GRAPH_H

#include <stdint.h>

#include "shape.h"

/* Descriptors followed at one time: PyTorch keeps some 15 for each plan in its cache. Touched as
 * used. */
#define CUDNN_DESCRIPTORS_LIMIT 65536u

/*
 * What the wrappers note; for tests too. All take a lock of their own, call nothing of cuDNN, keep
 * errno. `kind` is a cudnnBackendDescriptorType_t; attribute and type are
 * cudnnBackendAttributeName_t and ..Type_t.
 */
void cudnn_graph_created(void *descriptor, int kind);
void cudnn_graph_destroyed(const void *descriptor);
void cudnn_graph_set(const void *descriptor, int attribute, int type, int64_t count,
		     const void *elements);
void cudnn_graph_got(const void *descriptor, int type, int64_t count, const void *elements);

/* What a plan (or a graph, engine or configuration) computes. Cleared, with operation OTHER, where
 * that is not known. */
void cudnn_graph_shape(const void *descriptor, struct shape *shape);

/* In a forked child: the lock may have been another thread's. The plans that the program keeps stay
 * known. */
void cudnn_graph_after_fork(void);

#endif
