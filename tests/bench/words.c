/* SPDX-License-Identifier: MIT */
/*
 * Threads that work: words BUSY WORDS [IDLE]. Each of BUSY threads counts the words of a text, WORDS of them, in a table
 * that it makes anew every 10,000 words: an entry and a copy of the word for each new one, all freed with the table.
 * IDLE threads more have made a call each, and live until the others are done. Prints calls= and their number, call= and
 * the wall time of one in nanoseconds, the work included.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_WORDS 65536u
#define VOCABULARY 5000u
#define WORD_MOST 12u
#define TABLE_WORDS 10000
#define BUCKETS 4096u
#define THREADS_MOST 4096

struct entry {
	struct entry *next;
	char *word;
	long n;
};

static char text[TEXT_WORDS][WORD_MOST + 1];
static long words;
static _Atomic long calls;
static pthread_barrier_t all_live, all_done;

static uint64_t mixed(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

static void make_text(void)
{
	for (uint32_t i = 0; i < TEXT_WORDS; i++) {
		uint64_t letters = mixed(mixed(i) % VOCABULARY);
		const uint32_t n = 3 + letters % (WORD_MOST - 2);

		for (uint32_t k = 0; k < n; k++, letters /= 26)
			text[i][k] = (char)('a' + letters % 26);
	}
}

static __attribute__((noinline)) struct entry *make_entry(const char *word, struct entry *next)
{
	struct entry *entry = malloc(sizeof(*entry));

	*entry = (struct entry){ .next = next, .word = strdup(word) };
	return entry;
}

static __attribute__((noinline)) struct entry *find(struct entry **table, const char *word)
{
	uint32_t hash = 2166136261u;
	struct entry *entry;

	for (const char *c = word; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	entry = table[hash % BUCKETS];
	while (entry && strcmp(entry->word, word) != 0)
		entry = entry->next;
	if (!entry)
		entry = table[hash % BUCKETS] = make_entry(word, table[hash % BUCKETS]);
	return entry;
}

/* How many entries there were. */
static __attribute__((noinline)) long drop(struct entry **table)
{
	long n = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct entry *entry = table[i], *next; entry; entry = next, n++) {
			next = entry->next;
			free(entry->word);
			free(entry);
		}
	}
	free(table);
	return n;
}

static __attribute__((noinline)) long count_words(uint32_t at)
{
	long n = 0;

	for (long done = 0; done < words; done += TABLE_WORDS) {
		struct entry **table = calloc(BUCKETS, sizeof(struct entry *));

		for (long i = 0; i < TABLE_WORDS; i++)
			find(table, text[at++ % TEXT_WORDS])->n++;
		n += 4 * drop(table) + 2;
	}
	return n;
}

static void *work(void *seed)
{
	free(malloc(1));
	pthread_barrier_wait(&all_live);
	calls += count_words((uint32_t)mixed((uintptr_t)seed));
	pthread_barrier_wait(&all_done);
	return NULL;
}

static void *idle(void *unused)
{
	free(malloc(1));
	pthread_barrier_wait(&all_live);
	pthread_barrier_wait(&all_done);
	return unused;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MOST];
	const int busy = argc >= 3 ? atoi(argv[1]) : 0, others = argc == 4 ? atoi(argv[3]) : 0;
	struct timespec start, end;
	pthread_attr_t attr;

	if (busy < 1 || others < 0 || busy + others > THREADS_MOST)
		return 1;
	words = atol(argv[2]);
	make_text();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all_live, NULL, (unsigned)(busy + others) + 1);
	pthread_barrier_init(&all_done, NULL, (unsigned)(busy + others) + 1);
	/* The busy ones come last: those without a ring, if there are so many threads, are among them. */
	for (int i = 0; i < busy + others; i++) {
		if (pthread_create(&threads[i], &attr, i < others ? idle : work, (void *)(uintptr_t)i) != 0)
			return 1;
	}
	pthread_barrier_wait(&all_live);
	clock_gettime(CLOCK_MONOTONIC, &start);
	pthread_barrier_wait(&all_done);
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (int i = 0; i < busy + others; i++)
		pthread_join(threads[i], NULL);
	printf("calls=%ld call=%.1f\n", (long)calls,
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (double)calls);
	return 0;
}
