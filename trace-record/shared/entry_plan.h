/* SPDX-License-Identifier: MIT */
/*
 * How the entries of functions are patched, so that calls reach the recorder: those of an allocator that is linked into a
 * program, or, in a running program, of the libraries that have them. msrec makes the plan from the file, with a decoder of
 * instructions; the program carries it out without one.
 *
 * The first instructions of a function are displaced: a jump to the recorder takes their place, and they run elsewhere, in
 * front of a jump to the rest of the function. Addresses are those of the file, to which the loader adds the same number;
 * in a plan for a running program that number is in them.
 */
#ifndef TRACE_RECORD_ENTRY_PLAN_H
#define TRACE_RECORD_ENTRY_PLAN_H

#include <stdint.h>

#define ENTRY_MOST 96u      /* functions of a plan */
#define ENTRY_JUMP_BYTES 5u /* that a patch changes, the first of the displaced ones */
#define ENTRY_DISPLACED_MOST 24u
#define ENTRY_CODE_MOST 56u /* bytes of displaced code, with its last jump */
#define ENTRY_FIXES_MOST 4u

/* What a function takes and gives: which of the recorder's functions stands before it (linked.c). */
enum entry_shape {
	ENTRY_MALLOC,             /* size */
	ENTRY_CALLOC,             /* n, size */
	ENTRY_REALLOC,            /* block, size */
	ENTRY_REALLOCARRAY,       /* block, n, size */
	ENTRY_REALLOC_ANY,        /* block, size, any */
	ENTRY_MEMALIGN,           /* align, size */
	ENTRY_POSIX_MEMALIGN,     /* result, align, size */
	ENTRY_PAGES,              /* size; aligned to pages */
	ENTRY_MALLOC_ALIGNED,     /* size, align; as operator new */
	ENTRY_MALLOC_ALIGNED_ANY, /* size, align, any */
	ENTRY_MALLOC_ANY,         /* size, any */
	ENTRY_MALLOCX,            /* size, jemalloc's flags */
	ENTRY_XALLOCX,            /* block, size, extra, flags */
	ENTRY_FORK,               /* nothing; as _Fork */
	ENTRY_CLOSE,              /* a handle; as dlclose */
	ENTRY_FREE,               /* block */
	ENTRY_FREE_ANY,           /* block, any */
	ENTRY_FREE_SIZED,         /* block, size */
	ENTRY_FREE_SIZED_ANY,     /* block, size, any */
	ENTRY_FREE_ALIGNED,       /* block, align */
	ENTRY_FREE_ALIGNED_ANY,   /* block, align, any */
	ENTRY_FREE_SIZED_ALIGNED, /* block, size, align */
	ENTRY_FREE_ALIGNED_SIZED, /* block, align, size */
	ENTRY_SHAPES,
};

/*
 * Four bytes of displaced code that hold the distance of `target` from the end of their instruction, or eight that hold
 * where it is.
 */
struct entry_fix {
	uint8_t at, end; /* offsets in the code; end 0: eight bytes */
	uint64_t target; /* address */
};

struct entry {
	uint64_t address; /* of the first displaced instruction */
	uint64_t usable;  /* address of the allocator's malloc_usable_size(); 0: it has none */
	uint8_t shape;    /* enum entry_shape */
	uint8_t op;       /* enum mst_op */
	uint8_t any_free; /* which function frees is not known: several have this entry */
	uint8_t is_operator;
	uint8_t n_displaced, n_code, n_fixes;
	uint8_t displaced[ENTRY_DISPLACED_MOST]; /* as the file has them */
	uint8_t code[ENTRY_CODE_MOST];
	struct entry_fix fixes[ENTRY_FIXES_MOST];
};

/* All zero: there is none. */
struct entry_plan {
	uint64_t device, inode; /* of the file */
	uint32_t n;
	struct entry entries[ENTRY_MOST];
};

#endif
