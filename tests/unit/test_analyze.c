/* Whole and broken traces through analyze_paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/trace/wire.h"
#include "tests/unit/trace_builder.h"
#include "tests/unit/trace_image.h"

#define US UINT64_C(1000)

/* `steps` steps of 10 kernels, launched ahead, with a wait at the end of each. */
static void loop(struct trace_builder *b, unsigned steps)
{
	uint64_t thread = builder_thread(b, 77), cpu = 10000 * US, gpu = 0, id = 1;
	uint64_t launch = builder_api(b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	uint64_t sync = builder_api(b, "cudaDeviceSynchronize", BST_ENUM_CLASS_SYNC);
	uint64_t kernel[10];

	for (unsigned k = 0; k < 10; k++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%u", k);
		kernel[k] = builder_kernel(b, name, 4000, 256);
	}
	for (unsigned i = 0; i < steps; i++) {
		for (unsigned k = 0; k < 10; k++, id++) {
			builder_call(b, &(struct builder_call){.thread = thread,
							       .api = launch,
							       .begin_ns = cpu,
							       .duration_ns = 4 * US,
							       .correlation = id});
			cpu += 6 * US;
			gpu = gpu + US > cpu ? gpu + US : cpu;
			builder_run(b, &(struct builder_run){.kernel = kernel[k],
							     .begin_ns = gpu,
							     .duration_ns = 20 * US,
							     .correlation = id,
							     .stream = 7});
			gpu += 20 * US;
		}
		builder_call(b, &(struct builder_call){.thread = thread,
						       .api = sync,
						       .begin_ns = cpu,
						       .duration_ns = gpu + 5 * US - cpu});
		cpu = gpu + 30 * US;
	}
}

static int analyze(const uint8_t *data, size_t size, struct report *report,
		   struct analyze_notes *notes)
{
	char path[] = "/tmp/boundshim-unit-XXXXXX.bst";
	const char *paths[] = {path};
	int fd = mkstemps(path, 4), status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
	report_init(report);
	status = analyze_paths(paths, 1, report, notes);
	unlink(path);
	return status;
}

static uint64_t sum(const struct window *w)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		total += w->leaf_ns[i];
	return total;
}

static void a_loop_has_steps_and_a_verdict(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct device_report *d;
	const struct process_report *p;

	(void)state;
	builder_init(&b, 100);
	loop(&b, 50);
	assert_int_equal(builder_analyze(&b, &report), 0);
	p = &report.processes[0];
	d = &p->devices[0];
	assert_true(d->steps.known);
	assert_int_equal(d->steps.kernels, 10);
	assert_int_equal(d->steps.count, 49);
	assert_int_equal(d->steady.begin_ns, p->startup_ns);
	assert_int_equal(sum(&d->steady), d->steady.window_ns);
	assert_int_equal(p->pid, 4242);
	assert_int_equal(p->coverage.kernels, 500);
	assert_int_equal(p->coverage.kernels_explained, 500);
	assert_int_equal(p->coverage.launches_hooked, 500);
	assert_int_equal(d->kernel_count, 10);
	assert_int_equal(d->kernels[0].launches, 49);
	assert_string_equal(d->name, "NVIDIA H200");
	assert_true(d->verdict.sentence != NULL && report.verdict.sentence != NULL);
	builder_fini(&b);
	report_fini(&report);
}

/* Every cut of a file gives a report of what is there, or words why not. */
static void any_truncation_is_survived(void **state)
{
	struct trace_builder b;
	uint64_t last = 0;

	(void)state;
	builder_init(&b, 20);
	loop(&b, 8);
	builder_finish(&b);
	for (size_t size = 0; size < b.size; size += 1 + random_below(40)) {
		struct report report;
		struct analyze_notes notes;
		int status = analyze(b.data, size, &report, &notes);

		assert_int_equal(notes.count, 1);
		assert_non_null(notes.note[0].text);
		if (size < BST_FILE_HEADER_BYTES) {
			assert_int_equal(status, 1);
			assert_int_equal(report.process_count, 0);
		} else {
			/* Torn, not damaged: what is there counts, and never less than in a shorter
			 * file. */
			assert_int_equal(status, 0);
			assert_false(report.processes[0].complete);
			assert_non_null(report.processes[0].incomplete_reason);
			assert_true(report.processes[0].coverage.kernels >= last);
			last = report.processes[0].coverage.kernels;
		}
		report_fini(&report);
		analyze_notes_fini(&notes);
	}
	builder_fini(&b);
}

