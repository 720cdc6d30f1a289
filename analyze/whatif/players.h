/* SPDX-License-Identifier: MIT */
/*
 * The players of one pass: processes that read the same operations, each with an allocator and settings of its own. A
 * player that dies is left out from then on; the others go on.
 */
#ifndef ANALYZE_PLAYERS_H
#define ANALYZE_PLAYERS_H

#include <sys/types.h>

#include "op_stream.h"
#include "player_area.h"

/* How a player is started. */
struct player_setup {
	const char *preload;          /* path of an allocator; NULL: the C library's */
	const char *const *variables; /* [n] NAME=VALUE */
	size_t n_variables;
	uint64_t trim_ns; /* malloc_trim() so often; 0: never */
	bool counts;      /* of system calls; figures of memory and time are then not to be used */
	bool shadow;      /* it notes which block was freed last at each place */
};

enum player_end {
	PLAYER_RUNS,
	PLAYER_ENDED,
	PLAYER_NOT_PRELOADED, /* malloc() is not in the library */
	PLAYER_KILLED,        /* `detail` is the signal */
	PLAYER_FAILED,        /* `detail` is the exit status */
	PLAYER_STUCK,         /* in one call for longer than plan.patience_ns */
};

struct player_process {
	pid_t pid;
	enum player_end end;
	int detail;
	uint64_t begun;         /* operations, at the last look */
	uint64_t idle_ns;       /* waited since that number changed */
	int area_fd, shadow_fd; /* -1: none */
	struct player_area *area;
	size_t area_size;
};

struct players {
	struct op_sink sink;
	struct player_ring *ring;
	int ring_fd;
	uint64_t head;
	uint64_t limit; /* operations up to here have room */
	uint64_t patience_ns;
	struct player_process *items;
	size_t n;
};

/* What all players of a pass share. */
struct players_plan {
	const char *program;  /* path of msrec-player */
	uint64_t limit_bytes; /* that a player may map; 0: as the system allows */
	uint64_t touched;     /* the first bytes of each block that are used */
	uint64_t patience_ns; /* a player that is in one call for so long is killed */
	uint32_t n_samples, n_threads, n_slots;
};

/* 0, or -errno; players_finish() must follow. */
int players_start(struct players *players, const struct players_plan *plan, const struct player_setup *setups,
		  size_t n);

/*
 * The private memory that a player has before its first call, with the C library's allocator: what an allocator that is
 * preloaded takes beyond that is its own. 0, or -errno.
 */
int players_measure_base(const struct players_plan *plan, struct player_sample *base);

/* All operations that were put are there to be read. */
void players_flush(struct players *players);

/* Waits until all players that run have made all operations; those that get PLAY_END have ended then. */
void players_wait(struct players *players, bool ended);

/* Players that wait at a PLAY_STOP go on. */
void players_go(struct players *players);

/* Kills what still runs, and gives everything back. */
void players_finish(struct players *players);

static inline const struct player_sample *player_samples(const struct player_process *p)
{
	return (const struct player_sample *)((const char *)p->area + player_samples_at());
}

static inline const uint64_t *player_slots(const struct player_process *p)
{
	return (const uint64_t *)((const char *)p->area + player_slots_at(p->area->n_samples));
}

/* Of a player with a shadow that stands still. */
static inline const uint64_t *player_usable(const struct player_process *p)
{
	return (const uint64_t *)((const char *)p->area +
				  player_usable_at(p->area->n_samples, p->area->n_slots));
}

#endif
