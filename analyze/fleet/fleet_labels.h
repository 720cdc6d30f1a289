/* SPDX-License-Identifier: MIT */
/* Labels of a run: what a fleet's queries group by. service, version and host are columns, all others are one text. */
#ifndef ANALYZE_FLEET_LABELS_H
#define ANALYZE_FLEET_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "string_pool.h"

enum { FLEET_LABELS_MOST = 16, FLEET_LABEL_BYTES = 64 };

struct fleet_label {
	const char *key, *value;
};

/* Zero-initialised has none. */
struct fleet_labels {
	struct fleet_label items[FLEET_LABELS_MOST];
	size_t n;
	struct pool pool;
};

void fleet_labels_finish(struct fleet_labels *labels);

/*
 * Adds "key=value,key=value". Keys are of letters, digits and _; a key that is there already gets the new value. NULL, or
 * why not: a constant.
 */
const char *fleet_labels_add(struct fleet_labels *labels, const char *text);

/* The value of a label; NULL: there is none. */
const char *fleet_labels_find(const struct fleet_labels *labels, const char *key);

#endif
