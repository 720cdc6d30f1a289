/* SPDX-License-Identifier: MIT */
/*
 * C++ operator new and delete in all their forms, by their mangled names (this library is C and must not pull in a C++
 * runtime). The real operator does the work; the allocation that it makes by malloc is not recorded again. The operators
 * of the known C++ runtimes are malloc and free by another name: while plain records suffice and malloc succeeds, these
 * are called directly.
 */

#include "elfsym.h"
#include "export.h"
#include "interpose.h"
#include "next_malloc.h"
#include "recorder.h"
#include "thread_lookup.h"
#include "throws_through.h"

/* A real operator. */
struct next_operator {
	void *_Atomic function; /* NULL: no object defines it */
	bool plain;             /* it calls malloc or free and does nothing else */
};

static bool is_of_runtime(const void *function)
{
	return function && (elfsym_is_of(function, "libstdc++.so.") ||
			    elfsym_is_of(function, "libc++abi.so.") || elfsym_is_of(function, "libc++.so."));
}

/*
 * Whether no object replaces malloc, free, or the operators that the runtime's operators call: new[] of the runtime takes
 * its memory from the program's own operator new, if there is one.
 */
static bool are_plain(void)
{
	static const char *const called[] = { "_Znwm",  "_Znam",
					      "_ZdlPv", "_ZdlPvSt11align_val_t",
					      "_ZdaPv", "_ZdaPvSt11align_val_t" };

	for (unsigned i = 0; i < sizeof(called) / sizeof(*called); i++) {
		if (!elfsym_is_ours(called[i]) || !is_of_runtime(elfsym_next(called[i])))
			return false;
	}
	return elfsym_is_ours("malloc") && elfsym_is_ours("free");
}

/* Looked up once. */
static const struct next_operator *find(struct next_operator *known, const char *name)
{
	void *function = atomic_load_explicit(&known->function, memory_order_acquire);

	if (__builtin_expect(!function, 0)) {
		if (!next_ready)
			next_resolve();
		function = elfsym_next(name);
		known->plain = is_of_runtime(function) && are_plain();
		atomic_store_explicit(&known->function, function, memory_order_release);
	}
	return known;
}

