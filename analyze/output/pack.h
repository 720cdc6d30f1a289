/* SPDX-License-Identifier: MIT */
/* Compresses a stream of bytes with gzip or zstd. */
#ifndef ANALYZE_PACK_H
#define ANALYZE_PACK_H

#include <stdbool.h>
#include <stddef.h>

enum packing { PACK_NONE, PACK_GZIP, PACK_ZSTD };

struct pack;

/* Receives the compressed bytes. */
typedef void pack_sink(void *data, const void *bytes, size_t size);

/* Not for PACK_NONE. NULL: no memory. */
struct pack *pack_create(enum packing packing, pack_sink *sink, void *data);
void pack_destroy(struct pack *pack); /* NULL is allowed */

/* False: no memory. pack_end() comes last. */
bool pack_write(struct pack *pack, const void *bytes, size_t size);
bool pack_end(struct pack *pack);

/* Returns the packing of a name's suffix: .gz, .zst. */
enum packing pack_by_name(const char *name);

#endif
