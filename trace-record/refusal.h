/* SPDX-License-Identifier: MIT */
/* Why msrec does not attach to a process, or not now: the end of a sentence that begins with the process. */
#ifndef TRACE_RECORD_REFUSAL_H
#define TRACE_RECORD_REFUSAL_H

/* To be freed. NULL only if memory is that short. */
__attribute__((format(printf, 1, 2))) char *refusal(const char *format, ...);

#endif
