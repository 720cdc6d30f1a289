// SPDX-License-Identifier: MIT
/*
 * One planted fault, or what looks like one, beside ordinary work: planted FAULT [MICROSECONDS], the length of each of
 * its 400 rounds (0). Prints by how many ms the latest round was late.
 *
 * The answer is what msreport says of the function of that name (tests/cli/planted.py): cache is bounded, leak grows, so
 * does drip by little more than its noise and beside a jump, and index in the last fifth, while jump has another level
 * then; load is a step that comes back, ladder a chain of reallocs, hoist temporary, batch a sawtooth, table lives until
 * the exit, start_up once; keep() has a leak and a cache that hides it, so it is mixed; mismatch frees what new[] gave, and
 * consume what another thread allocated. work() has no fault.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 400 };

static unsigned state = 1;

static unsigned pick(unsigned most)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % most;
}

/* Of n places, a random one: as many blocks come as go. */
static void put(void **places, unsigned n, void *block)
{
	void **place = &places[pick(n)];
	free(*place);
	*place = block;
}

static void work()
{
	static void *places[40];
	for (int i = 0; i < 10; i++)
		put(places, 40, malloc(1 + pick(2000)));
}

/* Full after a fifth of the run. */
static void cache(int)
{
	static void *places[200];
	for (int i = 0; i < 12; i++)
		put(places, 200, malloc(300));
}

/* A record each fourth round, among blocks that come and go. */
static void leak(int round)
{
	static void *places[16];
	for (int i = 0; i < 5; i++) {
		const bool record = round % 4 == 0 && i == 0;
		void *block = malloc(record ? 200 : 1 + pick(500));
		if (!record)
			put(places, 16, block);
	}
}

/* The same with smaller records, and an early block that is larger than all of them. */
static void drip(int round)
{
	static void *places[16];
	const bool large = round == ROUNDS * 3 / 10;
	for (int i = 0; i < 5 + large; i++) {
		const bool record = round % 4 == 0 && i == 0;
		void *block = malloc(i == 5 ? 20000 : record ? 80 : 1 + pick(500));
		if (!record && i < 5)
			put(places, 16, block);
	}
}

/* Its pages come and go, as many of each, until the last fifth: then four stay each round. */
static void index(int round)
{
	static void *places[30];
	for (int i = 0; i < 8; i++) {
		const bool page = round >= ROUNDS * 4 / 5 && i < 4;
		void *block = malloc(page ? 400 : 1 + pick(300));
		if (!page)
			put(places, 30, block);
	}
}

/* The same, but all that stays comes at once. */
static void jump(int round)
{
	static void *places[30];
	const int more = round == ROUNDS * 4 / 5 ? 150 : 0;
	for (int i = 0; i < 8 + more; i++) {
		const bool page = i < more;
		void *block = malloc(page ? 400 : 1 + pick(300));
		if (!page)
			put(places, 30, block);
	}
}

/* Two stacks of one site, of which one grows. */
__attribute__((noinline)) static void *keep(size_t size)
{
	return malloc(size);
}

/* Full from the start: a step. */
__attribute__((noinline)) static void remember(int round)
{
	static void *places[100];
	for (int i = 0; i < (round == 0 ? 1000 : 20); i++)
		put(places, 100, keep(1 + pick(10000)));
}

__attribute__((noinline)) static void forget()
{
	static void **last;
	void **block = static_cast<void **>(keep(250));
	*block = last;
	last = block;
}

static void shared(int round)
{
	remember(round);
	if (round % 4 == 0)
		forget();
}

static void load(int round)
{
	static void *places[64];
	for (int i = 0; i < 64 && round == ROUNDS * 2 / 5; i++)
		places[i] = malloc(16384);
	for (int i = 0; i < 64 && round == ROUNDS * 7 / 10; i++)
		free(places[i]);
}

/* Each eighth of the run. */
static void ladder(int round)
{
	void *text = nullptr;
	for (size_t size = 100; size <= 40000 && round % 50 == 0; size += 100)
		text = realloc(text, size);
	free(text);
}

static void hoist(int)
{
	for (int i = 0; i < 100; i++) {
		void *scratch = malloc(512);
		free(scratch);
	}
}

/* Ends in the middle of a batch. */
static void batch(int round)
{
	static void *places[900];
	const int i = round % 90;
	for (int k = 0; k < 90 && i == 0; k++) {
		free(places[k]);
		places[k] = nullptr;
	}
	places[i] = malloc(400);
}

static void *rows[50];

static void drop_rows()
{
	for (void *row : rows)
		free(row);
}

static void table(int round)
{
	if (round != 0)
		return;
	for (void *&row : rows)
		row = malloc(600);
	atexit(drop_rows);
}

static void start_up(int round)
{
	for (int i = 0; i < 30 && round == 0; i++)
		rows[i] = malloc(700);
}

static void mismatch(int)
{
	free(new char[80]);
}

/* ---- Two threads that take turns ---- */

static sem_t made, taken;
static void *message;

static void *consume(void *)
{
	for (int i = 0; i < ROUNDS * 5; i++) {
		sem_wait(&made);
		free(message);
		sem_post(&taken);
	}
	return nullptr;
}

static void produce(int)
{
	for (int i = 0; i < 5; i++) {
		message = malloc(120);
		sem_post(&made);
		sem_wait(&taken);
	}
}

/* ---- Rounds ---- */

static long late_ms(const struct timespec *planned)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - planned->tv_sec) * 1000 + (now.tv_nsec - planned->tv_nsec) / 1000000;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*plant)(int round);
	} faults[] = { { "cache", cache },       { "leak", leak },      { "drip", drip },
		       { "index", index },       { "jump", jump },      { "shared", shared },
		       { "load", load },         { "ladder", ladder },  { "hoist", hoist },
		       { "batch", batch },       { "table", table },    { "start_up", start_up },
		       { "mismatch", mismatch }, { "produce", produce } };
	void (*plant)(int) = nullptr;
	for (auto &fault : faults)
		if (argc > 1 && strcmp(argv[1], fault.name) == 0)
			plant = fault.plant;
	if (!plant)
		return 2;
	pthread_t consumer;
	sem_init(&made, 0, 0);
	sem_init(&taken, 0, 0);
	if (plant == produce)
		pthread_create(&consumer, nullptr, consume, nullptr);
	const long pause = argc > 2 ? atol(argv[2]) * 1000 : 0;
	long latest = 0;
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int round = 0; round < ROUNDS; round++) {
		work();
		plant(round);
		next.tv_nsec += pause;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		if (pause == 0)
			continue;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr) != 0)
			continue;
		latest = late_ms(&next) > latest ? late_ms(&next) : latest;
	}
	if (plant == produce)
		pthread_join(consumer, nullptr);
	printf("%ld\n", latest);
	return 0;
}
