/* SPDX-License-Identifier: MIT */
#include "allocator_functions.h"

#include <string.h>

#include "mst_op.h"

static const char *const prefixes[ALLOCATOR_PREFIXES] = { "", "_rjem_", "je_", "mi_", "tc_" };

/* Of several names of one address the first one here stands for all. */
static const struct allocator_function functions[] = {
	{ "malloc", ENTRY_MALLOC, MST_OP_MALLOC, false },
	{ "calloc", ENTRY_CALLOC, MST_OP_CALLOC, false },
	{ "realloc", ENTRY_REALLOC, MST_OP_REALLOC, false },
	{ "reallocarray", ENTRY_REALLOCARRAY, MST_OP_REALLOCARRAY, false },
	{ "free", ENTRY_FREE, MST_OP_FREE, false },
	{ "cfree", ENTRY_FREE, MST_OP_FREE, false },
	{ "free_sized", ENTRY_FREE_SIZED, MST_OP_FREE, false },
	{ "free_aligned_sized", ENTRY_FREE_ALIGNED_SIZED, MST_OP_FREE, false },
	{ "memalign", ENTRY_MEMALIGN, MST_OP_MEMALIGN, false },
	{ "aligned_alloc", ENTRY_MEMALIGN, MST_OP_ALIGNED_ALLOC, false },
	{ "posix_memalign", ENTRY_POSIX_MEMALIGN, MST_OP_POSIX_MEMALIGN, false },
	{ "valloc", ENTRY_PAGES, MST_OP_VALLOC, false },
	{ "pvalloc", ENTRY_PAGES, MST_OP_PVALLOC, false },
	{ "malloc_usable_size", ENTRY_SHAPES, MST_OP_UNKNOWN, false },
	/* C++ */
	{ "_Znwm", ENTRY_MALLOC, MST_OP_NEW, true },
	{ "_Znam", ENTRY_MALLOC, MST_OP_NEW_ARRAY, true },
	{ "_ZnwmRKSt9nothrow_t", ENTRY_MALLOC_ANY, MST_OP_NEW, true },
	{ "_ZnamRKSt9nothrow_t", ENTRY_MALLOC_ANY, MST_OP_NEW_ARRAY, true },
	{ "_ZnwmSt11align_val_t", ENTRY_MALLOC_ALIGNED, MST_OP_NEW, true },
	{ "_ZnamSt11align_val_t", ENTRY_MALLOC_ALIGNED, MST_OP_NEW_ARRAY, true },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ENTRY_MALLOC_ALIGNED_ANY, MST_OP_NEW, true },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ENTRY_MALLOC_ALIGNED_ANY, MST_OP_NEW_ARRAY, true },
	{ "_ZdlPv", ENTRY_FREE, MST_OP_DELETE, true },
	{ "_ZdaPv", ENTRY_FREE, MST_OP_DELETE_ARRAY, true },
	{ "_ZdlPvm", ENTRY_FREE_SIZED, MST_OP_DELETE, true },
	{ "_ZdaPvm", ENTRY_FREE_SIZED, MST_OP_DELETE_ARRAY, true },
	{ "_ZdlPvRKSt9nothrow_t", ENTRY_FREE_ANY, MST_OP_DELETE, true },
	{ "_ZdaPvRKSt9nothrow_t", ENTRY_FREE_ANY, MST_OP_DELETE_ARRAY, true },
	{ "_ZdlPvSt11align_val_t", ENTRY_FREE_ALIGNED, MST_OP_DELETE, true },
	{ "_ZdaPvSt11align_val_t", ENTRY_FREE_ALIGNED, MST_OP_DELETE_ARRAY, true },
	{ "_ZdlPvmSt11align_val_t", ENTRY_FREE_SIZED_ALIGNED, MST_OP_DELETE, true },
	{ "_ZdaPvmSt11align_val_t", ENTRY_FREE_SIZED_ALIGNED, MST_OP_DELETE_ARRAY, true },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ENTRY_FREE_ALIGNED_ANY, MST_OP_DELETE, true },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ENTRY_FREE_ALIGNED_ANY, MST_OP_DELETE_ARRAY, true },
	/* jemalloc */
	{ "mallocx", ENTRY_MALLOCX, MST_OP_MALLOC, false },
	{ "rallocx", ENTRY_REALLOC_ANY, MST_OP_REALLOC, false },
	{ "xallocx", ENTRY_XALLOCX, MST_OP_REALLOC_IN_PLACE, false },
	{ "dallocx", ENTRY_FREE_ANY, MST_OP_FREE, false },
	{ "sdallocx", ENTRY_FREE_SIZED_ANY, MST_OP_FREE, false },
};

