/* SPDX-License-Identifier: MIT */
/*
 * The output formats: one file each behind this interface. An emitter sees the finished replay through a read-only view
 * and writes bytes; errors of the output are the struct out's.
 *
 * To add a format NAME:
 *
 * 1. Write NAME.c, which defines `const struct emitter emit_NAME` with its name, suffix, help and source, and one
 *    function: `write` for EMIT_PROFILE, EMIT_SNAPSHOTS and EMIT_XTREE, `pass` for EMIT_EVENTS. folded.c is the
 *    smallest to start from. A profile's rows come from profile_rows_collect() or, as a tree, from emit_calltree();
 *    text is written by out.h, json.h, protobuf.h or table.h.
 * 2. Add FORMAT(NAME) to emit_formats.h and NAME.c to meson.build.
 *
 * msconvert(1) describes it; the list of --to=help in tests/cli/msconvert.golden has its line, and a test in
 * tests/formats reads its file back.
 */
#ifndef ANALYZE_EMIT_H
#define ANALYZE_EMIT_H

#include <stdbool.h>

#include "calltree.h"
#include "massif.h"
#include "out.h"
#include "profile_rows.h"
#include "settings.h"
#include "symbolize.h"
#include "table.h"
#include "tree.h"
#include "xtree.h"

struct fleet_labels;

/* The choices of a profile or of single events. */
struct emit_query {
	struct profile_query profile;
	struct profile_rows_filter filter;
	enum profile_value value; /* where a format has room for one */
	bool one; /* just this value, at this point in time, even if the format could show several */
	bool merge_threads;                /* threads are not kept apart, even if the format could */
	const struct fleet_labels *labels; /* of the run; NULL: none */
};

struct report;

/* An emitter's input. Pointers of other sources than the emitter's are NULL. */
struct emit_view {
	const struct emitter *emitter;
	const struct mst_reader *reader;
	const struct settings *settings;
	struct symbolizer *symbolizer;
	struct massif *massif;            /* EMIT_SNAPSHOTS, EMIT_XTREE */
	const struct snapshot *snapshots; /* EMIT_SNAPSHOTS: those to write */
	size_t n_snapshots;
	const struct xtree *xtree;         /* EMIT_XTREE; EMIT_SNAPSHOTS with --xtree-memory */
	const struct profile *profile;     /* EMIT_PROFILE */
	const struct emit_query *query;    /* EMIT_PROFILE, EMIT_EVENTS */
	struct report *report;             /* EMIT_FLEET */
	const struct fleet_labels *labels; /* EMIT_FLEET */
};

/* A format of single events is written by an observer during the replay. */
struct emit_pass {
	/* NULL: no memory. The view and `out` must outlive the observer. */
	struct observer *(*create)(struct out *out, const struct emit_view *view);
	void (*destroy)(struct observer *observer);
};

/* The source of an emitter's data. */
enum emit_source {
	EMIT_SNAPSHOTS, /* Massif's */
	EMIT_XTREE,
	EMIT_PROFILE,
	EMIT_EVENTS, /* by its pass */
	EMIT_FLEET,
};

struct emitter {
	const char *name;   /* --to=NAME */
	const char *suffix; /* of an output file, chooses the format without --to */
	const char *help;   /* one line */
	enum emit_source source;
	bool binary;          /* refused on a terminal */
	enum packing packing; /* PACK_NONE: by the name of the output */
	enum table_form form; /* of a table */
	bool threads;         /* it keeps threads apart */
	bool labels;          /* it takes those of emit_query */
	bool one;             /* for a chosen point in time it shows one value alone */
	void (*write)(struct out *out, const struct emit_view *view); /* NULL: `pass` writes */
	/* What changed from `base` to `view`, profiles of two recordings. NULL: the format has no differences. */
	void (*write_diff)(struct out *out, const struct emit_view *view, const struct emit_view *base);
	const struct emit_pass *pass; /* EMIT_EVENTS */
};

/* All formats; ends with NULL. */
extern const struct emitter *const emitters[];

/* Finds a format by its name. NULL: unknown. */
const struct emitter *emitter_find(const char *name);

#define FORMAT(name) extern const struct emitter emit_##name;
#include "emit_formats.h"
#undef FORMAT

/* The name of a unit of time in massif.out. */
const char *emit_time_unit(enum time_unit unit);

/* Shared by massif.out and the xtree reports. The line with the command: */
void emit_command(struct out *out, const struct emit_view *view);
struct symbol_chain emit_chain(const struct emit_view *view, uint32_t frame);
void emit_tree(struct out *out, const struct emit_view *view, const struct tree *tree, const char *root,
	       double threshold);

/* The mean distance of sample points in bytes if the view's figures are estimates; 0: they are exact. */
uint64_t emit_sample_mean(const struct emit_view *view);
/* "estimates: a sample of one block in N bytes"; the empty text if figures are exact. */
#define EMIT_SAMPLE_TEXT 80
void emit_sample_text(char text[EMIT_SAMPLE_TEXT], const struct emit_view *view);
/* The same on the present line, as " (estimates ...)". */
void emit_sample(struct out *out, const struct emit_view *view);

/* The same of two profiles: whether figures of either are estimates. */
#define EMIT_SAMPLES_TEXT 160
void emit_samples_text(char text[EMIT_SAMPLES_TEXT], const struct emit_view *view,
		       const struct emit_view *base);

/* Fills the tree with the value that the query names. Estimates are below a call that says so. False: no memory. */
bool emit_calltree(struct calltree *tree, const struct emit_view *view);

#endif
