/* SPDX-License-Identifier: MIT */
#include "intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing; `mask` + 1 slots, a power of two, at most half of them in use. */
struct intern {
	size_t n;
	size_t mask;
	struct slot {
		char *text;   /* NULL: free slot */
		size_t n;
		uint64_t hash;
	} *slots;
};

static uint64_t text_hash(const char *text, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3U;
	return hash ^ hash >> 29;
}

static struct slot *slot_find(const struct intern *intern, const char *text, size_t n,
			      uint64_t hash)
{
	size_t i = hash & intern->mask;

	for (;; i = (i + 1) & intern->mask) {
		struct slot *slot = &intern->slots[i];

		if (!slot->text)
			return slot;
		if (slot->hash == hash && slot->n == n && memcmp(slot->text, text, n) == 0)
			return slot;
	}
}

static bool intern_grow(struct intern *intern)
{
	struct slot *old = intern->slots;
	size_t old_mask = intern->mask;
	struct slot *slots = calloc(2 * (old_mask + 1), sizeof(*slots));

	if (!slots)
		return false;
	intern->slots = slots;
	intern->mask = 2 * old_mask + 1;
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].text)
			*slot_find(intern, old[i].text, old[i].n, old[i].hash) = old[i];
	free(old);
	return true;
}

struct intern *intern_create(void)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return NULL;
	intern->mask = 255;
	intern->slots = calloc(intern->mask + 1, sizeof(*intern->slots));
	if (!intern->slots) {
		free(intern);
		return NULL;
	}
	return intern;
}

void intern_destroy(struct intern *intern)
{
	if (!intern)
		return;
	for (size_t i = 0; i <= intern->mask; i++)
		free(intern->slots[i].text);
	free(intern->slots);
	free(intern);
}

const char *intern_add(struct intern *intern, const char *text, size_t n)
{
	uint64_t hash = text_hash(text, n);
	struct slot *slot = slot_find(intern, text, n, hash);

	if (slot->text)
		return slot->text;
	if (2 * (intern->n + 1) > intern->mask) {
		if (!intern_grow(intern))
			return NULL;
		slot = slot_find(intern, text, n, hash);
	}
	slot->text = malloc(n + 1);
	if (!slot->text)
		return NULL;
	memcpy(slot->text, text, n);
	slot->text[n] = '\0';
	slot->n = n;
	slot->hash = hash;
	intern->n++;
	return slot->text;
}
