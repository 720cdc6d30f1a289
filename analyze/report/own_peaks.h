/* SPDX-License-Identifier: MIT */
/*
 * An observer that finds the most bytes that each function, line or library, with all that it called, had live at once:
 * its own peak, which may lie at another time than the program's. Only chunks in which a peak can grow are looked at
 * record by record. Figures of a sampled trace are estimates.
 */
#ifndef ANALYZE_OWN_PEAKS_H
#define ANALYZE_OWN_PEAKS_H

#include "groups.h"
#include "observer.h"

struct own_peaks;

/* `by`: BY_FUNCTION, BY_SITE for lines, BY_LIBRARY. `calls` must outlive it. NULL: no memory. */
struct own_peaks *own_peaks_create(struct call_sites *calls, enum group_by by);
void own_peaks_destroy(struct own_peaks *peaks); /* NULL is allowed */

struct observer *own_peaks_observer(struct own_peaks *peaks);

/* What calls have in common: the function's number, the call's, or the module. */
uint64_t own_peaks_key(const struct call_sites *calls, uint32_t call, uint32_t module, enum group_by by);

/* After the replay; 0 for a key that had no block. */
uint64_t own_peaks_of(const struct own_peaks *peaks, uint64_t key);

#endif
