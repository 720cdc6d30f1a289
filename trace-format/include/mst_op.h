/* SPDX-License-Identifier: MIT */
/*
 * The operations of a trace: calls of the allocator, and markers.
 *
 * The numbers are part of the file format (FORMAT.md, "Operations") and of the memory that a recorded program
 * shares with msrec. A number is never reused. The header needs no other one, for programs that know only
 * this of a trace.
 */
#ifndef MSTRACE_OP_H
#define MSTRACE_OP_H

#ifdef __cplusplus
extern "C" {
#endif

enum mst_op {
	MST_OP_UNKNOWN = 0, /* a block whose allocation is unknown */

	/* Calls that allocate a block. */
	MST_OP_MALLOC = 1,
	MST_OP_CALLOC = 2,        /* size = product, modulo 2^64 */
	MST_OP_REALLOC = 3,       /* realloc(NULL, n) */
	MST_OP_REALLOC_MOVED = 4, /* realloc(p, n) that returned another address, or failed */
	MST_OP_REALLOC_IN_PLACE = 5,
	MST_OP_REALLOC_FREE = 6, /* realloc(p, 0): frees p */
	MST_OP_MEMALIGN = 7,
	MST_OP_POSIX_MEMALIGN = 8,
	MST_OP_ALIGNED_ALLOC = 9,
	MST_OP_VALLOC = 10,
	MST_OP_PVALLOC = 11,
	MST_OP_NEW = 12,           /* operator new, all forms */
	MST_OP_NEW_ARRAY = 13,     /* operator new[], all forms */
	MST_OP_REALLOCARRAY = 14,  /* only a call refused because the product overflows */
	MST_OP_MALLOCLIKE = 15,    /* a custom block, by a request of msrec.h */
	MST_OP_RESIZEINPLACE = 16, /* a custom block at the address of the one freed just before */

	/* Frees a block: free, delete and their like, when their stack is recorded. */
	MST_OP_FREE = 17,
	MST_OP_FREELIKE = 18,     /* the same of a request: a custom block goes */
	MST_OP_DELETE = 19,       /* operator delete, all forms */
	MST_OP_DELETE_ARRAY = 20, /* operator delete[], all forms */

	/* Markers: no block comes or goes. */
	MST_OP_IMPLIED_FREE = 32, /* the address was allocated again, its free is unknown */
	MST_OP_LOST = 33,         /* size = number of events lost just before */
	MST_OP_START = 34,        /* the recorder's constructor ran */
	MST_OP_EXIT = 35,         /* the exit handlers are done, clean-up follows;
				     * size = calls of free(NULL) before it */
	MST_OP_FORK = 36,         /* the process forked here */
	MST_OP_STACK = 37,        /* the thread's stack is size bytes deep from here on */
	MST_OP_MMAP_READ = 38,    /* mmap of size bytes of a file, without PROT_WRITE */
	MST_OP_MMAP_WRITE = 39,   /* mmap of size bytes of a file, with PROT_WRITE */
	MST_OP_MMAP_ANON = 40,    /* anonymous mmap of size bytes */
	MST_OP_MREMAP_OLD = 41,   /* size = old size of the mremap that comes next */
	MST_OP_MREMAP_MOVED = 42, /* mremap to size bytes, elsewhere or failed */
	MST_OP_MREMAP_IN_PLACE = 43,
	MST_OP_MUNMAP = 44,

	/* Markers about pages, which have an address: what the kernel mapped, at any code's request. */
	MST_OP_PAGE_START = 45,       /* was mapped when recording began */
	MST_OP_PAGE_MMAP = 46,        /* mmap */
	MST_OP_PAGE_MUNMAP = 47,      /* munmap */
	MST_OP_PAGE_MREMAP_FROM = 48, /* the old range of the mremap that comes next */
	MST_OP_PAGE_MREMAP = 49,      /* its new range */
	MST_OP_PAGE_BRK_GROW = 50,    /* the break was at the address and rose by size */
	MST_OP_PAGE_BRK_SHRINK = 51,  /* the break fell by size, to the address */
	MST_OP_PAGE_SHMAT = 52,
	MST_OP_PAGE_SHMDT = 53,
	MST_OP_PAGE_RECORD = 54, /* initial state: Massif has a record of each page */
	MST_OP_PAGE_MOST = 55,   /* initial state: the most such records at one time */
	MST_OP_PAGE_LAST = 56,   /* of a later revision: it has an address */

	/* A marker: the next free is of a block that was freed before. */
	MST_OP_FREED_BEFORE = 57,

	/* Markers: what is recorded from here on. */
	MST_OP_OFF = 58, /* no block that is allocated; frees of recorded blocks are */
	MST_OP_ON = 59,  /* all; a free of an unknown block may be of one that came while recording was off */

	MST_OP_COUNT = 64 /* numbers at or above this are invalid */
};

/* Marks that begin a span, whose name follows, and end one (FORMAT.md, "MARKS"). */
#define MST_SPAN_BEGIN "span:"
#define MST_SPAN_END "/span"

/* The size of MST_OP_OFF that says: all before is unknown because recording began in a process that ran. */
#define MST_OFF_LATE 1u

/*
 * Whether blocks of the operation are custom: they lie in the program's own memory and take exactly their
 * size.
 */
static inline int mst_op_is_custom(unsigned op)
{
	return op == MST_OP_MALLOCLIKE || op == MST_OP_RESIZEINPLACE;
}

/* Whether the operation is nothing but a free, and so stands for the stack of one. */
static inline int mst_op_is_free(unsigned op)
{
	return op >= MST_OP_FREE && op <= MST_OP_DELETE_ARRAY;
}

/* Whether events of the operation are markers about pages, which have an address. */
static inline int mst_op_is_page(unsigned op)
{
	return op >= MST_OP_PAGE_START && op <= MST_OP_PAGE_LAST;
}

/* The operation's name, for instance "realloc_moved"; "unknown" for numbers without a meaning. Constant. */
#pragma GCC visibility push(default)
const char *mst_op_name(unsigned op);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
