/* SPDX-License-Identifier: MIT */
#include "recorder.h"

#include <errno.h>

#include "emit.h"
#include "fork_barrier.h"
#include "modules.h"
#include "next_malloc.h"
#include "pages/pages.h"
#include "sample.h"
#include "sampler.h"
#include "segments.h"
#include "thread_begin.h"
#include "thread_lookup.h"
#include "unwind.h"

/* ---- the calling thread ---- */

/* In libmsrec-pages.so. */
extern __typeof__(msrec_pages_begin) msrec_pages_begin __attribute__((weak));

static void note_incomplete_pages(void)
{
	atomic_store(&the_process.segment->unwatched, 1);
}

/* Once in a family of forked processes: code stays patched in a child. */
static void begin_pages(void)
{
	static struct pages_recorder recorder;
	const int saved = errno;

	the_process.pages_begun = true;
	recorder = (struct pages_recorder){
		.record = recorder_page,
		.incomplete = note_incomplete_pages,
		.off = &process_off,
		.owner = &process_wiped->page_owner,
		.own = os_own,
		.next_own = os_next_own,
	};
	os_own_library();
	if (msrec_pages_begin)
		msrec_pages_begin(&recorder);
	else
		note_incomplete_pages();
	errno = saved;
}

static __attribute__((noinline)) struct thread *begin_thread(void)
{
	struct thread *t;

	if (atomic_load_explicit(&process_off, memory_order_relaxed))
		return NULL;
	t = thread_begin();
	if (t && the_process.options.pages && !the_process.pages_begun)
		begin_pages();
	return t;
}

/* The calling thread's state; NULL if it cannot be recorded. */
static inline struct thread *current_thread(void)
{
	struct thread *t = thread_known();

	return t ? t : begin_thread();
}

/* Where the calling thread emits at present, which may be inside an event; NULL if it cannot. */
static inline struct thread *innermost_thread(void)
{
	struct thread *t = current_thread();

	return __builtin_expect(t && t->inside == EMITTING, 0) ? thread_inside(t) : t;
}

/* innermost_thread() for an event that is lost if there is no such place. */
static struct thread *innermost_or_lose(void)
{
	struct thread *const t = current_thread();
	struct thread *inside;

	if (!t || __builtin_expect(t->inside != EMITTING, 1))
		return t;
	inside = thread_inside(t);
	if (!inside)
		ring_lose(&t->out);
	return inside;
}

/* The calling thread's innermost state, if it has one. */
static struct thread *find_innermost(void)
{
	struct process *p = process_now();

	return p ? thread_innermost(thread_find(p)) : NULL;
}

/* ---- allocating calls ---- */

/* Asks only about a block that the allocator itself has just given. */
static inline size_t usable_of(const struct call *call)
{
	if (!the_process.options.usable || !call->result || !next.malloc_usable_size ||
	    mst_op_is_custom(call->op))
		return 0;
	return next.malloc_usable_size((void *)call->result);
}

/* Whether a call is what the operator new in progress asks of malloc. */
static bool is_part_of_new(const struct thread *t, const struct call *call)
{
	const struct call *outer = &t->cxx.call;
	const size_t wanted = outer->size ? outer->size : 1;
	const size_t align = (size_t)1 << outer->align_log2;

	return call->size >= wanted && call->size - wanted < align;
}

static uint64_t sample_key_of(const struct call *call)
{
	return mst_op_is_custom(call->op) ? sample_custom_key(call->result) : sample_key(call->result);
}

/*
 * A call whose block is in the sample, or that takes a block out of the sample. A call that gave nothing is no part of the
 * bytes that sample points lie on. The block is in the set before the program has it.
 */
