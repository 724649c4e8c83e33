/*
 * Preloaded before the shim: the n-th call of one function of libc that comes from the shim itself fails, once or from there on.
 * What the program and the simulated CUDA call is not touched.
 *
 * FAIL_CALL=FUNCTION:N:ERRNO[+]   N from 1; + = all from there. FUNCTION "syscall" means its futex calls
 * FAIL_COUNT=FILE                 gets a line "FUNCTION CALLS" for each function at exit
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                                               \
	F(malloc)                                                                                  \
	F(calloc)                                                                                  \
	F(mmap)                                                                                    \
	F(open)                                                                                    \
	F(close)                                                                                   \
	F(fcntl)                                                                                   \
	F(read)                                                                                    \
	F(write)                                                                                   \
	F(pwrite)                                                                                  \
	F(ftruncate)                                                                               \
	F(stat)                                                                                    \
	F(readlink)                                                                                \
	F(getrandom)                                                                               \
	F(gethostname)                                                                             \
	F(uname)                                                                                   \
	F(getrusage)                                                                               \
	F(nanosleep)                                                                               \
	F(prctl)                                                                                   \
	F(setpriority)                                                                             \
	F(pthread_create)                                                                          \
	F(pthread_key_create)                                                                      \
	F(pthread_setspecific)                                                                     \
	F(pthread_sigmask)                                                                         \
	F(pthread_mutex_init)                                                                      \
	F(syscall)

enum function {
#define F(name) FUNCTION_##name,
	FUNCTIONS(F)
#undef F
	FUNCTION_COUNT
};

static const char *const names[] = {
#define F(name) #name,
	FUNCTIONS(F)
#undef F
};

static _Atomic unsigned long calls[FUNCTION_COUNT];
static _Atomic uintptr_t shim_begin, shim_end;
static unsigned target = FUNCTION_COUNT;
static unsigned long at;
static bool from_there_on;
static int error;

/* Found with symbols that nobody interposes: dlsym is allowed to allocate. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!strstr(info->dlpi_name, "libboundshim.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			shim_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			shim_end = shim_begin + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAIL_CALL"), *colon = text ? strchr(text, ':') : NULL;

	if (!colon)
		return;
	for (unsigned i = 0; i < FUNCTION_COUNT; i++)
		if (strlen(names[i]) == (size_t)(colon - text) &&
		    !memcmp(names[i], text, strlen(names[i])))
			target = i;
	at = strtoul(colon + 1, NULL, 10);
	colon = strchr(colon + 1, ':');
	error = (int)strtol(colon + 1, NULL, 10);
	from_there_on = strchr(colon, '+') != NULL;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAIL_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;

	for (unsigned i = 0; file && i < FUNCTION_COUNT; i++)
		fprintf(file, "%s %lu\n", names[i], calls[i]);
	if (file)
		fclose(file);
}

/* Must this call, which returns to `caller`, fail? */
static bool fails(enum function function, void *caller)
{
	unsigned long n;

	if (!shim_begin)
		dl_iterate_phdr(look, NULL);
	if ((uintptr_t)caller < shim_begin || (uintptr_t)caller >= shim_end)
		return false;
	n = ++calls[function];
	if (function != target || n < at || (n > at && !from_there_on))
		return false;
	errno = error;
	return true;
}

#define FAILS(name) fails(FUNCTION_##name, __builtin_return_address(0))
#define REAL(name) (real_##name ? real_##name : (real_##name = dlsym(RTLD_NEXT, #name)))
#include <dlfcn.h>

void *malloc(size_t size)
{
	return FAILS(malloc) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return FAILS(calloc) ? NULL : __libc_calloc(count, size);
}

/* Those that a system call is all of. */
void *mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (FAILS(mmap))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return FAILS(open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int close(int fd)
{
	if (FAILS(close)) {
		int saved = errno;

		syscall(SYS_close, fd); /* as Linux: an error does not leave it open */
		errno = saved;
		return -1;
	}
	return (int)syscall(SYS_close, fd);
}

int fcntl(int fd, int command, ...)
{
	va_list args;
	long value;

	va_start(args, command);
	value = va_arg(args, long);
	va_end(args);
	return FAILS(fcntl) ? -1 : (int)syscall(SYS_fcntl, fd, command, value);
}

ssize_t read(int fd, void *data, size_t size)
{
	return FAILS(read) ? -1 : syscall(SYS_read, fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
	return FAILS(write) ? -1 : syscall(SYS_write, fd, data, size);
}

/* ERRNO 0: half of it is written, as where a disk is nearly full. */
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (!FAILS(pwrite))
		return syscall(SYS_pwrite64, fd, data, size, offset);
	return error ? -1 : syscall(SYS_pwrite64, fd, data, (size + 1) / 2, offset);
}

int ftruncate(int fd, off_t size)
{
	return FAILS(ftruncate) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int stat(const char *path, struct stat *st)
{
	return FAILS(stat) ? -1 : (int)syscall(SYS_stat, path, st);
}

ssize_t readlink(const char *path, char *text, size_t size)
{
	return FAILS(readlink) ? -1 : syscall(SYS_readlink, path, text, size);
}

ssize_t getrandom(void *data, size_t size, unsigned flags)
{
	return FAILS(getrandom) ? -1 : syscall(SYS_getrandom, data, size, flags);
}

int gethostname(char *name, size_t size)
{
	struct utsname names_;

	if (FAILS(gethostname))
		return -1;
	syscall(SYS_uname, &names_);
	snprintf(name, size, "%s", names_.nodename);
	return 0;
}

int uname(struct utsname *to)
{
	return FAILS(uname) ? -1 : (int)syscall(SYS_uname, to);
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	return FAILS(getrusage) ? -1 : (int)syscall(SYS_getrusage, who, usage);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	return FAILS(nanosleep) ? -1 : (int)syscall(SYS_nanosleep, time, left);
}

int prctl(int option, ...)
{
	unsigned long word[4];
	va_list args;

	va_start(args, option);
	for (unsigned i = 0; i < 4; i++)
		word[i] = va_arg(args, unsigned long);
	va_end(args);
	if (FAILS(prctl))
		return -1;
	return (int)syscall(SYS_prctl, option, word[0], word[1], word[2], word[3]);
}

int setpriority(__priority_which_t which, id_t who, int value)
{
	return FAILS(setpriority) ? -1 : (int)syscall(SYS_setpriority, which, who, value);
}

/* Those of pthread return their error. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
	static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
					  void *);

	return FAILS(pthread_create) ? error : REAL(pthread_create)(thread, attr, body, arg);
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	static int (*real_pthread_key_create)(pthread_key_t *, void (*)(void *));

	return FAILS(pthread_key_create) ? error : REAL(pthread_key_create)(key, destroy);
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
	static int (*real_pthread_setspecific)(pthread_key_t, const void *);

	return FAILS(pthread_setspecific) ? error : REAL(pthread_setspecific)(key, value);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real_pthread_sigmask)(int, const sigset_t *, sigset_t *);

	return FAILS(pthread_sigmask) ? error : REAL(pthread_sigmask)(how, set, old);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	static int (*real_pthread_mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);

	return FAILS(pthread_mutex_init) ? error : REAL(pthread_mutex_init)(mutex, attr);
}

/* Only the shim's futex calls are counted and fail; ours above are not the shim's. */
long syscall(long number, ...)
{
	static long (*real_syscall)(long, ...);
	long word[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		word[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_futex && FAILS(syscall))
		return -1;
	return REAL(syscall)(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
