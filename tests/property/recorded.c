/* SPDX-License-Identifier: MIT */
/*
 * Random calls of the malloc family, from stacks of random depth, by threads that exchange blocks:
 *
 *   recorded SEED CALLS THREADS FORKS LOG
 *
 * The first thread makes CALLS calls, forks, and repeats this FORKS times; each child goes on likewise with this
 * thread alone. The other threads make as many calls meanwhile; with odd seeds no thread is inside a call at a
 * fork. In the end each process writes an array of struct entry to LOG.PID: its inherited and its own calls.
 */
#include <alloca.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 256u
#define THREADS_MOST 64u
#define ROUNDS_MOST 8u /* one more than forks */
#define TOO_LARGE ((size_t)1 << 62)
#define NO_BLOCK UINT64_MAX

/* One call. A block's name is its thread and a number. */
struct entry {
	uint64_t thread, tid;     /* its number here, and the kernel's */
	uint64_t op, size, align; /* op: a letter, see CALLS in recorded.py */
	uint64_t old, new;        /* blocks */
	uint64_t depth;           /* of the stack, from the thread's own beginning */
	uint64_t in_place;
};

/* A block that any thread may take. */
struct slot {
	atomic_flag busy;
	void *p;
	uint64_t block;
};

struct self {
	struct entry *log; /* [n] */
	uint64_t n, wanted, blocks, random;
	uint64_t number;
	pid_t tid;
};

static struct slot slots[SLOTS];
static struct self selves[THREADS_MOST];
static _Thread_local struct self *me;

static void fail(const char *what)
{
	perror(what);
	_exit(3);
}

static uint64_t number_below(uint64_t n)
{
	uint64_t x = me->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	me->random = x;
	return x % n;
}

static size_t random_size(void)
{
	switch (number_below(8)) {
	case 0:
		return number_below(4);
	case 1:
		return number_below(200000);
	case 2:
		return (size_t)1 << number_below(18);
	case 3:
		return number_below(64) ? 24 : 3000000 + number_below(9999999);
	default:
		return number_below(600);
	}
}

/* ---- calls ---- */

/* Writes the whole entry before counting it: a fork may interrupt this thread anywhere. */
static void note(char op, size_t size, size_t align, unsigned depth, uint64_t old, uint64_t new,
		 bool in_place)
{
	me->log[me->n] = (struct entry){ .thread = me->number,
					 .tid = (uint64_t)me->tid,
					 .op = (uint64_t)op,
					 .size = size,
					 .align = align,
					 .old = old,
					 .new = new,
					 .depth = depth,
					 .in_place = in_place };
	atomic_signal_fence(memory_order_seq_cst);
	me->n++;
	atomic_signal_fence(memory_order_seq_cst);
}

static uint64_t new_block(void)
{
	return me->number << 40 | me->blocks++;
}

static void take(struct slot *slot, unsigned depth)
{
	note('f', 0, 0, depth, slot->block, NO_BLOCK, false);
	free(slot->p);
	slot->p = NULL;
}

static __attribute__((noinline)) void change(struct slot *slot, bool array, unsigned depth)
{
	const size_t size = random_size() + 1;
	void *const p = array ? reallocarray(slot->p, 1, size) : realloc(slot->p, size);
	const uint64_t old = slot->block;

	if (!p)
		fail("realloc");
	slot->block = new_block();
	note(array ? 'y' : 'r', size, 0, depth, old, slot->block, p == slot->p);
	slot->p = p;
	__asm__ volatile("" ::: "memory"); /* no tail call, here and below */
}

static __attribute__((noinline)) void change_to_nothing(struct slot *slot, unsigned depth)
{
	note('z', 0, 0, depth, slot->block, NO_BLOCK, false);
	if (realloc(slot->p, 0))
		fail("realloc to nothing");
	slot->p = NULL;
}

static __attribute__((noinline)) void fail_to_change(struct slot *slot, unsigned depth)
{
	note('k', TOO_LARGE, 0, depth, slot->block, NO_BLOCK, false);
	if (realloc(slot->p, TOO_LARGE))
		fail("too large");
}

static __attribute__((noinline)) void fail_to_make(unsigned depth)
{
	void *volatile p = malloc(TOO_LARGE);

	note('F', TOO_LARGE, 0, depth, NO_BLOCK, NO_BLOCK, false);
	if (p)
		fail("too large");
}

static __attribute__((noinline)) void *make_block(char op, size_t size, size_t align)
{
	void *volatile p = NULL;

	switch (op) {
	case 'c':
		return p = calloc(size, 1);
	case 'R':
		return p = realloc(p, size);
	case 'm':
		return p = memalign(align, size);
	case 'p':
		return posix_memalign((void **)&p, align, size) ? NULL : p;
	case 'a':
		return p = aligned_alloc(align, size);
	case 'v':
		return p = valloc(size);
	case 'w':
		return p = pvalloc(size);
	default:
		return p = malloc(size);
	}
}

