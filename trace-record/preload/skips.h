/* SPDX-License-Identifier: MIT */
/* Reports to msrec which programs are not recorded, by the queue in the family's memory. Needs no recorded thread. */
#ifndef PRELOAD_SKIPS_H
#define PRELOAD_SKIPS_H

#include "shm.h"

/* A path that is too long is cut. Where the queue is full, the program is only counted. */
void skips_report(struct shm_family *family, enum shm_skip_reason reason, const char *path);

#endif
