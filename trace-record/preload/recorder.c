/* SPDX-License-Identifier: MIT */
/* Makes events of calls: the producer's side of the rings. */
#include "recorder.h"

#include "fork_barrier.h"
#include "modules.h"
#include "next_malloc.h"
#include "os.h"
#include "ring.h"
#include "sample.h"
#include "sampler.h"
#include "shm.h"
#include "thread.h"

/* A stack pointer this far from the thread's others belongs to another stack: a handler's, a coroutine's. */
#define STACK_MOST ((uintptr_t)256 << 20)

/* ---- records ---- */

/* An op with a value and, if it has one, an operand. */
static __attribute__((noinline)) bool push_value(struct thread *t, uint8_t op, uint8_t flags, uint64_t value,
						 const uint64_t *operand)
{
	uint64_t *const start = ring_reserve(t, SHM_RECORD_WORDS), *w = start + 1;

	if (!start)
		return false;
	if (ring_wants_stamp(t)) {
		flags |= SHM_STAMPED;
		*w++ = ring_stamp(t);
	}
	if (shm_is_wide(value)) {
		flags |= SHM_WIDE;
		*w++ = value;
	}
	if (operand)
		*w++ = *operand;
	*start = shm_head(op, flags, value);
	ring_publish(t, (uint32_t)(w - start));
	return true;
}

/* The loss becomes an event as soon as there is room again. A signal handler may add to it meanwhile. */
static __attribute__((noinline)) bool push_losses(struct thread *t)
{
	uint64_t losses;

	ring_trust(t);
	losses = t->losses;
	if (losses == t->told_losses)
		return true;
	if (!push_value(t, MST_OP_LOST, 0, losses - t->told_losses, NULL))
		return false;
	t->told_losses = losses;
	return true;
}

static inline bool tell_losses(struct thread *t)
{
	return __builtin_expect(t->losses == t->told_losses, 1) || push_losses(t);
}

/* ---- events ---- */

/*
 * Tells the reader of stacks that it doesn't know yet, and with a stamp if modules have come or gone since the last ones: the
 * same pc may be other code now.
 */
static __attribute__((noinline)) bool tell_nodes(struct thread *t)
{
	const uint64_t modules = atomic_load_explicit(&modules_state, memory_order_relaxed);
	struct unwind_stack *stack = t->stack;

	if (modules != t->modules) {
		t->modules = modules;
		t->stamp_due = t->limit_at = 0;
	}
	for (; stack->told < stack->n_nodes; stack->told++) {
		const struct unwind_node *node = &stack->nodes[stack->told];
		const uint64_t pc = unwind_node_pc(node);

		if (!push_value(t, SHM_OP_NODE, 0, stack->told | (uint64_t)node->parent << 16, &pc))
			return false;
	}
	return true;
}

/* A call whose stack is that of `node`; `usable` is what the allocator gave, 0 if that isn't known or wanted. */
static __attribute__((noinline)) void push_any(struct thread *t, const struct call *call, size_t usable,
					       uint64_t node)
{
	uint8_t flags = 0;
	uint64_t *start, *w;

	if (!tell_losses(t) || (t->stack->told != t->stack->n_nodes && !tell_nodes(t)) ||
	    !(start = ring_reserve(t, SHM_RECORD_WORDS))) {
		ring_lose(t);
		return;
	}
	w = start + 1;
	if (ring_wants_stamp(t)) {
		flags |= SHM_STAMPED;
		*w++ = ring_stamp(t);
	}
	if (call->size >> 32 != 0) {
		flags |= SHM_WIDE;
		*w++ = call->size;
	}
	*w++ = (uintptr_t)call->result;
	if (shm_operands((uint8_t)call->op) == 2)
		*w++ = (uintptr_t)call->old;
	if (call->align_log2) {
		flags |= SHM_ALIGNED;
		*w++ = call->align_log2;
	}
	if (usable) {
		flags |= SHM_USABLE;
		*w++ = usable;
	}
	if (!call->result)
		flags |= SHM_FAILED;
	if (call->overflow)
		flags |= SHM_OVERFLOW;
	*start = shm_head((uint8_t)call->op, flags, node | call->size << 16);
	ring_publish(t, (uint32_t)(w - start));
}