static __attribute__((noinline)) void make(struct slot *slot, unsigned depth)
{
	static const char ops[] = "MMMcRmpavw";
	const char op = ops[number_below(sizeof(ops) - 1)];
	const bool aligned = op == 'm' || op == 'p' || op == 'a';
	const size_t size = random_size(), align = aligned ? (size_t)16 << number_below(9) : 0;

	slot->p = make_block(op, size, align);
	if (!slot->p)
		fail("make_block");
	slot->block = new_block();
	note(op, size, align, depth + 1, NO_BLOCK, slot->block, false);
}

static __attribute__((noinline)) void call(unsigned depth)
{
	const uint64_t what = number_below(100);
	struct slot *slot;

	do
		slot = &slots[number_below(SLOTS)];
	while (atomic_flag_test_and_set(&slot->busy));
	if (!slot->p && what < 5)
		fail_to_make(depth + 1);
	else if (!slot->p)
		make(slot, depth + 1);
	else if (what < 45)
		take(slot, depth + 1);
	else if (what < 90)
		change(slot, what < 50, depth + 1);
	else if (what < 93)
		change_to_nothing(slot, depth + 1);
	else if (what < 96)
		fail_to_change(slot, depth + 1);
	else
		free(NULL);
	atomic_flag_clear(&slot->busy);
}

/* ---- stacks ---- */

static __attribute__((noinline)) void deep(unsigned left, unsigned depth);

static __attribute__((noinline)) void deep_and_wide(unsigned left, unsigned depth)
{
	volatile char *const wide = alloca(1 + number_below(100));

	*wide = 1;
	deep(left, depth + 1);
	__asm__ volatile("" ::"r"(wide) : "memory");
}

static __attribute__((noinline)) void deep(unsigned left, unsigned depth)
{
	if (left == 0) {
		for (uint64_t n = number_below(4); n-- > 0;)
			call(depth + 1);
	} else if (left % 3 == 0) {
		deep_and_wide(left - 1, depth + 1);
	} else {
		deep(left - 1, depth + 1);
	}
	__asm__ volatile("" ::: "memory");
}

static void run(void)
{
	unsigned left = 0;

	while (me->n < me->wanted) {
		if (number_below(3) == 0)
			left = (unsigned)number_below(40);
		deep(left, 0);
	}
}

static void *run_thread(void *self)
{
	me = self;
	me->tid = gettid();
	run();
	return NULL;
}

/* ---- forks ---- */

static bool fork_in_order; /* no other thread is inside a call then */

static void before_fork(void)
{
	for (unsigned i = 0; fork_in_order && i < SLOTS; i++) {
		while (atomic_flag_test_and_set(&slots[i].busy))
			;
	}
}

static void after_fork(void)
{
	for (unsigned i = 0; fork_in_order && i < SLOTS; i++)
		atomic_flag_clear(&slots[i].busy);
}

static void register_handlers(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* Registered before those of any library. */
static void (*const preinit)(void) __attribute__((used, section(".preinit_array"))) = register_handlers;

/* ---- the program ---- */

static void run_and_fork(unsigned forks)
{
	const uint64_t more = me->wanted;

	run();
	for (; forks > 0; forks--) {
		const pid_t child = fork();

		if (child < 0)
			fail("fork");
		me->tid = gettid();
		me->random += child ? 0 : 7919 * forks;
		me->wanted += more;
		run();
		if (child && number_below(2))
			waitpid(child, NULL, 0);
	}
}

static void run_all(unsigned n, unsigned forks)
{
	const pid_t first = getpid();
	pthread_t threads[THREADS_MOST];

	for (unsigned i = 1; i < n; i++) {
		selves[i].wanted *= forks + 1;
		if (pthread_create(&threads[i], NULL, run_thread, &selves[i]))
			fail("pthread_create");
	}
	run_and_fork(forks);
	for (unsigned i = 1; i < n && getpid() == first; i++)
		pthread_join(threads[i], NULL);
	while (wait(NULL) > 0)
		;
}

static void write_log(const char *path)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s.%d", path, getpid());
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		const char *at = (const char *)selves[i].log, *end = at + selves[i].n * sizeof(struct entry);

		while (at < end) {
			const ssize_t n = write(fd, at, (size_t)(end - at));

			if (n <= 0)
				fail(name);
			at += n;
		}
	}
	close(fd);
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc == 6 ? strtoull(argv[1], NULL, 0) : 0;
	const unsigned threads = argc == 6 ? (unsigned)atoi(argv[3]) : 0;
	const unsigned forks = argc == 6 ? (unsigned)atoi(argv[4]) : 0;
	size_t log_bytes;

	if (threads < 1 || threads > THREADS_MOST || forks >= ROUNDS_MOST)
		return 64;
	log_bytes = (strtoull(argv[2], NULL, 0) + 8) * (forks + 1) * sizeof(struct entry);
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		selves[i].number = i;
		selves[i].wanted = strtoull(argv[2], NULL, 0);
		selves[i].random = seed * 7919 + i * 104729 + 1;
		selves[i].log = mmap(NULL, log_bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (selves[i].log == MAP_FAILED)
			fail("mmap");
	}
	fork_in_order = seed % 2;
	me = &selves[0];
	me->tid = gettid();
	run_all(threads, forks);
	write_log(argv[5]);
	_exit(0);
}
