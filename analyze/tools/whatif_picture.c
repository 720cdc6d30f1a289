/* SPDX-License-Identifier: MIT */
#include "whatif_picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output_set.h"
#include "picture.h"

/* Passes operations on; at each stop it looks at the player. */
struct painter {
	struct op_sink sink;
	const struct whatif_job *job;
	struct players players;
	struct op_stream stream;
	struct page_list before;
	struct picture *picture;
};

static int look(struct painter *p)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(p->job->trace->reader, &n);
	players_wait(&p->players, false);
	errno = ESRCH;
	if (!whatif_any_runs(&p->players) ||
	    !picture_add(p->picture, &p->players.items[0], &p->before, &p->stream, kinds, n))
		return MST_ERR_IO;
	players_go(&p->players);
	return 0;
}

static int put(struct op_sink *sink, const struct player_op *op)
{
	struct painter *const p = (struct painter *)sink;
	const int error = p->players.sink.put(&p->players.sink, op);
	return !error && op->code == PLAY_STOP ? look(p) : error;
}

/* 0, or an enum mst_error. */
static int paint(struct painter *p, const struct run *run)
{
	const struct player_setup setup = whatif_setup(run->setup, true);
	int error = players_start(&p->players, &p->job->plan, &setup, 1) < 0 ? MST_ERR_IO : 0;
	if (!op_stream_init(&p->stream, &p->job->outline, &p->job->vectors, &p->sink, true))
		error = MST_ERR_NOMEM;
	p->stream.stop_every = OP_SAMPLES / (PICTURE_COLUMNS - 2);
	if (!error && !page_list_read(&p->before, p->players.items[0].pid))
		error = MST_ERR_IO;
	return error ? error : whatif_stream(p->job, &p->stream);
}

bool whatif_draw(const struct whatif_job *job, const struct picture *picture, const char *name)
{
	const struct tool *tool = job->tool;
	const struct setup *s = runs_base(&job->runs)->setup;
	struct output_file file;
	char *title;
	if (asprintf(&title, "%s: %s%s%s", job->trace->name, s->name, *s->settings ? " " : "", s->settings) <
	    0) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return false;
	}
	bool fine = output_begin(&file, tool, name, OUTPUT_FILE_RESULT, PACK_NONE);
	if (fine) {
		const bool written = picture_write(picture, title, file.out);
		if (!written)
			tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		fine = output_end(&file, tool, name, written) && written;
	}
	free(title);
	return fine;
}

bool whatif_paint(const struct whatif_job *job, struct picture *picture)
{
	struct painter p = { .sink = { put }, .job = job, .players = { .ring_fd = -1 }, .picture = picture };
	const int error = paint(&p, runs_base(&job->runs));
	if (error)
		tool_error(job->tool, "the picture could not be made: %s",
			   error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
	page_list_finish(&p.before);
	op_stream_finish(&p.stream);
	players_finish(&p.players);
	return !error;
}
