/* SPDX-License-Identifier: MIT */
/* CRC-32 as in gzip and PNG (reflected polynomial 0xEDB88320). */
#ifndef MSTRACE_CRC32_H
#define MSTRACE_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const uint8_t *data, size_t size);

/* The sum of what had the sum `crc` (0: nothing) and these bytes behind it. */
uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t size);

#endif
