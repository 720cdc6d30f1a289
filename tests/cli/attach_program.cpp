/* SPDX-License-Identifier: MIT */
/*
 * A program that msrec attaches to. `attach_program N [PLUGIN]` starts N threads that allocate, and obeys lines on standard
 * input, each answered with a line:
 *
 *   run K      each thread makes K rounds, then all stand still; "ok"
 *   free [US]  threads run until the next command, with a pause of US microseconds behind each hundred rounds, and
 *              meanwhile the program forks, loads and unloads PLUGIN, throws, switches stacks, and takes signals; "ok"
 *   halt       ends that; "ok"
 *   account    calls of malloc, calloc, realloc of a block, aligned_alloc, operator new[], and frees of blocks, since the
 *              last account, and the bytes asked for; a line of numbers
 *   check      "right" if all blocks held what was written to them, all children succeeded, all exceptions were caught, and
 *              signals came; else what is wrong
 *
 * A block is filled with its own byte, which is looked at before it goes.
 */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum kind { MALLOC, CALLOC, REALLOC, ALIGNED, NEW, FREE, KINDS };

#define SLOTS 64u

struct block {
	unsigned char *p;
	size_t size;
	unsigned char fill;
	bool from_new;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t counts[KINDS], bytes;
	block blocks[SLOTS];
};

static worker *workers;
static unsigned n_workers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t wanted, generation; /* rounds of this generation */
static unsigned standing, pause_us;
static std::atomic<bool> free_running{ false };
static std::atomic<uint64_t> spoilt{ 0 }, failed_children{ 0 }, children{ 0 }, caught{ 0 }, thrown{ 0 },
	signals{ 0 }, lost_errno{ 0 }, coroutines{ 0 }, switches{ 0 };

/* ---- blocks ---- */

