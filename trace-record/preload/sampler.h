/* SPDX-License-Identifier: MIT */
/* Samples of stack depths between calls; see recorder.c. */
#ifndef PRELOAD_SAMPLER_H
#define PRELOAD_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Once, when the process begins: takes the signal. False: somebody else has it. */
bool sampler_start(void (*take)(uintptr_t sp));

/*
 * Samples of the calling thread from now on, one each `ms` of its CPU time, by a timer that is put in the place
 * of *timer (0: none), one of a thread of this process that is gone. True also if samples are not to be had
 * before sampler_start(); false: there is no timer.
 */
bool sampler_begin_thread(int *timer, uint32_t ms);

#endif
