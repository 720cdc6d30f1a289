/* SPDX-License-Identifier: MIT */
#include "string_set.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

/* Open addressing; `mask` + 1 slots, a power of two, at most half of them in use. */
struct string_set {
	size_t n;
	size_t mask;
	struct slot {
		char *text; /* NULL: free slot */
		size_t n;
		uint64_t hash;
		size_t number;
	} * slots;
};

static uint64_t text_hash(const char *text, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3U;
	return hash ^ hash >> 29;
}

static struct slot *slot_find(const struct string_set *set, const char *text, size_t n, uint64_t hash)
{
	size_t i = hash & set->mask;

	for (;; i = (i + 1) & set->mask) {
		struct slot *slot = &set->slots[i];

		if (!slot->text)
			return slot;
		if (slot->hash == hash && slot->n == n && memcmp(slot->text, text, n) == 0)
			return slot;
	}
}

static bool string_set_grow(struct string_set *set)
{
	struct slot *old = set->slots;
	size_t old_mask = set->mask;
	struct slot *slots = calloc(2 * (old_mask + 1), sizeof(*slots));

	if (!slots)
		return false;
	set->slots = slots;
	set->mask = 2 * old_mask + 1;
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].text)
			*slot_find(set, old[i].text, old[i].n, old[i].hash) = old[i];
	free(old);
	return true;
}

struct string_set *string_set_create(void)
{
	struct string_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->mask = 255;
	set->slots = calloc(set->mask + 1, sizeof(*set->slots));
	if (!set->slots) {
		free(set);
		return NULL;
	}
	return set;
}

void string_set_destroy(struct string_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i <= set->mask; i++)
		free(set->slots[i].text);
	free(set->slots);
	free(set);
}

/* The text's slot, filled. NULL: no memory. */
static struct slot *slot_add(struct string_set *set, const char *text, size_t n)
{
	uint64_t hash = text_hash(text, n);
	struct slot *slot = slot_find(set, text, n, hash);

	if (slot->text)
		return slot;
	if (2 * (set->n + 1) > set->mask) {
		if (!string_set_grow(set))
			return NULL;
		slot = slot_find(set, text, n, hash);
	}
	slot->text = malloc(n + 1);
	if (!slot->text)
		return NULL;
	memcpy(slot->text, text, n);
	slot->text[n] = '\0';
	slot->n = n;
	slot->hash = hash;
	slot->number = ++set->n;
	return slot;
}

const char *string_set_add(struct string_set *set, const char *text, size_t n)
{
	const struct slot *slot = slot_add(set, text, n);

	return slot ? slot->text : NULL;
}

const char *string_set_add_shown(struct string_set *set, const char *text, size_t n)
{
	const char *kept;
	char *copy;

	if (printable_run(text, n) == n)
		return string_set_add(set, text, n);
	copy = printable_copy(text, n);
	kept = copy ? string_set_add(set, copy, strlen(copy)) : NULL;
	free(copy);
	return kept;
}

size_t string_set_number(struct string_set *set, const char *text, size_t n)
{
	const struct slot *slot = slot_add(set, text, n);

	return slot ? slot->number : 0;
}