static void any_flipped_bit_is_survived(void **state)
{
	struct trace_builder b;

	(void)state;
	builder_init(&b, 20);
	loop(&b, 8);
	builder_finish(&b);
	for (unsigned i = 0; i < 400; i++) {
		struct report report;
		size_t at = random_below(b.size);
		uint8_t mask = (uint8_t)(1u << random_below(8));

		b.data[at] ^= mask;
		analyze(b.data, b.size, &report, NULL);
		for (size_t p = 0; p < report.process_count; p++)
			for (size_t d = 0; d < report.processes[p].device_count; d++)
				assert_int_equal(sum(&report.processes[p].devices[d].whole),
						 report.processes[p].devices[d].whole.window_ns);
		report_fini(&report);
		b.data[at] ^= mask;
	}
	builder_fini(&b);
}

/* The checksums are right and the content is not: what a hostile or mistaken writer makes. */
static void any_wrong_content_is_survived(void **state)
{
	struct trace_builder b;

	(void)state;
	builder_init(&b, 20);
	loop(&b, 8);
	builder_finish(&b);
	for (unsigned i = 0; i < 600; i++) {
		struct report report;
		uint8_t *copy = malloc(b.size);
		size_t at = BST_FILE_HEADER_BYTES;

		memcpy(copy, b.data, b.size);
		while (at + BST_CHUNK_HEADER_BYTES < b.size) {
			uint32_t payload = get_u32(copy + at + 8);

			if (!random_below(6))
				copy[at + BST_CHUNK_HEADER_BYTES + random_below(payload)] =
					(uint8_t)random_next();
			image_seal_chunk(copy + at);
			at += BST_CHUNK_HEADER_BYTES + payload;
		}
		analyze(copy, b.size, &report, NULL);
		for (size_t p = 0; p < report.process_count; p++)
			for (size_t d = 0; d < report.processes[p].device_count; d++)
				assert_int_equal(sum(&report.processes[p].devices[d].whole),
						 report.processes[p].devices[d].whole.window_ns);
		report_fini(&report);
		free(copy);
	}
	builder_fini(&b);
}

static size_t chunk_offset(const struct trace_builder *b, unsigned n)
{
	size_t at = BST_FILE_HEADER_BYTES;

	while (n--)
		at += BST_CHUNK_HEADER_BYTES + get_u32(b->data + at + 8);
	return at;
}

static void damage_inside_is_named_and_the_rest_is_used(void **state)
{
	struct trace_builder b;
	struct report report;
	struct analyze_notes notes;
	char expected[64];
	size_t at;

	(void)state;
	builder_init(&b, 50);
	loop(&b, 50);
	builder_finish(&b);
	at = chunk_offset(&b, 14);
	b.data[at + BST_CHUNK_HEADER_BYTES + 40] ^= 1;
	assert_int_equal(analyze(b.data, b.size, &report, &notes), 1);
	snprintf(expected, sizeof(expected), "chunk at %zu: payload: checksum mismatch; ", at);
	assert_int_equal(notes.count, 1);
	assert_true(notes.note[0].failure);
	assert_int_equal(strncmp(notes.note[0].text, expected, strlen(expected)), 0);
	assert_non_null(strstr(notes.note[0].text, "are intact"));
	assert_int_equal(report.failures, 1);
	assert_int_equal(report.process_count, 1);
	assert_false(report.processes[0].complete);
	assert_true(report.processes[0].coverage.kernels >= 400);
	builder_fini(&b);
	report_fini(&report);
	analyze_notes_fini(&notes);
}

