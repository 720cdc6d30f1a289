/* SPDX-License-Identifier: MIT */
/*
 * The operations a trace can name.
 *
 * The numbers are part of the file format (FORMAT.md, "Operations") and of the shared memory
 * between the program and msrec; they are never reused. This header knows nothing else so
 * that the preload library, which may know nothing else of the format, can include it.
 */
#ifndef MSTRACE_OP_H
#define MSTRACE_OP_H

#ifdef __cplusplus
extern "C" {
#endif

enum mst_op {
	MST_OP_UNKNOWN = 0, /* a block that was never seen being allocated */

	/* Calls that give a block. */
	MST_OP_MALLOC = 1,
	MST_OP_CALLOC = 2,        /* size = product, modulo 2^64 */
	MST_OP_REALLOC = 3,       /* realloc(NULL, n) */
	MST_OP_REALLOC_MOVED = 4, /* realloc(p, n) that returned another address, or failed */
	MST_OP_REALLOC_IN_PLACE = 5,
	MST_OP_REALLOC_FREE = 6, /* realloc(p, 0): gives nothing, frees p */
	MST_OP_MEMALIGN = 7,
	MST_OP_POSIX_MEMALIGN = 8,
	MST_OP_ALIGNED_ALLOC = 9,
	MST_OP_VALLOC = 10,
	MST_OP_PVALLOC = 11,
	MST_OP_NEW = 12,           /* operator new, all forms */
	MST_OP_NEW_ARRAY = 13,     /* operator new[], all forms */
	MST_OP_REALLOCARRAY = 14,  /* only a call refused because the product overflows */
	MST_OP_MALLOCLIKE = 15,    /* a custom block, made known by a request (msrec.h) */
	MST_OP_RESIZEINPLACE = 16, /* the same, at the address of the block freed just before */

	/* Gives nothing, frees a block: free, delete and their like, when their stack is recorded. */
	MST_OP_FREE = 17,

	/* Marks: no block changes hands. */
	MST_OP_IMPLIED_FREE = 32, /* the address came back without a free having been seen */
	MST_OP_LOST = 33,         /* size = number of events lost just before */
	MST_OP_START = 34,        /* the recorder's constructor ran */
	MST_OP_EXIT = 35,         /* the exit handlers are done; what follows is clean-up;
				     * size = calls of free(NULL) before it */
	MST_OP_FORK = 36,         /* the process forked here */
	MST_OP_STACK = 37,        /* the thread's stack is size bytes deep from here on */
	MST_OP_MMAP_READ = 38,    /* mmap of size bytes of a file, not to be written to */
	MST_OP_MMAP_WRITE = 39,   /* the same, to be written to */
	MST_OP_MMAP_ANON = 40,    /* mmap of size bytes of no file */
	MST_OP_MREMAP_OLD = 41,   /* size = what the mremap that comes next was to change */
	MST_OP_MREMAP_MOVED = 42, /* mremap to size bytes, elsewhere or failed */
	MST_OP_MREMAP_IN_PLACE = 43,
	MST_OP_MUNMAP = 44,

	/* Marks about pages, which have an address: the kernel did so, whoever asked. */
	MST_OP_PAGE_START = 45,       /* was mapped when recording began */
	MST_OP_PAGE_MMAP = 46,        /* mmap */
	MST_OP_PAGE_MUNMAP = 47,      /* munmap */
	MST_OP_PAGE_MREMAP_FROM = 48, /* what the mremap that comes next was given */
	MST_OP_PAGE_MREMAP = 49,      /* what it has become */
	MST_OP_PAGE_BRK_GROW = 50,    /* the break was at the address and rose by size */
	MST_OP_PAGE_BRK_SHRINK = 51,  /* the break fell by size, to the address */
	MST_OP_PAGE_SHMAT = 52,
	MST_OP_PAGE_SHMDT = 53,
	MST_OP_PAGE_RECORD = 54, /* in a base: Massif has a record of each page */
	MST_OP_PAGE_MOST = 55,   /* in a base: so many such records there have been at one time */
	MST_OP_PAGE_LAST = 56,   /* will be one more of them */

	MST_OP_COUNT = 64 /* numbers at or above this are invalid */
};

/* Whether blocks of the operation are custom: they lie in other memory, and take exactly their size. */
static inline int mst_op_is_custom(unsigned op)
{
	return op == MST_OP_MALLOCLIKE || op == MST_OP_RESIZEINPLACE;
}

/* Whether marks of the operation are about pages, and so have an address. */
static inline int mst_op_is_page(unsigned op)
{
	return op >= MST_OP_PAGE_START && op <= MST_OP_PAGE_LAST;
}

/* The operation's name in tables, for instance "realloc_moved"; "unknown" for numbers without a meaning. */
#pragma GCC visibility push(default)
const char *mst_op_name(unsigned op);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
