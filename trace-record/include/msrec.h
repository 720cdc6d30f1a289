/* SPDX-License-Identifier: MIT */
/*
 * msrec.h: client requests, by which a program marks points of its run, and a custom allocator names the blocks that
 * it gives out.
 *
 *     msrec_mark("ready")                     this point of the run is called so, for --at=mark:ready and its like.
 *
 * A mark stands exactly between what the calling thread allocated and freed before and after it. The name is copied, up to
 * 255 bytes of it; several marks may have one name. It may be made in any thread and in signal handlers, and never allocates.
 *
 *     msrec_span_begin("GET /")               what the calling thread does from here on is a span of this name,
 *     msrec_span_end()                        which ends here: the thread's youngest open span does.
 *
 * For `msreport spans`: what each request, task or query allocates and leaves behind. Spans may be nested. Each border is a
 * mark: "span:" with up to 250 bytes of the name, and "/span".
 *
 *     msrec_on()                              from here on, blocks that are allocated are recorded.
 *     msrec_off()                             from here on they are not; frees of recorded blocks still are.
 *
 * These switch the recording of the whole process, as `msrec on PID` and `msrec off PID` do; `msrec --dormant` begins
 * without recording. They may be called in any thread, and twice. Where a recording cannot be switched they do nothing.
 *
 * msrec sees malloc and its like, but not how a pool, an arena or a garbage collector divides the memory. Each request records
 * a custom block with the stack at that point. In Massif's files such blocks appear as after Valgrind's requests of the
 * same names:
 *
 *     MSREC_MALLOCLIKE(block, size)           the block was given out. Place it after the block is yours.
 *     MSREC_FREELIKE(block)                   the block goes back. Place it before another thread can get the block.
 *     MSREC_RESIZEINPLACE(block, old, new)    the block has another size at the same address.
 *     MSREC_RECORDING                         1 if the program is being recorded, else 0.
 *
 * `block` is any pointer, or an address as an integer; NULL is no block. The first three are statements. Arguments are
 * evaluated once, whether or not the program is recorded. A block given out twice at an address is two blocks; the later one
 * is freed first. The memory that the pool itself got from malloc is recorded, too, so its bytes are counted besides.
 *
 * With MSREC_VALGRIND_NAMES defined before the header is included, requests written for Valgrind work unchanged:
 * VALGRIND_MALLOCLIKE_BLOCK, VALGRIND_FREELIKE_BLOCK, VALGRIND_RESIZEINPLACE_BLOCK; and RUNNING_ON_VALGRIND, which is
 * also true when recorded, so that the program behaves as under Massif. If valgrind.h (or memcheck.h ...) is included too, it
 * must come first: the four then reach both tools, and its other requests stay. NVALGRIND does not switch msrec's
 * requests off.
 *
 * Nothing needs to be linked: each request loads the address of the recorder's function, or 0, from the program's offset table
 * and branches. With NMSREC defined, for static programs, and on other machines and compilers, only the evaluation
 * of the arguments is left. C89 to C23, C++98 to C++20, gcc and clang. For any thread, and for signal handlers.
 */
#ifndef MSREC_H
#define MSREC_H

#include <stddef.h>

#if !defined(NMSREC) && defined(__GNUC__) && defined(__linux__) && defined(__LP64__) &&                      \
	(defined(__x86_64__) || defined(__AARCH64EL__))

/* For the macros alone: only the recorder defines these functions. */
#ifdef __cplusplus
extern "C" {
#endif
void msrec_malloclike(const void *block, size_t size);
void msrec_freelike(const void *block);
void msrec_resizeinplace(const void *block, size_t size);
void msrec_mark(const char *name);
void msrec_span_begin(const char *name);
void msrec_span_end(void);
void msrec_on(void);
void msrec_off(void);
#ifdef __cplusplus
}
#endif

/*
 * Loads the address by the offset table, whose entries the loader fills. The compiler's code for a weak symbol does not do:
 * in code that is not position-independent the linker sets the address to 0 for good.
 */
#ifdef __x86_64__
#define MSREC_LOAD_(function, name)                                                                          \
	__asm__(".weak " name "\n\t"                                                                         \
		"{movq\t" name "@GOTPCREL(%%rip), %0|"                                                       \
		"mov\t%0, QWORD PTR " name "@GOTPCREL[rip]}"                                                 \
		: "=r"(function))
#else
#define MSREC_LOAD_(function, name)                                                                          \
	__asm__(".weak " name "\n\t"                                                                         \
		"adrp\t%0, :got:" name "\n\t"                                                                \
		"ldr\t%0, [%0, :got_lo12:" name "]"                                                          \
		: "=r"(function))
#endif

