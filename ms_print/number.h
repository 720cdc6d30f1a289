/* SPDX-License-Identifier: MIT */
/*
 * Numbers with the rules ms_print's output depends on: exact integers of up to 64 bits (negative ones down
 * to -2^63) for as long as every operand is one, IEEE doubles from there on. So 2^53+1 and 2^64-1 keep all
 * their digits in sums, percentages and comparisons, and only results outside that range are rounded.
 *
 * Text is read leniently: white space, a sign, then the longest numeric prefix (or the words inf and nan);
 * text without one is 0.
 */
#ifndef MS_PRINT_NUMBER_H
#define MS_PRINT_NUMBER_H

#include "span.h"

#include <stdint.h>

enum number_kind {
	NUMBER_INTEGER,
	NUMBER_COMPUTED, /* a double that arithmetic gave; later on, small whole ones are integers again */
	NUMBER_WRITTEN,  /* a double from text: a fraction, too large, or followed by something else */
};

struct number {
	enum number_kind kind;
	bool negative; /* integers only; never set for 0 */
	union {
		uint64_t magnitude; /* NUMBER_INTEGER; at most 2^63 if negative */
		double real;        /* the other kinds */
	};
};

enum number_order {
	NUMBER_LESS,
	NUMBER_EQUAL,
	NUMBER_GREATER,
	NUMBER_UNORDERED, /* one of the two is NaN */
};

/* The longest text number_text() writes, with its terminator. */
#define NUMBER_TEXT_SIZE 32

struct number number_from_integer(uint64_t value);

/*
 * Never fails. Unless the text is all digits, the byte behind it must be readable and unable to continue a
 * number; a line end, a `#` or a terminating NUL will do.
 */
struct number number_parse(struct span text);

struct number number_add(struct number a, struct number b);
struct number number_multiply(struct number a, struct number b);

/* `b` must not be zero. An exact quotient of an integer above 2^53 stays an integer. */
struct number number_divide(struct number a, struct number b);

/* Rounded towards zero; an integer if it fits. */
struct number number_truncate(struct number n);

enum number_order number_compare(struct number a, struct number b);
bool number_at_least(struct number a, struct number b);
bool number_is_zero(struct number n);
double number_real(struct number n);

/* All digits of an integer, 15 significant digits of a double; returns the length. */
size_t number_text(struct number n, char text[NUMBER_TEXT_SIZE]);

#endif
