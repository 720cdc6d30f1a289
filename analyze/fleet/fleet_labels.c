/* SPDX-License-Identifier: MIT */
#include "fleet_labels.h"

#include <string.h>

#include "utf8.h"

static const char no_memory[] = "out of memory";

void fleet_labels_finish(struct fleet_labels *labels)
{
	pool_finish(&labels->pool);
	*labels = (struct fleet_labels){ 0 };
}

const char *fleet_labels_find(const struct fleet_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->n; i++) {
		if (strcmp(labels->items[i].key, key) == 0)
			return labels->items[i].value;
	}
	return NULL;
}

static char *copy(struct fleet_labels *labels, const char *text, size_t n)
{
	char *kept = pool_take(&labels->pool, n + 1);
	if (kept) {
		memcpy(kept, text, n);
		kept[n] = '\0';
	}
	return kept;
}

static bool is_key(const char *text, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	return n > 0 && strspn(text, letters) >= n;
}

static const char *set(struct fleet_labels *labels, const char *key, const char *value)
{
	for (size_t i = 0; i < labels->n; i++) {
		if (strcmp(labels->items[i].key, key) == 0) {
			labels->items[i].value = value;
			return NULL;
		}
	}
	if (labels->n == FLEET_LABELS_MOST)
		return "there are more than 16 labels";
	labels->items[labels->n++] = (struct fleet_label){ key, value };
	return NULL;
}

/* One key=value of n bytes. */
static const char *add_one(struct fleet_labels *labels, const char *text, size_t n)
{
	const char *equals = memchr(text, '=', n);
	const size_t n_key = equals ? (size_t)(equals - text) : 0;
	if (!is_key(text, n_key))
		return "a label is KEY=VALUE, its key of letters, digits and _";
	if (n_key > FLEET_LABEL_BYTES || n - n_key - 1 > FLEET_LABEL_BYTES)
		return "a label's key and its value have at most 64 bytes each";
	const char *key = copy(labels, text, n_key), *value = copy(labels, equals + 1, n - n_key - 1);
	if (!key || !value)
		return no_memory;
	if (!utf8_is_valid(value))
		return "a label is not UTF-8";
	return set(labels, key, value);
}

const char *fleet_labels_add(struct fleet_labels *labels, const char *text)
{
	for (;;) {
		const size_t n = strcspn(text, ",");
		const char *why = add_one(labels, text, n);
		if (why || !text[n])
			return why;
		text += n + 1;
	}
}