static __attribute__((noinline)) void emit_sampled(struct thread *t, const struct call *call, size_t usable,
						   const struct unwind_regs *regs)
{
	bool hit = call->result && !sample_passes(&t->countdown, call->size);
	struct call emitted = *call;
	uint8_t inside;

	if (hit)
		sample_next(&t->countdown);
	if (hit && !sample_put(sample_key_of(call))) {
		ring_lose(&t->out);
		hit = false;
	}
	if (!hit && !call->old)
		return;
	/* The old block was in the sample and the new one is not: a free. */
	if (!hit && call->op != MST_OP_REALLOC_FREE) {
		emitted.op = MST_OP_REALLOC_FREE;
		emitted.result = NULL;
	}
	inside = thread_begin_event(t);
	emit_full_call(t, &emitted, hit ? usable : 0, regs);
	fork_barrier_pass(t, inside);
}

static inline __attribute__((always_inline)) void record_alloc(const struct call *call, size_t usable,
							       const struct unwind_regs *regs)
{
	/* What a realloc took is seen to the end. */
	struct thread *t = !call->old && phase_is_quiet() ? NULL : innermost_or_lose();
	uint8_t inside;

	if (!t)
		return;
	if (__builtin_expect(t->inside == IN_NEW, 0) && is_part_of_new(t, call)) {
		t->cxx.block = call->result;
		t->cxx.usable = usable;
		return;
	}
	if (__builtin_expect(t->inside == IN_NEW, 0)) {
		t->cxx.inner = call->result;
		t->cxx.inner_size = call->size;
	}
	if (__builtin_expect(sample_on, 0)) {
		emit_sampled(t, call, usable, regs);
		return;
	}
	inside = thread_begin_event(t);
	emit_full_call(t, call, usable, regs);
	fork_barrier_pass(t, inside);
}

void recorder_alloc(const struct call *call, const struct unwind_regs *regs)
{
	record_alloc(call, usable_of(call), regs);
}

static inline __attribute__((always_inline)) void record_block(const struct call *call, unsigned operands,
							       const struct unwind_regs *regs)
{
	struct thread *const t = thread_known();

	if (__builtin_expect(t && t->inside == OUTSIDE && call->result && the_process.options.plain, 1)) {
		thread_begin_event(t);
		emit_block(t, call, operands, regs);
		fork_barrier_pass(t, OUTSIDE);
	} else {
		recorder_alloc(call, regs);
	}
}

void recorder_block(enum mst_op op, const void *p, size_t size, const struct unwind_regs *regs)
{
	record_block(&(const struct call){ .op = op, .result = p, .size = size }, 1, regs);
}

void recorder_realloc(enum mst_op op, const void *p, const void *old, size_t size,
		      const struct unwind_regs *regs)
{
	record_block(&(const struct call){ .op = op, .result = p, .old = old, .size = size }, 2, regs);
}

/* Of glibc 2.32 and later. */
extern char __libc_single_threaded __attribute__((weak));

/* With one thread the ring's order is the order of events. A process may have threads that have not emitted yet. */
static inline bool has_one_thread(void)
{
	return !the_process.threaded && &__libc_single_threaded && __libc_single_threaded;
}

void recorder_moving(const void *old)
{
	struct thread *const t = has_one_thread() && !the_process.many_rings ? NULL : innermost_thread();
	uint8_t inside;
	uint64_t count;

	if (!t)
		return;
	inside = thread_begin_event(t);
	count = emit_extras(t, 0);
	/* Where this record finds no room, the realloc hardly does, and that loss is counted. */
	if (!emit_plain_address(t, SHM_OP_MOVING, old))
		emit_value(t, SHM_OP_MOVING, 0, (uintptr_t)old, NULL);
	emit_end_extras(t, count);
	fork_barrier_pass(t, inside);
}

/* ---- frees ---- */

static void release(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *t = phase_is_dormant() ? NULL : innermost_or_lose();
	uint8_t inside;

	if (!t || (t->inside >= IN_NEW && call->result == t->cxx.deleting))
		return;
	if (__builtin_expect(t->inside == IN_NEW && call->result == t->cxx.inner, 0))
		t->cxx.inner = NULL;
	inside = thread_begin_event(t);
	emit_free(t, call, regs);
	fork_barrier_pass(t, inside);
}

void recorder_free(const struct call *call, const struct unwind_regs *regs)
{
	if (sample_on && !sample_take(sample_key(call->result)))
		return;
	release(call, regs);
}

