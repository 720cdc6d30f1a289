/* SPDX-License-Identifier: MIT */
/* Answers processes that have executed a program with an allocator of its own and ask how its calls can be recorded. */
#ifndef TRACE_RECORD_PLAN_REQUESTS_H
#define TRACE_RECORD_PLAN_REQUESTS_H

#include "shm.h"

void plan_requests_answer(struct shm_family *family);

#endif
