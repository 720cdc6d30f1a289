/* SPDX-License-Identifier: MIT */
/*
 * The interface between libmsrec.so and libmsrec-pages.so, which msrec preloads behind it with --pages alone.
 *
 * The module records the calls by which the kernel maps and unmaps pages, from libc and the dynamic linker, too: all that
 * is mapped when recording begins, and from then on each call at one of the patched sites (syscall_patch.h). It
 * knows of the recorder what struct pages_recorder holds; the recorder knows the one function here.
 */
#ifndef PRELOAD_PAGES_H
#define PRELOAD_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "os.h"
#include "registers.h"

struct pages_recorder {
	/* Records a page event; see recorder_page(). */
	void (*record)(const struct call *call, size_t old_size, const struct unwind_regs *regs);
	/* Notes that events are missing. */
	void (*incomplete)(void);
	const _Atomic bool *off; /* recording has ended for good */
	/* The lock of a page call: thread pointer of its owner; 0: free. Wiped on fork, so no child finds it locked. */
	_Atomic uintptr_t *owner;
	/* What is mapped for the recorder (os.h). */
	void (*own)(uintptr_t start, uint64_t bytes);
	bool (*next_own)(uintptr_t address, struct os_range *range);
};

/* At the first event of a process that was not forked, by a thread that is recorded. `recorder` stays valid. */
void msrec_pages_begin(const struct pages_recorder *recorder) __attribute__((visibility("default")));

#endif