static void a_hole_in_the_records_is_not_idle_time(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct window *w;
	uint64_t lost;
	size_t at;

	(void)state;
	builder_init(&b, 50);
	loop(&b, 50);
	builder_finish(&b);
	for (at = BST_FILE_HEADER_BYTES;
	     get_u16(b.data + at + BST_CHUNK_HEADER_BYTES) != BST_TABLE_RUN ||
	     get_u64(b.data + at + BST_CHUNK_HEADER_BYTES + 8) < 200;)
		at += BST_CHUNK_HEADER_BYTES + get_u32(b.data + at + 8);
	lost = get_u32(b.data + at + BST_CHUNK_HEADER_BYTES + 4);
	b.data[at + BST_CHUNK_HEADER_BYTES + 40] ^= 1;
	assert_int_equal(analyze(b.data, b.size, &report, NULL), 1);
	w = &report.processes[0].devices[0].whole;
	assert_int_equal(report.processes[0].coverage.kernels, 500 - lost);
	assert_true(lost >= 40);
	/* Kernels of 20 us each are missing, and what is between the steps. */
	assert_true(w->leaf_ns[LEAF_UNKNOWN] >= lost * 20 * US);
	assert_true(w->leaf_ns[LEAF_HOST] < 50 * 40 * US);
	builder_fini(&b);
	report_fini(&report);
}

/* CUPTI says that it dropped records, not when: idle time around there proves nothing. */
static void dropped_records_are_not_idle_time(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct window *w;

	(void)state;
	builder_init(&b, 50);
	loop(&b, 50);
	b.encoder.losses[BST_ENUM_LOSS_CUPTI_DROPPED - 1] = 40;
	assert_int_equal(builder_analyze(&b, &report), 0);
	w = &report.processes[0].devices[0].whole;
	assert_int_equal(report.processes[0].coverage.lost, 40);
	assert_string_equal(report.processes[0].coverage.dropped[0].cause, "cupti_dropped");
	/* Only what the last flush holds is in doubt. */
	assert_true(w->leaf_ns[LEAF_UNKNOWN] > 0);
	assert_true(w->leaf_ns[LEAF_UNKNOWN] < w->window_ns);
	assert_true(w->leaf_ns[LEAF_SYNC] > 0);
	builder_fini(&b);
	report_fini(&report);
}

/* Killed: the calls of the last moments are there, and what they launched is not. */
static void the_end_of_a_torn_trace_is_not_idle_time(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct window *w;

	(void)state;
	builder_init(&b, 100);
	loop(&b, 20);
	for (unsigned i = 0; i < 10; i++)
		builder_call(&b, &(struct builder_call){.thread = 1,
							.api = 1,
							.begin_ns = (20000 + 10 * i) * US,
							.duration_ns = 4 * US,
							.correlation = 5000 + i});
	builder_flush(&b);
	assert_int_equal(analyze(b.data, b.size, &report, NULL), 0);
	w = &report.processes[0].devices[0].whole;
	assert_true(w->leaf_ns[LEAF_UNKNOWN] > 4000 * US);
	assert_true(w->leaf_ns[LEAF_HOST] < 1000 * US);
	builder_fini(&b);
	report_fini(&report);
}

static void foreign_and_missing_files_are_failures(void **state)
{
	static const char *const paths[] = {"/nonexistent/x.bst", "/dev/null"};
	struct report report;
	struct analyze_notes notes;

	(void)state;
	report_init(&report);
	assert_int_equal(analyze_paths(paths, 2, &report, &notes), 1);
	assert_int_equal(notes.count, 2);
	assert_int_equal(report.process_count, 0);
	assert_int_equal(report.failures, 2);
	assert_string_equal(notes.note[0].text, "No such file or directory");
	analyze_notes_fini(&notes);
	report_fini(&report);
	assert_int_equal(analyze((const uint8_t *)"PK\3\4 and so on", 15, &report, &notes), 1);
	assert_string_equal(notes.note[0].text, "not a boundshim trace (wrong magic)");
	analyze_notes_fini(&notes);
	report_fini(&report);
}