static inline void push_call(struct thread *t, const struct call *call, size_t usable,
			     const struct unwind_regs *regs)
{
	push_any(t, call, usable, unwind_capture(t->stack, regs));
}

/* A call that gave a block, of an op with so many operands, and has nothing else to tell: as push_call(), but quicker. */
static inline __attribute__((always_inline)) void
push_block(struct thread *t, const struct call *call, unsigned operands, const struct unwind_regs *regs)
{
	const uint64_t words[RING_COMMON_OPERANDS] = { (uintptr_t)call->result, (uintptr_t)call->old };
	const uint64_t node = unwind_capture(t->stack, regs);
	uint64_t *w;

	if (__builtin_expect(call->size >> 32 == 0 && t->stack->told == t->stack->n_nodes &&
				     (w = ring_reserve_quickly(t)),
			     1))
		ring_put(t, w, shm_head((uint8_t)call->op, 0, node | call->size << 16), words, operands);
	else
		push_any(t, call, 0, node);
}

/* The calling thread, if it can tell of a call. Inside an event it may not be able to, which is a loss. */
static struct thread *enter(void)
{
	struct thread *const t = thread_now();
	struct thread *inside;

	if (!t || __builtin_expect(t->inside != PUSHING, 1))
		return t;
	inside = thread_inside(t);
	if (!inside)
		ring_lose(t);
	return inside;
}

/* Where the thread tells events at present, if it has told any there; else NULL. */
static struct thread *innermost(struct thread *t)
{
	while (t && t->inside == PUSHING)
		t = t->nested;
	return t;
}

/* ---- depths of stacks, counts of instructions ---- */

/* How deep the stack is at `sp`, if that is a point of it. */
static bool measure_depth(struct thread *t, uintptr_t sp, uint64_t *depth)
{
	if (!t->top || (sp > t->top && sp - t->top < STACK_MOST))
		t->top = sp;
	*depth = t->top - sp;
	return sp <= t->top && *depth < STACK_MOST;
}

/* Comes before its event, stamp and all. If there is no room for it the next event will have one. */
static void push_depth(struct thread *t, uint64_t depth)
{
	if (depth != t->told_depth && tell_losses(t) && push_value(t, MST_OP_STACK, 0, depth, NULL))
		t->told_depth = depth;
}

/* Comes before its event, too. */
static void push_count(struct thread *t, uint64_t count)
{
	if (count > t->counted && tell_losses(t) && push_value(t, SHM_OP_COUNT, 0, count - t->counted, NULL))
		t->counted = count;
}

/*
 * What is to be told before an event, whose caller has this stack pointer; 0: it doesn't matter. Returns where
 * the counter of instructions is: what it counts up to end_extras() is our own work.
 */
static uint64_t begin_extras(struct thread *t, uintptr_t sp)
{
	uint64_t count = 0, depth;

	if (the_process.extras & EXTRA_COUNT) {
		count = counter_read(&t->counter);
		push_count(t, count);
	}
	if (the_process.extras & EXTRA_DEPTH && sp && measure_depth(t, sp, &depth))
		push_depth(t, depth);
	return count;
}

static void end_extras(struct thread *t, uint64_t count)
{
	if (the_process.extras & EXTRA_COUNT)
		t->counted += counter_read(&t->counter) - count;
}

/* A call with all that goes with it. */
static void push_all(struct thread *t, const struct call *call, size_t usable, const struct unwind_regs *regs)
{
	const uint64_t count = begin_extras(t, regs->sp);

	push_call(t, call, usable, regs);
	end_extras(t, count);
}

/* Of a block that the allocator has just given itself: nobody else's may be asked about. */
static inline size_t usable_of(const struct call *call)
{
	if (!the_process.usable || !call->result || !real.malloc_usable_size || mst_op_is_custom(call->op))
		return 0;
	return real.malloc_usable_size((void *)call->result);
}

/* Whether a call is what the operator new in progress asks of malloc. */
static bool is_part_of_new(const struct thread *t, const struct call *call)
{
	const size_t wanted = t->new_call.size ? t->new_call.size : 1;
	const size_t align = (size_t)1 << t->new_call.align_log2;

	return call->size >= wanted && call->size - wanted < align;
}

