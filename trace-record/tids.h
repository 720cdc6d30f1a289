/* SPDX-License-Identifier: MIT */
/* The threads of a process whose events share one ring, by the kernel's thread id. */
#ifndef TRACE_RECORD_TIDS_H
#define TRACE_RECORD_TIDS_H

#include <stdint.h>

#include "mst_writer.h"
#include "shm.h"

struct tids {
	struct tid {
		uint32_t tid;              /* the kernel's */
		uint32_t thread;           /* the trace's */
		char name[SHM_NAME_BYTES]; /* "": not known */
	} * items;
	uint32_t n, capacity;
};

void tids_finish(struct tids *tids);

/* Finds the trace's id of a thread, and defines it if it is new. 0 or a negative enum mst_error. */
int tids_find(struct tids *tids, struct mst_writer *writer, uint32_t tid, uint32_t *thread);

#endif