/* mimalloc's own, behind a prefix. */
static const struct allocator_function mimallocs[] = {
	{ "zalloc", ENTRY_MALLOC, MST_OP_CALLOC, false },
	{ "mallocn", ENTRY_CALLOC, MST_OP_MALLOC, false },
	{ "malloc_small", ENTRY_MALLOC, MST_OP_MALLOC, false },
	{ "zalloc_small", ENTRY_MALLOC, MST_OP_CALLOC, false },
	{ "malloc_aligned", ENTRY_MALLOC_ALIGNED, MST_OP_MEMALIGN, false },
	{ "zalloc_aligned", ENTRY_MALLOC_ALIGNED, MST_OP_MEMALIGN, false },
	{ "realloc_aligned", ENTRY_REALLOC_ANY, MST_OP_REALLOC, false },
	{ "new", ENTRY_MALLOC, MST_OP_NEW, true },
	{ "new_nothrow", ENTRY_MALLOC, MST_OP_NEW, true },
	{ "new_aligned", ENTRY_MALLOC_ALIGNED, MST_OP_NEW, true },
	{ "new_aligned_nothrow", ENTRY_MALLOC_ALIGNED, MST_OP_NEW, true },
	{ "free_size", ENTRY_FREE_SIZED, MST_OP_FREE, false },
	{ "free_size_aligned", ENTRY_FREE_SIZED_ALIGNED, MST_OP_FREE, false },
	{ "free_aligned", ENTRY_FREE_ALIGNED, MST_OP_FREE, false },
	{ "usable_size", ENTRY_SHAPES, MST_OP_UNKNOWN, false },
};

/* Libc's own forks all come through _Fork; older ones have fork alone. */
static const struct allocator_function hooks[] = {
	{ "_Fork", ENTRY_FORK, MST_OP_UNKNOWN, false },
	{ "fork", ENTRY_FORK, MST_OP_UNKNOWN, false },
	{ "dlclose", ENTRY_CLOSE, MST_OP_UNKNOWN, false },
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct allocator_function *find(const struct allocator_function *array, size_t n,
					     const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (array[i].name[0] == name[0] && strcmp(array[i].name, name) == 0)
			return &array[i];
	}
	return NULL;
}

const struct allocator_function *allocator_function_find(const char *symbol, uint32_t *family)
{
	for (uint32_t i = 1; i < ALLOCATOR_PREFIXES; i++) {
		const size_t n = strlen(prefixes[i]);
		const struct allocator_function *found;

		if (strncmp(symbol, prefixes[i], n) != 0)
			continue;
		*family = i;
		found = find(functions, N(functions), symbol + n);
		return found ? found : find(mimallocs, N(mimallocs), symbol + n);
	}
	*family = ALLOCATOR_PLAIN;
	return find(functions, N(functions), symbol);
}

const struct allocator_function *allocator_hook_find(const char *symbol)
{
	return find(hooks, N(hooks), symbol);
}

bool allocator_shape_frees(uint8_t shape)
{
	return shape >= ENTRY_FREE && shape < ENTRY_SHAPES;
}

uint8_t allocator_shape_arguments(uint8_t shape)
{
	static const uint8_t arguments[ENTRY_SHAPES] = {
		[ENTRY_MALLOC] = 1,
		[ENTRY_CALLOC] = 2,
		[ENTRY_REALLOC] = 2,
		[ENTRY_REALLOCARRAY] = 3,
		[ENTRY_REALLOC_ANY] = 3,
		[ENTRY_MEMALIGN] = 2,
		[ENTRY_POSIX_MEMALIGN] = 3,
		[ENTRY_PAGES] = 1,
		[ENTRY_MALLOC_ALIGNED] = 2,
		[ENTRY_MALLOC_ALIGNED_ANY] = 3,
		[ENTRY_MALLOC_ANY] = 2,
		[ENTRY_MALLOCX] = 2,
		[ENTRY_XALLOCX] = 4,
		[ENTRY_FORK] = 0,
		[ENTRY_CLOSE] = 1,
		[ENTRY_FREE] = 1,
		[ENTRY_FREE_ANY] = 2,
		[ENTRY_FREE_SIZED] = 2,
		[ENTRY_FREE_SIZED_ANY] = 3,
		[ENTRY_FREE_ALIGNED] = 2,
		[ENTRY_FREE_ALIGNED_ANY] = 3,
		[ENTRY_FREE_SIZED_ALIGNED] = 3,
		[ENTRY_FREE_ALIGNED_SIZED] = 3,
	};

	return shape < ENTRY_SHAPES ? arguments[shape] : 0;
}
