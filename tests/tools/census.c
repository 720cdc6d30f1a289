/* SPDX-License-Identifier: MIT */
/*
 * census PID...: takes the heap census of a process as msrec does, without attaching, and prints a line "ADDRESS BYTES" for each
 * block, "arena SYSTEM IN_USE SOUND" for each arena, and one with all figures: "blocks bytes unknown_bytes unknown_mapped
 * while_running stood_us read_us heap_bytes mapped_blocks".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attachment_plan.h"
#include "census.h"
#include "ptrace_threads.h"

#define STOP_MS 1000u

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* Returns how many blocks have a mapping of their own. */
static uint32_t print(const struct census_result *r)
{
	uint32_t mapped = 0;

	for (size_t i = 0; i < r->n_blocks; i++) {
		if (r->blocks[i].bytes)
			printf("%" PRIx64 " %" PRIu64 "\n", r->blocks[i].address, r->blocks[i].bytes);
	}
	for (uint32_t i = 0; i < r->n_mapped; i++) {
		const struct mapped_chunk *m = &r->mapped[i];

		if (mapped_chunk_is_live(m))
			printf("%" PRIx64 " %" PRIu64 "\n", m->address + sizeof(m->chunk),
			       mapped_chunk_usable(m));
		mapped += m->there;
	}
	for (uint32_t i = 0; i < r->n_arenas; i++)
		printf("arena %" PRIu64 " %" PRIu64 " %d\n", r->arenas[i].state.system_mem,
		       r->arenas[i].in_use, r->arenas[i].sound);
	return mapped;
}

static int count(struct target *target)
{
	struct attachment_plan *plan = calloc(1, sizeof(*plan));
	struct stopped_threads threads;
	struct census_result result;
	struct census *census;
	uint32_t mapped;
	uint64_t start;
	char *problem;

	if (!plan || target_look(target) != 0)
		return 1;
	problem = attachment_plan_make(plan, target);
	if (problem || plan->no_heap) {
		fprintf(stderr, "census: %s\n", problem ? problem : plan->no_heap);
		free(problem);
		free(plan);
		return 1;
	}
	census = census_create(&plan->heap, target);
	free(plan);
	if (!census)
		return 1;
	census_prepare(census);
	threads_init(&threads, target->pid);
	if (threads_stop(&threads, STOP_MS) != STOP_DONE)
		return 1;
	census_take(census, &threads);
	threads_release(&threads);
	start = now_us();
	if (!census_read(census, &result)) {
		fprintf(stderr, "census: nothing is known\n");
		return 1;
	}
	start = now_us() - start;
	mapped = print(&result);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu32 "\n",
	       result.live, result.live_bytes, result.unknown_bytes, result.unknown_mapped,
	       result.while_running, threads.stood_ns / 1000, start, result.heap_bytes, mapped);
	census_destroy(census);
	threads_finish(&threads);
	return 0;
}

int main(int argc, char **argv)
{
	int status = argc < 2;

	for (int i = 1; i < argc; i++) {
		struct target target;

		target_init(&target, (pid_t)strtol(argv[i], NULL, 10));
		status |= count(&target);
		target_finish(&target);
	}
	return status;
}
