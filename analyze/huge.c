/* SPDX-License-Identifier: MIT */
#include "huge.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, PAGE = 2 << 20 };

void *huge_grow(void *old, size_t used, size_t size)
{
	const size_t unit = size < PAGE ? LINE : PAGE;
	void *grown = size > SIZE_MAX - unit ? NULL : aligned_alloc(unit, (size + unit - 1) & ~(unit - 1));

	if (!grown)
		return NULL;
	if (unit == PAGE)
		madvise(grown, size, MADV_HUGEPAGE); /* only a hint */
	if (used)
		memcpy(grown, old, used);
	free(old);
	return grown;
}
