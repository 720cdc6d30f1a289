/* SPDX-License-Identifier: MIT */
#include "timed_marks.h"

#include <assert.h>
#include <stdlib.h>

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

/* The next mark, if its time is not after the stamp `until`; NULL: there is none. */
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

int64_t tracee_drain(struct tracee *t, const struct clock *clock, uint64_t until)
{
	const struct timed_mark *mark;
	int64_t all = 0, taken;

	while ((mark = due(t, clock, until))) {
		const uint64_t stamp = clock_stamp(clock, t->start_ns + mark->ns);

		taken = tracee_take(t, clock, earlier(stamp, until));
		all += taken > 0 ? taken : 0;
		if (taken < 0 || taken >= t->batch || tracee_holds_fork(t))
			return taken < 0 ? taken : all;
		t->timed_marks.set++;
		if (mst_writer_mark(t->writer, mark->ns, MST_NONE, mark->name))
			t->counts.lost++;
	}
	taken = tracee_take(t, clock, until);
	return taken < 0 ? taken : all + taken;
}
