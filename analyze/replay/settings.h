/* SPDX-License-Identifier: MIT */
/*
 * Massif's options that change its answer, and our own. Defaults and ranges are those of Massif 3.19; the tools' args.c
 * fills this from a command line.
 */
#ifndef ANALYZE_SETTINGS_H
#define ANALYZE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum time_unit {
	TIME_DEFAULT, /* i if the trace has instruction counts, else ms */
	TIME_INSTRUCTIONS,
	TIME_MS,
	TIME_BYTES,
};

enum usable_model {
	USABLE_ROUNDED,   /* the largest size along the realloc chain, rounded up to the alignment */
	USABLE_VALGRIND,  /* what Valgrind's own allocator would have handed out */
	USABLE_REAL,      /* what the program's allocator gave, when recorded */
	USABLE_REQUESTED, /* what was asked for */
};

/* Which answer is given where Massif is wrong. */
enum compat {
	COMPAT_FIXED, /* the right answer */
	COMPAT_3_19,  /* that of 3.19, byte for byte */
	COMPAT_3_24,  /* that of 3.24, which also looks for inlined functions in its lists */
	COMPAT_3_27,  /* that of 3.27, which also finds the names of inlined functions of other units */
	COMPAT_LATEST = COMPAT_3_27,
};

enum xtree_memory {
	XTREE_NONE,   /* no report beside massif.out */
	XTREE_ALLOCS, /* of the blocks that are live at the end */
	XTREE_FULL,   /* of all that was allocated and freed, too */
};

struct name_list {
	size_t n;
	char **names; /* owned */
};

/* Requests for files of their own are sorted by kind, then by time. */
enum at_kind {
	AT_TIME, /* after the last call at that time or before it */
	AT_MARK, /* where the trace has a mark */
	AT_PEAK, /* the first point in time with the largest total */
	AT_END,
};

/* What the requested file holds. */
enum at_what {
	AT_DETAILED, /* a snapshot with a tree */
	AT_PLAIN,    /* one without */
	AT_ALL,      /* all snapshots that were stored by then; never AT_PEAK */
};

struct at {
	enum at_kind kind;
	enum at_what what;
	uint64_t time;    /* AT_TIME: in the settings' time unit */
	const char *mark; /* AT_MARK: as in mark:NAME; the text is the command line's ... */
	uint64_t record;  /* ... and its place, once it is found (marks.h): before this record */
};

/* Massif's default names. */
#define SETTINGS_OUT_FILE "massif.out.%p"
#define SETTINGS_XTREE_FILE "xtmemory.kcg.%p"

/*
 * Invariants: `ats` is in order of kind, then place; alloc_fns begins with the defaults of `compat`; out_file, xtree_file
 * and `desc` are never NULL. Once the settings suit a trace (tool_settle()): pages_as_heap implies `heap` and no bytes of
 * heap_admin; time_unit is not TIME_DEFAULT.
 */
struct settings {
	enum time_unit time_unit;
	enum usable_model usable;
	enum compat compat;
	bool usable_given, compat_given; /* else replaced by what suits the trace best */
	bool heap;
	bool stacks;
	bool pages_as_heap; /* pages count, and blocks don't; never without `heap`, once settled */
	bool show_below_main;
	bool exact_peak; /* the peak is the true peak */
	bool stats;      /* print figures at the end */
	enum xtree_memory xtree_memory;
	bool xtree_compress; /* names are spelt out once in callgrind's format */
	unsigned heap_admin; /* bytes a block */
	unsigned alignment;  /* power of two, 16..4096 */
	unsigned depth;      /* 1..200 */
	unsigned detailed_freq;
	unsigned max_snapshots;     /* 10..1000 */
	double threshold;           /* percent */
	double peak_inaccuracy;     /* percent */
	struct name_list alloc_fns; /* Massif's defaults come first */
	struct name_list ignore_fns;
	struct name_list fullpath_after;
	struct at *ats; /* in order; owned */
	size_t n_ats;
	bool only_moments;      /* write the files for `ats` and no others */
	char *out_file;         /* pattern of the result's name, owned */
	const char *out_option; /* the option that gave it */
	char *xtree_file;       /* --xtree-memory-file pattern, owned */
	char *desc;             /* the options as given, for massif.out's first line; owned, "" if none */
};

/* Sets Massif's defaults. False: no memory; then settings_finish() has been done. */
bool settings_init(struct settings *settings);
void settings_finish(struct settings *settings);

/* The rest returns 0 or ENOMEM. */

/* Replaces an owned text of the settings by a copy. */
int settings_replace(char **text, const char *by);

/* With that version's allocation functions in place of the defaults. */
int settings_set_compat(struct settings *settings, enum compat compat);

/* Adds a request at its place in the order. */
int settings_add_at(struct settings *settings, struct at at);

/* Brings the requests at marks, whose places have been found, into their order. */
void settings_sort_ats(struct settings *settings);

/* Appends a copy of the name. */
int name_list_append(struct name_list *list, const char *name);

#endif
