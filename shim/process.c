/* Facts about the process, from /proc and the environment. */
#define _GNU_SOURCE
#include "process.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COMMAND_BYTES 16384u

#ifndef BOUNDSHIM_VERSION
#define BOUNDSHIM_VERSION "0.1.0"
#endif

void process_host(char *name, size_t size)
{
	if (gethostname(name, size) != 0)
		snprintf(name, size, "host");
	name[size - 1] = 0;
	name[strcspn(name, ".")] = 0;
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			*p = '_';
	if (!*name)
		snprintf(name, size, "host");
}

static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return "";
}

const char *process_rank(void)
{
	/* torchrun, OpenMPI, MPICH and Intel MPI, Slurm */
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					    "SLURM_PROCID", NULL};

	return first_of(names);
}

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, size);
	close(fd);
	return n;
}

static void describe_line(struct output *output, const char *key, const char *path)
{
	char text[256];
	ssize_t n = read_file(path, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	output_meta(output, key, text);
}

static void describe_link(struct output *output, const char *key, const char *path)
{
	char text[4096];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = 0;
	output_meta(output, key, text);
}

/* Does this name (of an option or a variable) speak of a secret? */
static int secret_name(const char *name, size_t size)
{
	static const char *const words[] = {"key", "token", "secret", "password", "passwd"};

	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
		size_t n = strlen(words[w]);

		for (size_t i = 0; i + n <= size; i++)
			if (strncasecmp(name + i, words[w], n) == 0)
				return 1;
	}
	return 0;
}

size_t process_redact(char *command, size_t size, size_t capacity)
{
	static const char mark[] = "***";
	int next_is_secret = 0;
	size_t at = 0;

	while (at < size) {
		char *arg = command + at;
		size_t n = strnlen(arg, size - at), keep = n;
		char *equals = memchr(arg, '=', n);
		size_t name = equals ? (size_t)(equals - arg) : n;
		int dashed = n && arg[0] == '-';

		if (next_is_secret && !dashed)
			keep = 0;
		else if (equals && secret_name(arg, name))
			keep = name + 1;
		next_is_secret = dashed && !equals && secret_name(arg, n);
		if (keep < n && size - n + keep + 3 <= capacity) {
			memmove(arg + keep + 3, arg + n, size - at - n);
			memcpy(arg + keep, mark, 3);
			size = size - n + keep + 3;
			n = keep + 3;
		} else if (keep < n) {
			memset(arg + keep, '*', n - keep);
		}
		at += n + 1;
	}
	return size;
}

static void describe_command(struct output *output, const struct env *env)
{
	char command[COMMAND_BYTES];
	ssize_t n = read_file("/proc/self/cmdline", command, sizeof(command) / 2);
	size_t size;

	if (n <= 0)
		return;
	size = (size_t)n;
	if (env->command == COMMAND_ARGV0)
		size = strnlen(command, size);
	else if (env->command == COMMAND_REDACTED)
		size = process_redact(command, size, sizeof(command) - 1);
	while (size && command[size - 1] == 0)
		size--;
	for (size_t i = 0; i < size; i++)
		if (command[i] == 0)
			command[i] = ' ';
	command[size] = 0;
	output_meta(output, "process.command", command);
}

static void describe_environment(struct output *output)
{
	/* what changes how CUDA behaves; nothing here can hold a secret */
	static const char *const names[] = {
		"CUDA_VISIBLE_DEVICES",
		"CUDA_LAUNCH_BLOCKING",
		"CUDA_DEVICE_MAX_CONNECTIONS",
		"CUDA_MODULE_LOADING",
		"CUDA_DEVICE_ORDER",
		"CUDA_MPS_PIPE_DIRECTORY",
		"PYTORCH_CUDA_ALLOC_CONF",
		"NVIDIA_TF32_OVERRIDE",
		"OMP_NUM_THREADS",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
		"CUDA_FORCE_PTX_JIT",
		"NCCL_NVLS_ENABLE",
		"TORCH_CUDNN_V8_API_DISABLED",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char key[80];

		snprintf(key, sizeof(key), "env.%s", names[i]);
		output_meta(output, key, getenv(names[i]));
	}
}

void process_describe(struct output *output, const struct env *env, int64_t start_ns)
{
	static const char *const local_rank[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
						 "SLURM_LOCALID", NULL};
	static const char *const world[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					    "SLURM_NTASKS", NULL};
	struct utsname kernel;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[sizeof(host) - 1] = 0;
	output_meta(output, "boundshim.version", BOUNDSHIM_VERSION);
	output_meta(output, "boundshim.mode", env->mode == MODE_HOOKS ? "hooks" : "trace");
	output_meta_number(output, "process.pid", (uint64_t)getpid());
	output_meta_number(output, "process.parent", (uint64_t)getppid());
	output_meta_number(output, "process.start_ns", (uint64_t)start_ns);
	describe_link(output, "process.executable", "/proc/self/exe");
	describe_command(output, env);
	output_meta(output, "host.name", host);
	describe_line(output, "host.boot_id", "/proc/sys/kernel/random/boot_id");
	describe_link(output, "host.pid_namespace", "/proc/self/ns/pid");
	if (uname(&kernel) == 0)
		output_meta(output, "host.kernel", kernel.release);
	if (*process_rank())
		output_meta(output, "run.rank", process_rank());
	if (*first_of(local_rank))
		output_meta(output, "run.local_rank", first_of(local_rank));
	if (*first_of(world))
		output_meta(output, "run.world_size", first_of(world));
	describe_environment(output);
}
