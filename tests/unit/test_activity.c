/* CUPTI's records, made by hand with its own headers, and the rows that they become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/activity.h"
#include "shim/encode.h"
#include "shim/log.h"
#include "shim/loss.h"
#include "shim/names.h"
#include "tests/unit/trace_file.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
#endif

static const char path[] = "activity-test.bst";
static struct output *out;
static struct trace_file t;

static int set_up(void **state)
{
	struct output_options options = {.out = path, .host = "box", .rank = ""};

	(void)state;
	unlink(path);
	loss_reset();
	log_set_level(1);
	out = output_open(&options);
	return out && names_init() == 0 && encode_init(out) == 0 && activity_init() == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	trace_free(&t);
	return unlink(path);
}

static void give(CUpti_ActivityKind kind, const void *record)
{
	activity_record(out, (uint32_t)kind, record);
}

static void finish(void)
{
	encode_names();
	output_close(out);
	trace_load(&t, path);
	assert_true(t.complete);
	assert_int_equal(t.undecoded, 0);
}

/* One value of a table of numbers. */
static uint64_t value(uint16_t table, unsigned column, size_t row)
{
	size_t count;
	uint64_t *all = trace_numbers(&t, table, column, &count), v;

	if (row >= count)
		fail_msg("table %u has %zu rows", (unsigned)table, count);
	v = all[row];
	free(all);
	return v;
}

static kernel_record kernel(const char *name)
{
	kernel_record k = {0};

	k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	k.name = name;
	k.start = 1000;
	k.end = 5000;
	k.gridX = 10;
	k.gridY = 20;
	k.gridZ = 30;
	k.blockX = 4;
	k.blockY = 5;
	k.blockZ = 6;
	k.clusterX = 2;
	k.clusterY = 1;
	k.clusterZ = 1;
	k.registersPerThread = 255;
	k.staticSharedMemory = 1024;
	k.dynamicSharedMemory = 2048;
	k.sharedMemoryExecuted = 65536;
	k.localMemoryPerThread = 64;
	k.correlationId = 4294967295u;
	k.contextId = 3;
	k.streamId = 7;
	k.deviceId = 1;
	k.graphId = 9;
	k.graphNodeId = UINT64_C(0x100000001);
	return k;
}

static void a_kernel_keeps_all_that_it_says(void **state)
{
	kernel_record k = kernel("saxpy");
	char *name;

	(void)state;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	finish();
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_BEGIN, 0), 1000);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_DURATION, 0), 4000);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_CORRELATION, 0), 4294967295u);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_CONTEXT, 0), 3);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_STREAM, 0), 7);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_GRAPH, 0), 9);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_NODE, 0), UINT64_C(0x100000001));
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_DEVICE, 0), 1);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_FLAGS, 0), 0);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_GRID_X, 0), 10);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_GRID_Z, 0), 30);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_BLOCK_Y, 0), 5);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_CLUSTER_X, 0), 2);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_REGISTERS, 0), 255);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_SHARED_STATIC, 0), 1024);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_SHARED_DYNAMIC, 0), 2048);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_SHARED_EXECUTED, 0), 65536);
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_LOCAL, 0), 64);
	assert_int_equal(value(BST_TABLE_CONTEXT, BST_CONTEXT_ID, 0), 3);
	assert_int_equal(value(BST_TABLE_CONTEXT, BST_CONTEXT_DEVICE, 0), 1);
	name = trace_text(&t, BST_TABLE_STRING, BST_STRING_VALUE,
			  value(BST_TABLE_KERNEL, BST_KERNEL_NAME, 0) - 1, NULL);
	assert_string_equal(name, "saxpy");
	free(name);
}

static void launches_alike_share_a_kernel_row(void **state)
{
	kernel_record a = kernel("shared"), b = kernel("shared");

	(void)state;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &a);
	give(CUPTI_ACTIVITY_KIND_KERNEL, &a);
	b.gridX = 11;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &b);
	b.contextId = 4;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &b);
	finish();
	assert_int_equal(trace_count(&t, BST_TABLE_RUN), 4);
	assert_int_equal(trace_count(&t, BST_TABLE_KERNEL), 2);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_KERNEL, 0),
			 value(BST_TABLE_RUN, BST_RUN_KERNEL, 1));
	assert_int_not_equal(value(BST_TABLE_RUN, BST_RUN_KERNEL, 0),
			     value(BST_TABLE_RUN, BST_RUN_KERNEL, 2));
	assert_int_equal(trace_count(&t, BST_TABLE_CONTEXT), 2);
}

static void an_address_used_again_for_another_name_is_noticed(void **state)
{
	char name[32] = "first_kernel";
	kernel_record k = kernel(name);

	(void)state;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	strcpy(name, "first_kernel_longer");
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	strcpy(name, "first");
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	strcpy(name, "first_kernel");
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	k.name = NULL;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	finish();
	assert_int_equal(trace_count(&t, BST_TABLE_KERNEL), 4);
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_KERNEL, 0),
			 value(BST_TABLE_RUN, BST_RUN_KERNEL, 3));
	assert_int_equal(value(BST_TABLE_KERNEL, BST_KERNEL_NAME, 3), 0);
}

