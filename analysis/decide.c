/*
 * The decision.
 *
 * Thresholds are Nsight Compute's (SpeedOfLight.py, Nsight Compute 2025): below 60 % of peak in
 * both SM and memory it speaks of latency, or of a small grid where waves < 1; above, of the larger
 * one if it leads by 10 points, else of balance; from 80 % on of the larger one whatever the lead.
 * Three differences, all on purpose. Its "memory" is the largest of DRAM, L2 and L1, here they are
 * units of their own. A cache is named only where it leads pipes and DRAM by 10 points: what keeps
 * those busy passes through it (a GEMM of wgmma instructions reads its operands from shared memory:
 * tensor pipe 95 %, L1 98 % on an H200, and it is the pipe that binds). And a kernel shorter than
 * three launch floors counts as too small, whatever its grid.
 *
 * Without utilisations: decide.h. That waves < 1 tells underfilled of kernels but GEMMs, and nothing
 * of those, is from ncu on BERT (data/h200-bert): 80 % of the time of the former was
 * below 60 %, and half of the latter's. All of the time of kernels on fewer than 60 % of the SMs, or
 * that short, was.
 */
#include "decide.h"

#include <math.h>

#define BOUND_PCT 60.0
#define HIGH_PCT 80.0
#define LEAD_PCT 10.0
#define BAND_PCT 3.0 /* this near to a threshold, a label is a coin toss */
#define SHORT 3.0    /* launch floors */

/*
 * Utilisations of SM cycles are off together, by the clock: against ncu (BERT, GPT and ResNet-50 in
 * training, H200) that of the tensor pipe by 5.1 %, of L1 by 4.3 %, one beside the other by 2.5 %,
 * standard deviations. Of 90 % intervals, which have the 5 %, that much is common.
 */
#define COMMON_ERROR 0.04

static const enum leaf unit_leaf[UNIT_COUNT] = {
	[UNIT_COMPUTE] = LEAF_COMPUTE, [UNIT_DRAM] = LEAF_DRAM,     [UNIT_L2] = LEAF_CACHE,
	[UNIT_L1] = LEAF_CACHE,        [UNIT_LINK] = LEAF_TRANSFER,
};

static struct decision label(enum leaf leaf, double confidence, enum evidence evidence)
{
	return (struct decision){leaf_pillar(leaf), leaf, LEAF_UNKNOWN, confidence, evidence};
}

/* The busiest known unit that is a cache or is none, or UNIT_COUNT; the leaf `but` is passed over. */
static enum unit busiest_of(const struct decide_input *in, bool caches, enum leaf but)
{
	enum unit best = UNIT_COUNT;

	for (unsigned u = 0; u < UNIT_COUNT; u++) {
		if (!in->unit_pct[u].known || unit_leaf[u] == but ||
		    (unit_leaf[u] == LEAF_CACHE) != caches)
			continue;
		if (best == UNIT_COUNT || in->unit_pct[u].value > in->unit_pct[best].value)
			best = (enum unit)u;
	}
	return best;
}

/* The busiest unit: a cache only if it leads. UNIT_COUNT if none is known. */
static enum unit busiest(const struct decide_input *in)
{
	enum unit end = busiest_of(in, false, LEAF_COUNT);
	enum unit cache = busiest_of(in, true, LEAF_COUNT);

	if (end == UNIT_COUNT || cache == UNIT_COUNT)
		return end == UNIT_COUNT ? cache : end;
	return in->unit_pct[cache].value >= in->unit_pct[end].value + LEAD_PCT ? cache : end;
}

static bool too_short(const struct decide_input *in)
{
	return in->duration_ns > 0 && in->duration_ns < SHORT * in->floor_ns;
}

static bool too_small(const struct decide_input *in)
{
	return in->waves.known && in->waves.value < 1;
}

/* Evidence of this kind, less near a threshold. */
static double trust(const struct decide_input *in, double margin)
{
	double base = in->evidence == EVIDENCE_COUNTERS  ? 0.9
		      : in->evidence == EVIDENCE_LIBRARY ? 0.8
							 : 0.7;

	return margin < BAND_PCT ? 0.5 : fmin(base, 0.5 + margin / 25);
}

