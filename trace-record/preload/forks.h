/* SPDX-License-Identifier: MIT */
/* Forks of the recorded program. */
#ifndef PRELOAD_FORKS_H
#define PRELOAD_FORKS_H

/* Registers the recorder's fork handlers with libc. May be called late, and more than once. */
void forks_begin(void);

#endif
