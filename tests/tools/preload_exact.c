/* SPDX-License-Identifier: MIT */
/*
 * An independent account of a whole program's heap, to compare with the recorder's. Preload it and name a
 * file in EXACT_OUT: the library maps the file and counts every call in it, so it is complete even if the
 * process is killed. It is an array of 64-bit numbers in the order of enum exact below.
 *
 * Obvious rather than fast: one lock, one table of live blocks in mapped memory. Shares no code with the
 * recorder. Children and programs executed later are not counted, nor is a program with a name in EXACT_SKIP,
 * such as the recorder's launcher. The first malloc inside the real operator new counts as the operator's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum exact {
	MALLOC,
	CALLOC,
	REALLOC_NULL,
	REALLOC_BLOCK,
	REALLOC_ZERO,
	ALIGNED,
	NEW,
	NEW_ARRAY,
	OVERFLOWED,
	FAILED,
	FAILED_RESIZE,
	FREE,
	FREE_NULL,
	LIVE,
	PEAK,
	BLOCKS,
	UNKNOWN,
	IMPLIED,
	FULL,
	EXACT_COUNTS
};

#define TABLE_SLOTS (1u << 23) /* 128 MiB of address space, touched as needed */

struct slot {
	uint64_t address; /* 0 = free */
	uint64_t size;
};

static _Atomic uint64_t *count;
static struct slot *table;
static pid_t owner;
static atomic_flag lock = ATOMIC_FLAG_INIT;

/* The operator new in progress in this thread: MALLOC means none. */
static __thread struct {
	enum exact which;
	size_t size;
} operator_new __attribute__((tls_model("initial-exec")));

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);

EXPORT void *pvalloc(size_t n); /* not in all C libraries' headers */

/* dlsym stores an object pointer into a function pointer, as POSIX wants it. */
static void resolve_one(void *function, const char *name)
{
	*(void **)function = dlsym(RTLD_NEXT, name);
}

static bool skipped(void)
{
	const char *name = getenv("EXACT_SKIP");

	return name && strcmp(name, program_invocation_short_name) == 0;
}

static void open_account(void)
{
	const char *path = getenv("EXACT_OUT");
	const int fd = path && !skipped() ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
	void *p;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return;
	p = mmap(NULL, TABLE_SLOTS * sizeof(*table), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED) {
		owner = getpid();
		table = p;
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		count = p == MAP_FAILED ? NULL : p;
	}
	close(fd);
}