void recorder_freelike(const void *p, const struct unwind_regs *regs)
{
	if (sample_on && !sample_take(sample_custom_key(p)))
		return;
	release(&(struct call){ .op = MST_OP_FREELIKE, .result = p },
		the_process.options.free_stacks ? regs : NULL);
}

/* In a sample the block before and the block after are independent. */
void recorder_resizelike(const void *p, size_t size, const struct unwind_regs *regs)
{
	struct call call = { .op = MST_OP_RESIZEINPLACE, .result = p, .size = size };

	if (sample_on || phase_is_quiet()) {
		recorder_freelike(p, regs);
		call.op = MST_OP_MALLOCLIKE;
	}
	recorder_alloc(&call, regs);
}

void recorder_null_free(void)
{
	struct thread *t = phase_is_quiet() ? NULL : innermost_thread();
	_Atomic uint64_t *n;

	if (!t || t->inside != OUTSIDE)
		return;
	/* An event, because a handler may fork: the child must not write to its parent's ring. */
	thread_begin_event(t);
	n = &t->out.ring->null_frees;
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_release);
	fork_barrier_pass(t, OUTSIDE);
}

/* ---- operators ---- */

bool recorder_new_enter(const struct call *call, const struct unwind_regs *regs)
{
	const bool unseen = phase_is_dormant() || (!call->old && phase_is_quiet());
	struct thread *t = unseen ? NULL : innermost_or_lose();

	if (!t || t->inside != OUTSIDE)
		return false;
	t->inside = IN_NEW;
	t->cxx.call = *call;
	t->cxx.block = t->cxx.inner = NULL;
	t->cxx.deleting = call->old;
	t->cxx.regs = *regs;
	return true;
}

void recorder_new_leave(const void *result)
{
	struct thread *t = innermost_thread();
	struct thread_operator *cxx;
	size_t usable;

	if (!t || t->inside != IN_NEW)
		return;
	cxx = &t->cxx;
	thread_begin_event(t);
	cxx->call.result = result;
	usable = cxx->block == result ? cxx->usable : 0;
	if (the_process.options.plain && result && !cxx->call.align_log2)
		emit_block(t, &cxx->call, 1, &cxx->regs);
	else if (sample_on)
		emit_sampled(t, &cxx->call, usable, &cxx->regs);
	else
		emit_full_call(t, &cxx->call, usable, &cxx->regs);
	fork_barrier_pass(t, OUTSIDE);
}

bool recorder_delete_enter(const struct call *call, const struct unwind_regs *regs)
{
	const void *const p = call->result;
	struct thread *t;

	if (phase_is_dormant() || (sample_on && !sample_may_hold(sample_key(p))))
		return false;
	t = innermost_thread();
	/* Inside another operator the inner free is the one that is recorded. */
	if (!t || t->inside != OUTSIDE)
		return false;
	if (sample_on && !sample_take(sample_key(p)))
		return false;
	thread_begin_event(t);
	if (call->overflow || call->align_log2 || !emit_plain_free(t, call->op, p, call->size))
		emit_free(t, call, regs);
	t->cxx.deleting = p;
	fork_barrier_pass(t, IN_DELETE);
	return true;
}

void recorder_delete_leave(void)
{
	struct thread *t = innermost_thread();

	if (t && t->inside == IN_DELETE)
		t->inside = OUTSIDE;
}

/* ---- functions of an allocator in the program ---- */

bool recorder_wants_usable(void)
{
	return the_process.options.usable;
}

bool recorder_linked_enter(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *const t = innermost_thread();
	const void *const old = call->old;
	struct call entered = *call;

	/* A realloc that another realloc makes of its block is a part of it. */
	if (t && t->inside != OUTSIDE) {
		if (old && !(t->inside == IN_NEW && t->cxx.deleting == old))
			recorder_moving(old);
		return false;
	}
	/* `old` leaves the sample before another thread can get its address. */
	if (sample_on && old && !sample_take(sample_key(old)))
		entered.old = NULL;
	if (!recorder_new_enter(&entered, regs))
		return false;
	if (entered.old)
		recorder_moving(old);
	t->cxx.deleting = old;
	return true;
}

