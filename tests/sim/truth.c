/* SIM_TRUTH: what really happened, one JSON object a line, written at once so that a kill loses
 * none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

#define LINE_BYTES 2048

static int truth_fd = -1;

static int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/* %p in the name becomes the process id, as a child of fork or exec must not write its parent's. */
void truth_open(void)
{
	const char *name = getenv("SIM_TRUTH");
	const char *mark;
	char path[4096];

	if (!name || !*name)
		return;
	mark = strstr(name, "%p");
	if (mark)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - name), name, getpid(),
			 mark + 2);
	else
		snprintf(path, sizeof(path), "%s", name);
	truth_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (truth_fd < 0) {
		perror("sim: SIM_TRUTH");
		abort();
	}
}

bool truth_wanted(void)
{
	return truth_fd >= 0;
}

void truth_write(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	int len;

	if (truth_fd < 0)
		return;
	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len < 0 || len > (int)sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	line[len++] = '\n';
	if (write(truth_fd, line, (size_t)len) != len)
		abort();
}

void truth_call(const struct sim_call *call, bool nested)
{
	if (truth_fd < 0)
		return;
	truth_write(
		"{\"t\":\"call\",\"pid\":%d,\"tid\":%d,\"api\":\"%s\",\"domain\":\"%s\",\"nested\":%s,"
		"\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"corr\":%u,\"captured\":%s,\"ret\":%d}",
		getpid(), thread_id(), call->api->name,
		call->api->domain == SIM_DRIVER ? "driver" : "runtime", nested ? "true" : "false",
		call->begin_ns, call->end_ns, call->correlation, call->captured ? "true" : "false",
		call->ret);
}

void truth_wait(const char *function, uint64_t begin_ns, uint64_t end_ns)
{
	truth_write("{\"t\":\"wait\",\"pid\":%d,\"tid\":%d,\"api\":\"%s\",\"begin\":%" PRIu64
		    ",\"end\":%" PRIu64 "}",
		    getpid(), thread_id(), function, begin_ns, end_ns);
}

void truth_load(uint64_t begin_ns, uint64_t end_ns)
{
	truth_write("{\"t\":\"load\",\"pid\":%d,\"tid\":%d,\"begin\":%" PRIu64 ",\"end\":%" PRIu64
		    "}",
		    getpid(), thread_id(), begin_ns, end_ns);
}

/* Kernel names may hold anything; only what JSON forbids is replaced. */
static void safe_name(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (; name && *name && n + 1 < size; name++)
		out[n++] = (unsigned char)*name < 0x20 || (unsigned char)*name > 0x7e ||
					   *name == '"' || *name == '\\'
				   ? '?'
				   : *name;
	out[n] = 0;
}

void truth_op(const struct sim_op *op)
{
	static const char *const kinds[] = {"kernel", "copy", "peer", "set", "host", "empty"};
	char name[512];

	if (truth_fd < 0)
		return;
	safe_name(op->name, name, sizeof(name));
	truth_write(
		"{\"t\":\"op\",\"pid\":%d,\"tid\":%d,\"kind\":\"%s\",\"name\":\"%s\",\"device\":%u,"
		"\"context\":%u,\"stream\":%u,\"enqueued\":%" PRIu64 ",\"start\":%" PRIu64
		",\"end\":%" PRIu64 ",\"corr\":%u,\"graph\":%u,\"node\":%" PRIu64
		",\"bytes\":%" PRIu64 ",\"copy_kind\":%u,\"grid\":[%d,%d,%d],\"block\":[%d,%d,%d],"
		"\"held\":%" PRIu64 "}",
		getpid(), thread_id(), kinds[op->kind], name, op->device, op->context, op->stream,
		op->enqueued_ns, op->start_ns, op->end_ns, op->correlation, op->graph, op->node,
		op->bytes, op->copy_kind, op->grid[0], op->grid[1], op->grid[2], op->block[0],
		op->block[1], op->block[2], op->held_ns);
}
