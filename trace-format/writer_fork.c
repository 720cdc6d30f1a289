/* SPDX-License-Identifier: MIT */
/* A writer for a forked child, which begins with a copy of its parent's state and of the units in its file. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mst_writer.h"
#include "writer.h"

static int copy_units(struct writer_output *to, const struct writer_output *from)
{
	to->n_units = to->cap_units = from->n_units;
	to->units = malloc(from->n_units * sizeof(*to->units));
	if (!to->units)
		return MST_ERR_NOMEM;
	memcpy(to->units, from->units, from->n_units * sizeof(*to->units));
	return 0;
}

/* Where the child's history is: in the parent's file, behind its FILE unit. */
static int find_prefix(struct writer_output *to, const struct writer_output *from)
{
	if (from->prefix_fd >= 0) {
		/* The parent has no file of its own yet: what it would begin with is all there is. */
		to->prefix_start = from->prefix_start;
		to->prefix_end = from->prefix_end;
		to->prefix_fd = dup(from->prefix_fd);
	} else {
		assert(from->n_units > 0);
		to->prefix_start = from->units[0].size;
		to->prefix_end = from->bytes;
		to->prefix_fd = dup(from->fd);
	}
	return to->prefix_fd < 0 ? MST_ERR_IO : 0;
}

int mst_writer_fork_state(struct mst_writer *parent, struct mst_writer **child)
{
	struct mst_writer *w;
	int err = parent->error;

	*child = NULL;
	if (err || (err = writer_alloc(&w, -1, parent->level)))
		return err;
	w->features = parent->features;
	w->identity = parent->identity;
	w->counted = parent->counted;
	w->recoded = parent->recoded;
	w->initial = parent->initial;
	w->totals = parent->totals;
	w->now = parent->now;
	w->memory = parent->memory;
	w->memory.peak = 0; /* the child has its own */
	w->limit = parent->limit;
	w->output.wait_for_room = parent->output.wait_for_room;
	w->output.context = parent->output.context;
	if ((err = find_prefix(&w->output, &parent->output)) || (err = defs_copy(&w->defs, &parent->defs)) ||
	    (err = chunk_copy(&w->chunk, &parent->chunk)) ||
	    (err = latest_copy(&w->latest, &parent->latest) ? 0 : MST_ERR_NOMEM) ||
	    (err = keyframes_copy(&w->keyframes, &parent->keyframes)) ||
	    (err = copy_units(&w->output, &parent->output))) {
		mst_writer_destroy(w);
		return err;
	}
	*child = w;
	return 0;
}

int mst_writer_fork_file(struct mst_writer *child, int fd, const struct mst_file_info *info)
{
	const uint32_t n_units = child->output.n_units;

	assert(child->output.prefix_fd >= 0);
	child->output.fd = fd;
	child->output.n_units = 0; /* the child's own FILE unit takes the place of its parent's */
	child->error = writer_file_unit(child, info);
	if (!child->error)
		child->error = writer_copy(child, child->output.prefix_fd, child->output.prefix_start,
					   child->output.prefix_end);
	if (child->error)
		child->totals.written = 0; /* nothing of the history is there */
	else
		child->output.n_units = n_units;
	close(child->output.prefix_fd);
	child->output.prefix_fd = -1;
	return child->error;
}
