/* Labels by shape: the signature's input with the shape's counters and duration. */
#include "kernel_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/trace/format.h"

/* "gemm 768 x 4096 x 3072", "conv_forward 25088 x 256 x 2304, n=128 c=256 in=14x14 ..." */
static char *words_of(const struct library *library, uint32_t id)
{
	const struct library_shape *shape = library && id ? library_shape(library, id) : NULL;
	const char *operation = shape ? bst_enum_name("operation", shape->operation) : NULL;
	char batch[40] = "", *words;

	if (!shape)
		return strdup("other launches");
	if (shape->batch > 1)
		snprintf(batch, sizeof(batch), " batch %" PRIu64, shape->batch);
	if (asprintf(&words, "%s %" PRIu64 " x %" PRIu64 " x %" PRIu64 "%s%s%s",
		     operation ? operation : "other", shape->m, shape->n, shape->k, batch,
		     *shape->detail ? ", " : "", shape->detail) < 0)
		return NULL;
	return words;
}

static void fill(const struct kernel_shapes_input *in, uint32_t shape, struct shape_report *report)
{
	struct attribute_totals totals =
		counters_totals_shape(in->counters, in->device, in->signature, shape);
	struct decide_input input = in->label->input;
	struct kernel_counters found;
	struct decision decision;

	report->words = words_of(in->library, shape);
	report->launches = totals.launches;
	report->total_ns = totals.total_ns;
	report->mean_ns = (double)totals.total_ns / (double)totals.launches;
	input.duration_ns = report->mean_ns;
	/* of the signature as a whole: no finding about this shape */
	if (input.evidence == EVIDENCE_COUNTERS) {
		input.evidence = EVIDENCE_NONE;
		memset(input.unit_pct, 0, sizeof(input.unit_pct));
	}
	if (counters_find_shape(in->counters, in->device, in->signature, shape, &found))
		counters_decide_input(&found, &input);
	decision = decide(&input);
	report->regime = decision.regime;
	report->leaf = decision.leaf;
	report->confidence = decision.confidence;
	report->evidence = decision.evidence;
	report->samples = found.samples;
	report->tensor_pct = found.tensor;
	report->fma_pct = found.fma;
	report->dram_pct = counters_dram(&found);
	report->l2_pct = found.l2;
	report->l1_pct = found.l1;
}

static int longest_first(const void *a, const void *b)
{
	const struct shape_report *x = a, *y = b;

	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

void kernel_shapes_fill(const struct kernel_shapes_input *in, struct kernel_report *kernel)
{
	uint32_t shape[ATTRIBUTE_SHAPES + 1];
	unsigned count = counters_shapes(in->counters, in->device, in->signature, shape);

	if (count < 2)
		return;
	kernel->shapes = calloc(count, sizeof(*kernel->shapes));
	if (!kernel->shapes)
		return;
	for (unsigned i = 0; i < count; i++)
		fill(in, shape[i], &kernel->shapes[i]);
	kernel->shape_count = count;
	qsort(kernel->shapes, count, sizeof(*kernel->shapes), longest_first);
}
