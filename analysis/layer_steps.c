/* From passes back to layers. */
#include "layer_steps.h"

/* Of all reports' devices, by number; NULL behind the last. */
static struct device_report *device_at(const struct report *reports, size_t count, size_t number)
{
	for (size_t i = 0; i < count; i++)
		for (size_t p = 0; p < reports[i].process_count; p++) {
			const struct process_report *process = &reports[i].processes[p];

			if (number < process->device_count)
				return &process->devices[number];
			number -= process->device_count;
		}
	return NULL;
}

static bool is_layer_of(const struct steps *layer, const struct steps *pass)
{
	return layer->known && !layer->layers && layer->kernels * pass->layers == pass->kernels;
}

static void split(struct steps *steps)
{
	unsigned layers = steps->layers;

	steps->count *= layers;
	steps->warmup_count *= layers;
	steps->kernels /= layers;
	steps->period_ns /= layers;
	steps->untraced_ns /= layers;
	steps->low_ns /= layers;
	steps->high_ns /= layers;
	for (unsigned i = 0; i < steps->batch_count; i++)
		steps->batch_ns[i] /= layers;
	steps->layers = 0;
}

void layer_steps_agree(struct report *reports, size_t count)
{
	struct device_report *pass, *layer;

	for (size_t i = 0; (pass = device_at(reports, count, i)); i++)
		for (size_t k = 0; pass->steps.layers && (layer = device_at(reports, count, k));
		     k++)
			if (is_layer_of(&layer->steps, &pass->steps))
				split(&pass->steps);
}
