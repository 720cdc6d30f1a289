/* SPDX-License-Identifier: MIT */
/* What is said of a program that cannot be recorded, or not wholly. */
#ifndef TRACE_RECORD_SENTENCE_H
#define TRACE_RECORD_SENTENCE_H

/* As asprintf() makes it; the caller frees it. NULL: no memory. */
__attribute__((format(printf, 1, 2))) char *sentence_make(const char *format, ...);

#endif
