/* SPDX-License-Identifier: MIT */
/*
 * msrec.h: tells msrec which blocks an allocator of your own gives out of larger ones.
 *
 * msrec sees malloc and its like, but not what a pool, an arena or a garbage collector makes of the memory.
 * Where these requests stand, such blocks are recorded with the stack that led there, and appear in
 * Massif's files as they would after Valgrind's requests of the same names:
 *
 *     MSREC_MALLOCLIKE(block, size)           the block was given out. Say so after it is yours.
 *     MSREC_FREELIKE(block)                   it goes back. Say so before anyone else can get it.
 *     MSREC_RESIZEINPLACE(block, old, new)    it has another size at the same address.
 *     MSREC_RECORDING                         1 if the program is being recorded, else 0.
 *
 * `block` is any pointer, or an address as an integer; NULL is no block. The first three are statements.
 * Arguments are evaluated once, whether or not anything is recorded. A block given out twice
 * at an address is two blocks, of which the later one goes first. The memory that the pool
 * itself got from malloc is recorded as ever, so its bytes are counted besides.
 *
 * With MSREC_VALGRIND_NAMES defined before the header is included, what is written for Valgrind works as
 * it is: VALGRIND_MALLOCLIKE_BLOCK, VALGRIND_FREELIKE_BLOCK, VALGRIND_RESIZEINPLACE_BLOCK, and
 * RUNNING_ON_VALGRIND, which is also true when recorded, so that the program does what it would do under
 * Massif. If valgrind.h (or memcheck.h ...) is included too, it must come first: the four then speak to
 * both tools, and its other requests stay. NVALGRIND doesn't switch ours off.
 *
 * Nothing is to be linked: each place loads the recorder's function, or 0, from the
 * program's offset table and branches. NMSREC, defined, leaves nothing but the
 * evaluation of the arguments; so do static programs' linkers, other machines and other compilers.
 * C89 to C23, C++98 to C++20, gcc and clang. May be used in any thread and in signal handlers.
 */
#ifndef MSREC_H
#define MSREC_H

#include <stddef.h>

#if !defined(NMSREC) && defined(__GNUC__) && defined(__linux__) && defined(__x86_64__) && defined(__LP64__)

/* The recorder's side. Not to be called but by the macros: nobody defines these without the recorder. */
#ifdef __cplusplus
extern "C" {
#endif
void msrec_malloclike(const void *block, size_t size);
void msrec_freelike(const void *block);
void msrec_resizeinplace(const void *block, size_t size);
#ifdef __cplusplus
}
#endif

/*
 * The compiler's own way to a weak symbol doesn't do: in code that isn't position-independent it is an
 * address in the code, which linkers settle to be 0 for good. An entry of the offset table is left
 * to the loader.
 */
#define MSREC_LOAD_(function, name)                                                                          \
	__asm__(".weak " name "\n\t"                                                                         \
		"{movq\t" name "@GOTPCREL(%%rip), %0|"                                                       \
		"mov\t%0, QWORD PTR " name "@GOTPCREL[rip]}"                                                 \
		: "=r"(function))

/* The empty statement behind the call keeps it from replacing the frame that it is to be seen in. */
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

#else
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

/* Outside the guard: may be asked for when the header is included once more. */
#if defined(MSREC_VALGRIND_NAMES) && !defined(MSREC_VALGRIND_NAMES_)
#define MSREC_VALGRIND_NAMES_

/* Valgrind's own request, if its header is there. */
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
