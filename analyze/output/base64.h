/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648). */
#ifndef ANALYZE_BASE64_H
#define ANALYZE_BASE64_H

#include "out.h"

/* The bytes as base64, in one line, padded. */
void base64_write(struct out *out, const uint8_t *bytes, size_t n);

#endif
