/* SPDX-License-Identifier: MIT */
/*
 * The output formats: one file each behind this interface, listed in one table. An emitter sees the
 * finished replay through a read-only view and writes bytes; errors of the output are the struct
 * out's.
 */
#ifndef ANALYZE_EMIT_H
#define ANALYZE_EMIT_H

#include <stdbool.h>

#include "massif.h"
#include "naming.h"
#include "out.h"
#include "settings.h"
#include "tree.h"
#include "xtree.h"

struct emit_view {
	const struct mst_reader *reader;
	const struct settings *settings;
	struct naming *naming;
	const struct massif *massif;
	const struct xtree *xtree; /* NULL, unless it is asked for */
};

struct emitter {
	const char *name;   /* --to=NAME */
	const char *suffix; /* by which an output file asks for it */
	const char *help;   /* one line */
	bool binary;        /* not for a terminal */
	bool xtree;         /* it writes the view's xtree */
	void (*write)(struct out *out, const struct emit_view *view);
};

/* All of them; ends with NULL. */
extern const struct emitter *const emitters[];

/* By name; NULL if there is none. */
const struct emitter *emitter_find(const char *name);

extern const struct emitter emit_massif;
extern const struct emitter emit_callgrind; /* an xtree report */
extern const struct emitter emit_xtree;     /* the same, as a massif.out with a snapshot for each event */

/* A massif.out of other snapshots, those of massif_at(). */
void emit_massif_snapshots(struct out *out, const struct emit_view *view, const struct snapshot *snapshots,
			   size_t n);

/* What the xtree reports have in common with massif.out: the line with the command, and trees. */
void emit_command(struct out *out, const struct emit_view *view);
/* Marks what was made of a sampled trace, on the same line; nothing of others. */
void emit_sample(struct out *out, const struct emit_view *view);
void emit_tree(struct out *out, const struct emit_view *view, const struct tree *tree, const char *root,
	       double threshold);

#endif
