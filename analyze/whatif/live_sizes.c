/* SPDX-License-Identifier: MIT */
#include "live_sizes.h"

enum { PAGE_LOG2 = 12 };

static unsigned class_of(uint64_t bytes)
{
	return bytes ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
}

static void keep_marked(struct live_sizes *sizes)
{
	if (sizes->marked)
		sizes->then = sizes->now;
	sizes->marked = false;
}

void live_sizes_come(struct live_sizes *sizes, uint64_t bytes)
{
	keep_marked(sizes);
	sizes->now.bytes[class_of(bytes)] += bytes;
	sizes->now.blocks[class_of(bytes)]++;
}

void live_sizes_go(struct live_sizes *sizes, uint64_t bytes)
{
	keep_marked(sizes);
	sizes->now.bytes[class_of(bytes)] -= bytes;
	sizes->now.blocks[class_of(bytes)]--;
}

void live_sizes_mark(struct live_sizes *sizes)
{
	sizes->marked = true;
}

/* What blocks take of which at most 2^log2 bytes each are used. Sizes of hostile traces saturate. */
static uint64_t sum_up(const struct size_classes *classes, unsigned log2)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < SIZE_CLASSES; i++) {
		uint64_t part = classes->bytes[i];
		if (i >= log2 && __builtin_mul_overflow(classes->blocks[i], UINT64_C(1) << log2, &part))
			return UINT64_MAX;
		if (__builtin_add_overflow(sum, part, &sum))
			return UINT64_MAX;
	}
	return sum;
}

uint64_t live_sizes_used(const struct live_sizes *sizes, uint64_t limit)
{
	const struct size_classes *classes = sizes->marked ? &sizes->now : &sizes->then;
	for (unsigned log2 = SIZE_CLASSES - 1; log2 >= PAGE_LOG2; log2--) {
		if (sum_up(classes, log2) <= limit)
			return UINT64_C(1) << log2;
	}
	return 0;
}
