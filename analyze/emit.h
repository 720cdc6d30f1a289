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

struct emit_view {
	const struct mst_reader *reader;
	const struct settings *settings;
	struct naming *naming;
	const struct massif *massif;
};

struct emitter {
	const char *name;      /* --to=NAME */
	const char *suffix;    /* by which an output file asks for it */
	const char *help;      /* one line */
	bool binary;           /* not for a terminal */
	void (*write)(struct out *out, const struct emit_view *view);
};

/* All of them; ends with NULL. */
extern const struct emitter *const emitters[];

/* By name; NULL if there is none. */
const struct emitter *emitter_find(const char *name);

extern const struct emitter emit_massif;

/* A massif.out of other snapshots, those of massif_at(). */
void emit_massif_snapshots(struct out *out, const struct emit_view *view, const struct snapshot *snapshots,
			   size_t n);

#endif
