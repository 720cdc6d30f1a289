/* SPDX-License-Identifier: MIT */
#include "observer_list.h"

#include <stdlib.h>

#include "array.h"

bool observer_list_add(struct observer_list *list, struct observer *observer)
{
	if (!array_reserve(&list->items, list->n, &list->room, sizeof(*list->items)))
		return false;
	list->items[list->n++] = observer;
	return true;
}

void observer_list_finish(struct observer_list *list)
{
	free(list->items);
	*list = (struct observer_list){ 0 };
}
