/* SPDX-License-Identifier: MIT */
/* The parts of the page's data, each a section of columns.h. docs/internals/page.md describes their bytes. */
#ifndef ANALYZE_PAGE_PARTS_H
#define ANALYZE_PAGE_PARTS_H

#include "buckets.h"
#include "columns.h"
#include "flows.h"
#include "nodes.h"
#include "picture.h"
#include "texts.h"

/* The number with which each part begins. */
enum part {
	PART_REPORT = 1, /* JSON */
	PART_TEXTS,
	PART_FRAMES,
	PART_NODES,
	PART_BORDERS,
	PART_SERIES,
	PART_CELLS,
	PART_PAIRS,
	PART_FACTS,
	PART_THREADS,
	PART_SOURCES,
	PART_MARKS,
	PART_CHANGES, /* of a comparison, instead of all parts from PART_BORDERS on */
	PART_SPACE,   /* if a player was asked */
};

/* Bits of PART_FRAMES. */
enum frame_flag { FRAME_HIDDEN = 1, FRAME_NAMED = 2 };

/* What all parts are made of. */
struct parts {
	struct columns columns;
	struct texts texts;
	struct report *report;
	struct flows *flows;
	struct buckets buckets;
	struct page_tree *tree;
	struct page_nodes nodes;
	struct cells cells;
	unsigned pairs_halved; /* how often the resolution of pairs was halved */
};

/* Each writes its sections. False: no memory. */
bool part_tree(struct parts *parts);
bool part_time(struct parts *parts);
/* At most `most` cells, by groups of buckets if need be. */
bool part_pairs(struct parts *parts, size_t most);
bool part_facts(struct parts *parts);
bool part_sources(struct parts *parts);
bool part_space(struct parts *parts, const struct picture *picture);

#endif
