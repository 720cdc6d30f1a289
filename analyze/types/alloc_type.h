/* SPDX-License-Identifier: MIT */
/*
 * The type of the objects that a call of an allocator makes, told from names, debug information and sources, with how
 * sure that is. Sizes that were asked for check it: what does not fit them is unknown rather than wrong.
 */
#ifndef ANALYZE_ALLOC_TYPE_H
#define ANALYZE_ALLOC_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "call_sites.h"
#include "source_files.h"
#include "string_set.h"
#include "type_info.h"

struct statement;

/* A sample: a block of objects of many types, that one of this type begins. Sums of many are an estimate. */
enum type_trust { TRUST_NONE, TRUST_SAMPLE, TRUST_LIKELY, TRUST_CERTAIN, TYPE_TRUSTS };
enum type_evidence {
	EVIDENCE_NONE,
	EVIDENCE_COMPILER, /* DWARF's type of the call */
	EVIDENCE_TEMPLATE, /* arguments of the functions on the way */
	EVIDENCE_SOURCE,   /* the statement: new, sizeof, a cast, what gets the result */
	EVIDENCE_VARIABLE, /* a variable that the line declares */
	EVIDENCE_MAKER,    /* the site's name: a function that makes objects of its class */
	TYPE_EVIDENCES
};

/* "certain" ..., "templates" ... */
extern const char *const type_trust_names[TYPE_TRUSTS];
extern const char *const type_evidence_names[TYPE_EVIDENCES];

/* Eight bytes that a program's own allocator may put before each block, or C++ before an array: none, one or two. */
enum { HEADER_BYTES = 8, HEADERS = 3 };

/* Sizes of the blocks that the call asked for. */
struct block_sizes {
	uint64_t least, most;
	uint64_t divisors[HEADERS]; /* greatest common one of all, behind so many headers */
};

void block_sizes_add(struct block_sizes *sizes, uint64_t size); /* all zero: none yet */

/* A call on the way from the allocator to the site. */
struct way_call {
	uint32_t frame; /* of the trace */
	uint32_t level; /* of the calls inlined there; 0: the innermost */
	uint32_t call;  /* a number of call_sites.h */
};

struct alloc_type {
	const char *name;      /* NULL: unknown */
	const char *container; /* that keeps it; NULL: none */
	uint64_t size;         /* of an object, with what a container adds to each; 0: not known */
	enum type_trust trust;
	enum type_evidence evidence;
	unsigned header; /* bytes that the program's allocator puts before each block */
	bool one_each;   /* each block has one object, maybe with data behind it */
	bool counted;    /* else blocks consist of objects alone, if the size is known */
	/* The layout of the type, or of the element that the type keeps, of which there is one an object; NULL: not known. */
	struct type_info *info;
	uint32_t type;
};

struct alloc_types;

/* All arguments must outlive it. NULL: no memory. */
struct alloc_types *alloc_types_create(struct symbolizer *symbolizer, const struct call_sites *calls);
void alloc_types_destroy(struct alloc_types *types); /* NULL is allowed */

/* `way`: n calls from the innermost to the site, n > 0. Texts live as long as `types`. False: no memory. */
bool alloc_types_tell(struct alloc_types *types, const struct way_call *way, uint32_t n, unsigned op,
		      const struct block_sizes *sizes, struct alloc_type *type);

/*
 * Bytes that the allocator of a way puts before each block, as what was told so far says: three types or more are always so
 * much smaller than the blocks for them. 0: none. If there are some, alloc_types_tell() takes them off from then on.
 */
unsigned alloc_types_header(const struct alloc_types *types, const struct way_call *way);

/* True: of some module not all debug information was looked at, as it has too much. */
bool alloc_types_are_limited(const struct alloc_types *types);

#endif