/* The empty statement behind the call prevents a tail call, which would replace the caller's frame. */
#define MSREC_CALL_(name, arguments)                                                                         \
	do {                                                                                                 \
		__typeof__(&name) msrec_function_;                                                           \
		MSREC_LOAD_(msrec_function_, #name);                                                         \
		if (__builtin_expect(!!msrec_function_, 0)) {                                                \
			msrec_function_ arguments;                                                           \
			__asm__ __volatile__("");                                                            \
		}                                                                                            \
	} while (0)

#define MSREC_RECORDING                                                                                      \
	(__extension__({                                                                                     \
		__typeof__(&msrec_malloclike) msrec_function_;                                               \
		MSREC_LOAD_(msrec_function_, "msrec_malloclike");                                            \
		(int)!!msrec_function_;                                                                      \
	}))

/* Hides the function of that name: an expression without a value. */
#define msrec_mark(name)                                                                                     \
	(__extension__({                                                                                     \
		const char *const msrec_name_ = (name);                                                      \
		MSREC_CALL_(msrec_mark, (msrec_name_));                                                      \
	}))

#define msrec_span_begin(name)                                                                               \
	(__extension__({                                                                                     \
		const char *const msrec_name_ = (name);                                                      \
		MSREC_CALL_(msrec_span_begin, (msrec_name_));                                                \
	}))

#define msrec_span_end() (__extension__({ MSREC_CALL_(msrec_span_end, ()); }))
#define msrec_on() (__extension__({ MSREC_CALL_(msrec_on, ()); }))
#define msrec_off() (__extension__({ MSREC_CALL_(msrec_off, ()); }))

#else
#define msrec_mark(name) ((void)(name))
#define msrec_span_begin(name) ((void)(name))
#define msrec_span_end() ((void)0)
#define msrec_on() ((void)0)
#define msrec_off() ((void)0)
#define MSREC_CALL_(name, arguments)                                                                         \
	do {                                                                                                 \
		(void)msrec_block_;                                                                          \
	} while (0)
#define MSREC_RECORDING 0
#endif

#define MSREC_MALLOCLIKE(block, size)                                                                        \
	do {                                                                                                 \
		const void *const msrec_block_ = (const void *)(block);                                      \
		const size_t msrec_size_ = (size_t)(size);                                                   \
		(void)msrec_size_;                                                                           \
		MSREC_CALL_(msrec_malloclike, (msrec_block_, msrec_size_));                                  \
	} while (0)

#define MSREC_FREELIKE(block)                                                                                \
	do {                                                                                                 \
		const void *const msrec_block_ = (const void *)(block);                                      \
		MSREC_CALL_(msrec_freelike, (msrec_block_));                                                 \
	} while (0)

#define MSREC_RESIZEINPLACE(block, old_size, new_size)                                                       \
	do {                                                                                                 \
		const void *const msrec_block_ = (const void *)(block);                                      \
		const size_t msrec_size_ = (size_t)(new_size);                                               \
		(void)(old_size);                                                                            \
		(void)msrec_size_;                                                                           \
		MSREC_CALL_(msrec_resizeinplace, (msrec_block_, msrec_size_));                               \
	} while (0)

#endif

/* Outside the guard: MSREC_VALGRIND_NAMES may be defined when the header is included again. */
#if defined(MSREC_VALGRIND_NAMES) && !defined(MSREC_VALGRIND_NAMES_)
#define MSREC_VALGRIND_NAMES_

/* Valgrind's own request, if its header is included. */
#ifdef VALGRIND_DO_CLIENT_REQUEST_STMT
#define MSREC_VALGRIND_(request, a, b, c, d) VALGRIND_DO_CLIENT_REQUEST_STMT(request, a, b, c, d, 0)
#define MSREC_ON_VALGRIND_ VALGRIND_DO_CLIENT_REQUEST_EXPR(0, VG_USERREQ__RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0)
#else
#define MSREC_VALGRIND_(request, a, b, c, d)                                                                 \
	do {                                                                                                 \
		(void)(a), (void)(b), (void)(c), (void)(d);                                                  \
	} while (0)
#define MSREC_ON_VALGRIND_ 0
#endif

#undef RUNNING_ON_VALGRIND
#undef VALGRIND_MALLOCLIKE_BLOCK
#undef VALGRIND_FREELIKE_BLOCK
#undef VALGRIND_RESIZEINPLACE_BLOCK

#define RUNNING_ON_VALGRIND ((unsigned)MSREC_ON_VALGRIND_ + (unsigned)MSREC_RECORDING)

#define VALGRIND_MALLOCLIKE_BLOCK(addr, sizeB, rzB, is_zeroed)                                               \
	do {                                                                                                 \
		const void *const msrec_at_ = (const void *)(addr);                                          \
		const size_t msrec_n_ = (size_t)(sizeB);                                                     \
		MSREC_VALGRIND_(VG_USERREQ__MALLOCLIKE_BLOCK, msrec_at_, msrec_n_, rzB, is_zeroed);          \
		MSREC_MALLOCLIKE(msrec_at_, msrec_n_);                                                       \
	} while (0)

#define VALGRIND_FREELIKE_BLOCK(addr, rzB)                                                                   \
	do {                                                                                                 \
		const void *const msrec_at_ = (const void *)(addr);                                          \
		MSREC_VALGRIND_(VG_USERREQ__FREELIKE_BLOCK, msrec_at_, rzB, 0, 0);                           \
		MSREC_FREELIKE(msrec_at_);                                                                   \
	} while (0)

#define VALGRIND_RESIZEINPLACE_BLOCK(addr, oldSizeB, newSizeB, rzB)                                          \
	do {                                                                                                 \
		const void *const msrec_at_ = (const void *)(addr);                                          \
		const size_t msrec_old_ = (size_t)(oldSizeB), msrec_n_ = (size_t)(newSizeB);                 \
		MSREC_VALGRIND_(VG_USERREQ__RESIZEINPLACE_BLOCK, msrec_at_, msrec_old_, msrec_n_, rzB);      \
		MSREC_RESIZEINPLACE(msrec_at_, msrec_old_, msrec_n_);                                        \
	} while (0)

#endif
