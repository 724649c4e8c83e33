/* The questions that a careful reader would ask before believing a comparison. */
#include "diff_note.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantity.h"

#define NOTES_MOST 24
#define COMMON_LEAST 0.5      /* of the kernels' time in kernels that both have */
#define UNEXPLAINED_MOST 0.01 /* of the kernels: beyond, idle time is split on less */
#define KERNELS_DIFFER 0.01   /* of windows said to be comparable */
#define FACTOR_MOST 64
#define UNIFORM 0.03      /* factors of kernels that differ by less are one */
#define UNIFORM_SHARE 0.8 /* of the time of the kernels that both have */
#define UNIFORM_KERNELS 3 /* fewer prove nothing */

struct notes {
	struct diff_pair *pair;
	int status;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *notes, const char *format, ...)
{
	struct diff_pair *pair = notes->pair;
	va_list args;
	char *text;

	if (notes->status || pair->note_count == NOTES_MOST)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		notes->status = -1;
	else
		pair->notes[pair->note_count++] = text;
	va_end(args);
}

static const char *side_name(const struct diff_pair *pair, const struct diff_side *side)
{
	return side == &pair->a ? "A" : "B";
}

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "unknown";
}

static bool same(const char *x, const char *y)
{
	return !strcmp(or_unknown(x), or_unknown(y));
}

/* --- of each side --- */

static void note_side(struct notes *notes, const struct diff_side *side)
{
	const struct coverage *coverage = &side->process->coverage;
	const char *name = side_name(notes->pair, side);
	uint64_t explained = coverage->kernels_explained;
	uint64_t missing = coverage->kernels > explained ? coverage->kernels - explained : 0;

	if (!side->process->complete)
		note(notes, "%s is incomplete: %s.", name,
		     side->process->incomplete_reason ? side->process->incomplete_reason
						      : "it was cut off");
	if (!coverage->kernels && !coverage->copies)
		note(notes,
		     "%s has no device times (mode %s): what its GPU did cannot be compared.", name,
		     or_unknown(side->process->mode));
	if (coverage->lost)
		note(notes, "%s lost %s records.", name, quantity_count(coverage->lost).text);
	if ((double)missing > UNEXPLAINED_MOST * (double)coverage->kernels)
		note(notes, "In %s %s of %s kernels are not joined to a launch.", name,
		     quantity_count(missing).text, quantity_count(coverage->kernels).text);
	if (side->device->shared)
		note(notes, "Something else used the GPU while %s ran.", name);
}

/* --- of both --- */

static void note_devices(struct notes *notes, const struct diff_side *a, const struct diff_side *b)
{
	if (!same(a->device->name, b->device->name))
		note(notes, "Other GPU: %s in A, %s in B.", or_unknown(a->device->name),
		     or_unknown(b->device->name));
	else if (a->device->attributes.sm_count != b->device->attributes.sm_count)
		note(notes, "Not the same part of a GPU: %" PRIu64 " SMs in A, %" PRIu64 " in B.",
		     a->device->attributes.sm_count, b->device->attributes.sm_count);
	if (a->process->driver_version != b->process->driver_version)
		note(notes, "Other driver: CUDA %u.%u in A, %u.%u in B.",
		     a->process->driver_version / 1000, a->process->driver_version % 1000 / 10,
		     b->process->driver_version / 1000, b->process->driver_version % 1000 / 10);
	if (!same(a->process->version, b->process->version))
		note(notes, "Recorded by boundshim %s in A, %s in B.",
		     or_unknown(a->process->version), or_unknown(b->process->version));
}

static void note_counters(struct notes *notes, const struct diff_side *a, const struct diff_side *b)
{
	bool in_a = a->device->counters.samples > 0, in_b = b->device->counters.samples > 0;

	if (in_a != in_b)
		note(notes,
		     "Only %s has counter samples: where a label changed, perhaps only the evidence did.",
		     in_a ? "A" : "B");
}

/* Time in kernels of which both have the name, over the time in kernels: 0..1. */
static double common_share(const struct diff_pair *pair)
{
	double common = 0, all = 0;

	for (size_t i = 0; i < pair->kernel_count; i++) {
		const struct kernel_change *k = &pair->kernels[i];

		all += k->busy_a_ns + k->busy_b_ns;
		if (k->match.a && k->match.b)
			common += k->busy_a_ns + k->busy_b_ns;
	}
	return all > 0 ? common / all : 1;
}

static void note_program(struct notes *notes)
{
	double share = common_share(notes->pair);

	if (share < COMMON_LEAST)
		note(notes,
		     "Only %s of the kernels' time is in kernels that both have: perhaps two programs, "
		     "or libraries of two versions.",
		     quantity_percent(share).text);
}