static void a_long_name_is_cut_and_recognised(void **state)
{
	size_t size = NAME_BYTES_LIMIT + 1000, kept;
	char *name = malloc(size + 1), *text;
	kernel_record k = kernel(name);

	(void)state;
	memset(name, 'n', size);
	name[size] = 0;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	finish();
	assert_int_equal(trace_count(&t, BST_TABLE_KERNEL), 1);
	text = trace_text(&t, BST_TABLE_STRING, BST_STRING_VALUE,
			  value(BST_TABLE_KERNEL, BST_KERNEL_NAME, 0) - 1, &kept);
	assert_int_equal(kept, NAME_BYTES_LIMIT);
	free(text);
	free(name);
}

static void cooperative_launches_are_flagged(void **state)
{
	kernel_record k = kernel("coop");

	(void)state;
	k.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	finish();
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_FLAGS, 0), BST_ENUM_DEVICE_FLAG_COOPERATIVE);
}

static void times_that_are_none_are_kept_flagged_and_counted(void **state)
{
	static const struct {
		uint64_t start, end;
		unsigned cause;
	} bad[] = {
		{0, 0, BST_ENUM_LOSS_TIME_INVALID},
		{5000, 4000, BST_ENUM_LOSS_TIME_INVALID},
		{5000, 0, BST_ENUM_LOSS_UNFINISHED},
		{0, 5000, BST_ENUM_LOSS_TIME_INVALID},
		{UINT64_C(1) << 63, UINT64_C(1) << 63, BST_ENUM_LOSS_TIME_INVALID},
		{UINT64_MAX, UINT64_MAX, BST_ENUM_LOSS_TIME_INVALID},
		{5000, UINT64_C(1) << 63, BST_ENUM_LOSS_TIME_INVALID},
	};
	uint32_t counted[BST_CAUSE_COUNT + 1] = {0};
	size_t n = sizeof(bad) / sizeof(bad[0]);
	kernel_record k = kernel("bad times");

	(void)state;
	for (size_t i = 0; i < n; i++) {
		k.start = bad[i].start;
		k.end = bad[i].end;
		counted[bad[i].cause]++;
		give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	}
	k.start = k.end = 6000; /* no time at all is a time */
	give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	finish();
	assert_int_equal(trace_count(&t, BST_TABLE_RUN), n + 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = value(BST_TABLE_RUN, BST_RUN_BEGIN, i);

		assert_int_equal(value(BST_TABLE_RUN, BST_RUN_FLAGS, i),
				 BST_ENUM_DEVICE_FLAG_TIME_INVALID);
		assert_int_equal(begin, bad[i].start);
		assert_int_equal(begin + value(BST_TABLE_RUN, BST_RUN_DURATION, i), bad[i].end);
	}
	assert_int_equal(value(BST_TABLE_RUN, BST_RUN_FLAGS, n), 0);
	assert_int_equal(trace_lost(&t, BST_ENUM_LOSS_TIME_INVALID),
			 counted[BST_ENUM_LOSS_TIME_INVALID]);
	assert_int_equal(trace_lost(&t, BST_ENUM_LOSS_UNFINISHED),
			 counted[BST_ENUM_LOSS_UNFINISHED]);
}

static void copies_say_what_went_where(void **state)
{
	CUpti_ActivityMemcpy6 c = {0};

	(void)state;
	c.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	c.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	c.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	c.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	c.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
	c.bytes = UINT64_C(5) << 32;
	c.start = 10;
	c.end = 30;
	c.deviceId = 2;
	c.contextId = 3;
	c.streamId = 4;
	c.correlationId = 5;
	c.graphNodeId = 6;
	c.graphId = 7;
	give(CUPTI_ACTIVITY_KIND_MEMCPY, &c);
	c.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_ATOD;
	c.flags = 0;
	give(CUPTI_ACTIVITY_KIND_MEMCPY, &c);
	finish();
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_KIND, 0),
			 BST_ENUM_COPY_KIND_HOST_TO_DEVICE);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_BEGIN, 0), 10);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_DURATION, 0), 20);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_BYTES, 0), UINT64_C(5) << 32);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_SOURCE_KIND, 0),
			 BST_ENUM_MEMORY_KIND_PINNED);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_TARGET_KIND, 0),
			 BST_ENUM_MEMORY_KIND_DEVICE);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_FLAGS, 0), BST_ENUM_DEVICE_FLAG_ASYNC);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_DEVICE, 0), 2);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_CONTEXT, 0), 3);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_STREAM, 0), 4);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_CORRELATION, 0), 5);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_NODE, 0), 6);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_GRAPH, 0), 7);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_KIND, 1), BST_ENUM_COPY_KIND_ARRAY);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_FLAGS, 1), 0);
}