/* The operation of a realloc of `old`, with the result. */
static enum mst_op realloc_op(const struct call *call)
{
	if (!call->old)
		return MST_OP_REALLOC;
	if (call->result == call->old)
		return MST_OP_REALLOC_IN_PLACE;
	return !call->result && call->size == 0 ? MST_OP_REALLOC_FREE : MST_OP_REALLOC_MOVED;
}

/* What a call of a function with an old block comes to in a sample. False: to nothing. */
static bool settle_sampled_realloc(const struct call *call)
{
	if (!sample_on || call->result || call->op == MST_OP_REALLOC_FREE)
		return true;
	if (call->old)
		sample_put(sample_key(call->old));
	return false;
}

/* While recording is off: the block goes, if it does, and what comes is not recorded. */
static void take_only(struct call *call)
{
	if (!call->result)
		return;
	call->op = MST_OP_REALLOC_FREE;
	call->result = NULL;
}

static void emit_linked(struct thread *t, const struct call *call, size_t usable,
			const struct unwind_regs *regs)
{
	const bool reallocs = call->op >= MST_OP_REALLOC && call->op <= MST_OP_REALLOC_FREE;

	if (sample_on) {
		emit_sampled(t, call, usable, regs);
		return;
	}
	if (the_process.options.plain && call->result && !call->align_log2)
		emit_block(t, call, reallocs ? 2 : 1, regs);
	else
		emit_full_call(t, call, usable, regs);
}

bool recorder_linked_leave(const void *result, bool invalid, size_t usable)
{
	struct thread *const t = innermost_thread();
	struct call *call;
	bool quiet;

	if (!t || t->inside != IN_NEW)
		return false;
	if (t->cxx.inner && (uintptr_t)result - (uintptr_t)t->cxx.inner < t->cxx.inner_size) {
		t->inside = OUTSIDE;
		return true;
	}
	call = &t->cxx.call;
	call->result = result;
	call->invalid = invalid;
	quiet = call->old && phase_is_quiet();
	if (call->op == MST_OP_REALLOC)
		call->op = realloc_op(call);
	if (quiet)
		take_only(call);
	thread_begin_event(t);
	if (settle_sampled_realloc(call) && (!quiet || call->op == MST_OP_REALLOC_FREE))
		emit_linked(t, call, usable, &t->cxx.regs);
	fork_barrier_pass(t, OUTSIDE);
	return false;
}

void recorder_linked_nested(const struct call *call, size_t usable, const struct unwind_regs *regs)
{
	const struct thread *const t = innermost_thread();
	struct call emitted = *call;

	/* The block comes from yet another function, whose call is recorded. */
	if (t && t->inside == IN_NEW && call->result && call->result == t->cxx.inner)
		return;
	if (emitted.op == MST_OP_REALLOC)
		emitted.op = realloc_op(&emitted);
	/* What is no part of another call is left alone while recording is off. */
	if (phase_is_quiet() && (!t || t->inside == OUTSIDE))
		return;
	if (emitted.old && phase_is_quiet())
		take_only(&emitted);
	record_alloc(&emitted, usable, regs);
}

/* ---- pages ---- */

void recorder_map(enum mst_op op, bool failed, size_t old_size, size_t size, uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p && !p->options.maps ? NULL : innermost_or_lose();
	const bool two = op == MST_OP_MREMAP_MOVED || op == MST_OP_MREMAP_IN_PLACE;
	const uint64_t old = old_size;
	uint64_t count;
	uint8_t inside;

	if (!t || !the_process.options.maps)
		return;
	inside = thread_begin_event(t);
	count = emit_extras(t, sp);
	if (!emit_losses(t) || !emit_value(t, (uint8_t)op, failed ? SHM_FAILED : 0, size, two ? &old : NULL))
		ring_lose(&t->out);
	emit_end_extras(t, count);
	thread_end_event(t, inside);
}

