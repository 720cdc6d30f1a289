/* SPDX-License-Identifier: MIT */
#include "linked.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "call.h"
#include "entry_plan.h"
#include "next_malloc.h"
#include "recorder.h"
#include "registers.h"
#include "throws_through.h"

#define PAGE_LOG2 12
#define ALIGN_FLAGS 63 /* of jemalloc's flags: the logarithm of the alignment */
#define ZERO_FLAG 64

/* ---- allocating ---- */

/*
 * The program's operators give addresses within blocks that they get from malloc, such as behind a header. Then the calls
 * of malloc and free alone are recorded, as in a program without an allocator of its own.
 */
static _Atomic bool operators_wrap;

static inline bool is_left_out(const struct linked *f)
{
	return f->is_operator && atomic_load_explicit(&operators_wrap, memory_order_relaxed);
}

/* A call in progress. */
struct entered {
	bool outermost;
	bool left_out;
};

static inline struct entered enter(const struct linked *f, const struct call *call,
				   const struct unwind_regs *regs)
{
	const bool left_out = is_left_out(f);

	return (struct entered){ !left_out && recorder_linked_enter(call, regs), left_out };
}

static void leave(const struct linked *f, struct entered entered, struct call *call,
		  const struct unwind_regs *regs)
{
	const void *const p = call->result;
	size_t usable = 0;

	if (entered.left_out)
		return;
	if (__builtin_expect(recorder_wants_usable() && p && f->usable, 0))
		usable = f->usable((void *)p);
	if (!entered.outermost)
		recorder_linked_nested(call, usable, regs);
	else if (recorder_linked_leave(p, call->invalid, usable) && f->is_operator)
		atomic_store(&operators_wrap, true);
}

#define FUNCTION(type, params) ((type(*) params)f->real)

/* Calls the function and records it. `call_` has the members of the call; `invalid_` is asked when it has failed. */
#define ALLOCATE(call_, invalid_, type, params, args)                                                        \
	struct call call = call_;                                                                            \
	const struct entered entered = enter(f, &call, CALLER_REGS());                                       \
	void *p;                                                                                             \
                                                                                                             \
	THROWS_THROUGH();                                                                                    \
	p = FUNCTION(type, params) args;                                                                     \
	call.result = p;                                                                                     \
	call.invalid = !p && (invalid_);                                                                     \
	leave(f, entered, &call, CALLER_REGS());                                                             \
	return p

#define CALL(...) ((struct call){ __VA_ARGS__ })

static void *linked_malloc(size_t size, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .size = size), false, void *, (size_t), (size));
}

static void *linked_malloc_any(size_t size, uintptr_t any, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .size = size), false, void *, (size_t, uintptr_t), (size, any));
}

static void *linked_malloc_aligned(size_t size, size_t align, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .align_log2 = align_log2_of(align), .size = size), false, void *,
		 (size_t, size_t), (size, align));
}

static void *linked_malloc_aligned_any(size_t size, size_t align, uintptr_t any, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .align_log2 = align_log2_of(align), .size = size), false, void *,
		 (size_t, size_t, uintptr_t), (size, align, any));
}

/* jemalloc(3): the function is malloc, calloc and memalign in one. */
static void *linked_mallocx(size_t size, int flags, const struct linked *f)
{
	const uint8_t align_log2 = flags & ALIGN_FLAGS;
	const enum mst_op op = align_log2 ? MST_OP_MEMALIGN : flags & ZERO_FLAG ? MST_OP_CALLOC : f->op;

	ALLOCATE(CALL(.op = op, .align_log2 = align_log2, .size = size), false, void *, (size_t, int),
		 (size, flags));
}

static void *linked_calloc(size_t n, size_t size, const struct linked *f)
{
	size_t product;
	const bool overflow = __builtin_mul_overflow(n, size, &product);

	ALLOCATE(CALL(.op = f->op, .overflow = overflow, .size = product), false, void *, (size_t, size_t),
		 (n, size));
}

static void *linked_memalign(size_t align, size_t size, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .align_log2 = align_log2_of(align), .size = size), errno == EINVAL, void *,
		 (size_t, size_t), (align, size));
}

