/* Shares, leads and sentences. */
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_CONFIDENCE 0.9

/* How much of a window each pillar has. */
struct shares {
	double leaf[LEAF_COUNT];
	double pillar[REGIME_COUNT];
	double idle;
	double unknown;
};

static struct shares shares_of(const struct window *window)
{
	struct shares s;
	double base = (double)window->window_ns - (double)window->leaf_ns[LEAF_TRACING];

	memset(&s, 0, sizeof(s));
	if (base <= 0)
		return s;
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++) {
		if (leaf == LEAF_TRACING)
			continue;
		s.leaf[leaf] = (double)window->leaf_ns[leaf] / base;
		if (leaf != LEAF_UNKNOWN)
			s.pillar[leaf_pillar((enum leaf)leaf)] += s.leaf[leaf];
	}
	s.unknown = s.leaf[LEAF_UNKNOWN];
	s.idle = 1 - (double)window->busy_ns / base;
	if (s.idle < 0)
		s.idle = 0;
	return s;
}

static enum leaf largest_leaf(const struct shares *s, enum regime pillar)
{
	enum leaf best = LEAF_UNKNOWN;

	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++) {
		if (leaf == LEAF_UNKNOWN || leaf == LEAF_TRACING)
			continue;
		if (pillar != REGIME_MIXED && leaf_pillar((enum leaf)leaf) != pillar)
			continue;
		if (best == LEAF_UNKNOWN || s->leaf[leaf] > s->leaf[best])
			best = (enum leaf)leaf;
	}
	return best;
}

static void decide_regime(const struct shares *s, struct verdict *v)
{
	static const enum regime pillars[] = {REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD,
					      REGIME_OTHER};
	enum regime best = REGIME_COMPUTE;
	double second = 0;

	for (unsigned i = 1; i < 4; i++)
		if (s->pillar[pillars[i]] > s->pillar[best])
			best = pillars[i];
	for (unsigned i = 0; i < 4; i++)
		if (pillars[i] != best)
			second = fmax(second, s->pillar[pillars[i]]);
	v->share = s->pillar[best];
	if (v->share < VERDICT_LEAST || v->share <= s->unknown) {
		v->regime = REGIME_UNKNOWN;
		v->leaf = LEAF_UNKNOWN;
		v->share = s->unknown;
		return;
	}
	v->leaf = largest_leaf(s, best);
	v->regime = best;
	if (best == REGIME_OTHER || v->share - second < VERDICT_LEAD)
		v->regime = REGIME_MIXED;
}

static double confidence_of(const struct shares *s, const struct verdict *v, double busy_confidence)
{
	double idle = 0, all = 0;

	if (v->regime == REGIME_UNKNOWN)
		return 0;
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++) {
		if (v->regime != REGIME_MIXED && leaf_pillar((enum leaf)leaf) != v->regime)
			continue;
		all += s->leaf[leaf];
		/* Copies and collectives are told by what they are, not by a guess. */
		if (leaf_idle((enum leaf)leaf) || leaf == LEAF_TRANSFER ||
		    leaf == LEAF_COMMUNICATION)
			idle += s->leaf[leaf];
	}
	if (all <= 0)
		return 0;
	return (idle * IDLE_CONFIDENCE + (all - idle) * busy_confidence) / all * (1 - s->unknown);
}

/* What a person calls the leaf that binds. */
static const char *mostly(enum leaf leaf)
{
	switch (leaf) {
	case LEAF_COMPUTE:
		return "arithmetic units were the busiest part";
	case LEAF_DRAM:
		return "device memory was the busiest part";
	case LEAF_CACHE:
		return "the caches were the busiest part";
	case LEAF_TRANSFER:
		return "it waited for copies between host and device";
	case LEAF_COMMUNICATION:
		return "it waited for other GPUs";
	case LEAF_HOST:
		return "waiting for the CPU to launch the next kernel";
	case LEAF_LAUNCH:
		return "in launching kernels and between queued ones";
	case LEAF_SYNC:
		return "because the CPU waited for the GPU and lost its lead";
	case LEAF_ALLOC:
		return "because the CPU was allocating, freeing or loading code";
	case LEAF_UNDERFILLED:
		return "with kernels too small to fill it";
	case LEAF_LATENCY:
		return "kernels filled the GPU but kept no unit busy";
	case LEAF_DEPENDENCY:
		return "the next work was queued but held by something else";
	default:
		return "";
	}
}

