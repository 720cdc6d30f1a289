/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "utf8.h"

bool texts_init(struct texts *t)
{
	*t = (struct texts){ 0 };
	t->failed = !hash_index_init(&t->index);
	texts_add(t, "");
	return !t->failed;
}

void texts_finish(struct texts *t)
{
	free(t->items);
	hash_index_finish(&t->index);
	pool_finish(&t->pool);
	*t = (struct texts){ 0 };
}

/* Whether a byte goes on with a character of UTF-8. */
static bool goes_on(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

#define ELLIPSIS "\xe2\x80\xa6"

const char *texts_cut(const char *text, struct pool *pool)
{
	char middle[32];
	const size_t size = strlen(text);
	if (size <= TEXTS_LONGEST)
		return text;
	const int n = sprintf(middle, ELLIPSIS "%08" PRIx32 ELLIPSIS, hash_text(text, size));
	size_t head = TEXTS_LONGEST / 4 * 3, tail = size - (TEXTS_LONGEST / 4 - (size_t)n);
	char *cut = pool_take(pool, TEXTS_LONGEST + 1);
	while (head > TEXTS_LONGEST / 2 && goes_on(text[head]))
		head--;
	while (tail < size && goes_on(text[tail]))
		tail++;
	if (!cut)
		return NULL;
	memcpy(cut, text, head);
	memcpy(cut + head, middle, (size_t)n);
	strcpy(cut + head + n, text + tail);
	return cut;
}

uint32_t texts_add(struct texts *t, const char *text)
{
	uint32_t i, number;
	text = texts_cut(text, &t->pool);
	if (t->failed || !text || !hash_index_reserve(&t->index) ||
	    !array_reserve(&t->items, t->n, &t->room, sizeof(*t->items))) {
		t->failed = true;
		return 0;
	}
	const size_t size = strlen(text) + 1;
	const uint32_t hash = hash_text(text, size);
	for (i = hash_index_first(&t->index, hash); hash_index_next(&t->index, hash, &i, &number);) {
		if (strcmp(t->items[number], text) == 0)
			return number;
	}
	char *copy = pool_take(&t->pool, size);
	if (!copy) {
		t->failed = true;
		return 0;
	}
	t->items[t->n] = memcpy(copy, text, size);
	hash_index_add(&t->index, hash, t->n);
	return t->n++;
}

void texts_write(struct texts *t, struct columns *columns, uint8_t section)
{
	char **repaired = calloc(t->n + (size_t)1, sizeof(*repaired));
	bool fine = repaired;
	for (uint32_t i = 0; fine && i < t->n; i++)
		fine = (repaired[i] = utf8_repair(t->items[i]));
	columns_begin(columns, section);
	columns_number(columns, t->n);
	for (uint32_t i = 0; fine && i < t->n; i++)
		columns_number(columns, strlen(repaired[i]));
	for (uint32_t i = 0; fine && i < t->n; i++)
		columns_bytes(columns, repaired[i], strlen(repaired[i]));
	columns_end(columns);
	for (uint32_t i = 0; repaired && i < t->n; i++)
		free(repaired[i]);
	free(repaired);
	columns->failed |= !fine || t->failed;
}