static void *linked_pages(size_t size, const struct linked *f)
{
	ALLOCATE(CALL(.op = f->op, .align_log2 = PAGE_LOG2, .size = size), false, void *, (size_t), (size));
}

static int linked_posix_memalign(void **result, size_t align, size_t size, const struct linked *f)
{
	struct call call = { .op = f->op, .align_log2 = align_log2_of(align), .size = size };
	const struct entered entered = enter(f, &call, CALLER_REGS());
	const int err = FUNCTION(int, (void **, size_t, size_t))(result, align, size);

	call.invalid = err == EINVAL;
	call.result = err ? NULL : *result;
	leave(f, entered, &call, CALLER_REGS());
	return err;
}

/* ---- allocating again ---- */

static void *linked_realloc(void *old, size_t size, const struct linked *f)
{
	ALLOCATE(CALL(.op = MST_OP_REALLOC, .old = old, .size = size), false, void *, (void *, size_t),
		 (old, size));
}

/* The third argument is jemalloc's flags, or an alignment. */
static void *linked_realloc_any(void *old, size_t size, uintptr_t any, const struct linked *f)
{
	ALLOCATE(CALL(.op = MST_OP_REALLOC, .old = old, .size = size), false, void *,
		 (void *, size_t, uintptr_t), (old, size, any));
}

static void *linked_refused_reallocarray(void *old, size_t n, size_t size, const struct linked *f,
					 const struct unwind_regs *regs)
{
	struct call call = { .op = MST_OP_REALLOCARRAY, .overflow = true, .size = n * size };
	const struct entered entered = enter(f, &call, regs);
	void *const p = FUNCTION(void *, (void *, size_t, size_t))(old, n, size);

	leave(f, entered, &call, regs);
	return p;
}

static void *linked_reallocarray(void *old, size_t n, size_t size, const struct linked *f)
{
	size_t product;

	if (__builtin_mul_overflow(n, size, &product))
		return linked_refused_reallocarray(old, n, size, f, CALLER_REGS());
	ALLOCATE(CALL(.op = MST_OP_REALLOC, .old = old, .size = product), false, void *,
		 (void *, size_t, size_t), (old, n, size));
}

/* jemalloc(3): resizes in place or not at all, and returns the bytes that the block has. */
static size_t linked_xallocx(void *p, size_t size, size_t extra, int flags, const struct linked *f)
{
	const size_t got = FUNCTION(size_t, (void *, size_t, size_t, int))(p, size, extra, flags);
	const size_t most = size + extra < size ? SIZE_MAX : size + extra;

	if (got >= size)
		recorder_linked_nested(&(struct call){ .op = MST_OP_REALLOC,
						       .result = p,
						       .old = p,
						       .size = got < most ? got : most },
				       recorder_wants_usable() ? got : 0, CALLER_REGS());
	return got;
}

/* ---- freeing ---- */

/* Around the real function, which is not called if freeing() is false. */
static inline bool freeing(const struct linked *f, const struct call *call, const struct unwind_regs *regs,
			   bool *outermost)
{
	const void *const p = call->result;

	*outermost = false;
	if (next_arena_owns(p))
		return false;
	if (!p)
		recorder_null_free();
	if (!p || is_left_out(f))
		return !next_ending;
	*outermost = recorder_delete_enter(call, regs);
	if (!*outermost)
		recorder_free(call, regs);
	return !next_ending;
}

static inline struct call free_call(const struct linked *f, void *p, size_t size, size_t align)
{
	if (f->any_free)
		return CALL(.op = MST_OP_FREE, .overflow = true, .result = p);
	return CALL(.op = f->op, .align_log2 = align_log2_of(align), .result = p, .size = size);
}

#define FREE(size_, align_, params, args)                                                                    \
	const struct call call = free_call(f, p, size_, align_);                                             \
	bool outermost;                                                                                      \
                                                                                                             \
	if (freeing(f, &call, CALLER_REGS(), &outermost))                                                    \
		FUNCTION(void, params) args;                                                                 \
	if (outermost)                                                                                       \
	recorder_delete_leave()

static void linked_free(void *p, const struct linked *f)
{
	FREE(0, 0, (void *), (p));
}

static void linked_free_any(void *p, uintptr_t any, const struct linked *f)
{
	FREE(0, 0, (void *, uintptr_t), (p, any));
}

