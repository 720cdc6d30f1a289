/* SPDX-License-Identifier: MIT */
/*
 * Calls the allocator that is linked into it, from two threads that also free each other's blocks, and keeps an account by
 * libgcc's unwinder. Prints a line for each stack: calls, bytes, the function that called, and the places in its callers;
 * then the calls of each kind, frees, and what is live. With a prefix (-DPREFIX=mi_) it uses functions of those names;
 * -DWAIT: it waits for a line first.
 */
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 40u
#define STACKS 4096u
#define SLOTS 512u
#define NOINLINE __attribute__((noinline, noclone))

#ifdef PREFIX
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(name) JOIN(PREFIX, name)
void *CALL(malloc)(size_t);
void *CALL(calloc)(size_t, size_t);
void *CALL(realloc)(void *, size_t);
void CALL(free)(void *);
#else
#define CALL(name) name
#endif

#ifdef JEMALLOC
void *mallocx(size_t, int);
void *rallocx(void *, size_t, int);
void sdallocx(void *, size_t, int);
void dallocx(void *, int);
#endif

/* ---- the account ---- */

enum kind { MALLOC, CALLOC, REALLOC_NULL, REALLOC_BLOCK, ALIGNED, POSIX, FREE, NULLS, KINDS };

struct stack {
	uintptr_t pc[FRAMES];
	unsigned n;
	uint64_t calls, bytes;
};

static struct stack *stacks; /* mapped, not allocated */
static unsigned n_stacks;
static uint64_t counts[KINDS], live_bytes, live_blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct _Unwind_Context;
int _Unwind_Backtrace(int (*)(struct _Unwind_Context *, void *), void *);
uintptr_t _Unwind_GetIP(struct _Unwind_Context *);

static int add_frame(struct _Unwind_Context *context, void *data)
{
	struct stack *stack = data;

	if (_Unwind_GetIP(context) && stack->n < FRAMES)
		stack->pc[stack->n++] = _Unwind_GetIP(context);
	return 0;
}

/* Of a call that `function`, the caller of this one, makes. */
NOINLINE static void note(enum kind kind, uintptr_t function, size_t size)
{
	struct stack now = { .n = 0 };
	unsigned i = 0;

	_Unwind_Backtrace(add_frame, &now);
	/* The first frame is this function's, the second one becomes its function's. */
	now.n--;
	memmove(now.pc, now.pc + 1, now.n * sizeof(*now.pc));
	now.pc[0] = function;
	pthread_mutex_lock(&lock);
	while (i < n_stacks &&
	       (stacks[i].n != now.n || memcmp(stacks[i].pc, now.pc, now.n * sizeof(*now.pc))))
		i++;
	if (i == STACKS)
		abort();
	if (i == n_stacks)
		stacks[n_stacks++] = now;
	stacks[i].calls++;
	stacks[i].bytes += size;
	counts[kind]++;
	pthread_mutex_unlock(&lock);
}

static void note_block(int64_t blocks, int64_t bytes)
{
	pthread_mutex_lock(&lock);
	live_blocks += (uint64_t)blocks;
	live_bytes += (uint64_t)bytes;
	pthread_mutex_unlock(&lock);
}

/* ---- calls, one in each function ---- */

static void *keep(void *p, size_t size)
{
	if (!p)
		abort();
	memset(p, 0x5a, size);
	note_block(1, (int64_t)size);
	return p;
}

NOINLINE static void *by_malloc(size_t size)
{
	note(MALLOC, (uintptr_t)by_malloc, size);
	return keep(CALL(malloc)(size), size);
}

NOINLINE static void *by_calloc(size_t size)
{
	unsigned char *p;

	note(CALLOC, (uintptr_t)by_calloc, size);
	p = CALL(calloc)(1, size);
	for (size_t i = 0; i < size; i++) {
		if (p[i])
			abort();
	}
	return keep(p, size);
}

NOINLINE static void *by_realloc(void *old, size_t before, size_t size)
{
	note(old ? REALLOC_BLOCK : REALLOC_NULL, (uintptr_t)by_realloc, size);
	note_block(old ? -1 : 0, -(int64_t)before);
	return keep(CALL(realloc)(old, size), size);
}

#ifdef PREFIX
#define by_aligned by_malloc
#define by_posix by_calloc
#else
NOINLINE static void *by_aligned(size_t size)
{
	size = (size + 63) / 64 * 64;
	note(ALIGNED, (uintptr_t)by_aligned, size);
	return keep(aligned_alloc(64, size), size);
}

NOINLINE static void *by_posix(size_t size)
{
	void *p = NULL;

	note(POSIX, (uintptr_t)by_posix, size);
	if (posix_memalign(&p, 4096, size))
		abort();
	return keep(p, size);
}
#endif

