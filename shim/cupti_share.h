/*
 * An application's own profiler (PyTorch's Kineto, say) beside ours. CUPTI knows one subscriber, one pair of buffer callbacks and one
 * set of enabled kinds in a process: who registers later takes it all. So we stand between: we hold what there is one of, remember what
 * the application asked for, and pass it callbacks and copies of records as if it were alone.
 *
 * What it cannot give: an application that looks CUPTI's functions up by handle never comes here; a value that its
 * callback leaves in *correlationData of a driver function that we ask for too is ours, and is not kept.
 */
#ifndef CUPTI_SHARE_H
#define CUPTI_SHARE_H

#include <cupti.h>
#include <stdbool.h>

/* Has the application enabled this kind of records, this callback? Any thread. */
bool share_wants_kind(CUpti_ActivityKind kind);
bool share_wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id);

/* Has it ever? Its records may still be about. */
bool share_asked_for(CUpti_ActivityKind kind);

/* Are buffers that come back now for the application too? From its first enabled kind until the flush after its last. */
bool share_wants_buffers(void);

/* Passes a callback on, if the application wants it. From CUPTI's callback; holds no lock. */
void share_called_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* CUPTI's counter of dropped records was read, which zeroes it: so many are news to the application too. */
void share_dropped(size_t records);

/* Passes on completed buffers, calling the application: no lock may be held. Writer thread. */
void share_deliver(void);

/* In a forked child, whose CUPTI is not used. */
void share_forget(void);

#endif
