/* SPDX-License-Identifier: MIT */
/* Names made from a wanted one, when that says too little or is taken: "app.zst" becomes "app.17.zst" or "app-2.zst". */
#ifndef BASE_FREE_NAME_H
#define BASE_FREE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* `mark` stands before the end ".zst", or at the end of other names. To be freed; NULL: no memory. */
char *name_with_mark(const char *path, const char *mark);

/* The path itself for 1, path-2, path-3 ... To be freed; NULL: no memory. */
char *name_with_number(const char *path, uint32_t number);

/*
 * One of these that is free. Looks at few of them, so where some were removed it may not be the first. To be freed; NULL:
 * no memory.
 */
char *name_free(const char *path, bool (*taken)(const void *context, const char *path), const void *context);

#endif
