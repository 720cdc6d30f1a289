/* SPDX-License-Identifier: MIT */
/*
 * Recipes: traces as a fuzzer can change them. A recipe is "MSTR" and then items, without
 * checksums, compression or sizes that must agree:
 *
 *   u8 type  u8 flags  u16 size of fields  u8 columns
 *   a column: u8 id  u16 size  u16 repeat (the last byte that many times more)
 *   then the fields, then the columns one after the other
 *
 * A cut recipe lacks the items behind its end. Cooking gives each unit its sequence number, frames and checksums.
 * With bit 6 of its flags an INDEX gets true entries of the units before it, and an END gets the true place of the
 * last INDEX and its own true size, so that a reader can seek from the end.
 */
#ifndef RECIPE_H
#define RECIPE_H

#include <stdbool.h>

#include "bytes.h"

/* Makes the trace. false, and nothing made, if `data` is no recipe. */
bool recipe_cook(struct bytes *trace, const uint8_t *data, size_t size);

/* The recipe of a whole and sound trace; any other ends the program. */
void recipe_from_trace(struct bytes *recipe, const uint8_t *trace, size_t size);

#endif
