/* SPDX-License-Identifier: MIT */
/* Samples of stack depths between calls; see recorder.c. */
#ifndef PRELOAD_SAMPLER_H
#define PRELOAD_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Once, when the process begins: takes the signal, whose handler calls `take`. False: the program has taken it. */
bool sampler_start(void (*take)(uintptr_t sp));

/*
 * Samples the calling thread from now on, once each `ms` of its CPU time. The new timer replaces *timer (0: none), that of a
 * thread that is gone. False: no timer can be made. Before sampler_start() it does nothing and returns true.
 */
bool sampler_begin_thread(int *timer, uint32_t ms);

#endif
