/*
 * Null-kernel launches: in batches by the CPU's clock, and queued behind a kernel that holds the
 * stream by the GPU's.
 */
#include "kernels/launch_costs.h"

#include <algorithm>
#include <chrono>

#include "kernels/check.h"

#define ENQUEUED 500 /* below the depth of 1,024 at which a launch waits for the GPU */
#define BATCHES 50
#define WARM_UPS 5
#define PAIRS 100 /* of events, with and without a kernel between */
#define NODES_FEW 100
#define NODES_MANY 500
#define HOLD_NS 10000 /* for each call queued behind it */

static __global__ void nothing()
{
}

/* Holds the stream, so that what follows is queued before any of it starts. */
static __global__ void hold(long long cycles)
{
	long long begin = clock64();

	while (clock64() - begin < cycles)
		__nanosleep(1000);
}

static void hold_stream(const struct gpu *gpu, unsigned calls)
{
	hold<<<1, 1>>>((long long)calls * HOLD_NS * gpu->clock_khz / 1000000);
	CHECK(cudaGetLastError());
}

static void launch_nothing()
{
	nothing<<<1, 1>>>();
	CHECK(cudaGetLastError());
}

static struct measured measure_enqueue()
{
	std::vector<double> costs;

	for (int batch = -WARM_UPS; batch < BATCHES; batch++) {
		auto begin = std::chrono::steady_clock::now();

		for (int i = 0; i < ENQUEUED; i++)
			nothing<<<1, 1>>>();

		std::chrono::duration<double, std::nano> spent =
			std::chrono::steady_clock::now() - begin;

		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		if (batch >= 0)
			costs.push_back(spent.count() / ENQUEUED);
	}
	return measured_of(costs, "ns");
}

/* Events that surround queued work: a sample counts only if none of it had begun when all was
 * queued. */
struct bracket {
	cudaEvent_t begin, end;
};

static struct bracket bracket_create()
{
	struct bracket b;

	CHECK(cudaEventCreate(&b.begin));
	CHECK(cudaEventCreate(&b.end));
	return b;
}

static void bracket_destroy(const struct bracket *b)
{
	CHECK(cudaEventDestroy(b->begin));
	CHECK(cudaEventDestroy(b->end));
}

static double bracket_ns(const struct bracket *b)
{
	float ms;

	CHECK(cudaEventElapsedTime(&ms, b->begin, b->end));
	return ms * 1e6;
}

/* True while the stream is still held. */
static bool is_held(const struct bracket *b)
{
	cudaError_t error = cudaEventQuery(b->begin);

	if (error != cudaErrorNotReady)
		CHECK(error);
	return error == cudaErrorNotReady;
}

static struct measured measure_start_to_start(const struct gpu *gpu)
{
	struct bracket b = bracket_create();
	std::vector<double> samples;

	for (int batch = -WARM_UPS; batch < BATCHES; batch++) {
		bool held;

		hold_stream(gpu, ENQUEUED);
		CHECK(cudaEventRecord(b.begin));
		for (int i = 0; i < ENQUEUED; i++)
			launch_nothing();
		CHECK(cudaEventRecord(b.end));
		held = is_held(&b);
		CHECK(cudaDeviceSynchronize());
		if (batch >= 0 && held)
			samples.push_back(bracket_ns(&b) / ENQUEUED);
	}
	bracket_destroy(&b);
	return measured_of(samples, "ns");
}

/* Pairs of events behind a held stream, one half of them with a kernel between. */
static struct measured measure_shortest(const struct gpu *gpu)
{
	std::vector<struct bracket> with(PAIRS), without(PAIRS);
	std::vector<double> samples;
	bool held;

	for (int i = 0; i < PAIRS; i++) {
		with[i] = bracket_create();
		without[i] = bracket_create();
	}
	hold_stream(gpu, 5 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		CHECK(cudaEventRecord(without[i].begin));
		CHECK(cudaEventRecord(without[i].end));
		CHECK(cudaEventRecord(with[i].begin));
		launch_nothing();
		CHECK(cudaEventRecord(with[i].end));
	}
	held = is_held(&without[0]);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < PAIRS; i++) {
		samples.push_back(bracket_ns(&with[i]) - bracket_ns(&without[i]));
		bracket_destroy(&with[i]);
		bracket_destroy(&without[i]);
	}
	return held ? measured_of(samples, "ns") : measured_not("the GPU caught up with the CPU");
}

static cudaGraphExec_t chain(int nodes)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < nodes; i++)
		nothing<<<1, 1, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(stream));
	return exec;
}

static double graph_ns(cudaGraphExec_t exec, const struct gpu *gpu, const struct bracket *b)
{
	hold_stream(gpu, 20);
	CHECK(cudaEventRecord(b->begin));
	CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaEventRecord(b->end));
	CHECK(cudaDeviceSynchronize());
	return bracket_ns(b);
}

/* By difference of two lengths: what a graph costs as a whole is not a node's. */
static struct measured measure_graph_node(const struct gpu *gpu)
{
	cudaGraphExec_t few = chain(NODES_FEW), many = chain(NODES_MANY);
	struct bracket b = bracket_create();
	std::vector<double> samples;

	for (int batch = -WARM_UPS; batch < BATCHES; batch++) {
		double more = graph_ns(many, gpu, &b) - graph_ns(few, gpu, &b);

		if (batch >= 0)
			samples.push_back(more / (NODES_MANY - NODES_FEW));
	}
	bracket_destroy(&b);
	CHECK(cudaGraphExecDestroy(few));
	CHECK(cudaGraphExecDestroy(many));
	return measured_of(samples, "ns");
}

static struct measured difference(const struct measured *whole, const struct measured *part)
{
	struct measured m = *whole;

	m.value = std::max(0.0, whole->value - part->value);
	m.low = std::max(0.0, whole->low - part->high);
	m.high = std::max(0.0, whole->high - part->low);
	m.n = std::min(whole->n, part->n);
	return m;
}

struct launch_costs measure_launch_costs(const struct gpu *gpu)
{
	struct launch_costs costs;

	costs.enqueue = measure_enqueue();
	costs.start_to_start = measure_start_to_start(gpu);
	costs.shortest = measure_shortest(gpu);
	costs.graph_node = measure_graph_node(gpu);
	costs.graph_node_gap = costs.graph_node.known && costs.shortest.known
				       ? difference(&costs.graph_node, &costs.shortest)
				       : measured_not("one of its two parts is not known");
	return costs;
}
