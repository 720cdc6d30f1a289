/* SPDX-License-Identifier: MIT */
/*
 * The C allocation functions that the program calls instead of its allocator's. Each calls the real function and the
 * recorder: a free is recorded before the real free, an allocation after the real call, and a realloc's old address
 * before the realloc. So no address is live twice in the trace.
 */
#include "interpose.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "export.h"
#include "fork_barrier.h"
#include "next_malloc.h"
#include "recorder.h"
#include "sample.h"
#include "thread_lookup.h"

/* Not in all libcs' headers. */
EXPORT void free_sized(void *p, size_t size);
EXPORT void free_aligned_sized(void *p, size_t align, size_t size);
EXPORT int dlclose(void *handle);

/* True when the real functions can be called; false inside their own look-up. */
static inline bool ready(void)
{
	return __builtin_expect(next_ready, 1) || next_resolve();
}

void *interpose_malloc(size_t size)
{
	void *p;

	if (!ready())
		return next_arena_alloc(size, 16);
	p = next.malloc(size);
	recorder_block(MST_OP_MALLOC, p, size, CALLER_REGS());
	return p;
}

void *interpose_calloc(size_t n, size_t size)
{
	size_t product;
	const bool overflow = __builtin_mul_overflow(n, size, &product);
	void *p;

	if (!ready())
		return overflow ? NULL : next_arena_alloc(product, 16);
	p = next.calloc(n, size);
	if (p)
		recorder_block(MST_OP_CALLOC, p, product, CALLER_REGS());
	else
		recorder_alloc(&(struct call){ .op = MST_OP_CALLOC, .size = product, .overflow = overflow },
			       CALLER_REGS());
	return p;
}

/* Moves a block of the arena to the real allocator. */
static void *realloc_from_arena(void *old, size_t size, const struct unwind_regs *regs)
{
	const size_t readable = next_arena_readable(old);
	void *p = next.malloc(size);

	if (p)
		memcpy(p, old, size < readable ? size : readable);
	recorder_alloc(&(struct call){ .op = MST_OP_REALLOC, .result = p, .size = size }, regs);
	return p;
}

/* While blocks are sampled. `old` leaves the set before another thread can get its address. */
static void *realloc_sampled(void *old, size_t size, const struct unwind_regs *regs)
{
	const bool sampled = old && sample_take(sample_key(old));
	enum mst_op op = MST_OP_REALLOC_MOVED;
	void *p;

	if (sampled)
		recorder_moving(old);
	p = next.realloc(old, size);
	if (p == old)
		op = MST_OP_REALLOC_IN_PLACE;
	if (!sampled) {
		if (p)
			recorder_alloc(&(struct call){ .op = MST_OP_REALLOC, .result = p, .size = size },
				       regs);
		return p;
	}
	if (!p && size == 0)
		op = MST_OP_REALLOC_FREE;
	if (!p && size > 0)
		sample_put(sample_key(old));
	else
		recorder_alloc(&(struct call){ .op = op, .result = p, .old = old, .size = size }, regs);
	return p;
}

/*
 * While recording is off: the block goes, if it was recorded, and what comes is not. A dormant process has no recorded
 * blocks.
 */
static void *realloc_quietly(void *old, size_t size, const struct unwind_regs *regs)
{
	const bool goes = old && !phase_is_dormant() && (!sample_on || sample_take(sample_key(old)));
	void *p;

	if (goes)
		recorder_moving(old);
	p = next.realloc(old, size);
	if (goes && (p || size == 0))
		recorder_alloc(&(struct call){ .op = MST_OP_REALLOC_FREE, .old = old, .size = size }, regs);
	else if (goes && sample_on)
		sample_put(sample_key(old));
	return p;
}

/* realloc() for the caller that `regs` are of. */
static inline __attribute__((always_inline)) void *realloc_for(void *old, size_t size,
							       const struct unwind_regs *regs)
{
	enum mst_op op = MST_OP_REALLOC_MOVED;
	void *p;

	if (!ready())
		return old ? NULL : next_arena_alloc(size, 16);
	if (next_arena_owns(old))
		return realloc_from_arena(old, size, regs);
	if (phase_is_quiet())
		return realloc_quietly(old, size, regs);
	if (sample_on)
		return realloc_sampled(old, size, regs);
	if (old)
		recorder_moving(old);
	p = next.realloc(old, size);
	if (!old)
		op = MST_OP_REALLOC;
	else if (p == old)
		op = MST_OP_REALLOC_IN_PLACE;
	else if (!p && size == 0)
		op = MST_OP_REALLOC_FREE;
	recorder_realloc(op, p, old, size, regs);
	return p;
}

void *interpose_realloc(void *old, size_t size)
{
	return realloc_for(old, size, CALLER_REGS());
}