static enum leaf idle_leaf(const struct decide_input *in)
{
	return too_small(in) || too_short(in) ? LEAF_UNDERFILLED : LEAF_LATENCY;
}

static bool is_busy(const struct decide_input *in)
{
	return in->unit_pct[busiest(in)].value >= BOUND_PCT;
}

static enum leaf leaf_of(const struct decide_input *in)
{
	return is_busy(in) ? unit_leaf[busiest(in)] : idle_leaf(in);
}

static struct decide_input moved_to(const struct decide_input *in, enum unit unit, double value)
{
	struct decide_input moved = *in;

	moved.unit_pct[unit].value = fmin(fmax(value, 0), 100);
	return moved;
}

/* Of the error of a unit's value, what other units have too: beside them it does not count. */
static double common_error(const struct decide_input *in, enum unit unit)
{
	return unit == UNIT_COMPUTE || unit == UNIT_L1 ? COMMON_ERROR * in->unit_pct[unit].value
						       : 0;
}

/* Is the label the same with the unit at this end of its interval, and beyond it by the band? */
static bool holds_at(const struct decide_input *in, enum unit unit, bool high)
{
	const struct measure *m = &in->unit_pct[unit];
	double end = high ? m->high + BAND_PCT : m->low - BAND_PCT;
	double common = fmin(common_error(in, unit), high ? m->high - m->value : m->value - m->low);
	struct decide_input alone = moved_to(in, unit, end);
	struct decide_input beside = moved_to(in, unit, high ? end - common : end + common);

	return is_busy(&alone) == is_busy(in) && leaf_of(&beside) == leaf_of(in);
}

/*
 * Is the label the same wherever in its interval each unit alone may be? Not the busiest alone: one
 * that is not known well may be busier.
 */
static bool holds(const struct decide_input *in)
{
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		if (in->unit_pct[u].known &&
		    (!holds_at(in, (enum unit)u, false) || !holds_at(in, (enum unit)u, true)))
			return false;
	return true;
}

/* Of utilisations, which are known to their intervals. */
static double trust_units(const struct decide_input *in, double margin)
{
	return holds(in) ? trust(in, margin) : 0.5;
}

static struct decision decide_busy(const struct decide_input *in, enum unit first)
{
	double value = in->unit_pct[first].value;
	/* caches lead already, or are no rivals */
	enum unit second = busiest_of(in, false, unit_leaf[first]);
	double lead = second == UNIT_COUNT ? 100 : value - in->unit_pct[second].value;
	struct decision d = label(unit_leaf[first], trust_units(in, fmin(value - BOUND_PCT, lead)),
				  in->evidence);

	if (value < HIGH_PCT && lead < LEAD_PCT) {
		d.leans = unit_leaf[second];
		if (leaf_pillar(d.leans) != d.regime)
			d.regime = REGIME_MIXED;
	}
	return d;
}

static struct decision unknown(void)
{
	return label(LEAF_UNKNOWN, 0, EVIDENCE_NONE);
}

/* No unit at 60 %. Of library calls it is not known what caches do. */
static struct decision decide_idle(const struct decide_input *in, double confidence)
{
	if (in->evidence != EVIDENCE_COUNTERS)
		confidence = fmin(confidence, in->evidence == EVIDENCE_LIBRARY ? 0.6 : 0.7);
	return label(idle_leaf(in), confidence, in->evidence);
}

static struct decision decide_units(const struct decide_input *in, enum unit first)
{
	double value = in->unit_pct[first].value;
	struct decision d;

	if (value >= BOUND_PCT)
		return decide_busy(in, first);
	d = decide_idle(in, trust_units(in, BOUND_PCT - value));
	d.leans = unit_leaf[first];
	return d;
}

