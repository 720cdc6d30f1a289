/* SPDX-License-Identifier: MIT */
/*
 * An observer that counts for the full report of `--memusage=full`: the calls that
 * memusage doesn't see, how many of the frees were of NULL, what each thread did, and the largest
 * requests with their stacks. Like the report it ends at the exit marker.
 */
#ifndef ANALYZE_FULLUSAGE_H
#define ANALYZE_FULLUSAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "observer.h"
#include "symbolize.h"

struct fullusage;

/* `symbolizer`, which names the places, must outlive it. NULL when out of memory. */
struct fullusage *fullusage_create(struct symbolizer *symbolizer);
void fullusage_destroy(struct fullusage *full); /* NULL is allowed */
struct observer *fullusage_observer(struct fullusage *full);

/* Errors stay in `out`. */
void fullusage_print(const struct fullusage *full, const struct mst_reader *reader, FILE *out);

#endif