static void a_directory_is_all_its_traces(void **state)
{
	char folder[] = "/tmp/boundshim-unit-XXXXXX", name[128];
	const char *paths[] = {folder};
	struct trace_builder b;
	struct report report;
	struct analyze_notes notes;

	(void)state;
	assert_non_null(mkdtemp(folder));
	builder_init(&b, 100);
	loop(&b, 10);
	builder_finish(&b);
	snprintf(name, sizeof(name), "%s/deeper", folder);
	assert_int_equal(mkdir(name, 0700), 0);
	for (unsigned i = 0; i < 3; i++) {
		FILE *f;

		snprintf(name, sizeof(name), "%s/%s%s", folder, i == 2 ? "deeper/" : "",
			 i == 1 ? "notes.txt" : "a.bst");
		f = fopen(name, "wb");
		assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
		fclose(f);
	}
	report_init(&report);
	assert_int_equal(analyze_paths(paths, 1, &report, &notes), 0);
	assert_int_equal(report.process_count, 2);
	assert_int_equal(notes.count, 0);
	report_fini(&report);
	analyze_notes_fini(&notes);
	for (unsigned i = 0; i < 5; i++) {
		static const char *const names[] = {"deeper/a.bst", "deeper", "a.bst", "notes.txt",
						    ""};

		snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
		remove(name);
	}
	builder_fini(&b);
}

