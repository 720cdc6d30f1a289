/* SPDX-License-Identifier: MIT */
#include "mst_op.h"

static const char *const names[MST_OP_COUNT] = {
	[MST_OP_UNKNOWN] = "unknown",
	[MST_OP_MALLOC] = "malloc",
	[MST_OP_CALLOC] = "calloc",
	[MST_OP_REALLOC] = "realloc",
	[MST_OP_REALLOC_MOVED] = "realloc_moved",
	[MST_OP_REALLOC_IN_PLACE] = "realloc_in_place",
	[MST_OP_REALLOC_FREE] = "realloc_free",
	[MST_OP_MEMALIGN] = "memalign",
	[MST_OP_POSIX_MEMALIGN] = "posix_memalign",
	[MST_OP_ALIGNED_ALLOC] = "aligned_alloc",
	[MST_OP_VALLOC] = "valloc",
	[MST_OP_PVALLOC] = "pvalloc",
	[MST_OP_NEW] = "new",
	[MST_OP_NEW_ARRAY] = "new_array",
	[MST_OP_REALLOCARRAY] = "reallocarray",
	[MST_OP_MALLOCLIKE] = "malloclike",
	[MST_OP_RESIZEINPLACE] = "resizeinplace",
	[MST_OP_FREE] = "free",
	[MST_OP_FREELIKE] = "freelike",
	[MST_OP_IMPLIED_FREE] = "implied_free",
	[MST_OP_LOST] = "lost",
	[MST_OP_START] = "start",
	[MST_OP_EXIT] = "exit",
	[MST_OP_FORK] = "fork",
	[MST_OP_STACK] = "stack",
	[MST_OP_MMAP_READ] = "mmap_read",
	[MST_OP_MMAP_WRITE] = "mmap_write",
	[MST_OP_MMAP_ANON] = "mmap_anon",
	[MST_OP_MREMAP_OLD] = "mremap_old",
	[MST_OP_MREMAP_MOVED] = "mremap_moved",
	[MST_OP_MREMAP_IN_PLACE] = "mremap_in_place",
	[MST_OP_MUNMAP] = "munmap",
	[MST_OP_PAGE_START] = "page_start",
	[MST_OP_PAGE_MMAP] = "page_mmap",
	[MST_OP_PAGE_MUNMAP] = "page_munmap",
	[MST_OP_PAGE_MREMAP_FROM] = "page_mremap_from",
	[MST_OP_PAGE_MREMAP] = "page_mremap",
	[MST_OP_PAGE_BRK_GROW] = "page_brk_grow",
	[MST_OP_PAGE_BRK_SHRINK] = "page_brk_shrink",
	[MST_OP_PAGE_SHMAT] = "page_shmat",
	[MST_OP_PAGE_SHMDT] = "page_shmdt",
	[MST_OP_PAGE_RECORD] = "page_record",
	[MST_OP_PAGE_MOST] = "page_most",
};

const char *mst_op_name(unsigned op)
{
	return op < MST_OP_COUNT && names[op] ? names[op] : names[MST_OP_UNKNOWN];
}
