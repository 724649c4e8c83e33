/* The tracer's side towards cupti_share.c, in CUPTI's own types. */
#ifndef TRACER_CUPTI_H
#define TRACER_CUPTI_H

#include <stdbool.h>

#include "cupti_api.h"
#include "trace/format.h"

/* CUPTI's functions while the tracer is on, else NULL. */
const struct cupti_api *tracer_cupti(void);
CUpti_SubscriberHandle tracer_subscriber(void);

/* Does the tracer record this kind, ask for this callback? */
bool tracer_wants_kind(CUpti_ActivityKind kind);
bool tracer_wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id);

/* Reads the clocks at one side of a change; the writer takes it from there. Any thread. */
void tracer_clock_changes(enum bst_enum when);

#endif
