/* SPDX-License-Identifier: MIT */
/* The observers of one replay, as many as there are. */
#ifndef ANALYZE_OBSERVER_LIST_H
#define ANALYZE_OBSERVER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "observer.h"

/* Zero-initialise. The observers belong to their owners. */
struct observer_list {
	struct observer **items;
	size_t n, room;
};

/* False: no memory; nothing is added. */
bool observer_list_add(struct observer_list *list, struct observer *observer);
void observer_list_finish(struct observer_list *list);

#endif