/* libc's reallocarray calls realloc, which records the call unless the product is refused. Another allocator's may not. */
EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t product;

	if (!ready())
		return NULL;
	if (__builtin_mul_overflow(n, size, &product))
		recorder_alloc(&(struct call){ .op = MST_OP_REALLOCARRAY, .size = product, .overflow = true },
			       CALLER_REGS());
	else if (!next.reallocarray_is_libcs)
		return realloc_for(old, product, CALLER_REGS());
	return next.reallocarray(old, n, size);
}

/* Records a free. True if the real function must be called. */
static inline bool freeing(const struct call *call, const struct unwind_regs *regs)
{
	if (!ready())
		return false;
	if (!call->result) {
		recorder_null_free();
		return false;
	}
	if (next_arena_owns(call->result))
		return false;
	recorder_free(call, regs);
	return !next_ending;
}

/* freeing() where the record is plain, inlined; false: nothing is done. */
static inline bool free_plain(enum mst_op op, void *p, size_t size)
{
	struct thread *const t = thread_known();
	bool emitted;

	if (__builtin_expect(!t || t->inside != OUTSIDE, 0))
		return false;
	thread_begin_event(t);
	emitted = emit_plain_free(t, op, p, size);
	fork_barrier_pass(t, OUTSIDE);
	return emitted;
}

void interpose_free(void *p)
{
	if (p && !next_arena_owns(p) && !next_ending && free_plain(MST_OP_FREE, p, 0))
		next.free(p);
	else if (freeing(&(struct call){ .op = MST_OP_FREE, .result = p }, CALLER_REGS()))
		next.free(p);
}

void interpose_delete(enum mst_op op, void *p, size_t size)
{
	if (phase_is_dormant() && !next_arena_owns(p) && !next_ending)
		next.free(p);
	else if (p && !next_arena_owns(p) && !next_ending && free_plain(op, p, size))
		next.free(p);
	else if (freeing(&(struct call){ .op = op, .result = p, .size = size }, CALLER_REGS()))
		next.free(p);
}

bool interpose_freeing(const struct call *call, const struct unwind_regs *regs)
{
	return freeing(call, regs);
}

EXPORT void free_sized(void *p, size_t size)
{
	if (!freeing(&(struct call){ .op = MST_OP_FREE, .result = p, .size = size }, CALLER_REGS()))
		return;
	if (next.free_sized)
		next.free_sized(p, size);
	else
		next.free(p);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
	if (!freeing(&(struct call){ .op = MST_OP_FREE,
				     .align_log2 = align_log2_of(align),
				     .result = p,
				     .size = size },
		     CALLER_REGS()))
		return;
	if (next.free_aligned_sized)
		next.free_aligned_sized(p, align, size);
	else
		next.free(p);
}

EXPORT void *memalign(size_t align, size_t size)
{
	void *p;

	if (!ready())
		return next_arena_alloc(size, align);
	p = next.memalign(align, size);
	recorder_alloc(&(struct call){ .op = MST_OP_MEMALIGN,
				       .align_log2 = align_log2_of(align),
				       .invalid = !p && errno == EINVAL,
				       .result = p,
				       .size = size },
		       CALLER_REGS());
	return p;
}

EXPORT int posix_memalign(void **result, size_t align, size_t size)
{
	int err;

	if (!ready())
		return ENOMEM;
	err = next.posix_memalign(result, align, size);
	recorder_alloc(&(struct call){ .op = MST_OP_POSIX_MEMALIGN,
				       .align_log2 = align_log2_of(align),
				       .invalid = err == EINVAL,
				       .result = err ? NULL : *result,
				       .size = size },
		       CALLER_REGS());
	return err;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *p;

	if (!ready())
		return next_arena_alloc(size, align);
	p = next.aligned_alloc(align, size);
	recorder_alloc(&(struct call){ .op = MST_OP_ALIGNED_ALLOC,
				       .align_log2 = align_log2_of(align),
				       .invalid = !p && errno == EINVAL,
				       .result = p,
				       .size = size },
		       CALLER_REGS());
	return p;
}

EXPORT void *valloc(size_t size)
{
	void *p;

	if (!ready())
		return next_arena_alloc(size, (size_t)1 << INTERPOSE_PAGE_LOG2);
	p = next.valloc(size);
	recorder_alloc(
		&(struct call){
			.op = MST_OP_VALLOC, .align_log2 = INTERPOSE_PAGE_LOG2, .result = p, .size = size },
		CALLER_REGS());
	return p;
}

/* Code and addresses of an unloaded object are void from here on. */
EXPORT int dlclose(void *handle)
{
	int result;

	if (!ready())
		return -1;
	recorder_closing_begin();
	result = next.dlclose(handle);
	recorder_closing_end();
	return result;
}
