/* Events, medians, and micro-kernels as measures. */
#include "kernels/measure.h"

#include <algorithm>
#include <chrono>

#include "kernels/check.h"

#define WARM_S 0.05
#define LAUNCHES 40
#define FEWEST_LAUNCHES 10
#define LONG_S 0.05 /* a launch so long (fp64 on GeForce) is repeated less */

static double percentile(const std::vector<double> &sorted, double share)
{
	return sorted[(size_t)(share * (double)(sorted.size() - 1) + 0.5)];
}

struct measured measured_of(std::vector<double> samples, const char *unit)
{
	struct measured m = {};

	if (samples.empty())
		return measured_not("no sample could be taken");
	std::sort(samples.begin(), samples.end());
	m.known = true;
	m.value = percentile(samples, 0.5);
	m.low = percentile(samples, 0.1);
	m.high = percentile(samples, 0.9);
	m.n = (unsigned)samples.size();
	m.unit = unit;
	return m;
}

struct measured measured_not(const char *reason)
{
	struct measured m = {};

	m.reason = reason;
	return m;
}

static double now_s()
{
	using namespace std::chrono;

	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* Returns the seconds that the last call took, waited for. */
static double warm_up(const std::function<void()> &enqueue, double warm_s)
{
	double begin = now_s(), before, after;

	do {
		before = now_s();
		enqueue();
		CHECK(cudaDeviceSynchronize());
		after = now_s();
	} while (after - begin < warm_s);
	return after - before;
}

std::vector<double> measure_seconds(const std::function<void()> &enqueue, double warm_s,
				    unsigned count)
{
	std::vector<double> seconds;
	std::vector<cudaEvent_t> events;

	if (warm_up(enqueue, warm_s) > LONG_S && count > FEWEST_LAUNCHES)
		count = FEWEST_LAUNCHES;
	events.resize(count + 1);
	for (cudaEvent_t &event : events)
		CHECK(cudaEventCreate(&event));
	CHECK(cudaEventRecord(events[0]));
	for (unsigned i = 0; i < count; i++) {
		enqueue();
		CHECK(cudaEventRecord(events[i + 1]));
	}
	CHECK(cudaDeviceSynchronize());
	for (unsigned i = 0; i < count; i++) {
		float ms;

		CHECK(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
		seconds.push_back(ms / 1e3);
	}
	for (cudaEvent_t event : events)
		CHECK(cudaEventDestroy(event));
	/* The first call of the row may have begun on an idle GPU. */
	seconds.erase(seconds.begin());
	return seconds;
}

struct measured measure_kernel(const struct gpu *gpu, const char *name)
{
	const struct micro_kernel *kernel = micro_kernel_find(name);
	struct work work = {};
	std::vector<double> rates;
	const char *unit;
	double amount;
	bool right;

	work.gpu = gpu;
	kernel->prepare(&work);
	amount = work.bytes ? work.bytes : work.operations;
	unit = work.bytes ? "bytes/s" : "op/s";
	for (double s :
	     measure_seconds([&] { micro_kernel_launch(kernel, &work); }, WARM_S, LAUNCHES))
		rates.push_back(amount / s);
	right = kernel->check(&work);
	work_release(&work);
	if (!right)
		return measured_not("its result is wrong");
	return measured_of(rates, unit);
}