/* The whole number by which each kernel is launched more often per unit, if there is one: 1 for
 * equal. */
static unsigned common_factor(const struct diff_pair *pair)
{
	double factor = 0;

	for (size_t i = 0; i < pair->kernel_count; i++) {
		const struct kernel_change *k = &pair->kernels[i];
		double ratio = k->launches_a > 0 ? k->launches_b / k->launches_a : 0;

		ratio = ratio > 0 && ratio < 1 ? 1 / ratio : ratio;
		factor = factor > 0 ? factor : round(ratio);
		if (!k->match.a || !k->match.b || fabs(ratio - factor) > 0.02 * factor)
			return 1;
	}
	return factor >= 2 && factor <= FACTOR_MOST ? (unsigned)factor : 1;
}

/* Did nearly all kernels become slower, or faster, by one factor? Then hardly the program did it.
 * The factor, or 1. */
static double uniform_factor(const struct diff_pair *pair)
{
	double a = 0, b = 0, alike = 0;
	unsigned count = 0;

	for (size_t i = 0; i < pair->kernel_count; i++) {
		const struct kernel_match *match = &pair->kernels[i].match;

		if (match->kind != KERNEL_MATCH_SAME)
			continue;
		a += (double)match->a->launches * match->a->mean_ns;
		b += (double)match->a->launches * match->b->mean_ns;
	}
	for (size_t i = 0; a > 0 && i < pair->kernel_count; i++) {
		const struct kernel_match *match = &pair->kernels[i].match;

		if (match->kind != KERNEL_MATCH_SAME ||
		    fabs(match->b->mean_ns * a - match->a->mean_ns * b) >
			    UNIFORM * match->a->mean_ns * b)
			continue;
		alike += (double)match->a->launches * match->a->mean_ns;
		count++;
	}
	return count >= UNIFORM_KERNELS && alike >= UNIFORM_SHARE * a && fabs(b / a - 1) > UNIFORM
		       ? b / a
		       : 1;
}

static void note_clock(struct notes *notes)
{
	double factor = uniform_factor(notes->pair);

	if (factor != 1)
		note(notes,
		     "Nearly all kernels are %s %s alike: perhaps the GPU's clock, not the program.",
		     quantity_factor(factor > 1 ? factor : 1 / factor).text,
		     factor > 1 ? "slower" : "faster");
}

static void note_steps(struct notes *notes, const struct diff_side *a, const struct diff_side *b)
{
	const struct steps *of_a = &a->device->steps, *of_b = &b->device->steps;
	unsigned factor = common_factor(notes->pair);

	if (of_a->known != of_b->known)
		note(notes, "Steps were found only in %s.", of_a->known ? "A" : "B");
	if (notes->pair->basis == DIFF_STEP && factor > 1)
		note(notes,
		     "Each kernel runs %u times as often in a step of %s: perhaps what was found as one step "
		     "is several.",
		     factor, of_b->kernels > of_a->kernels ? "B" : "A");
	if (notes->pair->basis == DIFF_LAUNCH)
		note(notes,
		     "There are no steps to compare and the windows do not launch as many kernels: times are "
		     "per %s kernel launches.",
		     quantity_count(DIFF_LAUNCHES).text);
}

/* A whole run has no list of its kernels when a part of it is steady. */
static void note_windows(struct notes *notes, const struct diff_side *a, const struct diff_side *b)
{
	double of_a = (double)a->process->coverage.kernels;
	double of_b = (double)b->process->coverage.kernels;

	if (notes->pair->basis == DIFF_WINDOW && a->window == &a->device->whole &&
	    fabs(of_a - of_b) > KERNELS_DIFFER * fmax(of_a, of_b))
		note(notes,
		     "Whole runs are compared, and they are not of as much work: %s kernels in A, %s in B.",
		     quantity_count(a->process->coverage.kernels).text,
		     quantity_count(b->process->coverage.kernels).text);
}

int diff_note_all(struct diff_pair *pair)
{
	struct notes notes = {.pair = pair};

	pair->notes = calloc(NOTES_MOST, sizeof(*pair->notes));
	if (!pair->notes)
		return -1;
	note_side(&notes, &pair->a);
	note_side(&notes, &pair->b);
	note_devices(&notes, &pair->a, &pair->b);
	if (!pair->comparable)
		return notes.status;
	note_counters(&notes, &pair->a, &pair->b);
	note_program(&notes);
	note_clock(&notes);
	note_steps(&notes, &pair->a, &pair->b);
	note_windows(&notes, &pair->a, &pair->b);
	return notes.status;
}