/* ---- the sample ---- */

static uint64_t key_of(const struct call *call)
{
	return mst_op_is_custom(call->op) ? sample_custom_key(call->result) : sample_key(call->result);
}

/* What is told when a block of the sample has become one that isn't: it has been freed. */
static struct call leaving(const struct call *call)
{
	struct call left = *call;

	left.op = MST_OP_REALLOC_FREE;
	left.result = NULL;
	return left;
}

/*
 * Tells of a call whose block is in the sample, or that takes one out of it. A call that gave nothing is
 * no part of what the points are on. The block is in the set before the program has it.
 */
static __attribute__((noinline)) void push_sampled(struct thread *t, const struct call *call, size_t usable,
						   const struct unwind_regs *regs)
{
	const bool frees = call->op == MST_OP_REALLOC_FREE;
	uint8_t inside;
	bool hit = call->result && !sample_passes(&t->countdown, call->size);
	struct call told = *call;

	if (hit)
		sample_next(&t->countdown);
	if (hit && !sample_put(key_of(call))) {
		ring_lose(t);
		hit = false;
	}
	if (!hit && !call->old)
		return;
	if (!hit && !frees)
		told = leaving(call);
	inside = thread_go_inside(t);
	push_all(t, &told, hit ? usable : 0, regs);
	fork_barrier_pass(t, inside);
}

void recorder_alloc(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *t = enter();
	uint8_t inside;

	if (!t)
		return;
	if (__builtin_expect(t->inside == IN_NEW, 0) && is_part_of_new(t, call)) {
		t->new_block = call->result;
		t->new_usable = usable_of(call);
		return;
	}
	if (__builtin_expect(sample_on, 0)) {
		push_sampled(t, call, usable_of(call), regs);
		return;
	}
	inside = thread_go_inside(t);
	push_all(t, call, usable_of(call), regs);
	fork_barrier_pass(t, inside);
}

static inline __attribute__((always_inline)) void tell_block(const struct call *call, unsigned operands,
							     const struct unwind_regs *regs)
{
	struct thread *const t = thread_known();

	if (__builtin_expect(t && t->inside == OUTSIDE && call->result && the_process.quick, 1)) {
		thread_go_inside(t);
		push_block(t, call, operands, regs);
		fork_barrier_pass(t, OUTSIDE);
	} else {
		recorder_alloc(call, regs);
	}
}

void recorder_block(enum mst_op op, const void *p, size_t size, const struct unwind_regs *regs)
{
	tell_block(&(const struct call){ .op = op, .result = p, .size = size }, 1, regs);
}

void recorder_realloc(enum mst_op op, const void *p, const void *old, size_t size,
		      const struct unwind_regs *regs)
{
	tell_block(&(const struct call){ .op = op, .result = p, .old = old, .size = size }, 2, regs);
}

/* Of glibc 2.32 and later. */
extern char __libc_single_threaded __attribute__((weak));

/* With one thread the ring's order says all. A process may have more than have told anything. */
static inline bool has_one_thread(void)
{
	return !the_process.threaded && &__libc_single_threaded && __libc_single_threaded;
}

void recorder_moving(const void *old)
{
	struct thread *const t = has_one_thread() && !the_process.many ? NULL : thread_here();
	uint8_t inside;
	uint64_t count;

	if (!t)
		return;
	inside = thread_go_inside(t);
	count = begin_extras(t, 0);
	/* Without room for it there is hardly any for the realloc, which is counted then. */
	if (!ring_address_quickly(t, SHM_OP_MOVING, old))
		push_value(t, SHM_OP_MOVING, 0, (uintptr_t)old, NULL);
	end_extras(t, count);
	fork_barrier_pass(t, inside);
}

/* `op` is SHM_OP_FREE or SHM_OP_FREELIKE, which has no stack. */
static void push_free(struct thread *t, uint8_t op, const void *p, const struct unwind_regs *regs)
{
	const uint8_t inside = thread_go_inside(t);
	const uint64_t count = begin_extras(t, regs ? regs->sp : 0);

	if (the_process.free_stacks && op == SHM_OP_FREE)
		push_call(t, &(const struct call){ .op = MST_OP_FREE, .result = p }, 0, regs);
	else if (!tell_losses(t) || !push_value(t, op, 0, (uintptr_t)p, NULL))
		ring_lose(t);
	end_extras(t, count);
	fork_barrier_pass(t, inside);
}

