/* SPDX-License-Identifier: MIT */
/* Looks whether msrec can attach to a process, without touching it. */
#ifndef TRACE_RECORD_PREFLIGHT_H
#define TRACE_RECORD_PREFLIGHT_H

#include "target.h"

/*
 * Why the process cannot be attached to, as the end of a sentence that begins with it, with the cure if there is one; to be
 * freed. NULL: nothing speaks against it. The target looks at its mappings.
 */
char *preflight_objection(struct target *target);

#endif