void recorder_page(const struct call *call, size_t old_size, const struct unwind_regs *regs)
{
	struct thread *t = innermost_or_lose();
	uint64_t count;
	uint8_t inside;

	if (!t || !the_process.options.pages)
		return;
	inside = thread_begin_event(t);
	count = emit_extras(t, regs ? regs->sp : 0);
	emit_call(t, call, old_size, regs ? unwind_capture(t->stack, regs) : UNWIND_ROOT);
	emit_end_extras(t, count);
	thread_end_event(t, inside);
}

/* ---- markers and samples ---- */

/* Calls of free(NULL) so far, by all threads. */
static uint64_t count_null_frees(const struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);
	uint64_t sum = p->forks.null_frees;

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++)
		sum += atomic_load_explicit(&p->segment->rings[i].null_frees, memory_order_relaxed);
	return sum;
}

/* Stamped, because events of other threads lie around it. False: there is no room. */
static bool emit_phase(struct thread *t, enum mst_op op)
{
	t->out.stamp_due = t->out.limit = 0;
	return emit_losses(t) && emit_value(t, (uint8_t)op, 0, 0, NULL);
}

/* The marker comes first: calls that are recorded after it, or are no longer, see the new phase. */
void recorder_switch(bool on)
{
	struct thread *t = innermost_or_lose();
	uint8_t inside;
	uint64_t count;

	if (!t || the_process.family->fixed || on != phase_is_quiet())
		return;
	inside = thread_begin_event(t);
	count = emit_extras(t, 0);
	if (emit_phase(t, on ? MST_OP_ON : MST_OP_OFF))
		atomic_store(&the_process.segment->phase, on ? SHM_ON : SHM_OFF);
	emit_end_extras(t, count);
	fork_barrier_pass(t, inside);
}

void recorder_mark(enum mst_op op)
{
	struct thread *t = innermost_or_lose();
	uint64_t value = 0, count;

	if (!t || t->inside != OUTSIDE)
		return;
	thread_begin_event(t);
	count = emit_extras(t, op == MST_OP_START ? (uintptr_t)__builtin_frame_address(0) : 0);
	if (op == MST_OP_FORK) {
		value = atomic_fetch_add(&the_process.segment->forks, 1) + 1;
		t->fork.current = t->fork.last = (uint32_t)value;
		t->fork.null_frees = count_null_frees(&the_process);
	} else if (op == MST_OP_EXIT) {
		value = count_null_frees(&the_process);
	}
	if (!emit_losses(t) || !emit_value(t, (uint8_t)op, 0, value, NULL))
		ring_lose(&t->out);
	if (op == MST_OP_START && phase_is_quiet())
		emit_phase(t, MST_OP_OFF);
	emit_end_extras(t, count);
	thread_end_event(t, OUTSIDE);
}

/* Stamped, because a mark is a point in time. */
static void emit_mark(struct thread *t, const char *name)
{
	uint32_t size = 0;

	while (size < SHM_MARK_MOST && name[size])
		size++;
	t->out.stamp_due = t->out.limit = 0;
	for (uint32_t at = 0; at == 0 || at < size; at += SHM_MARK_BYTES) {
		const uint32_t left = size - at, n = left < SHM_MARK_BYTES ? left : SHM_MARK_BYTES;
		char part[SHM_MARK_BYTES] = "";

		__builtin_memcpy(part, name + at, n);
		if (!emit_losses(t) || !emit_part(t, SHM_OP_MARK, SHM_MARK(at, size), part)) {
			ring_lose(&t->out);
			return;
		}
	}
}

void recorder_named_mark(const char *name)
{
	struct thread *t = innermost_or_lose();
	uint8_t inside;
	uint64_t count;

	if (!t)
		return;
	inside = thread_begin_event(t);
	count = emit_extras(t, 0);
	emit_mark(t, name);
	emit_end_extras(t, count);
	fork_barrier_pass(t, inside);
}

/* In a signal handler that interrupted the program at this stack pointer. Not if the thread is unknown, or in an event. */
static void sample_depth(uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p ? thread_find(p) : NULL;

	if (!t || t->inside != OUTSIDE)
		return;
	thread_begin_event(t);
	emit_end_extras(t, emit_extras(t, sp));
	thread_end_event(t, OUTSIDE);
}

