/* SPDX-License-Identifier: MIT */
/*
 * The output formats: one file each behind this interface, listed in one table. An emitter sees the
 * finished replay through a read-only view and writes bytes; errors of the output are the struct
 * out's.
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
#include "tree.h"
#include "xtree.h"

/* What is wanted of a profile or of single events. */
struct emit_query {
	struct profile_query profile;
	struct profile_rows_filter filter;
	enum profile_value value; /* where a format has room for one */
	bool one;                 /* just that, at that moment, also in a format that shows several */
};

/* What an emitter sees; of the last four those that its source says. */
struct emit_view {
	const struct mst_reader *reader;
	const struct settings *settings;
	struct symbolizer *symbolizer;
	struct massif *massif;
	const struct xtree *xtree; /* also beside massif, if it is asked for */
	const struct profile *profile;
	const struct emit_query *query; /* with profile, and for a pass */
};

/* A format of single events is written by an observer while the trace passes by. */
struct emit_pass {
	/* NULL: no memory. All that the view has, and `out`, outlive it. */
	struct observer *(*create)(struct out *out, const struct emit_view *view);
	void (*destroy)(struct observer *observer);
};

/* What an emitter's file is made of. */
enum emit_source {
	EMIT_SNAPSHOTS, /* Massif's */
	EMIT_XTREE,
	EMIT_PROFILE,
	EMIT_EVENTS, /* by its pass */
};

struct emitter {
	const char *name;   /* --to=NAME */
	const char *suffix; /* by which an output file asks for it */
	const char *help;   /* one line */
	enum emit_source source;
	bool binary;          /* not for a terminal */
	enum packing packing; /* PACK_NONE: as the name of the output says */
	bool threads;         /* it tells threads apart */
	bool one;             /* of a chosen moment it shows one value alone */
	void (*write)(struct out *out, const struct emit_view *view);
	const struct emit_pass *pass; /* instead of write */
};

/* All of them; ends with NULL. */
extern const struct emitter *const emitters[];

/* By name; NULL if there is none. */
const struct emitter *emitter_find(const char *name);

extern const struct emitter emit_massif;
extern const struct emitter emit_callgrind; /* an xtree report */
extern const struct emitter emit_xtree;     /* the same, as a massif.out with a snapshot for each event */
extern const struct emitter emit_folded;
extern const struct emitter emit_speedscope;
extern const struct emitter emit_pprof;
extern const struct emitter emit_heaptrack;
extern const struct emitter emit_heapprofile;
extern const struct emitter emit_dhat;
extern const struct emitter emit_memusage;
/* Tables; of one form, that of events has a suffix that ends the others', too, and comes last. */
extern const struct emitter emit_csv_stacks;
extern const struct emitter emit_csv_frames;
extern const struct emitter emit_csv_snapshots;
extern const struct emitter emit_csv;
extern const struct emitter emit_ndjson_stacks;
extern const struct emitter emit_ndjson_frames;
extern const struct emitter emit_ndjson_snapshots;
extern const struct emitter emit_ndjson;
extern const struct emitter emit_parquet_stacks;
extern const struct emitter emit_parquet_frames;
extern const struct emitter emit_parquet_snapshots;
extern const struct emitter emit_parquet;

/* A massif.out of other snapshots, those of massif_at(). */
void emit_massif_snapshots(struct out *out, const struct emit_view *view, const struct snapshot *snapshots,
			   size_t n);

/* What massif.out calls a unit of time. */
const char *emit_time_unit(enum time_unit unit);

/* What the xtree reports have in common with massif.out: the line with the command, names, and trees. */
void emit_command(struct out *out, const struct emit_view *view);
/* Marks what was made of a sampled trace, on the same line; nothing of others. */
void emit_sample(struct out *out, const struct emit_view *view);
struct symbol_chain emit_chain(const struct emit_view *view, uint32_t frame);
void emit_tree(struct out *out, const struct emit_view *view, const struct tree *tree, const char *root,
	       double threshold);

/* Fills a tree with the value that the query names. False: no memory. */
bool emit_calltree(struct calltree *tree, const struct emit_view *view);

#endif
