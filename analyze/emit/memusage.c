/* SPDX-License-Identifier: MIT */
/* memusage's data file, the input of memusagestat; see datafile.h. */
#include <errno.h>
#include <stdlib.h>

#include "datafile.h"
#include "emit.h"
#include "memusage.h"

/* An observer that forwards every call to memusage's counters. */
struct writer {
	struct observer observer;
	struct out *out;
	struct datafile *data;
	struct memusage *memusage;
};

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct observer *inner = memusage_observer(((struct writer *)observer)->memusage);
	return inner->impl->chunk(inner, reader, chunk);
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct writer *w = (struct writer *)observer;
	struct observer *inner = memusage_observer(w->memusage);
	const int error = inner->impl->end ? inner->impl->end(inner, reader) : 0;
	if (error)
		return error;
	datafile_write(w->data, w->out);
	if (datafile_error(w->data))
		out_fail(w->out, datafile_error(w->data));
	return 0;
}

static void destroy(struct observer *observer)
{
	struct writer *w = (struct writer *)observer;
	if (!w)
		return;
	memusage_destroy(w->memusage);
	datafile_destroy(w->data);
	free(w);
}

static struct observer *create(struct out *out, const struct emit_view *view)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct writer *w = calloc(1, sizeof(*w));
	(void)view;
	if (!w)
		return NULL;
	w->observer.impl = &impl;
	w->out = out;
	w->data = datafile_create();
	w->memusage = w->data ? memusage_create(w->data, MEMUSAGE_NO_MAPS) : NULL;
	if (!w->memusage) {
		destroy(&w->observer);
		return NULL;
	}
	w->observer.spared = memusage_observer(w->memusage)->spared;
	return &w->observer;
}

static const struct emit_pass pass = { create, destroy };

const struct emitter emit_memusage = {
	.name = "memusage",
	.suffix = ".memusage",
	.help = "memusage's data file: for memusagestat",
	.source = EMIT_EVENTS,
	.binary = true,
	.pass = &pass,
};