static void release(uint8_t op, const void *p, const struct unwind_regs *regs)
{
	struct thread *t = enter();

	if (t && !(t->inside == IN_DELETE && p == t->deleting))
		push_free(t, op, p, regs);
}

void recorder_free(const void *p, const struct unwind_regs *regs)
{
	if (sample_on && !sample_take(sample_key(p)))
		return;
	release(SHM_OP_FREE, p, regs);
}

void recorder_freelike(const void *p)
{
	if (sample_on && !sample_take(sample_custom_key(p)))
		return;
	release(SHM_OP_FREELIKE, p, NULL);
}

/* In a sample the two blocks have nothing to do with each other. */
void recorder_resizelike(const void *p, size_t size, const struct unwind_regs *regs)
{
	struct call call = { .op = MST_OP_RESIZEINPLACE, .result = p, .size = size };

	if (sample_on) {
		recorder_freelike(p);
		call.op = MST_OP_MALLOCLIKE;
	}
	recorder_alloc(&call, regs);
}

void recorder_null_free(void)
{
	struct thread *t = thread_here();
	_Atomic uint64_t *n;

	if (!t || t->inside != OUTSIDE)
		return;
	n = &t->ring->null_frees;
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_release);
}

/* ---- operators ---- */

bool recorder_new_enter(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *t = enter();

	if (!t || t->inside != OUTSIDE)
		return false;
	t->inside = IN_NEW;
	t->new_call = *call;
	t->new_block = NULL;
	t->new_regs = *regs;
	return true;
}

void recorder_new_leave(const void *result)
{
	struct thread *t = thread_here();
	size_t usable;

	if (!t || t->inside != IN_NEW)
		return;
	thread_go_inside(t);
	t->new_call.result = result;
	usable = t->new_block == result ? t->new_usable : 0;
	if (the_process.quick && result && !t->new_call.align_log2)
		push_block(t, &t->new_call, 1, &t->new_regs);
	else if (sample_on)
		push_sampled(t, &t->new_call, usable, &t->new_regs);
	else
		push_all(t, &t->new_call, usable, &t->new_regs);
	fork_barrier_pass(t, OUTSIDE);
}

bool recorder_delete_enter(const void *p, const struct unwind_regs *regs)
{
	struct thread *t;

	if (sample_on && !sample_may_hold(sample_key(p)))
		return false;
	t = thread_here();
	/* Inside another operator it is the free within that is recorded. */
	if (!t || t->inside != OUTSIDE)
		return false;
	if (sample_on && !sample_take(sample_key(p)))
		return false;
	thread_go_inside(t);
	if (!ring_address_quickly(t, SHM_OP_FREE, p))
		push_free(t, SHM_OP_FREE, p, regs);
	t->deleting = p;
	fork_barrier_pass(t, IN_DELETE);
	return true;
}

void recorder_delete_leave(void)
{
	struct thread *t = thread_here();

	if (t && t->inside == IN_DELETE)
		t->inside = OUTSIDE;
}

/* ---- marks ---- */

/* Calls of free(NULL) so far, by all threads. */
static uint64_t count_null_frees(const struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);
	uint64_t sum = p->null_frees;

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++)
		sum += atomic_load_explicit(&p->segment->rings[i].null_frees, memory_order_relaxed);
	return sum;
}

void recorder_mark(enum mst_op op)
{
	struct thread *t = enter();
	uint64_t value = 0, count;

	if (!t || t->inside != OUTSIDE)
		return;
	thread_go_inside(t);
	count = begin_extras(t, op == MST_OP_START ? (uintptr_t)__builtin_frame_address(0) : 0);
	if (op == MST_OP_FORK) {
		value = t->at_fork = t->last_fork = atomic_fetch_add(&the_process.segment->forks, 1) + 1;
		t->null_frees = count_null_frees(&the_process);
	} else if (op == MST_OP_EXIT) {
		value = count_null_frees(&the_process);
	}
	if (!tell_losses(t) || !push_value(t, (uint8_t)op, 0, value, NULL))
		ring_lose(t);
	end_extras(t, count);
	thread_go_back(t, OUTSIDE);
}

