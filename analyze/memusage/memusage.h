/* SPDX-License-Identifier: MIT */
/*
 * An observer that counts for memusage(1)'s summary, table and histogram: what glibc's memusage would have printed at
 * the end of the recorded program.
 *
 * Its view differs from Massif's: sizes are those requested; failed calls count as calls; the memalign family, aligned
 * operator new, what realloc makes of their blocks, and blocks whose allocation wasn't seen are invisible. The report
 * ends with the exit handlers, at the first MST_OP_EXIT marker. Calls of free(NULL) aren't records: the marker has their
 * number; without a marker it is the sum over all chunks.
 */
#ifndef ANALYZE_MEMUSAGE_H
#define ANALYZE_MEMUSAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "observer.h"

struct datafile;
struct memusage;

/* How the program's own calls of mmap, mremap and munmap count, if the trace holds them. */
enum memusage_maps {
	MEMUSAGE_NO_MAPS,          /* not at all, as memusage without -m */
	MEMUSAGE_MAPS,             /* rows; live bytes with all that is mapped and not yet unmapped */
	MEMUSAGE_MAPS_AS_MEMUSAGE, /* rows as with memusage -m, which adds only writable files to the live
				    * bytes, subtracts all that is unmapped, and notices no failure */
};

/*
 * `data`, which may be NULL and stays the caller's, gets a record for each call that memusage would
 * have put into its data file, and is ended with the replay. NULL when out of memory.
 */
struct memusage *memusage_create(struct datafile *data, enum memusage_maps maps);
void memusage_destroy(struct memusage *memusage); /* NULL is allowed */
struct observer *memusage_observer(struct memusage *memusage);

/*
 * Writes the report as memusage does, to a byte when coloured; without colours the escape
 * sequences are left out. Errors stay in `out`. The stack peak is 0 if the trace holds no stack depths.
 */
void memusage_print(const struct memusage *memusage, FILE *out, bool coloured);

#endif