/* Of DRAM alone, by the bytes that the geometry tells. */
static struct decision decide_bytes(const struct decide_input *in)
{
	const struct measure *dram = &in->unit_pct[UNIT_DRAM];
	bool sure = dram->low >= BOUND_PCT + BAND_PCT || dram->high < BOUND_PCT - BAND_PCT;
	double confidence = trust(in, fabs(dram->value - BOUND_PCT));
	struct decision d;

	if (!sure)
		confidence = fmin(confidence, 0.5);
	if (too_short(in) || dram->high < BOUND_PCT || in->cached || dram->value < BOUND_PCT)
		d = decide_idle(in, confidence);
	else
		return label(LEAF_DRAM, confidence, EVIDENCE_GEOMETRY);
	d.leans = LEAF_DRAM;
	return d;
}

/* A GEMM on most of the SMs. */
static bool may_be_busy(const struct decide_input *in)
{
	return in->prior == LEAF_COMPUTE || in->prior == LEAF_CACHE;
}

/* By how much of the device it fills, and for how long. Unknown if that says nothing. */
static struct decision decide_geometry(const struct decide_input *in)
{
	bool few_blocks = in->coverage.known && in->coverage.value < BOUND_PCT / 100;
	struct decision d = unknown();

	if (few_blocks || too_short(in))
		d = label(LEAF_UNDERFILLED, few_blocks ? 0.8 : 0.7, EVIDENCE_GEOMETRY);
	else if (too_small(in) && !may_be_busy(in))
		d = label(LEAF_UNDERFILLED, 0.5, EVIDENCE_GEOMETRY);
	else if (in->cached)
		d = label(LEAF_LATENCY, 0.5, EVIDENCE_GEOMETRY);
	if (d.leaf != LEAF_UNKNOWN)
		d.leans = in->prior;
	return d;
}

static struct decision decide_prior(const struct decide_input *in)
{
	if (in->prior == LEAF_UNKNOWN || in->prior_confidence <= 0 ||
	    (too_small(in) && in->prior == LEAF_COMPUTE))
		return unknown();
	return label(in->prior, fmin(in->prior_confidence, 0.4), EVIDENCE_PRIOR);
}

struct decision decide(const struct decide_input *in)
{
	enum unit first = busiest(in);
	struct decision d;

	if (in->collective)
		return label(LEAF_COMMUNICATION, 0.9, EVIDENCE_PRIOR);
	/* One side alone does not tell which is busier. */
	if (in->unit_pct[UNIT_COMPUTE].known && in->unit_pct[UNIT_DRAM].known)
		return decide_units(in, first);
	if (in->evidence == EVIDENCE_GEOMETRY && in->unit_pct[UNIT_DRAM].known)
		return decide_bytes(in);
	d = decide_geometry(in);
	return d.leaf == LEAF_UNKNOWN ? decide_prior(in) : d;
}

static void add_measure(struct measure *sum, const struct measure *m, double most)
{
	sum->known = sum->known && m->known;
	sum->value = fmin(sum->value + m->value, most);
	sum->low = fmin(sum->low + m->low, most);
	sum->high = fmin(sum->high + m->high, most);
}

void decide_add(struct decide_input *sum, const struct decide_input *kernel)
{
	/* Bytes by geometry say something of kernels that are nothing but memory traffic. */
	if (sum->evidence != kernel->evidence)
		sum->unit_pct[UNIT_DRAM].known &=
			sum->evidence != EVIDENCE_GEOMETRY && kernel->evidence != EVIDENCE_GEOMETRY;
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		add_measure(&sum->unit_pct[u], &kernel->unit_pct[u], 100);
	add_measure(&sum->waves, &kernel->waves, HUGE_VAL);
	add_measure(&sum->coverage, &kernel->coverage, HUGE_VAL);
	if (kernel->evidence < sum->evidence)
		sum->evidence = kernel->evidence;
	sum->duration_ns = fmax(sum->duration_ns, kernel->duration_ns);
	if (sum->prior != kernel->prior)
		sum->prior = LEAF_UNKNOWN;
	sum->prior_confidence = fmin(sum->prior_confidence, kernel->prior_confidence);
	sum->cached &= kernel->cached;
}
