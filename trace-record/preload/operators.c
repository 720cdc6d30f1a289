/* SPDX-License-Identifier: MIT */
/*
 * C++ operator new and delete in all their forms, by their mangled names (this library is C and
 * must not pull in a C++ runtime). The real operator does the work; what it asks of malloc on the
 * way is not recorded a second time.
 */

#include "elfsym.h"
#include "export.h"
#include "real.h"
#include "recorder.h"
#include "thread.h"

/*
 * A failing operator new throws through our frame. This is all that happens then: the failed call
 * is recorded and the thread leaves the operator. It is the personality routine of the functions
 * that say so (Itanium C++ ABI, 2.5.2), called by the C++ runtime as it unwinds; they have no other
 * clean-up, so there is nothing to land on.
 */
#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8

int msrec_new_personality(int version, int actions, uint64_t type, void *exception, void *context);

__attribute__((visibility("hidden"), used)) int msrec_new_personality(int version, int actions, uint64_t type,
								      void *exception, void *context)
{
	(void)version, (void)type, (void)exception, (void)context;
	if (actions & CLEANUP_PHASE)
		recorder_new_leave(NULL);
	return CONTINUE_UNWIND;
}

/* Encoding 0x9b: pc-relative to a pointer in our own data, so that nothing is left to relocate. */
__asm__(".pushsection .data.rel.local, \"aw\"\n"
	".balign 8\n"
	"msrec_new_personality_ref: .quad msrec_new_personality\n"
	".popsection\n");
#define THROWS_THROUGH() __asm__ volatile(".cfi_personality 0x9b, msrec_new_personality_ref")

/* The real operator; NULL if nobody has one. Looked up once. */
static void *find(void **known, const char *name)
{
	void *function = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (__builtin_expect(!function, 0)) {
		if (!real_ready)
			real_resolve();
		function = elfsym_next(name);
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return function;
}

#define FIND(name)                                                                                           \
	({                                                                                                   \
		static void *known_;                                                                         \
		find(&known_, #name);                                                                        \
	})

/* What an operator comes down to when nobody has one. */
static void *plain_new(size_t size, size_t align)
{
	if (!size)
		size = 1;
	return align ? real.memalign(align, size) : real.malloc(size);
}

/*
 * A block that is none of the sample is counted by the malloc inside, or here if the operator has its
 * memory from elsewhere.
 */
#define NEW(name, op_, align_, params, args)                                                                 \
	EXPORT void *name params;                                                                            \
	EXPORT void *name params                                                                             \
	{                                                                                                    \
		void *(*const function)params = FIND(name);                                                  \
		struct thread *const passing = thread_passing(size ? size : 1);                              \
		const uint64_t left = passing ? passing->countdown.left : 0;                                 \
		const bool outermost =                                                                       \
			!passing && recorder_new_enter(&(struct call){ .op = op_,                            \
								       .align_log2 = align_log2_of(align_),  \
								       .size = size },                       \
						       CALLER_REGS());                                       \
		void *p;                                                                                     \
                                                                                                             \
		THROWS_THROUGH();                                                                            \
		p = function ? function args : plain_new(size, align_);                                      \
		if (outermost)                                                                               \
			recorder_new_leave(p);                                                               \
		else if (passing && passing->countdown.left == left)                                         \
			passing->countdown.left -= size + 1;                                                 \
		return p;                                                                                    \
	}

#define DELETE(name, params, args)                                                                           \
	EXPORT void name params;                                                                             \
	EXPORT void name params                                                                              \
	{                                                                                                    \
		void(*const function) params = FIND(name);                                                   \
		const bool outermost =                                                                       \
			p && !thread_frees_unseen(p) && recorder_delete_enter(p, CALLER_REGS());             \
                                                                                                             \
		if (function)                                                                                \
			function args;                                                                       \
		else                                                                                         \
			real.free(p);                                                                        \
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

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag), (p, align, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag), (p, align, tag))