static void peer_copies_name_both_devices(void **state)
{
	CUpti_ActivityMemcpyPtoP4 p = {0};

	(void)state;
	p.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	p.srcKind = p.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	p.bytes = 64;
	p.start = 100;
	p.end = 90;
	p.deviceId = 1;
	p.srcDeviceId = 1;
	p.dstDeviceId = 6;
	p.correlationId = 5;
	p.graphNodeId = 6;
	p.graphId = 7;
	give(CUPTI_ACTIVITY_KIND_MEMCPY2, &p);
	finish();
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_KIND, 0), BST_ENUM_COPY_KIND_PEER_TO_PEER);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_SOURCE_DEVICE, 0), 1);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_TARGET_DEVICE, 0), 6);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_CORRELATION, 0), 5);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_NODE, 0), 6);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_FLAGS, 0),
			 BST_ENUM_DEVICE_FLAG_TIME_INVALID);
}

static void sets_are_copies_of_their_own_kind(void **state)
{
	CUpti_ActivityMemset4 s = {0};

	(void)state;
	s.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	s.bytes = 4096;
	s.start = 1;
	s.end = 3;
	s.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
	s.flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
	s.correlationId = 12;
	s.graphNodeId = 13;
	give(CUPTI_ACTIVITY_KIND_MEMSET, &s);
	finish();
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_KIND, 0), BST_ENUM_COPY_KIND_SET);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_BYTES, 0), 4096);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_TARGET_KIND, 0),
			 BST_ENUM_MEMORY_KIND_MANAGED);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_FLAGS, 0), BST_ENUM_DEVICE_FLAG_ASYNC);
	assert_int_equal(value(BST_TABLE_COPY, BST_COPY_NODE, 0), 13);
}

static void overhead_says_its_kind_and_thread(void **state)
{
	CUpti_ActivityOverhead3 o = {0};

	(void)state;
	o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	o.objectId.pt.threadId = 4321;
	o.start = 5;
	o.end = 9;
	give(CUPTI_ACTIVITY_KIND_OVERHEAD, &o);
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
	o.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
	give(CUPTI_ACTIVITY_KIND_OVERHEAD, &o);
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER;
	give(CUPTI_ACTIVITY_KIND_OVERHEAD, &o);
	o.overheadKind = (CUpti_ActivityOverheadKind)0x7f0000;
	give(CUPTI_ACTIVITY_KIND_OVERHEAD, &o);
	finish();
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_KIND, 0),
			 BST_ENUM_OVERHEAD_KIND_BUFFER_FLUSH);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_TID, 0), 4321);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_DURATION, 0), 4);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_KIND, 1),
			 BST_ENUM_OVERHEAD_KIND_LAZY_FUNCTION);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_TID, 1), 0);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_KIND, 2),
			 BST_ENUM_OVERHEAD_KIND_COMPILER);
	assert_int_equal(value(BST_TABLE_OVERHEAD, BST_OVERHEAD_KIND, 3),
			 BST_ENUM_OVERHEAD_KIND_UNKNOWN);
}

static void kinds_that_nobody_asked_for_are_counted(void **state)
{
	uint8_t nothing[64] = {0};

	(void)state;
	give(CUPTI_ACTIVITY_KIND_RUNTIME, nothing);
	give((CUpti_ActivityKind)0, nothing);
	give((CUpti_ActivityKind)4000, nothing);
	finish();
	assert_int_equal(trace_lost(&t, BST_ENUM_LOSS_UNKNOWN_RECORD), 3);
	assert_int_equal(trace_count(&t, BST_TABLE_RUN) + trace_count(&t, BST_TABLE_COPY), 0);
}

/* A thousand launches, more contexts and geometries than the small tables hold side by side. */
static void many_shapes_and_contexts_are_told_before_use(void **state)
{
	kernel_record k = kernel("many");

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		k.gridX = (int32_t)(i % 3000);
		k.contextId = i % 200;
		k.start += 10;
		k.end += 10;
		give(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &k);
	}
	finish();
	assert_int_equal(trace_count(&t, BST_TABLE_RUN), 20000);
	assert_int_equal(trace_count(&t, BST_TABLE_KERNEL), 3000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kernel_keeps_all_that_it_says),
		TEST(launches_alike_share_a_kernel_row),
		TEST(an_address_used_again_for_another_name_is_noticed),
		TEST(a_long_name_is_cut_and_recognised),
		TEST(cooperative_launches_are_flagged),
		TEST(times_that_are_none_are_kept_flagged_and_counted),
		TEST(copies_say_what_went_where),
		TEST(peer_copies_name_both_devices),
		TEST(sets_are_copies_of_their_own_kind),
		TEST(overhead_says_its_kind_and_thread),
		TEST(kinds_that_nobody_asked_for_are_counted),
		TEST(many_shapes_and_contexts_are_told_before_use),
	};
	char folder[] = "/tmp/boundshim-activity-XXXXXX";
	int failed;

	if (!mkdtemp(folder) || chdir(folder) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
