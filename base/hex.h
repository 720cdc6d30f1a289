/* SPDX-License-Identifier: MIT */
/* Bytes as two lower-case hexadecimal digits each, as build ids are written. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * n digits and a NUL. Returns a pointer to the NUL. */
char *hex_put(char *to, const uint8_t *bytes, size_t n);

#endif
