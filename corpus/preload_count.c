/* SPDX-License-Identifier: MIT */
/*
 * An independent counter of allocator calls, for whole programs: preload it and name a file in
 * COUNT_OUT, and at the end of the first process the file holds one line of key=value pairs:
 *
 *   malloc calloc realloc   calls, failed ones included
 *   free free_null          free of a block, and of NULL
 *   aligned                 memalign, posix_memalign, aligned_alloc, valloc, pvalloc
 *   failed                  calls among these that returned NULL, except for reallocs to size 0
 *   realloc_failed          those of them that were resizes of a live block
 *   realloc_null            reallocs of NULL
 *   realloc_zero            reallocs of a block to size 0 (glibc frees)
 *
 * It shares no code with the recorder, takes no stack and allocates nothing. Children and programs
 * executed later are not counted, nor are calls after the library's destructor.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum count {
	MALLOC,
	CALLOC,
	REALLOC,
	FREE,
	FREE_NULL,
	ALIGNED,
	FAILED,
	REALLOC_FAILED,
	REALLOC_NULL,
	REALLOC_ZERO,
	COUNTS
};

static const char *const count_name[COUNTS] = {
	"malloc",  "calloc", "realloc",        "free",         "free_null",
	"aligned", "failed", "realloc_failed", "realloc_null", "realloc_zero",
};

static _Atomic uint64_t count[COUNTS];
static char out_path[4096];
static pid_t owner;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);

static void add(enum count which)
{
	atomic_fetch_add_explicit(&count[which], 1, memory_order_relaxed);
}

static void *result(void *block)
{
	if (!block)
		add(FAILED);
	return block;
}

/* dlsym stores an object pointer into a function pointer, as POSIX wants it. */
static void resolve_one(void *function, const char *name)
{
	*(void **)function = dlsym(RTLD_NEXT, name);
}

static void resolve(void)
{
	if (real_malloc)
		return;
	resolve_one(&real_calloc, "calloc");
	resolve_one(&real_realloc, "realloc");
	resolve_one(&real_free, "free");
	resolve_one(&real_memalign, "memalign");
	resolve_one(&real_posix_memalign, "posix_memalign");
	resolve_one(&real_aligned_alloc, "aligned_alloc");
	resolve_one(&real_valloc, "valloc");
	resolve_one(&real_pvalloc, "pvalloc");
	resolve_one(&real_malloc, "malloc");
}

EXPORT void *malloc(size_t n)
{
	resolve();
	add(MALLOC);
	return result(real_malloc(n));
}

EXPORT void *calloc(size_t members, size_t n)
{
	resolve();
	add(CALLOC);
	return result(real_calloc(members, n));
}

EXPORT void *realloc(void *old, size_t n)
{
	void *block;

	resolve();
	add(REALLOC);
	if (!old)
		add(REALLOC_NULL);
	else if (n == 0)
		add(REALLOC_ZERO);
	block = real_realloc(old, n);
	if (block || (old && n == 0))
		return block;
	if (old)
		add(REALLOC_FAILED);
	return result(block);
}

EXPORT void *reallocarray(void *old, size_t members, size_t n)
{
	size_t bytes;

	if (__builtin_mul_overflow(members, n, &bytes)) {
		resolve();
		add(REALLOC);
		add(old ? REALLOC_FAILED : REALLOC_NULL);
		errno = ENOMEM;
		return result(NULL);
	}
	return realloc(old, bytes);
}

EXPORT void free(void *block)
{
	if (!block) {
		add(FREE_NULL);
		return;
	}
	resolve();
	add(FREE);
	real_free(block);
}

EXPORT void *memalign(size_t alignment, size_t n)
{
	resolve();
	add(ALIGNED);
	return result(real_memalign(alignment, n));
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t n)
{
	int error;

	resolve();
	add(ALIGNED);
	error = real_posix_memalign(block, alignment, n);
	if (error)
		add(FAILED);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
	resolve();
	add(ALIGNED);
	return result(real_aligned_alloc(alignment, n));
}

EXPORT void *valloc(size_t n)
{
	resolve();
	add(ALIGNED);
	return result(real_valloc(n));
}

EXPORT void *pvalloc(size_t n); /* not in all C libraries' headers */
EXPORT void *pvalloc(size_t n)
{
	resolve();
	add(ALIGNED);
	return result(real_pvalloc(n));
}

static char *put_text(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length);
	return to + length;
}

static char *put_number(char *to, uint64_t number)
{
	char digits[20];
	int length = 0;

	do
		digits[length++] = (char)('0' + number % 10);
	while (number /= 10);
	while (length > 0)
		*to++ = digits[--length];
	return to;
}

static void report(void)
{
	char line[512];
	char *end = line;
	ssize_t written;
	int fd;

	if (!out_path[0] || getpid() != owner)
		return;
	for (int i = 0; i < COUNTS; i++) {
		end = put_text(end, count_name[i]);
		*end++ = '=';
		end = put_number(end, atomic_load(&count[i]));
		*end++ = i + 1 < COUNTS ? ' ' : '\n';
	}
	fd = open(out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	written = write(fd, line, (size_t)(end - line));
	(void)written;
	close(fd);
}

/* Removes itself from the environment, so that programs executed from here run without it. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_OUT");

	owner = getpid();
	if (path && strlen(path) < sizeof out_path)
		strcpy(out_path, path);
	unsetenv("COUNT_OUT");
	unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
	report();
}

EXPORT void _exit(int status)
{
	void (*real_exit)(int) __attribute__((noreturn));

	report();
	*(void **)&real_exit = dlsym(RTLD_NEXT, "_exit");
	real_exit(status);
}
