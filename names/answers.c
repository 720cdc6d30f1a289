/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024

static struct answer *slots_create(size_t n)
{
	struct answer *slots = malloc(n * sizeof(*slots));

	for (size_t i = 0; slots && i < n; i++)
		slots[i].module = SYMBOLS_NO_MODULE;
	return slots;
}

bool answers_init(struct answers *answers)
{
	*answers = (struct answers){ .slots = slots_create(FIRST_SLOTS), .mask = FIRST_SLOTS - 1 };
	return answers->slots;
}

void answers_finish(struct answers *answers)
{
	free(answers->slots);
	pool_finish(&answers->chains);
	*answers = (struct answers){ 0 };
}

static struct answer *slot_of(const struct answers *answers, uint32_t module, uint64_t address)
{
	const uint64_t hash = (address ^ (uint64_t)module << 48) * 0x9e3779b97f4a7c15U;
	size_t i = (hash ^ hash >> 32) & answers->mask;

	for (;; i = (i + 1) & answers->mask) {
		struct answer *slot = &answers->slots[i];

		if (slot->module == SYMBOLS_NO_MODULE || (slot->module == module && slot->address == address))
			return slot;
	}
}

static bool grow(struct answers *answers)
{
	const size_t n = answers->mask + 1;
	struct answer *old = answers->slots, *slots = slots_create(2 * n);

	if (!slots)
		return false;
	answers->slots = slots;
	answers->mask = 2 * n - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i].module != SYMBOLS_NO_MODULE)
			*slot_of(answers, old[i].module, old[i].address) = old[i];
	free(old);
	return true;
}

struct answer *answers_at(struct answers *answers, uint32_t module, uint64_t address, bool *fresh)
{
	struct answer *slot = slot_of(answers, module, address);

	*fresh = slot->module == SYMBOLS_NO_MODULE;
	if (!*fresh)
		return slot;
	if (4 * (answers->n + 1) > 3 * answers->mask) {
		if (!grow(answers))
			return NULL;
		slot = slot_of(answers, module, address);
	}
	answers->n++;
	*slot = (struct answer){ address, module, SYMTAB_NONE, NULL };
	return slot;
}
