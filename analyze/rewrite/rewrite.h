/* SPDX-License-Identifier: MIT */
/*
 * An observer that writes the trace again: compressed better, cut to a range of time, without blocks that don't pass a
 * filter, or without some of its parts. The rest is as before: at any time of the range a replay of the new trace knows
 * the same live blocks, with the same stacks, threads and times.
 *
 * A range that begins later than the trace begins with an initial state (FORMAT.md): live blocks, depths of stacks,
 * mappings and pages. Until then the observer holds all live blocks, about 40 bytes each.
 */
#ifndef ANALYZE_REWRITE_H
#define ANALYZE_REWRITE_H

#include "block_filter.h"
#include "observer.h"
#include "remapper.h"

struct rewrite_options {
	uint64_t from, until; /* milliseconds, both included; 0 and UINT64_MAX: all */
	uint64_t first;       /* no record before this one, either */
	uint64_t first_ns;    /* the time of that */
	bool ends;            /* no record from `behind` on, either */
	uint64_t behind;      /* ... */
	uint64_t behind_ns;   /* ... and the time there */
	int level;            /* of zstd; 0: as msrec's, with chunks of its size; else with large chunks */
	unsigned drop;        /* enum remapper_part, several */
	bool no_args;         /* of the command line, only the program's name */
	struct anonymizer
		*anonymizer; /* names become hashes, arguments, paths and build ids go; NULL: they stay */
	bool strip_paths;    /* of files only the last part of their names */
	struct block_filter *filter; /* only blocks that pass; NULL: all */
	bool temporary;              /* of a file that is not kept: packed fast, and always with an end */
	bool left_out;               /* with calls whose blocks don't pass as left_out.h has them */
};

/* Results of the pre-scan. */
struct rewrite_survey {
	bool has_identity; /* the trace records which block each free gives back */
	bool has_fork;     /* it is a forked child's and has records of its own: */
	uint64_t fork;     /* its first own record ... */
	uint64_t fork_ns;  /* ... and its time */
};

/* Reads the trace on `fd` from its beginning, if `forked` up to the fork. Stops at damage. */
void rewrite_look(int fd, bool forked, struct rewrite_survey *survey);

struct rewrite;

/* Writes to `fd`, an empty regular file. `has_identity`: the trace records which block a free gives back. */
int rewrite_create(struct rewrite **rewrite, const struct mst_reader *reader, int fd,
		   const struct rewrite_options *options, bool has_identity);
void rewrite_destroy(struct rewrite *rewrite); /* NULL is allowed */

struct observer *rewrite_observer(struct rewrite *rewrite);

/* After the replay: writes the end, if the old trace has one or the range ends before it. */
int rewrite_finish(struct rewrite *rewrite);

#endif
