/* SPDX-License-Identifier: MIT */
/*
 * An observer that counts temporary blocks: those that are freed before their thread allocates again. It counts what
 * lives.h counts with `allowed` = 0. Chunks say how many they have; in traces of before, it follows the last block of
 * each thread and the ages of freed ones. A call of left_out.h is an allocation, too.
 */
#ifndef ANALYZE_TEMPORARIES_H
#define ANALYZE_TEMPORARIES_H

#include "observer.h"

struct temporaries;

/* NULL: no memory. */
struct temporaries *temporaries_create(const struct mst_file_info *info);
void temporaries_destroy(struct temporaries *temporaries); /* NULL is allowed */

struct observer *temporaries_observer(struct temporaries *temporaries);

/* After the replay. False: which block is freed isn't recorded. */
bool temporaries_count(const struct temporaries *temporaries, uint64_t *count);

#endif
