/* The life of a report. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void report_init(struct report *report)
{
	memset(report, 0, sizeof(*report));
}

static void device_fini(struct device_report *device)
{
	for (size_t i = 0; i < device->kernel_count; i++) {
		free(device->kernels[i].name);
		free(device->kernels[i].short_name);
		free(device->kernels[i].verdict.sentence);
		for (size_t k = 0; k < device->kernels[i].shape_count; k++)
			free(device->kernels[i].shapes[k].words);
		free(device->kernels[i].shapes);
	}
	for (unsigned i = 0; i < device->steps.cause_count; i++)
		free(device->steps.cause[i].what);
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++)
		for (unsigned i = 0; i < device->gaps[leaf].worst_count; i++)
			free(device->gaps[leaf].worst[i].before);
	for (unsigned i = 0; i < CHANGE_COUNT; i++)
		for (unsigned k = 0; k < CHANGE_CALLS; k++)
			free(device->whatif.change[i].calls[k]);
	for (size_t i = 0; i < device->advice_count; i++) {
		free(device->advice[i].why);
		free(device->advice[i].how);
	}
	for (size_t i = 0; i < device->ranges.count; i++) {
		free(device->ranges.range[i].name);
		free(device->ranges.range[i].domain);
	}
	free(device->ranges.range);
	free(device->name);
	free(device->uuid);
	free(device->counters.reason);
	free(device->verdict.sentence);
	free(device->kernels);
	free(device->copies);
	free(device->advice);
	collectives_fini(&device->collectives);
}

static void process_fini(struct process_report *process)
{
	for (size_t i = 0; i < process->device_count; i++)
		device_fini(&process->devices[i]);
	free(process->devices);
	free(process->coverage.dropped);
	free(process->path);
	free(process->command);
	free(process->host);
	free(process->rank);
	free(process->start);
	free(process->version);
	free(process->mode);
	free(process->incomplete_reason);
	free(process->cupti);
}

void report_fini(struct report *report)
{
	for (size_t i = 0; i < report->process_count; i++)
		process_fini(&report->processes[i]);
	free(report->processes);
	free(report->verdict.sentence);
	free(report->collectives.rank);
	report_init(report);
}