#ifndef __GLIBC__
/* musl makes some functions of others by calls that are seen here, and by the recorder: these are not. */
static void *made_calloc(size_t members, size_t n)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(members, n, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = real_malloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

static int made_posix_memalign(void **block, size_t alignment, size_t n)
{
	void *p = alignment < sizeof(p) ? NULL : real_aligned_alloc(alignment, n);

	if (p)
		*block = p;
	return alignment < sizeof(p) ? EINVAL : p ? 0 : errno;
}

static void *made_valloc(size_t n)
{
	return real_aligned_alloc(4096, n);
}

static void make_of_others(void)
{
	real_calloc = made_calloc;
	real_memalign = real_aligned_alloc;
	real_posix_memalign = made_posix_memalign;
	real_valloc = made_valloc;
}
#else
static void make_of_others(void)
{
}
#endif

/* The first call comes while there is one thread. Volatile: to the compiler dlsym() is a leaf, which calls nothing here. */
static volatile bool resolving;
static void *early; /* a block for dlsym() of glibc before 2.34, in programs with libpthread */
static size_t early_bytes;

/* Not in all C libraries. */
extern void *__libc_calloc(size_t members, size_t n)
	__attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

static void count_early(void);

static void resolve(void)
{
	if (real_malloc)
		return;
	resolving = true;
	resolve_one(&real_calloc, "calloc");
	resolve_one(&real_realloc, "realloc");
	resolve_one(&real_free, "free");
	resolve_one(&real_memalign, "memalign");
	resolve_one(&real_posix_memalign, "posix_memalign");
	resolve_one(&real_aligned_alloc, "aligned_alloc");
	resolve_one(&real_valloc, "valloc");
	resolve_one(&real_pvalloc, "pvalloc");
	make_of_others();
	resolve_one(&real_malloc, "malloc");
	resolving = false;
	open_account();
	count_early();
}

/* ---- the account; all of this with the lock held ---- */

static bool begin(void)
{
	if (!count || (pid_t)syscall(SYS_getpid) != owner)
		return false;
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		;
	return true;
}

static void end(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void add(enum exact which)
{
	count[which]++;
}

static uint32_t home(uint64_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 41);
}

/* The bucket of a block, or the free one for it. */
static uint32_t find(uint64_t address)
{
	uint32_t i = home(address);

	while (table[i].address && table[i].address != address)
		i = (i + 1) % TABLE_SLOTS;
	return i;
}

/* Empties a bucket and closes the gap in its chain. */
static void clear(uint32_t gap)
{
	for (uint32_t i = (gap + 1) % TABLE_SLOTS; table[i].address; i = (i + 1) % TABLE_SLOTS) {
		const uint32_t from_home = (i - home(table[i].address)) % TABLE_SLOTS;

		if (from_home < (i - gap) % TABLE_SLOTS)
			continue;
		table[gap] = table[i];
		gap = i;
	}
	table[gap] = (struct slot){ 0 };
}

static void take_block(const void *p, enum exact if_unknown)
{
	const uint32_t i = find((uintptr_t)p);

	if (!table[i].address) {
		add(if_unknown);
		return;
	}
	count[LIVE] -= table[i].size;
	count[BLOCKS]--;
	clear(i);
}

static void put_block(const void *p, size_t size)
{
	uint32_t i = find((uintptr_t)p);

	if (table[i].address) {
		add(IMPLIED);
		take_block(p, UNKNOWN);
		i = find((uintptr_t)p);
	}
	if (count[BLOCKS] > TABLE_SLOTS / 2) {
		add(FULL);
		return;
	}
	table[i] = (struct slot){ (uintptr_t)p, size };
	count[LIVE] += size;
	count[BLOCKS]++;
	if (count[LIVE] > count[PEAK])
		count[PEAK] = (uint64_t)count[LIVE];
}

/* ---- calls ---- */

static void *gave(enum exact which, void *p, size_t size)
{
	const int saved = errno;

	if (!begin())
		return p;
	if (operator_new.which != MALLOC && (which == MALLOC || which == ALIGNED)) {
		which = operator_new.which;
		size = operator_new.size;
		operator_new.which = MALLOC;
	}
	add(which);
	if (p)
		put_block(p, size);
	else
		add(FAILED);
	end();
	errno = saved;
	return p;
}

EXPORT void *malloc(size_t n)
{
	resolve();
	return gave(MALLOC, real_malloc(n), n);
}

/* The linker's: where this library begins. */
extern const char __ehdr_start[]
	__attribute__((visibility("hidden"))); // NOLINT(bugprone-reserved-identifier)

/* It is this library's own, but a library in front of this one, as the recorder is, has seen it. */
static void count_early(void)
{
	Dl_info front;

	if (early && dladdr(dlsym(RTLD_DEFAULT, "calloc"), &front) && front.dli_fbase != (void *)__ehdr_start)
		gave(CALLOC, early, early_bytes);
}

EXPORT void *calloc(size_t members, size_t n)
{
	if (resolving) {
		early_bytes = members * n;
		return early = __libc_calloc ? __libc_calloc(members, n) : NULL;
	}
	resolve();
	return gave(CALLOC, real_calloc(members, n), members * n);
}

/* Holds the lock across realloc: another thread may get the old address as soon as realloc frees it. */
static void *resize(void *old, size_t n)
{
	const bool counting = begin();
	void *p = real_realloc(old, n);

	if (!counting)
		return p;
	if (!p && n == 0) {
		add(REALLOC_ZERO);
		take_block(old, UNKNOWN);
	} else {
		add(REALLOC_BLOCK);
		if (p) {
			/* One change of the live bytes: the peak never includes both blocks. */
			take_block(old, UNKNOWN);
			put_block(p, n);
		} else {
			add(FAILED);
			add(FAILED_RESIZE);
		}
	}
	end();
	return p;
}

EXPORT void *realloc(void *old, size_t n)
{
	resolve();
	if (!old)
		return gave(REALLOC_NULL, real_realloc(NULL, n), n);
	return resize(old, n);
}

EXPORT void *reallocarray(void *old, size_t members, size_t n)
{
	size_t bytes;

	if (!__builtin_mul_overflow(members, n, &bytes))
		return realloc(old, bytes);
	resolve();
	gave(OVERFLOWED, NULL, 0);
	errno = ENOMEM;
	return NULL;
}

EXPORT void free(void *p)
{
	const int saved = errno;

	resolve();
	if (begin()) {
		add(p ? FREE : FREE_NULL);
		if (p)
			take_block(p, UNKNOWN);
		end();
	}
	real_free(p);
	errno = saved;
}

EXPORT void *memalign(size_t alignment, size_t n)
{
	resolve();
	return gave(ALIGNED, real_memalign(alignment, n), n);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t n)
{
	int error;

	resolve();
	error = real_posix_memalign(block, alignment, n);
	gave(ALIGNED, error ? NULL : *block, n);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
	resolve();
	return gave(ALIGNED, real_aligned_alloc(alignment, n), n);
}

EXPORT void *valloc(size_t n)
{
	resolve();
	return gave(ALIGNED, real_valloc(n), n);
}

EXPORT void *pvalloc(size_t n)
{
	resolve();
	return gave(ALIGNED, real_pvalloc(n), n);
}

/* ---- operators ---- */

#define OPERATOR(name, which_, params, args)                                                                 \
	EXPORT void *name params;                                                                            \
	EXPORT void *name params                                                                             \
	{                                                                                                    \
		static void *(*real)params;                                                                  \
		void *p;                                                                                     \
                                                                                                             \
		if (!real)                                                                                   \
			resolve_one(&real, #name);                                                           \
		if (operator_new.which == MALLOC) {                                                          \
			operator_new.which = which_;                                                         \
			operator_new.size = size;                                                            \
		}                                                                                            \
		p = real args;                                                                               \
		operator_new.which = MALLOC;                                                                 \
		return p;                                                                                    \
	}

OPERATOR(_Znwm, NEW, (size_t size), (size))
OPERATOR(_Znam, NEW_ARRAY, (size_t size), (size))
OPERATOR(_ZnwmRKSt9nothrow_t, NEW, (size_t size, const void *tag), (size, tag))
OPERATOR(_ZnamRKSt9nothrow_t, NEW_ARRAY, (size_t size, const void *tag), (size, tag))
OPERATOR(_ZnwmSt11align_val_t, NEW, (size_t size, size_t align), (size, align))
OPERATOR(_ZnamSt11align_val_t, NEW_ARRAY, (size_t size, size_t align), (size, align))
OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t, NEW, (size_t size, size_t align, const void *tag),
	 (size, align, tag))
OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t, NEW_ARRAY, (size_t size, size_t align, const void *tag),
	 (size, align, tag))

/* ---- the environment ---- */

extern char **environ;

static void drop(const char *name)
{
	const size_t n = strlen(name);
	char **to = environ;

	for (char **from = environ; *from; from++) {
		if (strncmp(*from, name, n) != 0 || (*from)[n] != '=')
			*to++ = *from;
	}
	*to = NULL;
}

/* Removes the library from LD_PRELOAD in place, without an allocation. */
__attribute__((constructor)) static void hide(void)
{
	resolve();
	if (skipped())
		return;
	drop("LD_PRELOAD");
	drop("EXACT_OUT");
	drop("EXACT_SKIP");
}
