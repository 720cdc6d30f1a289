/* SPDX-License-Identifier: MIT */
/* Samples of stack depths between calls; see recorder_sample(). */
#ifndef PRELOAD_SAMPLER_H
#define PRELOAD_SAMPLER_H

#include <stdint.h>

/* One each `ms` of CPU time from now on, unless SIGPROF is taken. Once, when the process begins. */
void sampler_start(uint32_t ms);

#endif