void recorder_start_samples(void)
{
	struct thread *t = current_thread();

	if (!t || !the_process.family->timer_ms)
		return;
	if (sampler_start(sample_depth))
		thread_start_timer(t);
	else
		atomic_fetch_add(&the_process.family->untimed, 1);
}

/* ---- threads ---- */

void recorder_thread_name(uint64_t pointer, const char *name)
{
	char text[SHM_NAME_BYTES] = "";
	struct thread *t = innermost_thread();
	uint8_t inside;
	uint64_t count;

	if (!t)
		return;
	for (unsigned i = 0; i < sizeof(text) - 1 && name[i]; i++)
		text[i] = name[i];
	inside = thread_begin_event(t);
	count = emit_extras(t, 0);
	/* A name that finds no room is looked up by msrec. */
	if (emit_losses(t))
		emit_part(t, SHM_OP_NAME, pointer, text);
	emit_end_extras(t, count);
	fork_barrier_pass(t, inside);
}

/* ---- forks ---- */

/* Without other threads no thread needs to wait. */
void recorder_before_fork(void)
{
	struct thread *t = has_one_thread() ? NULL : innermost_thread();

	the_process.forks.threaded = t != NULL;
	if (t)
		fork_barrier_close(t);
	recorder_mark(MST_OP_FORK);
}

void recorder_forked(void)
{
	struct thread *t = find_innermost();

	if (!t)
		return;
	t->fork.current = 0;
	fork_barrier_open(t);
}

void recorder_fork_failed(void)
{
	struct thread *t = find_innermost();

	if (!t || t->inside != OUTSIDE || !t->fork.last)
		return;
	thread_begin_event(t);
	if (emit_losses(t))
		emit_value(t, SHM_OP_NO_FORK, 0, t->fork.last, NULL);
	thread_end_event(t, OUTSIDE);
}

void recorder_after_fork(void)
{
	current_thread();
}

/* ---- the process ---- */

void recorder_begin(void)
{
	current_thread();
}

/* dlclose() may come before the first event, and needs the module table. */
void recorder_closing_begin(void)
{
	if (current_thread())
		modules_closing_begin();
}

void recorder_closing_end(void)
{
	if (current_thread())
		modules_closing_end(stamp_now(), has_one_thread());
}

bool recorder_traces_children(bool *yes)
{
	struct process *p = process_now();

	*yes = false;
	if (atomic_load(&process_skipped))
		return true;
	if (!p || atomic_load(&process_off))
		return false;
	*yes = p->family->trace_children;
	return true;
}

/* Whether the calling thread is in a signal handler. */
static bool is_in_handler(struct thread *t, const struct unwind_regs *regs)
{
	bool found;

	thread_begin_event(t);
	found = unwind_interrupted(t->stack, unwind_capture(t->stack, regs));
	thread_end_event(t, OUTSIDE);
	return found;
}

/* A child of vfork() has its parent's memory, and its parent goes on. */
void recorder_note_end(void)
{
	struct process *p = process_now();

	if (p && p->pid == os_pid())
		process_note_ended_threads(p);
}

void recorder_note_exit(int status)
{
	struct process *p = process_now();

	if (p && p->pid == os_pid())
		atomic_store(&p->segment->exit_status, SHM_EXITS | ((uint32_t)status & 0xff));
	recorder_note_end();
}

bool recorder_freeres_wanted(bool *libc, bool *cxx, const struct unwind_regs *regs)
{
	struct process *p = process_now();
	struct thread *t = p && p->pid == os_pid() ? thread_innermost(current_thread()) : NULL;

	if (!t || t->inside != OUTSIDE || p->forks.stale_locks || is_in_handler(t, regs))
		return false;
	*libc = p->family->libc_freeres;
	*cxx = p->family->cxx_freeres;
	return true;
}

void recorder_leave_room(uint64_t address_space)
{
	struct process *p = current_thread() ? process_now() : NULL;

	if (p)
		segments_leave_room(p, address_space);
}
