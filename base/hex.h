/* SPDX-License-Identifier: MIT */
/* Bytes as people and folders of debug files know build ids: two digits each, in lower case. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * n digits and a NUL, at which the returned pointer points. */
char *hex_put(char *to, const uint8_t *bytes, size_t n);

#endif
