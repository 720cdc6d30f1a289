/* SPDX-License-Identifier: MIT */
/* Forks of the recorded program. */
#ifndef PRELOAD_FORKS_H
#define PRELOAD_FORKS_H

/* When the process begins: has libc's fork() tell the recorder. May come late, and more than once. */
void forks_begin(void);

#endif
