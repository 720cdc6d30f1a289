/* SPDX-License-Identifier: MIT */
#include "landmarks.h"

#include <stdlib.h>

#include "array.h"

void landmarks_finish(struct landmarks *l)
{
	free(l->threads);
	free(l->marks);
	*l = (struct landmarks){ 0 };
}

bool landmarks_add_calls(struct landmarks *l, uint32_t thread, uint64_t first_ns, uint64_t last_ns,
			 bool *first)
{
	if (!array_reserve_zeroed(&l->threads, thread, &l->room_threads, sizeof(*l->threads)))
		return false;
	struct landmark_thread *t = &l->threads[thread];
	*first = !t->called;
	if (*first) {
		t->called = true;
		t->first_ns = first_ns;
		l->n_called++;
	}
	t->last_ns = last_ns;
	return true;
}

bool landmarks_add_mark(struct landmarks *l, uint64_t time_ns, uint32_t kind)
{
	const uint32_t n = landmarks_kept(l);
	l->n_marks++;
	if (n == LANDMARKS_MARKS)
		return true;
	if (!array_reserve(&l->marks, n, &l->room_marks, sizeof(*l->marks)))
		return false;
	l->marks[n] = (struct landmark){ time_ns, kind };
	return true;
}

uint32_t landmarks_kept(const struct landmarks *l)
{
	return l->n_marks < LANDMARKS_MARKS ? (uint32_t)l->n_marks : LANDMARKS_MARKS;
}

bool landmark_is_mark(const struct mst_kind *kind)
{
	return kind->op == MST_OP_EXIT || kind->op == MST_OP_FORK;
}

const char *landmark_name(const struct mst_kind *kind)
{
	return kind->op == MST_OP_EXIT ? "exit handlers done" : "fork";
}
