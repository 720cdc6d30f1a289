/* SPDX-License-Identifier: MIT */
/*
 * Buffered output to a descriptor. The first error is kept and returned by out_finish(), so writers needn't check. All
 * emitters write through it.
 */
#ifndef ANALYZE_OUT_H
#define ANALYZE_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "pack.h"

struct out;

/* `fd` stays the caller's. NULL when out of memory. */
struct out *out_create(int fd);
/* Like out_create(), with compression. */
struct out *out_create_packed(int fd, enum packing packing);

/* Writes nowhere, and is asked how much it would be. */
struct out *out_create_counter(void);
uint64_t out_counted(const struct out *counter);

void out_write(struct out *out, const void *data, size_t size);
void out_text(struct out *out, const char *text);
void out_printf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decimal; and hexadecimal in capitals. */
void out_number(struct out *out, uint64_t n);
void out_hex(struct out *out, uint64_t n);

/* A name from untrusted input, escaped as printable.h has it: never more than one line. */
void out_name(struct out *out, const char *name);

/* `n` times the character. */
void out_repeat(struct out *out, char c, size_t n);

/* Fails the output with the caller's errno; nothing more is written. */
void out_fail(struct out *out, int error);

/* Writes what is buffered and frees the object. Returns 0 or the errno of the first failure. */
int out_finish(struct out *out);

#endif