/* Without other threads there is nobody to keep from anything. */
void recorder_before_fork(void)
{
	struct thread *t = has_one_thread() ? NULL : thread_here();

	the_process.forks_threads = t != NULL;
	if (t)
		fork_barrier_close(t);
	recorder_mark(MST_OP_FORK);
}

void recorder_forked(void)
{
	struct process *p = process_now();
	struct thread *t = p ? innermost(thread_find(p)) : NULL;

	if (!t)
		return;
	t->at_fork = 0;
	fork_barrier_open(t);
}

void recorder_fork_failed(void)
{
	struct process *p = process_now();
	struct thread *t = p ? innermost(thread_find(p)) : NULL;

	if (!t || t->inside != OUTSIDE || !t->last_fork)
		return;
	thread_go_inside(t);
	if (tell_losses(t))
		push_value(t, SHM_OP_NO_FORK, 0, t->last_fork, NULL);
	thread_go_back(t, OUTSIDE);
}

/* A thread that is not known yet, or inside an event, isn't sampled. */
void recorder_sample(uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p ? thread_find(p) : NULL;

	if (!t || t->inside != OUTSIDE)
		return;
	thread_go_inside(t);
	end_extras(t, begin_extras(t, sp));
	thread_go_back(t, OUTSIDE);
}

void recorder_start_samples(void)
{
	struct thread *t = thread_now();

	if (!t || !the_process.family->timer_ms)
		return;
	if (sampler_start())
		thread_start_timer(t);
	else
		atomic_fetch_add(&the_process.family->untimed, 1);
}

void recorder_map(enum mst_op op, bool failed, size_t old_size, size_t size, uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p && !p->maps ? NULL : enter();
	const bool two = op == MST_OP_MREMAP_MOVED || op == MST_OP_MREMAP_IN_PLACE;
	const uint64_t old = old_size;
	uint64_t count;
	uint8_t inside;

	if (!t || !the_process.maps)
		return;
	inside = thread_go_inside(t);
	count = begin_extras(t, sp);
	if (!tell_losses(t) || !push_value(t, (uint8_t)op, failed ? SHM_FAILED : 0, size, two ? &old : NULL))
		ring_lose(t);
	end_extras(t, count);
	thread_go_back(t, inside);
}

void recorder_page(const struct call *call, size_t old_size, const struct unwind_regs *regs)
{
	struct thread *t = enter();
	uint64_t count;
	uint8_t inside;

	if (!t || !the_process.pages)
		return;
	inside = thread_go_inside(t);
	count = begin_extras(t, regs ? regs->sp : 0);
	push_any(t, call, old_size, regs ? unwind_capture(t->stack, regs) : UNWIND_ROOT);
	end_extras(t, count);
	thread_go_back(t, inside);
}

/* dlclose() may come before the first event; the module table must be there to be told. */
void recorder_closing_begin(void)
{
	if (thread_now())
		modules_closing_begin();
}

void recorder_closing_end(void)
{
	if (thread_now())
		modules_closing_end(stamp_now(), has_one_thread());
}

void recorder_after_fork(void)
{
	thread_now();
}

bool recorder_traces_children(bool *yes)
{
	struct process *p = process_now();

	if (!p || atomic_load(&thread_off))
		return false;
	*yes = p->family->trace_children;
	return true;
}

/* Whether the calling thread is in a signal handler. */
static bool is_in_handler(struct thread *t, const struct unwind_regs *regs)
{
	bool found;

	thread_go_inside(t);
	found = unwind_interrupted(t->stack, unwind_capture(t->stack, regs));
	thread_go_back(t, OUTSIDE);
	return found;
}

bool recorder_freeres_wanted(bool *libc, bool *cxx, const struct unwind_regs *regs)
{
	struct process *p = process_now();
	struct thread *t = p && p->pid == os_pid() ? innermost(thread_now()) : NULL;

	if (!t || t->inside != OUTSIDE || p->left_threads || is_in_handler(t, regs))
		return false;
	*libc = p->family->libc_freeres;
	*cxx = p->family->cxx_freeres;
	return true;
}
