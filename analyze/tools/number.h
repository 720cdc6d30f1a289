/* SPDX-License-Identifier: MIT */
/*
 * Numbers in option values, read by Massif's rules and not by C's, so that the same text means
 * the same number: no hexadecimal, no exponent, no trailing blanks, an empty text is 0.
 */
#ifndef ANALYZE_NUMBER_H
#define ANALYZE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * [blanks] [+|-] digits, or an empty text. False: `text` is something else. Values wrap modulo
 * 2^64, as Massif's do.
 */
bool number_integer(const char *text, int64_t *value);

/* Numbers of msrec's own options: [blanks] [+] digits, at most `most`; nothing wraps, and an empty text fails. */
bool number_natural(const char *text, uint64_t most, uint64_t *value);

/*
 * [blanks] [+|-] [digits] [. [digits]]. The result is Massif's own sum, which is not always the
 * nearest double: strtod() reads 2.675 as slightly less than Massif does.
 */
bool number_float(const char *text, double *value);

#endif