#define FIND(name)                                                                                           \
	({                                                                                                   \
		static struct next_operator known_;                                                          \
		find(&known_, #name);                                                                        \
	})

/* Operator new where no object defines it. */
static void *plain_new(size_t size, size_t align)
{
	if (!size)
		size = 1;
	return align ? next.memalign(align, size) : next.malloc(size);
}

/* Operator new of a runtime, as malloc; NULL: the real operator must be called. */
static inline __attribute__((always_inline)) void *new_plain(enum mst_op op, size_t size,
							     const struct unwind_regs *regs)
{
	void *const p = the_process.options.plain ? next.malloc(size ? size : 1) : NULL;

	if (p && !phase_is_quiet())
		recorder_block(op, p, size, regs);
	return p;
}

/*
 * `align_` is 0 or the parameter of that name. A block that is not in the sample is counted down by the inner malloc, or here
 * if the operator takes its memory from elsewhere.
 */
#define NEW(name, op_, align_, params, args)                                                                 \
	EXPORT void *name params;                                                                            \
	EXPORT void *name params                                                                             \
	{                                                                                                    \
		const struct next_operator *const known = FIND(name);                                        \
		void *(*const function)params = known->function;                                             \
		void *p = __builtin_constant_p(align_) && known->plain ? new_plain(op_, size, CALLER_REGS()) \
								       : NULL;                               \
		struct thread *unsampled;                                                                    \
		uint64_t left;                                                                               \
		bool outermost;                                                                              \
                                                                                                             \
		THROWS_THROUGH();                                                                            \
		/* Recording may be switched on before the inner malloc. */                                  \
		if (!p && known->plain && phase_is_quiet())                                                  \
			p = plain_new(size, align_);                                                         \
		if (p)                                                                                       \
			return p;                                                                            \
		unsampled = thread_unsampled(size ? size : 1);                                               \
		left = unsampled ? unsampled->countdown.left : 0;                                            \
		outermost = !unsampled &&                                                                    \
			    recorder_new_enter(&(struct call){ .op = op_,                                    \
							       .align_log2 = align_log2_of(align_),          \
							       .size = size },                               \
					       CALLER_REGS());                                               \
		p = function ? function args : plain_new(size, align_);                                      \
		if (outermost)                                                                               \
			recorder_new_leave(p);                                                               \
		else if (unsampled && unsampled->countdown.left == left)                                     \
			unsampled->countdown.left -= size + 1;                                               \
		return p;                                                                                    \
	}

/*
 * `size_` and `align_` are 0 or the parameters of that name. Where the program replaces some of the operators, one may be made
 * of another: which function the block belongs to is not known then.
 */
#define DELETE(name, op_, size_, align_, params, args)                                                       \
	EXPORT void name params;                                                                             \
	EXPORT void name params                                                                              \
	{                                                                                                    \
		const struct next_operator *const known = FIND(name);                                        \
		void(*const function) params = known->function;                                              \
		bool outermost;                                                                              \
                                                                                                             \
		if (__builtin_constant_p(align_) && known->plain && the_process.options.plain) {             \
			interpose_delete(op_, p, size_);                                                     \
			return;                                                                              \
		}                                                                                            \
		outermost = p && !thread_frees_unsampled(p) &&                                               \
			    recorder_delete_enter(                                                           \
				    known->plain ? &(struct call){ .op = op_,                                \
								   .align_log2 = align_log2_of(align_),      \
								   .result = p,                              \
								   .size = size_ }                           \
						 : &(struct call){ .op = MST_OP_FREE,                        \
								   .overflow = true,                         \
								   .result = p },                            \
				    CALLER_REGS());                                                          \
		if (function)                                                                                \
			function args;                                                                       \
		else                                                                                         \
			next.free(p);                                                                        \
		if (outermost)                                                                               \
			recorder_delete_leave();                                                             \
	}

/* The last parameter of the nothrow forms is a reference to an empty object. */
NEW(_Znwm, MST_OP_NEW, 0, (size_t size), (size))
NEW(_Znam, MST_OP_NEW_ARRAY, 0, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, MST_OP_NEW, 0, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, MST_OP_NEW_ARRAY, 0, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_t, MST_OP_NEW, align, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, MST_OP_NEW_ARRAY, align, (size_t size, size_t align), (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, MST_OP_NEW, align, (size_t size, size_t align, const void *tag),
    (size, align, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, MST_OP_NEW_ARRAY, align, (size_t size, size_t align, const void *tag),
    (size, align, tag))

DELETE(_ZdlPv, MST_OP_DELETE, 0, 0, (void *p), (p))
DELETE(_ZdaPv, MST_OP_DELETE_ARRAY, 0, 0, (void *p), (p))
DELETE(_ZdlPvm, MST_OP_DELETE, size, 0, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, MST_OP_DELETE_ARRAY, size, 0, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, MST_OP_DELETE, 0, 0, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, MST_OP_DELETE_ARRAY, 0, 0, (void *p, const void *tag), (p, tag))
DELETE(_ZdlPvSt11align_val_t, MST_OP_DELETE, 0, align, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, MST_OP_DELETE_ARRAY, 0, align, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, MST_OP_DELETE, size, align, (void *p, size_t size, size_t align),
       (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, MST_OP_DELETE_ARRAY, size, align, (void *p, size_t size, size_t align),
       (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, MST_OP_DELETE, 0, align, (void *p, size_t align, const void *tag),
       (p, align, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, MST_OP_DELETE_ARRAY, 0, align,
       (void *p, size_t align, const void *tag), (p, align, tag))
