/* SPDX-License-Identifier: MIT */
#include "tids.h"

#include <stdlib.h>

#include "array.h"

void tids_finish(struct tids *tids)
{
	free(tids->items);
	*tids = (struct tids){ 0 };
}

static int add(struct tids *tids, struct mst_writer *writer, uint32_t number, uint32_t *thread)
{
	const struct mst_thread definition = { .tid = number };
	int err;

	if (!array_reserve(&tids->items, tids->n, &tids->capacity, sizeof(*tids->items)))
		return MST_ERR_NOMEM;
	err = mst_writer_thread(writer, &definition, thread);
	if (!err)
		tids->items[tids->n++] = (struct tid){ .tid = number, .thread = *thread };
	return err;
}

int tids_find(struct tids *tids, struct mst_writer *writer, uint32_t tid, uint32_t *thread)
{
	/* The last to begin are the likely ones. */
	for (uint32_t i = tids->n; i-- > 0;) {
		if (tids->items[i].tid == tid) {
			*thread = tids->items[i].thread;
			return 0;
		}
	}
	return add(tids, writer, tid, thread);
}