static char *sentence_of(const struct shares *s, const struct verdict *v, bool per_step)
{
	const char *when = per_step ? "each step" : "the time";
	double idle = 100 * s->idle, share = 100 * v->share;
	char *text = NULL;
	int n;

	if (v->regime == REGIME_UNKNOWN)
		n = asprintf(&text, "the trace does not tell what binds %.0f %% of %s",
			     100 * s->unknown, when);
	else if (v->regime == REGIME_OVERHEAD && leaf_idle(v->leaf))
		n = asprintf(&text, "the GPU was idle %.0f %% of %s, mostly %s", idle, when,
			     mostly(v->leaf));
	else if (v->regime == REGIME_OVERHEAD)
		n = asprintf(&text, "the GPU spent %.0f %% of %s idle or %s", share, when,
			     mostly(v->leaf));
	else if (v->regime == REGIME_MIXED && leaf_pillar(v->leaf) == REGIME_OTHER)
		n = asprintf(&text, "for %.0f %% of %s, %s", share, when, mostly(v->leaf));
	else if (v->regime == REGIME_MIXED)
		n = asprintf(
			&text,
			"nothing dominates: compute %.0f %%, memory %.0f %%, overhead %.0f %%, "
			"other %.0f %% of %s",
			100 * s->pillar[REGIME_COMPUTE], 100 * s->pillar[REGIME_MEMORY],
			100 * s->pillar[REGIME_OVERHEAD],
			100 * (s->pillar[REGIME_OTHER] + s->unknown), when);
	else
		n = asprintf(&text, "the GPU was busy %.0f %% of %s, and for %.0f %% %s",
			     100 - idle, when, share, mostly(v->leaf));
	return n < 0 ? NULL : text;
}

/* See verdict.h. */
static bool hangs_on_tracing(const struct window *w, const struct shares *s,
			     const struct verdict *v)
{
	double base = (double)w->window_ns - (double)w->leaf_ns[LEAF_TRACING];
	double tracing = (double)w->leaf_ns[LEAF_TRACING] / base;
	double largest = fmax(fmax(s->pillar[REGIME_COMPUTE], s->pillar[REGIME_MEMORY]),
			      s->pillar[REGIME_OTHER]);

	if ((double)w->leaf_ns[LEAF_TRACING] < VERDICT_TRACING * (double)w->window_ns ||
	    tracing <= s->idle)
		return false;
	return leaf_idle(v->leaf) ||
	       (v->regime != REGIME_OVERHEAD && s->pillar[REGIME_OVERHEAD] + tracing > largest);
}

static struct verdict withheld(const struct window *w, const struct shares *s)
{
	struct verdict v = {REGIME_UNKNOWN, LEAF_UNKNOWN, 1, 0, NULL};
	double base = (double)w->window_ns - (double)w->leaf_ns[LEAF_TRACING];

	if (asprintf(&v.sentence,
		     "tracing itself takes %.0f %% of the time, more than the GPU idles beside it "
		     "(%.0f %%): what binds without tracing is not known",
		     100 * (double)w->leaf_ns[LEAF_TRACING] / (double)w->window_ns,
		     100 * s->idle * base / (double)w->window_ns) < 0)
		v.sentence = NULL;
	return v;
}

struct verdict verdict_of(const struct window *window, double busy_confidence, bool per_step)
{
	struct verdict v = {REGIME_UNKNOWN, LEAF_UNKNOWN, 1, 0, NULL};
	struct shares s = shares_of(window);

	if (!window->known || window->window_ns <= window->leaf_ns[LEAF_TRACING]) {
		s.unknown = 1;
	} else {
		decide_regime(&s, &v);
		if (hangs_on_tracing(window, &s, &v))
			return withheld(window, &s);
		v.confidence = confidence_of(&s, &v, busy_confidence);
	}
	v.sentence = sentence_of(&s, &v, per_step);
	return v;
}

void verdict_withhold(struct verdict *verdict, double kept_share)
{
	char *sentence = NULL;

	if (kept_share >= VERDICT_COVERAGE)
		return;
	free(verdict->sentence);
	if (asprintf(&sentence,
		     "only %.0f %% of the records were kept, fewer than the %.0f %% that an answer "
		     "needs",
		     floor(100 * kept_share), 100 * VERDICT_COVERAGE) < 0)
		sentence = NULL;
	*verdict = (struct verdict){REGIME_UNKNOWN, LEAF_UNKNOWN, 1, 0, sentence};
}

static void add_window(struct window *sum, const struct window *window)
{
	sum->known = true;
	sum->window_ns += window->window_ns;
	sum->busy_ns += window->busy_ns;
	sum->kernel_ns += window->kernel_ns;
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++)
		sum->leaf_ns[leaf] += window->leaf_ns[leaf];
}

struct verdict verdict_over(const struct report *report)
{
	struct window sum = {0};
	double confidence = 0, weight = 0, kept = 1;
	bool per_step = true;
	struct verdict v;

	for (size_t i = 0; i < report->process_count; i++) {
		const struct process_report *p = &report->processes[i];

		kept = fmin(kept, p->coverage.kept_share);
		for (size_t d = 0; d < p->device_count; d++) {
			const struct device_report *device = &p->devices[d];
			const struct window *w =
				device->steady.known ? &device->steady : &device->whole;

			if (!w->known)
				continue;
			add_window(&sum, w);
			per_step = per_step && device->steps.known;
			confidence += device->verdict.confidence * (double)w->window_ns;
			weight += (double)w->window_ns;
		}
	}
	v = verdict_of(&sum, 0, per_step);
	v.confidence = v.regime != REGIME_UNKNOWN && weight > 0 ? confidence / weight : 0;
	verdict_withhold(&v, kept);
	return v;
}
