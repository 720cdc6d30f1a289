/* SPDX-License-Identifier: MIT */
#include "timed_marks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "tracee_state.h"

bool timed_marks_add(struct timed_mark **marks, uint32_t *n, struct timed_mark mark)
{
	struct timed_mark *all = reallocarray(*marks, *n + 1, sizeof(*all));
	uint32_t i = *n;

	if (!all)
		return false;
	for (; i > 0 && all[i - 1].ns > mark.ns; i--)
		all[i] = all[i - 1];
	all[i] = mark;
	*marks = all;
	++*n;
	return true;
}

void tracee_set_marks(struct tracee *t, const struct timed_mark *marks, uint32_t n)
{
	t->timed_marks = (struct timed_marks){ .items = marks, .n = n };
}

void asked_marks_finish(struct asked_marks *marks)
{
	for (uint32_t i = 0; i < marks->n; i++)
		free((char *)marks->items[i].name);
	free(marks->items);
	*marks = (struct asked_marks){ 0 };
}

bool tracee_ask(struct tracee *t, const struct asked *asked)
{
	struct asked_marks *const all = &t->asked;
	struct asked copy = { asked->stamp, asked->op, asked->size, NULL };

	assert(!all->n || all->items[all->n - 1].stamp <= asked->stamp);
	if (all->n >= ASKED_MOST ||
	    !array_reserve(&all->items, all->n, &all->capacity, sizeof(*all->items)) ||
	    (!asked->op && !(copy.name = strdup(asked->name))))
		return false;
	all->items[all->n++] = copy;
	return true;
}

/* Marker, epoch, phase: a call that sees the new phase is stamped anew, after the marker. */
bool tracee_switch(struct tracee *t, struct shm_family *family, bool on, uint64_t stamp)
{
	_Atomic uint32_t *const phase = &t->segment->phase;

	if (on == (atomic_load(phase) < SHM_OFF))
		return true;
	if (!tracee_ask(t, &(struct asked){ .stamp = stamp, .op = on ? MST_OP_ON : MST_OP_OFF }))
		return false;
	atomic_fetch_add(&family->epoch, 1);
	atomic_store(phase, on ? SHM_ON : SHM_OFF);
	return true;
}

void tracee_begin_late(struct tracee *t, uint64_t stamp)
{
	tracee_ask(t, &(struct asked){ .stamp = stamp, .op = MST_OP_OFF, .size = MST_OFF_LATE });
	tracee_ask(t, &(struct asked){ .stamp = stamp, .op = MST_OP_ON });
}

void tracee_settle_phase(struct tracee *t)
{
	const bool off = atomic_load(&t->segment->phase) >= SHM_OFF;

	if (off != t->off)
		tracee_ask(t,
			   &(struct asked){ .stamp = t->segment->start, .op = off ? MST_OP_OFF : MST_OP_ON });
}

/* The next mark of the options, if its time is not after the stamp `until`; NULL: there is none. */
static const struct timed_mark *due(const struct tracee *t, const struct clock *clock, uint64_t until)
{
	const struct timed_marks *marks = &t->timed_marks;

	assert(marks->set <= marks->n);
	return marks->set < marks->n && t->start_ns + marks->items[marks->set].ns <= clock_ns(clock, until)
		       ? &marks->items[marks->set]
		       : NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the next mark lies, if that is not after `until`; *timed is it, or NULL for the first that was asked for. */
static bool next_mark(const struct tracee *t, const struct clock *clock, uint64_t until, uint64_t *stamp,
		      const struct timed_mark **timed)
{
	const bool is_asked = t->asked.n && t->asked.items[0].stamp <= until;

	*timed = due(t, clock, until);
	if (*timed)
		*stamp = earlier(clock_stamp(clock, t->start_ns + (*timed)->ns), until);
	if (is_asked && (!*timed || t->asked.items[0].stamp < *stamp)) {
		*stamp = t->asked.items[0].stamp;
		*timed = NULL;
	}
	return is_asked || *timed;
}

static int set_timed(struct tracee *t, const struct timed_mark *mark)
{
	t->timed_marks.set++;
	return mst_writer_mark(t->writer, mark->ns, MST_NONE, mark->name);
}

/* A marker of the process's first thread, or of none. */
static int set_phase(struct tracee *t, uint8_t op, uint64_t size, uint64_t ns)
{
	const struct consumer *first = t->consumers;
	uint32_t thread;
	int err = 0;

	if (first->ring && first->thread.use)
		thread = first->thread.id;
	else
		err = mst_writer_thread(t->writer, &(struct mst_thread){ 0 }, &thread);
	if (err)
		return err;
	mst_writer_at(t->writer, ns, thread);
	t->at_thread = MST_NONE;
	tracee_note_phase(t, op, size);
	return mst_writer_marker(t->writer, op, 0, size);
}

static int set_asked(struct tracee *t, const struct clock *clock)
{
	struct asked_marks *const all = &t->asked;
	const struct asked mark = all->items[0];
	const uint64_t ns = clock_ns(clock, mark.stamp);
	const uint64_t since_start = ns > t->start_ns ? ns - t->start_ns : 0;
	int err;

	memmove(all->items, all->items + 1, --all->n * sizeof(*all->items));
	err = mark.op ? set_phase(t, mark.op, mark.size, since_start)
		      : mst_writer_mark(t->writer, since_start, MST_NONE, mark.name);
	free((char *)mark.name);
	return err;
}

int64_t tracee_drain(struct tracee *t, const struct clock *clock, uint64_t until)
{
	const struct timed_mark *timed;
	int64_t all = 0, taken;
	uint64_t stamp;

	while (next_mark(t, clock, until, &stamp, &timed)) {
		taken = tracee_take(t, clock, stamp);
		all += taken > 0 ? taken : 0;
		if (taken < 0 || taken >= t->batch || tracee_holds_fork(t))
			return taken < 0 ? taken : all;
		if (timed ? set_timed(t, timed) : set_asked(t, clock))
			t->counts.lost++;
	}
	taken = tracee_take(t, clock, until);
	return taken < 0 ? taken : all + taken;
}
