/* SPDX-License-Identifier: MIT */
/*
 * One recorded process: puts the events of its threads into one order and writes them.
 *
 * The order is that of the stamps. Only events stamped before a moment that lies before the look at the
 * rings are taken: then whatever led to them has been seen too. An address that is given while it is
 * still live has been freed without anybody's telling: what a realloc has been given is told before it can
 * be another's (see events.c).
 */
#ifndef TRACE_RECORD_TRACEE_H
#define TRACE_RECORD_TRACEE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "mst_writer.h"
#include "shm.h"

struct tracee;

/*
 * A new process in a segment. `writer` becomes the tracee's. `follows_pages`: tracee_roll_over() is to know which are
 * mapped. NULL: no memory.
 */
struct tracee *tracee_create(struct shm_segment *segment, struct mst_writer *writer, uint32_t depth,
			     bool follows_pages);

/*
 * The child of a fork: takes the state that was kept at the fork (or, if that is not known, the
 * parent's present state). Its writer has no file yet; see tracee_needs_file(). NULL: no memory, now or
 * at the fork.
 */
struct tracee *tracee_create_child(struct shm_segment *segment, struct tracee *parent);

/* Whether the state at that fork is kept, and whether any child is still to come. */
bool tracee_knows_fork(const struct tracee *tracee, uint32_t number);
bool tracee_awaits_children(const struct tracee *tracee);

/* Whether there are so many of these that tracee_drain() takes no more events before the mark of another fork. */
bool tracee_awaits_room(const struct tracee *tracee);
/* None will come. */
void tracee_forget_forks(struct tracee *tracee);
/* Whether it has come to such a mark. */
bool tracee_holds_fork(const struct tracee *tracee);
/* When all children that are there have been met: lets it pass if the others have not come for long. */
void tracee_hold_no_longer(struct tracee *tracee, const struct clock *clock);

void tracee_destroy(struct tracee *tracee); /* NULL is allowed */

struct mst_writer *tracee_writer(struct tracee *tracee);
struct shm_segment *tracee_segment(struct tracee *tracee);

/* True when a forked child has events but no file: give its writer one before tracee_drain(). */
bool tracee_needs_file(struct tracee *tracee);

/*
 * Takes all events stamped before `until` from the rings; returns how many, or a negative enum
 * mst_error from writing (the events are then taken and counted as lost). See tracee_awaits_room().
 */
int64_t tracee_drain(struct tracee *tracee, const struct clock *clock, uint64_t until);

/*
 * Goes on in another file: `writer`, whose trace has a base of this moment that isn't written yet, becomes the
 * tracee's, and the present one the caller's, to be finished or destroyed; tracee_end() tells beforehand
 * what it has. After an error nothing more can be recorded, and the writers stay whose they were.
 */
int tracee_roll_over(struct tracee *tracee, struct mst_writer *writer);

/* How many events tracee_drain() takes at most at a time; without this, all. */
void tracee_set_batch(struct tracee *tracee, uint32_t most);

/* Whether every thread that ever wrote is gone: the process is dead, or another program. */
bool tracee_is_empty(struct tracee *tracee);

/* Tells which modules the process has unloaded. 0 or a negative enum mst_error. */
int tracee_emit_unloaded(struct tracee *tracee);

/* The counts for the END unit; the caller adds reason and time. */
void tracee_end(struct tracee *tracee, struct mst_end *end);

/* Events that are not in the trace: there was no room for them, or no ring, or they were never gone on with. */
uint64_t tracee_lost(struct tracee *tracee);

#endif
