/* SPDX-License-Identifier: MIT */
/*
 * memusage's counters, for the files that fill and print them: memusage.c counts records, memusage_sums.c chunks whose
 * records are not decoded, memusage_report.c prints.
 */
#ifndef ANALYZE_MEMUSAGE_STATE_H
#define ANALYZE_MEMUSAGE_STATE_H

#include "memusage.h"
#include "sample_weight.h"

enum memusage_row {
	ROW_MALLOC,
	ROW_REALLOC,
	ROW_CALLOC,
	ROW_FREE,
	ROW_MMAP_READ,
	ROW_MMAP_WRITE,
	ROW_MMAP_ANON,
	ROW_MREMAP,
	ROW_MUNMAP,
	ROW_COUNT,
	ROW_NONE = ROW_COUNT
};

#define BUCKET_B 16u
#define BUCKETS 4096u /* blocks below 64 KiB; the others are "large" */

/* All counters are machine words that wrap, as memusage's. Calls are in shares (sample_weight.h). */
struct memusage_counts {
	uint64_t calls, total, failed; /* shares; bytes; calls */
};

/* The figures of the report. */
struct memusage_report {
	uint64_t mean; /* of the sample (sample_weight.h); 0: no sample. Bytes of a sample are estimates. */
	struct memusage_counts rows[ROW_COUNT];
	uint64_t heap_total;                          /* bytes ever asked for */
	uint64_t heap_peak;                           /* largest of the live bytes */
	uint64_t stack_peak;                          /* deepest stack, bytes */
	uint64_t in_place, decreasing, realloc_frees; /* reallocs, shares */
	uint64_t remapped_in_place, remapped_decreasing;
	uint64_t sized_calls;             /* entries of the histogram, shares */
	uint64_t buckets[BUCKETS], large; /* the same by size; their sum is sized_calls */
	uint64_t null_frees;              /* calls */
};

/* Depths of stacks, and which one still has to enter the peak of heap and stack together. */
struct memusage_stacks {
	uint64_t depth;      /* of the present call's thread */
	uint64_t *by_thread; /* [n] */
	uint32_t n;
	bool sampled; /* a depth isn't in the peak yet: the call that it was seen at comes next, if */
	uint32_t sampled_thread; /* there is one */
};

/* Records of a kind in chunks whose records weren't decoded. */
struct memusage_tally {
	uint64_t records[3]; /* ALLOC; FREE; OUT, where it is a free */
};

/* A chunk's tokens, summed up by what decides whether sums suffice. */
struct chunk_tally {
	uint64_t out, resized, freed; /* OUT records; their second records: reallocs, frees */
	uint64_t kept, refused;       /* the same of failed reallocs: KEEP records; calls */
	bool odd;                     /* a record whose part in the sums is not its part in the report */
	bool partial;                 /* it holds blocks that don't count */
	bool marked;                  /* a record has an effect of its own, beyond its token's */
	uint64_t net;                 /* what the chunk adds to the live bytes */
	uint64_t above; /* by how much these can exceed what the sums say, inside of the chunk */
};

/* Chunks that are counted by their sums: memusage_sums.c. */
struct memusage_sums {
	uint8_t *traits;              /* [n_kinds] enum trait */
	struct memusage_tally *kinds; /* [n_kinds] not yet in the report */
	uint32_t n_kinds, room_kinds, room_traits;
	struct chunk_tally chunk; /* of the present chunk */
};

struct memusage {
	struct observer observer;
	enum memusage_maps maps;
	struct memusage_report report;
	uint64_t heap;     /* live bytes */
	uint64_t mapped;   /* of these; not with MEMUSAGE_MAPS_AS_MEMUSAGE */
	uint64_t remapped; /* length that the mremap to come is to change */
	uint64_t peak;     /* of live bytes and one stack together */
	struct memusage_stacks stacks;
	struct memusage_sums sums;
	bool begun;            /* a call has been seen */
	bool ended;            /* memusage would have printed its report */
	struct datafile *data; /* NULL: none is wanted */
	uint64_t start, time;  /* of the first call and of the present one, in ns */
};

/* The row in which memusage sees a call; operator new is its malloc. */
static inline enum memusage_row memusage_row_of(const struct mst_kind *kind)
{
	switch (kind->op) {
	case MST_OP_MALLOC:
	case MST_OP_NEW:
	case MST_OP_NEW_ARRAY:
		return kind->flags & MST_KIND_ALIGNED ? ROW_NONE : ROW_MALLOC;
	case MST_OP_CALLOC:
		return ROW_CALLOC;
	case MST_OP_REALLOC:
	case MST_OP_REALLOC_MOVED:
	case MST_OP_REALLOC_IN_PLACE:
		return kind->flags & MST_KIND_ALIGNED ? ROW_NONE : ROW_REALLOC;
	}
	return ROW_NONE;
}

/* libstdc++'s operator new asks malloc for one byte when it is asked for none. */
static inline uint64_t memusage_size_of(const struct mst_kind *kind)
{
	bool is_new = kind->op == MST_OP_NEW || kind->op == MST_OP_NEW_ARRAY;
	return is_new && kind->size == 0 ? 1 : kind->size;
}

static inline bool memusage_is_map(const struct mst_kind *kind)
{
	return kind->op >= MST_OP_MMAP_READ && kind->op <= MST_OP_MUNMAP;
}

/* `n` calls for `size` bytes each, in shares; `grown` bytes of them all together are new. */
void memusage_count_request(struct memusage_report *report, enum memusage_row row, uint64_t size,
			    uint64_t grown, uint64_t shares);

/* Asserts what relates the counters of a whole report. */
void memusage_report_check(const struct memusage_report *report);

/* The observer's functions for chunks without records (observer.h). */
bool memusage_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			   const struct mst_chunk *chunk);
int memusage_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* After the last chunk: moves the tallies of all kinds into the report. */
void memusage_sums_end(struct memusage *m, const struct mst_reader *reader);
void memusage_sums_finish(struct memusage_sums *sums);

#endif