#ifdef JEMALLOC
NOINLINE static void *by_mallocx(size_t size)
{
	note(MALLOC, (uintptr_t)by_mallocx, size);
	return keep(mallocx(size, 0), size);
}

NOINLINE static void *by_rallocx(void *old, size_t before, size_t size)
{
	note(REALLOC_BLOCK, (uintptr_t)by_rallocx, size);
	note_block(-1, -(int64_t)before);
	return keep(rallocx(old, size, 0), size);
}
#endif

/* ---- work ---- */

struct block {
	void *p;
	size_t size;
	bool aligned; /* jemalloc's own functions would have to be told */
};

static struct block shared[SLOTS];

static struct block swap(unsigned slot, struct block block)
{
	struct block before;

	pthread_mutex_lock(&lock);
	before = shared[slot];
	shared[slot] = block;
	pthread_mutex_unlock(&lock);
	return before;
}

static void release(struct block block, unsigned how)
{
	pthread_mutex_lock(&lock);
	counts[block.p ? FREE : NULLS]++;
	pthread_mutex_unlock(&lock);
	note_block(block.p ? -1 : 0, -(int64_t)block.size);
#ifdef JEMALLOC
	if (block.p && !block.aligned && how % 3 == 0)
		sdallocx(block.p, block.size, 0);
	else if (block.p && !block.aligned && how % 3 == 1)
		dallocx(block.p, 0);
	else
#endif
		CALL(free)(block.p);
	(void)how;
}

static struct block take(uint32_t random)
{
	struct block b = { .size = 1 + random % 3000 };

	switch (random >> 16 & 7) {
	case 0:
		b.size = (b.size + 63) / 64 * 64;
		b.p = by_aligned(b.size);
		b.aligned = true;
		break;
	case 1:
		b.p = by_posix(b.size);
		b.aligned = true;
		break;
	case 2:
		b.p = by_calloc(b.size);
		break;
	case 3:
		b.p = by_realloc(NULL, 0, b.size);
		break;
	case 4:
		b.p = by_realloc(by_malloc(7), 7, b.size *= 40);
		break;
#ifdef JEMALLOC
	case 5:
		b.p = by_rallocx(by_mallocx(b.size), b.size, b.size + 100);
		b.size += 100;
		break;
#endif
	default:
		b.p = by_malloc(b.size);
	}
	return b;
}

/* Recursion makes many stacks of a few places. */
NOINLINE static struct block descend(unsigned depth, uint32_t random)
{
	volatile unsigned here = depth;
	struct block b = here == 0 ? take(random) : descend(depth - 1, random * 747796405u + 1);

	__asm__ volatile("" : : "r"(&here) : "memory");
	return b;
}

static void *work(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	for (unsigned i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		release(swap(random >> 8 & (SLOTS - 1), descend(random >> 24 & 7, random)), i);
	}
	return NULL;
}

/* ---- results ---- */

/* Without libc's buffers, which are allocated. */
static void say(const char *format, ...)
{
	char text[200];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (n < 0 || write(1, text, (size_t)n) != n)
		abort();
}

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uintptr_t *)data = info->dlpi_addr;
	return 1;
}

static void print(void)
{
	static const char *const names[KINDS] = { "malloc",        "calloc",        "realloc",
						  "realloc_block", "aligned_alloc", "posix_memalign",
						  "free",          "null_free" };
	uintptr_t base = 0;

	dl_iterate_phdr(first_object, &base);
	for (unsigned i = 0; i < n_stacks; i++) {
		say("stack %lu %lu", stacks[i].calls, stacks[i].bytes);
		for (unsigned k = 0; k < stacks[i].n; k++)
			say(" %lx", stacks[i].pc[k] - base);
		say("\n");
	}
	for (unsigned i = 0; i < KINDS; i++)
		say("count %s %lu\n", names[i], counts[i]);
	say("live %lu %lu\n", live_bytes, live_blocks);
}

int main(int argc, char **argv)
{
	pthread_t other;

#ifdef WAIT
	(void)getchar(); /* until msrec is attached */
#endif
	stacks = mmap(NULL, STACKS * sizeof(*stacks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (stacks == MAP_FAILED || pthread_create(&other, NULL, work, (void *)1) != 0)
		return 1;
	work((void *)2);
	pthread_join(other, NULL);
	if (argc > 1 && strcmp(argv[1], "fork") == 0 && fork() != 0) {
		int status = 1;

		return wait(&status) < 0 || status;
	}
	if (argc > 1)
		work((void *)3);
	print();
	return 0;
}