static void hooks_alone_tell_launches_and_pauses(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct device_report *d;
	uint64_t thread, launch;

	(void)state;
	builder_init(&b, 100);
	builder_meta(&b, "boundshim.mode", "hooks");
	thread = builder_thread(&b, 77);
	launch = builder_api(&b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	for (unsigned i = 0; i < 20; i++)
		builder_call(&b, &(struct builder_call){.thread = thread,
							.api = launch,
							.begin_ns = (1000 + 10 * i) * US,
							.duration_ns = 4 * US});
	assert_int_equal(builder_analyze(&b, &report), 0);
	d = &report.processes[0].devices[0];
	assert_int_equal(report.processes[0].coverage.launches_hooked, 20);
	assert_int_equal(d->whole.window_ns, 194 * US);
	assert_int_equal(d->whole.leaf_ns[LEAF_UNKNOWN], 194 * US);
	assert_false(d->steady.known);
	assert_int_equal(d->verdict.regime, REGIME_UNKNOWN);
	assert_int_equal(report.verdict.regime, REGIME_UNKNOWN);
	assert_int_equal(d->gaps[LEAF_UNKNOWN].count, 19);
	assert_int_equal(d->gaps[LEAF_UNKNOWN].total_ns, 19 * 6 * US);
	assert_string_equal(d->gaps[LEAF_UNKNOWN].worst[0].before, "cudaLaunchKernel");
	builder_fini(&b);
	report_fini(&report);
}

static void a_trace_without_any_event_is_reported(void **state)
{
	struct trace_builder b;
	struct report report;

	(void)state;
	builder_init(&b, 100);
	assert_int_equal(builder_analyze(&b, &report), 0);
	assert_int_equal(report.process_count, 1);
	assert_int_equal(report.processes[0].device_count, 1);
	assert_false(report.processes[0].devices[0].whole.known);
	assert_int_equal(report.verdict.regime, REGIME_UNKNOWN);
	builder_fini(&b);
	report_fini(&report);
}

static void impossible_times_are_counted_and_not_summed(void **state)
{
	static const struct {
		uint64_t begin, duration, flags;
	} bad[] = {
		{0 - BUILDER_DEVICE_OFFSET, 0, 1},
		{0 - BUILDER_DEVICE_OFFSET, 0, 0},
		{(UINT64_C(1) << 63) - BUILDER_DEVICE_OFFSET, 5, 0},
		{20000 * US, UINT64_MAX - 7, 0},
		{20000 * US, UINT64_C(0x8000000000000000), 0},
		{UINT64_MAX - 10 - BUILDER_DEVICE_OFFSET, 100, 0},
	};
	struct trace_builder b;
	struct report good, report;

	(void)state;
	builder_init(&b, 100);
	loop(&b, 20);
	assert_int_equal(builder_analyze(&b, &good), 0);
	builder_fini(&b);
	builder_init(&b, 100);
	loop(&b, 20);
	for (unsigned i = 0; i < 6; i++)
		builder_run(&b, &(struct builder_run){.kernel = 1,
						      .begin_ns = bad[i].begin,
						      .duration_ns = bad[i].duration,
						      .correlation = 3,
						      .flags = bad[i].flags});
	assert_int_equal(builder_analyze(&b, &report), 0);
	assert_int_equal(report.processes[0].coverage.kernels, 206);
	assert_int_equal(report.processes[0].coverage.kernels_explained, 200);
	assert_int_equal(report.processes[0].devices[0].whole.window_ns,
			 good.processes[0].devices[0].whole.window_ns);
	assert_int_equal(report.processes[0].devices[0].whole.busy_ns,
			 good.processes[0].devices[0].whole.busy_ns);
	assert_string_equal(report.processes[0].coverage.dropped[0].cause, "times_unusable");
	assert_int_equal(report.processes[0].coverage.dropped[0].count, 6);
	builder_fini(&b);
	report_fini(&good);
	report_fini(&report);
}

static void ids_beyond_any_dictionary_are_unknown(void **state)
{
	struct trace_builder b;
	struct report report;

	(void)state;
	builder_init(&b, 100);
	loop(&b, 5);
	builder_run(&b, &(struct builder_run){.kernel = UINT64_MAX,
					      .begin_ns = 20000 * US,
					      .duration_ns = 10,
					      .stream = UINT64_MAX});
	builder_run(&b, &(struct builder_run){.kernel = 1,
					      .begin_ns = 20001 * US,
					      .duration_ns = 10,
					      .device = UINT64_MAX});
	builder_call(&b, &(struct builder_call){.thread = UINT64_MAX,
						.api = UINT64_MAX,
						.begin_ns = 20002 * US,
						.correlation = UINT64_MAX,
						.stream = UINT64_MAX,
						.object = UINT64_MAX,
						.flags = UINT64_MAX});
	assert_int_equal(builder_analyze(&b, &report), 0);
	assert_int_equal(report.processes[0].coverage.kernels, 52);
	assert_int_equal(report.processes[0].device_count, 1);
	builder_fini(&b);
	report_fini(&report);
}

/* 2^32 calls later an id comes again. */
static void correlation_ids_may_wrap(void **state)
{
	struct trace_builder b;
	struct report report;
	uint64_t thread, launch, kernel;

	(void)state;
	builder_init(&b, 100);
	thread = builder_thread(&b, 77);
	launch = builder_api(&b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	kernel = builder_kernel(&b, "k", 4000, 256);
	for (uint64_t i = 0; i < 40; i++) {
		uint32_t id = UINT32_MAX - 19 + (uint32_t)i + (i >= 20);

		builder_call(&b, &(struct builder_call){.thread = thread,
							.api = launch,
							.begin_ns = (1000 + 10 * i) * US,
							.duration_ns = 2 * US,
							.correlation = id});
		builder_run(&b, &(struct builder_run){.kernel = kernel,
						      .begin_ns = (1005 + 10 * i) * US,
						      .duration_ns = 3 * US,
						      .correlation = id});
	}
	assert_int_equal(builder_analyze(&b, &report), 0);
	assert_int_equal(report.processes[0].coverage.kernels_explained, 40);
	builder_fini(&b);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_has_steps_and_a_verdict),
		cmocka_unit_test(any_truncation_is_survived),
		cmocka_unit_test(any_flipped_bit_is_survived),
		cmocka_unit_test(any_wrong_content_is_survived),
		cmocka_unit_test(damage_inside_is_named_and_the_rest_is_used),
		cmocka_unit_test(a_hole_in_the_records_is_not_idle_time),
		cmocka_unit_test(dropped_records_are_not_idle_time),
		cmocka_unit_test(the_end_of_a_torn_trace_is_not_idle_time),
		cmocka_unit_test(foreign_and_missing_files_are_failures),
		cmocka_unit_test(a_directory_is_all_its_traces),
		cmocka_unit_test(hooks_alone_tell_launches_and_pauses),
		cmocka_unit_test(a_trace_without_any_event_is_reported),
		cmocka_unit_test(impossible_times_are_counted_and_not_summed),
		cmocka_unit_test(ids_beyond_any_dictionary_are_unknown),
		cmocka_unit_test(correlation_ids_may_wrap),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