static uint64_t draw(worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void look_at(const block *b)
{
	if (b->p && (b->p[0] != b->fill || b->p[b->size - 1] != b->fill))
		spoilt++;
}

static void fill(worker *w, block *b, unsigned char *p, size_t size, kind k)
{
	b->p = p;
	b->size = size;
	b->fill = static_cast<unsigned char>(draw(w));
	b->from_new = k == NEW;
	memset(p, b->fill, size);
	w->counts[k]++;
	w->bytes += size;
}

static void drop(worker *w, block *b)
{
	if (!b->p)
		return;
	look_at(b);
	if (b->from_new)
		delete[] b->p;
	else
		free(b->p);
	w->counts[FREE]++;
	b->p = nullptr;
}

__attribute__((noinline)) static void one_round(worker *w)
{
	block *const b = &w->blocks[draw(w) % SLOTS];
	const size_t size = 1 + draw(w) % (draw(w) % 32 == 0 ? 200000 : 300);
	const unsigned what = draw(w) % 6;

	if (what == 2 && b->p && !b->from_new) {
		look_at(b);
		fill(w, b, static_cast<unsigned char *>(realloc(b->p, size)), size, REALLOC);
		return;
	}
	drop(w, b);
	if (what == 1)
		fill(w, b, static_cast<unsigned char *>(calloc(1, size)), size, CALLOC);
	else if (what == 3)
		fill(w, b, static_cast<unsigned char *>(aligned_alloc(64, size)), size, ALIGNED);
	else if (what == 4)
		fill(w, b, new unsigned char[size], size, NEW);
	else if (what != 5)
		fill(w, b, static_cast<unsigned char *>(malloc(size)), size, MALLOC);
}

/* ---- threads ---- */

static void *work(void *context)
{
	worker *const w = static_cast<worker *>(context);
	uint64_t seen = 0;

	for (;;) {
		uint64_t rounds;

		pthread_mutex_lock(&lock);
		standing++;
		pthread_cond_broadcast(&changed);
		while (generation == seen)
			pthread_cond_wait(&changed, &lock);
		seen = generation;
		rounds = wanted;
		pthread_mutex_unlock(&lock);
		for (uint64_t i = 0; i < rounds || (rounds == 0 && free_running); i++) {
			one_round(w);
			if (pause_us && i % 100 == 99)
				usleep(pause_us);
		}
	}
	return nullptr;
}

static void await_all()
{
	pthread_mutex_lock(&lock);
	while (standing < n_workers)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void start(uint64_t rounds)
{
	pthread_mutex_lock(&lock);
	standing = 0;
	wanted = rounds;
	generation++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* ---- commotion ---- */

static void handle(int)
{
	signals++;
}

static void fork_one()
{
	const pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		worker own = {};

		own.random = 88172645463325252u;
		for (int i = 0; i < 200; i++)
			one_round(&own);
		for (block &b : own.blocks)
			drop(&own, &b);
		_exit(spoilt != 0);
	}
	children++;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	failed_children += status != 0;
}

__attribute__((noinline)) static void throw_one()
{
	char *const p = new char[100];

	thrown++;
	try {
		throw std::runtime_error(std::string(50, 'x'));
	} catch (const std::exception &e) {
		caught += strlen(e.what()) == 50;
	}
	delete[] p;
}

static ucontext_t outer, inner;

static void run_coroutine()
{
	worker own = {};

	own.random = 88172645463325252u;
	for (int i = 0; i < 200; i++) {
		one_round(&own);
		if (i % 10 == 0)
			swapcontext(&inner, &outer);
	}
	for (block &b : own.blocks)
		drop(&own, &b);
	switches++;
}

/* A coroutine with a small stack of its own, which allocates between twenty switches. */
static void switch_stacks()
{
	static char stack[32768];

	getcontext(&inner);
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = sizeof(stack);
	inner.uc_link = &outer;
	makecontext(&inner, run_coroutine, 0);
	for (int i = 0; i <= 20; i++)
		swapcontext(&outer, &inner);
	coroutines++;
}

static void *commotion(void *plugin)
{
	while (free_running) {
		void *const handle = plugin ? dlopen(static_cast<const char *>(plugin), RTLD_NOW) : nullptr;

		errno = 12345;
		throw_one();
		switch_stacks();
		fork_one();
		if (handle)
			dlclose(handle);
		usleep(2000);
	}
	return nullptr;
}

/* A thread that only looks whether a stop changes what it has in its registers, errno and vector registers. */
static void *watch(void *)
{
	while (free_running) {
		volatile double product = 1;

		errno = 4711;
		for (int i = 0; i < 1000; i++)
			product = product * 1.0001 + 0.5;
		usleep(100);
		errno = 4711;
		for (volatile int i = 0; i < 20000; i = i + 1)
			;
		lost_errno += errno != 4711;
	}
	return nullptr;
}

/* ---- commands ---- */

static void account()
{
	uint64_t counts[KINDS] = {}, bytes = 0;

	for (unsigned i = 0; i < n_workers; i++) {
		for (unsigned k = 0; k < KINDS; k++) {
			counts[k] += workers[i].counts[k];
			workers[i].counts[k] = 0;
		}
		bytes += workers[i].bytes;
		workers[i].bytes = 0;
	}
	for (uint64_t count : counts)
		printf("%llu ", static_cast<unsigned long long>(count));
	printf("%llu\n", static_cast<unsigned long long>(bytes));
}

static void check(bool moved)
{
	if (spoilt || failed_children || caught != thrown || switches != coroutines || lost_errno ||
	    (moved && (!signals || !children || !coroutines)))
		printf("spoilt %llu, failed children %llu of %llu, caught %llu of %llu, coroutines ended %llu of %llu, "
		       "errno lost %llu, signals %llu\n",
		       static_cast<unsigned long long>(spoilt),
		       static_cast<unsigned long long>(failed_children),
		       static_cast<unsigned long long>(children), static_cast<unsigned long long>(caught),
		       static_cast<unsigned long long>(thrown), static_cast<unsigned long long>(switches),
		       static_cast<unsigned long long>(coroutines),
		       static_cast<unsigned long long>(lost_errno), static_cast<unsigned long long>(signals));
	else
		puts("right");
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = {};
	pthread_t mover, watcher;
	struct sigaction action = {};
	bool moved = false;
	char line[100];

	action.sa_handler = handle;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, nullptr);
	n_workers = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1;
	workers = new worker[n_workers]();
	for (unsigned i = 0; i < n_workers; i++) {
		workers[i].random = 88172645463325252u + i * 7919;
		pthread_create(&workers[i].thread, nullptr, work, &workers[i]);
	}
	await_all();
	setvbuf(stdout, nullptr, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long long rounds;

		if (sscanf(line, "run %llu", &rounds) == 1) {
			start(rounds);
			await_all();
			puts("ok");
		} else if (strncmp(line, "free", 4) == 0) {
			pause_us = static_cast<unsigned>(atoi(line + 4));
			free_running = moved = true;
			setitimer(ITIMER_REAL, &often, nullptr);
			pthread_create(&mover, nullptr, commotion, argc > 2 ? argv[2] : nullptr);
			pthread_create(&watcher, nullptr, watch, nullptr);
			start(0);
			puts("ok");
		} else if (strncmp(line, "halt", 4) == 0) {
			free_running = false;
			setitimer(ITIMER_REAL, &never, nullptr);
			pthread_join(mover, nullptr);
			pthread_join(watcher, nullptr);
			await_all();
			puts("ok");
		} else if (strncmp(line, "account", 7) == 0) {
			account();
		} else {
			check(moved);
		}
	}
	return 0;
}
