/* SPDX-License-Identifier: MIT */
/* What each C library has in its own way: libc/glibc/ and libc/musl/, of which the build takes one. See shared/libc.h, too. */
#ifndef PRELOAD_LIBC_CALLS_H
#define PRELOAD_LIBC_CALLS_H

/* ---- next.c: needs nothing but next_malloc.h ---- */

/* Completes `next` when all else in it is known. */
void libc_resolve(void);

/* ---- process.c, which also has the functions that the program finds in this C library alone ---- */

/* At exit(), behind all destructors: notes the status if it is known, and calls exit_free_resources(). */
void libc_watch_exit(void);

/*
 * A process that ends by _exit() or quick_exit() discards stdio's buffers. libc's clean-up would write them, and seek files
 * that are shared with other processes back to what the program has read.
 */
void libc_discard_buffers(void);

/* As pthread_atfork(). */
void libc_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

#endif
