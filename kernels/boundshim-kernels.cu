/* boundshim-kernels: lists, runs and calibrates by the micro-kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>

#include "kernels/calibrate.h"
#include "kernels/check.h"
#include "kernels/kernels.h"

#define SECONDS_DEFAULT 2
#define SECONDS_MOST 3600
#define COUNT_DEFAULT 3
#define COUNT_MOST 1000000
#define ROW 16 /* launches between two events */

static int usage()
{
	fputs("Usage: boundshim-kernels list\n"
	      "       boundshim-kernels run NAME [SECONDS]        launch it over and over (2 s)\n"
	      "       boundshim-kernels launch NAME|all [COUNT]   launch it so many times (3)\n"
	      "       boundshim-kernels calibrate [DEVICE]        measured ceilings as JSON (all)\n"
	      "\n"
	      "Micro-kernels that each saturate one unit of a GPU, or none on purpose. They run on\n"
	      "device 0 (CUDA_VISIBLE_DEVICES chooses) and check what they computed. Exit status:\n"
	      "0 done, 1 a result is wrong or CUDA refused, 2 wrong usage.\n",
	      stderr);
	return 2;
}

static void list()
{
	printf("name\tleaf\twithout_counters\tmetric\tsaturates\tsized\n");
	for (const struct micro_kernel *k = micro_kernels; k->name; k++)
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", k->name, k->leaf, k->blind, k->metric,
		       k->saturates, k->sized);
}

static double now_s()
{
	using namespace std::chrono;

	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* The GPU never waits for us: a row of launches is waited for when the next one is queued. */
static void launch_for(const struct micro_kernel *kernel, struct work *work, double seconds)
{
	double begin = now_s();
	cudaEvent_t ended[2];

	for (cudaEvent_t &event : ended)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned row = 0; now_s() - begin < seconds; row++) {
		for (unsigned i = 0; i < ROW; i++)
			micro_kernel_launch(kernel, work);
		CHECK(cudaEventRecord(ended[row % 2]));
		if (row)
			CHECK(cudaEventSynchronize(ended[(row - 1) % 2]));
	}
	CHECK(cudaDeviceSynchronize());
	for (cudaEvent_t event : ended)
		CHECK(cudaEventDestroy(event));
}

static void launch_count(const struct micro_kernel *kernel, struct work *work, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		micro_kernel_launch(kernel, work);
	CHECK(cudaDeviceSynchronize());
}

/* True if the results are right. What is printed does not depend on the time. */
static bool run(const struct micro_kernel *kernel, double seconds, unsigned long count)
{
	struct work work = {};
	struct gpu gpu;
	bool right;

	gpu_open(&gpu, 0);
	work.gpu = &gpu;
	kernel->prepare(&work);
	CHECK(cudaDeviceSynchronize());
	if (count)
		launch_count(kernel, &work, count);
	else
		launch_for(kernel, &work, seconds);
	right = kernel->check(&work);
	fprintf(stderr, "%s: %llu launches of %u x %u threads\n", kernel->name,
		(unsigned long long)work.launches, work.blocks, work.threads);
	work_release(&work);
	printf("%s: its results are %s\n", kernel->name, right ? "right" : "WRONG");
	return right;
}

/* A number from 0 to `most`, or -1. */
static double number(const char *text, double most)
{
	char *end;
	double value = strtod(text, &end);

	return end == text || *end || !(value >= 0) || value > most ? -1 : value;
}

static int run_command(int argc, char **argv)
{
	const struct micro_kernel *kernel = argc > 2 ? micro_kernel_find(argv[2]) : NULL;
	double seconds = argc > 3 ? number(argv[3], SECONDS_MOST) : SECONDS_DEFAULT;

	if (!kernel || seconds < 0 || argc > 4)
		return usage();
	return run(kernel, seconds, 0) ? 0 : 1;
}

static int launch_command(int argc, char **argv)
{
	bool all = argc > 2 && !strcmp(argv[2], "all"), right = true;
	const struct micro_kernel *kernel = argc > 2 ? micro_kernel_find(argv[2]) : NULL;
	double count = argc > 3 ? number(argv[3], COUNT_MOST) : COUNT_DEFAULT;

	if ((!kernel && !all) || count < 1 || argc > 4)
		return usage();
	if (kernel)
		return run(kernel, 0, (unsigned long)count) ? 0 : 1;
	for (kernel = micro_kernels; kernel->name; kernel++)
		right &= run(kernel, 0, (unsigned long)count);
	return right ? 0 : 1;
}

static int calibrate_command(int argc, char **argv)
{
	double device = argc > 2 ? number(argv[2], 1024) : 0;

	if (device < 0 || argc > 3)
		return usage();
	return calibrate(argc > 2 ? (int)device : -1);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "run"))
		return run_command(argc, argv);
	if (!strcmp(command, "launch"))
		return launch_command(argc, argv);
	if (!strcmp(command, "calibrate"))
		return calibrate_command(argc, argv);
	if (strcmp(command, "list") || argc > 2)
		return usage();
	list();
	return 0;
}