static void linked_free_sized(void *p, size_t size, const struct linked *f)
{
	FREE(size, 0, (void *, size_t), (p, size));
}

static void linked_free_sized_any(void *p, size_t size, uintptr_t any, const struct linked *f)
{
	FREE(size, 0, (void *, size_t, uintptr_t), (p, size, any));
}

static void linked_free_aligned(void *p, size_t align, const struct linked *f)
{
	FREE(0, align, (void *, size_t), (p, align));
}

static void linked_free_aligned_any(void *p, size_t align, uintptr_t any, const struct linked *f)
{
	FREE(0, align, (void *, size_t, uintptr_t), (p, align, any));
}

static void linked_free_sized_aligned(void *p, size_t size, size_t align, const struct linked *f)
{
	FREE(size, align, (void *, size_t, size_t), (p, size, align));
}

static void linked_free_aligned_sized(void *p, size_t align, size_t size, const struct linked *f)
{
	FREE(size, align, (void *, size_t, size_t), (p, align, size));
}

/* ---- not of an allocator ---- */

/* Calls no handlers. */
static pid_t linked_fork(const struct linked *f)
{
	pid_t pid;

	recorder_before_fork();
	pid = FUNCTION(pid_t, (void))();
	if (pid == 0) {
		recorder_after_fork();
		return pid;
	}
	recorder_forked();
	if (pid < 0)
		recorder_fork_failed();
	return pid;
}

static int linked_close(void *handle, const struct linked *f)
{
	int result;

	recorder_closing_begin();
	result = FUNCTION(int, (void *))(handle);
	recorder_closing_end();
	return result;
}

/* ---- shapes ---- */

struct linked_shape linked_shape(unsigned shape)
{
	static const struct {
		void *function;
		unsigned arguments;
	} shapes[ENTRY_SHAPES] = {
		[ENTRY_MALLOC] = { (void *)linked_malloc, 1 },
		[ENTRY_CALLOC] = { (void *)linked_calloc, 2 },
		[ENTRY_REALLOC] = { (void *)linked_realloc, 2 },
		[ENTRY_REALLOCARRAY] = { (void *)linked_reallocarray, 3 },
		[ENTRY_REALLOC_ANY] = { (void *)linked_realloc_any, 3 },
		[ENTRY_MEMALIGN] = { (void *)linked_memalign, 2 },
		[ENTRY_POSIX_MEMALIGN] = { (void *)linked_posix_memalign, 3 },
		[ENTRY_PAGES] = { (void *)linked_pages, 1 },
		[ENTRY_MALLOC_ALIGNED] = { (void *)linked_malloc_aligned, 2 },
		[ENTRY_MALLOC_ALIGNED_ANY] = { (void *)linked_malloc_aligned_any, 3 },
		[ENTRY_MALLOC_ANY] = { (void *)linked_malloc_any, 2 },
		[ENTRY_MALLOCX] = { (void *)linked_mallocx, 2 },
		[ENTRY_XALLOCX] = { (void *)linked_xallocx, 4 },
		[ENTRY_FORK] = { (void *)linked_fork, 0 },
		[ENTRY_CLOSE] = { (void *)linked_close, 1 },
		[ENTRY_FREE] = { (void *)linked_free, 1 },
		[ENTRY_FREE_ANY] = { (void *)linked_free_any, 2 },
		[ENTRY_FREE_SIZED] = { (void *)linked_free_sized, 2 },
		[ENTRY_FREE_SIZED_ANY] = { (void *)linked_free_sized_any, 3 },
		[ENTRY_FREE_ALIGNED] = { (void *)linked_free_aligned, 2 },
		[ENTRY_FREE_ALIGNED_ANY] = { (void *)linked_free_aligned_any, 3 },
		[ENTRY_FREE_SIZED_ALIGNED] = { (void *)linked_free_sized_aligned, 3 },
		[ENTRY_FREE_ALIGNED_SIZED] = { (void *)linked_free_aligned_sized, 3 },
	};

	return shape < ENTRY_SHAPES
		       ? (struct linked_shape){ (uintptr_t)shapes[shape].function, shapes[shape].arguments }
		       : (struct linked_shape){ 0 };
}
