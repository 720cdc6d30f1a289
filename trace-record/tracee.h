/* SPDX-License-Identifier: MIT */
/*
 * One recorded process: puts the events of its threads into one order and writes them.
 *
 * The order is that of the stamps. A drain takes only events stamped before a time that lies before the drain's look at the
 * rings: then the events that led to them have been seen too. An address that is given while a block is live there was freed
 * by a call that the recorder does not see; for a block given to realloc, a MOVING event precedes the real call (events.c).
 */
#ifndef TRACE_RECORD_TRACEE_H
#define TRACE_RECORD_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "generated.h"
#include "mst_writer.h"
#include "options.h"
#include "report.h"
#include "shm.h"

struct tracee;

/*
 * A new process in a segment. `writer` becomes the tracee's. `follows_pages`: tracee_roll_over() will need to know the mapped
 * pages. NULL: no memory.
 */
struct tracee *tracee_create(struct shm_segment *segment, struct mst_writer *writer, uint32_t depth,
			     bool follows_pages);

/*
 * The child of a fork, from the state kept at the fork (or, if there is none, the parent's present state). Its writer has no
 * file yet; see tracee_needs_file(). NULL: no memory, now or at the fork.
 */
struct tracee *tracee_create_child(struct shm_segment *segment, struct tracee *parent);

void tracee_destroy(struct tracee *tracee); /* NULL is allowed */

struct mst_writer *tracee_writer(struct tracee *tracee);
struct shm_segment *tracee_segment(struct tracee *tracee);

/* ---- forks: the state at each is kept until the child appears ---- */

bool tracee_knows_fork(const struct tracee *tracee, uint32_t number);
bool tracee_awaits_children(const struct tracee *tracee);

/* Whether no more states can be kept: tracee_drain() stops before the next FORK event. */
bool tracee_awaits_room(const struct tracee *tracee);

/* Whether tracee_drain() has stopped there. */
bool tracee_holds_fork(const struct tracee *tracee);

/* Forgets the states: the children will not appear. */
void tracee_forget_forks(struct tracee *tracee);

/* When all children that are there have been met: forgets the states of the others after a while. */
void tracee_hold_no_longer(struct tracee *tracee, const struct clock *clock);

/* ---- events ---- */

/* True when a forked child has events, or has `ended`, but has no file: its writer needs one before tracee_drain(). */
bool tracee_needs_file(struct tracee *tracee, bool ended);

/*
 * Takes all events stamped before `until`, at most a batch; returns how many, or a negative enum mst_error from writing (the
 * events are then taken and counted as lost). See tracee_awaits_room().
 */
int64_t tracee_drain(struct tracee *tracee, const struct clock *clock, uint64_t until);

/* How many events tracee_drain() takes at most; without this, all. */
void tracee_set_batch(struct tracee *tracee, uint32_t most);

/* Makes `ns` of the clock the trace's time 0, before any event; without this, the clock's own. A child has its parent's. */
void tracee_set_start(struct tracee *tracee, uint64_t ns);

/* The marks that msrec sets, in order of time; a child goes on with its parent's. They must outlive the tracee. */
void tracee_set_marks(struct tracee *tracee, const struct timed_mark *marks, uint32_t n);

/* Adds a mark, not before others that were asked for. False: too many wait, or no memory. */
struct asked;
bool tracee_ask(struct tracee *tracee, const struct asked *asked);

/* Switches recording on or off, between the events stamped before and after. False as above; then nothing has changed. */
bool tracee_switch(struct tracee *tracee, struct shm_family *family, bool on, uint64_t stamp);

/* The process has had blocks before recording began at that stamp: what it frees may be one of those. */
void tracee_begin_late(struct tracee *tracee, uint64_t stamp);

/*
 * The blocks that the process had then, as the initial state of a writer that has been told that there is one; NULL: none is
 * known. `usable`: with the size that the allocator gave. 0 or a negative enum mst_error.
 */
struct census_result;
int tracee_begin_with(struct tracee *tracee, const struct census_result *census, bool usable);

/* The parent of a forked child may have been switched between the fork and the child's beginning. */
void tracee_settle_phase(struct tracee *child);

/* The process's id here, by which its threads' names are looked up, and its file, whose name its first thread begins with. */
void tracee_set_process(struct tracee *tracee, pid_t pid, const char *exe);

/* Looks whether threads have got other names in ways that are no events. 0 or a negative enum mst_error. */
int tracee_look_at_names(struct tracee *tracee);

/* Whether every thread that ever wrote is gone: the process is dead, or another program. */
bool tracee_is_empty(struct tracee *tracee);

/* What its threads' stacks have cost so far: sets all but `distinct`. */
void tracee_count_stacks(const struct tracee *tracee, struct recording_stacks *stacks);

/* ---- code that the program makes ---- */

/* Follows what the code is called, by the file that its compiler writes for perf. `since`: CLOCK_REALTIME in ns. */
void tracee_follow_code(struct tracee *tracee, pid_t pid, uint64_t since);

/* The names of such code in the file of a writer: the present one, or the one before tracee_roll_over(). */
const struct generated *tracee_generated(const struct tracee *tracee, const struct mst_writer *writer);

/* ---- files ---- */

/*
 * Goes on in another file: writes the initial state of `writer`, which becomes the tracee's; the former writer becomes the
 * caller's, to be finished or destroyed. Call tracee_end() for that before. After an error nothing more can be recorded, and
 * the writers keep their owners.
 */
int tracee_roll_over(struct tracee *tracee, struct mst_writer *writer);

/* Defines the libraries that are in no stack: the allocator's. 0 or a negative enum mst_error. */
int tracee_emit_others(struct tracee *tracee);

/* Writes which modules the process has unloaded. 0 or a negative enum mst_error. */
int tracee_emit_unloaded(struct tracee *tracee);

/* The counts for the END unit; the caller adds reason and time. */
void tracee_end(struct tracee *tracee, struct mst_end *end);

#endif
