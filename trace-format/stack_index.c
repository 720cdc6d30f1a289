/* SPDX-License-Identifier: MIT */
#include "stack_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MIN 256u

static struct stack_line *make_lines(uint32_t n)
{
	struct stack_line *const lines = aligned_alloc(sizeof(*lines), (size_t)n * sizeof(*lines));

	_Static_assert(sizeof(*lines) == 64, "a cache line");
	return lines ? memset(lines, 0, (size_t)n * sizeof(*lines)) : NULL;
}

bool stack_index_init(struct stack_index *index)
{
	*index = (struct stack_index){ .lines = make_lines(LINES_MIN), .mask = LINES_MIN - 1 };
	return hash_index_init(&index->others) && index->lines;
}

void stack_index_finish(struct stack_index *index)
{
	free(index->lines);
	hash_index_finish(&index->others);
	*index = (struct stack_index){ 0 };
}

bool stack_index_copy(struct stack_index *to, const struct stack_index *from)
{
	*to = (struct stack_index){ .mask = from->mask, .used = from->used };
	to->lines = make_lines(from->mask + 1);
	if (to->lines)
		memcpy(to->lines, from->lines, ((size_t)from->mask + 1) * sizeof(*to->lines));
	return hash_index_copy(&to->others, &from->others) && to->lines;
}

/* Half of the entries are free, and so hardly a home is full. */
static inline struct stack_line *home_of(const struct stack_index *index, uint32_t parent)
{
	return &index->lines[parent / (STACK_LINE / 2) & index->mask];
}

static inline uint32_t hash_of(const struct mst_stack *stack)
{
	return hash_words(stack->parent, stack->frame);
}

uint32_t stack_index_find(const struct stack_index *index, const struct mst_stack *stacks,
			  const struct mst_stack *stack)
{
	const struct stack_line *const home = home_of(index, stack->parent);
	const uint32_t hash = hash_of(stack);
	uint32_t id;

	for (uint32_t i = 0; i < STACK_LINE; i++) {
		id = home->entries[i].stack;
		if (!id || (home->entries[i].frame == stack->frame && stacks[id].parent == stack->parent))
			return id;
	}
	for (uint32_t i = hash_index_first(&index->others, hash);
	     hash_index_next(&index->others, hash, &i, &id);) {
		if (stacks[id].parent == stack->parent && stacks[id].frame == stack->frame)
			return id;
	}
	return 0;
}

void stack_index_add(struct stack_index *index, const struct mst_stack *stacks, uint32_t id)
{
	struct stack_line *const home = home_of(index, stacks[id].parent);

	assert(id > 0);
	index->used++;
	for (uint32_t i = 0; i < STACK_LINE; i++) {
		if (!home->entries[i].stack) {
			home->entries[i] = (struct stack_entry){ stacks[id].frame, id };
			return;
		}
	}
	hash_index_add(&index->others, hash_of(&stacks[id]), id);
}

bool stack_index_grow(struct stack_index *index, const struct mst_stack *stacks)
{
	const uint32_t n = index->used;
	struct stack_line *lines;

	if (!hash_index_reserve(&index->others))
		return false;
	if (n / (STACK_LINE / 2) < index->mask)
		return true;
	lines = make_lines(2 * index->mask + 2);
	if (!lines)
		return false;
	free(index->lines);
	index->lines = lines;
	index->mask = 2 * index->mask + 1;
	index->used = 0;
	hash_index_clear(&index->others);
	for (uint32_t id = 1; id <= n; id++)
		stack_index_add(index, stacks, id);
	assert(index->used == n);
	return true;
}
