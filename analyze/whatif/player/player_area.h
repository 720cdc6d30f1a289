/* SPDX-License-Identifier: MIT */
/*
 * The memory that mswhatif shares with a player, the small process that makes a trace's calls to a real allocator.
 *
 * Two files without names: the ring, which all players of one pass read, and an area of each player's own. mswhatif is the
 * ring's only producer; it overwrites an operation when all players have passed it. All that a player needs for itself lies
 * here or in other shared mappings, so that its private memory is the allocator's.
 */
#ifndef ANALYZE_PLAYER_AREA_H
#define ANALYZE_PLAYER_AREA_H

#include <stddef.h>
#include <stdint.h>

enum player_code {
	PLAY_MALLOC,
	PLAY_CALLOC,
	PLAY_MEMALIGN,
	PLAY_POSIX_MEMALIGN,
	PLAY_ALIGNED_ALLOC,
	PLAY_VALLOC,
	PLAY_PVALLOC,
	PLAY_NEW,
	PLAY_NEW_ARRAY,
	PLAY_REALLOC, /* of a slot that is empty: realloc(NULL, size) */
	PLAY_FREE,
	PLAY_DELETE,
	PLAY_DELETE_ARRAY,
	PLAY_THREAD,     /* `slot` makes the calls from here on; PLAYER_MAIN: the first thread */
	PLAY_THREAD_END, /* `slot`, which isn't the present one, makes no more calls */
	PLAY_CLOCK,      /* `size` ns have passed since time 0 */
	PLAY_SAMPLE,     /* to sample number `slot` */
	PLAY_STOP,       /* waits until `go` is above the number of stops before */
	PLAY_END,
};

#define PLAYER_MAIN UINT32_MAX

struct player_op {
	uint32_t slot;  /* of the block's address */
	uint32_t owner; /* of frees and PLAY_REALLOC: of the block that goes, for the shadow */
	uint64_t size;
	uint64_t old; /* of the same: the bytes that the block had */
	uint8_t code; /* enum player_code */
	uint8_t align_log2;
};

enum { PLAYER_RING = 1 << 16, PLAYER_STEP = 1 << 12 };

/* The counters are futexes, and wrap. */
struct player_ring {
	_Alignas(64) uint64_t head; /* operations written so far */
	uint32_t written;           /* changes after `head` */
	_Alignas(64) uint32_t read; /* changes after a player's `tail` */
	_Alignas(64) struct player_op ops[PLAYER_RING];
};

/* Private memory of the player, in bytes, and what its calls took so far. */
struct player_sample {
	uint64_t resident;
	uint64_t mapped; /* writable, whether touched or not */
	uint64_t faults; /* minor ones since the beginning */
	uint64_t calls, failed;
	uint64_t call_ticks; /* in the allocator; the cost of looking at the clock is subtracted */
	uint64_t touch_ticks;
};

enum player_syscall {
	PLAYER_MMAP,
	PLAYER_MUNMAP,
	PLAYER_MREMAP,
	PLAYER_BRK,
	PLAYER_MADVISE,
	PLAYER_SYSCALLS,
};

struct player_area {
	/* Set by mswhatif. */
	uint32_t layout; /* bytes of this struct: a player of another build refuses */
	uint32_t counts; /* 1: system calls are counted */
	uint32_t n_samples, n_threads, n_slots;
	uint32_t go;      /* futex */
	uint64_t trim_ns; /* malloc_trim() so often; 0: never */
	uint64_t touched; /* the first bytes of each block that are written to */

	/* Set by the player. */
	_Alignas(64)
		uint64_t tail; /* operations made; PLAY_STOP counts before it waits; changes now and then */
	uint64_t begun;        /* operations begun */
	uint32_t ready;        /* the baseline is measured */
	uint32_t threads_failed;
	char library[256];         /* that malloc() is in */
	struct player_sample base; /* before the first call; above it in samples[] is what calls took */
	uint64_t most_resident;    /* by the kernel's own mark; known at PLAY_END */
	uint64_t begin_ns, begin_ticks, end_ns, end_ticks;
	uint64_t cpu_ns;                    /* of the processor, from the first operation to the last */
	uint64_t syscalls[PLAYER_SYSCALLS]; /* with `counts` */
					    /*
	 * Then samples[n_samples] and, on a page of its own, slots[n_slots]; with a shadow usable[n_slots], too: the bytes
	 * that the allocator gave to each slot's block, set at PLAY_STOP.
	 */
};

/* Bytes of memory that share an entry of the shadow: the owner + 1 of the block that was freed there last. */
enum { SHADOW_GRAIN = 16, SHADOW_BITS = 47 };

static inline size_t player_samples_at(void)
{
	return (sizeof(struct player_area) + 63) & ~(size_t)63;
}

static inline size_t player_slots_at(uint32_t n_samples)
{
	return (player_samples_at() + n_samples * sizeof(struct player_sample) + 4095) & ~(size_t)4095;
}

static inline size_t player_usable_at(uint32_t n_samples, uint32_t n_slots)
{
	return player_slots_at(n_samples) + (size_t)n_slots * sizeof(uint64_t);
}

static inline size_t player_area_size(uint32_t n_samples, uint32_t n_slots, int shadow)
{
	return player_usable_at(n_samples, n_slots) + (shadow ? (size_t)n_slots * sizeof(uint64_t) : 0);
}

/* What the player's exit status says. */
enum player_exit { PLAYER_DONE = 0, PLAYER_SETUP = 3, PLAYER_DAMAGED = 4 };

#endif
