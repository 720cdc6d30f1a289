/* SPDX-License-Identifier: MIT */
/*
 * Asserts of code that runs inside the recorded program, a guest there: a broken invariant stops at once with SIGILL, and
 * nothing is printed. Compiled in with -Dpreload_checks=true and in the unit and stress tests; in the shipped
 * module the condition is not evaluated.
 */
#ifndef TRACE_RECORD_RECORDER_ASSERT_H
#define TRACE_RECORD_RECORDER_ASSERT_H

#ifdef RECORDER_CHECKS
#define RECORDER_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define RECORDER_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
