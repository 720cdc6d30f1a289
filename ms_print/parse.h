/* SPDX-License-Identifier: MIT */
/*
 * The massif.out grammar: a text becomes a profile of snapshots. Trees are checked here, but stay text;
 * struct lines and node_parse() walk them again when they are printed, so the memory needed is the text
 * plus a fixed amount for each snapshot, whatever the trees look like.
 *
 * A `#` starts a comment to the end of its line; lines left with only white space don't count. Header:
 * any number of `desc:` lines, `cmd:`, `time_unit:`. Snapshot: six `key=value` lines in fixed order, the
 * last being `heap_tree=`, whose value says whether a tree follows. Tree: `n<children>: <bytes><text>` lines,
 * parent before children; the counts alone give the shape, indentation means nothing.
 */
#ifndef MS_PRINT_PARSE_H
#define MS_PRINT_PARSE_H

#include "number.h"

/* A walk over the lines that count. */
struct lines {
	struct span rest;
	size_t number; /* physical lines passed so far */
};

struct snapshot {
	struct span number, time, heap, extra, stacks; /* as written, possibly not numeric */
	struct number total;                           /* heap + extra + stacks */
	const char *tree;                              /* where the tree's lines begin; NULL if it has none */
};

struct profile {
	char *description; /* the desc lines' values, each with its line end; malloc'ed */
	size_t description_size;
	struct span command, time_unit;
	struct snapshot *snapshots; /* malloc'ed */
	size_t count;
	struct span text;   /* the parsed text */
	bool has_peak;      /* some heap_tree is `peak` */
	struct number peak; /* the number of the last such snapshot, as written */
};

struct node {
	struct span children, bytes; /* digits */
	struct span text;            /* the rest of the line */
};

enum parse_problem {
	PARSE_OK,
	PARSE_NO_MEMORY,
	PARSE_NO_COMMAND,
	PARSE_NO_TIME_UNIT,
	PARSE_EXPECTED_KEY, /* `key`; `line` is the line found instead */
	PARSE_BAD_HEAP_TREE,
	PARSE_EXPECTED_NODE, /* `line` is the line found instead */
	PARSE_NODE_TOO_LARGE,
};

struct parse_error {
	enum parse_problem problem;
	const char *key;
	struct span line; /* start == NULL at the end of the text */
	size_t number;    /* physical lines read so far */
};

/* The next line that counts, without comment and line end; false at the end of the text. */
bool lines_next(struct lines *lines, struct span *line);

bool node_parse(struct span line, struct node *node);

/* The node's child count; UINT64_MAX stands for any larger one. */
uint64_t node_children(const struct node *node);

/*
 * Parses `text`, which must be followed by a NUL byte and outlive the profile. On failure `error` describes the
 * problem, and `profile` needs no profile_finish().
 */
bool profile_parse(struct profile *profile, struct span text, struct parse_error *error);
void profile_finish(struct profile *profile);

/* Whether the remembered peak number names the snapshot at `index`, counted from 0 in file order. */
bool profile_is_peak(const struct profile *profile, size_t index);

#endif
