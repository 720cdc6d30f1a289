/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define TWO_TO_53 9007199254740992.0
#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

static const uint64_t negative_limit = UINT64_C(1) << 63;

static struct number number_from_real(enum number_kind kind, double value)
{
	return (struct number){ .kind = kind, .real = value };
}

struct number number_from_integer(uint64_t value)
{
	return (struct number){ .kind = NUMBER_INTEGER, .magnitude = value };
}

/* The integer with this sign and magnitude, or the nearest double when it is too negative. */
static struct number number_from_magnitude(bool negative, uint64_t magnitude)
{
	struct number n = number_from_integer(magnitude);

	if (negative && magnitude > negative_limit)
		return number_from_real(NUMBER_COMPUTED, -(double)magnitude);
	n.negative = negative && magnitude > 0;
	return n;
}

/* `value` must be whole, at least -2^63 and below 2^64. */
static struct number number_from_whole(double value)
{
	return number_from_magnitude(value < 0, (uint64_t)fabs(value));
}

double number_real(struct number n)
{
	if (n.kind != NUMBER_INTEGER)
		return n.real;
	return n.negative ? -(double)n.magnitude : (double)n.magnitude;
}

/* The operand as an integer, if it may take part in integer arithmetic. */
static bool number_to_integer(struct number *n)
{
	if (n->kind == NUMBER_COMPUTED && fabs(n->real) < TWO_TO_53 && n->real == trunc(n->real))
		*n = number_from_whole(n->real);
	return n->kind == NUMBER_INTEGER;
}

/* inf, infinity, nan, qnan and snan, in any case and whatever follows. */
static bool number_parse_word(struct span text, double *value)
{
	if (text.length >= 3 && strncasecmp(text.start, "inf", 3) == 0) {
		*value = INFINITY;
		return true;
	}
	if (text.length >= 4 && (text.start[0] | 0x20) >= 'q' && (text.start[0] | 0x20) <= 's' &&
	    (text.start[0] | 0x20) != 'r')
		text = span_skip(text, 1);
	*value = NAN;
	return text.length >= 3 && strncasecmp(text.start, "nan", 3) == 0;
}

/* False if the digits need more than 64 bits. */
static bool digits_parse(struct span digits, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < digits.length; i++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(digits.start[i] - '0'), value))
			return false;
	return true;
}

/* The parts of `digits[.digits][e[sign]digits]`; the fraction includes its dot, the exponent its e. */
struct layout {
	struct span digits;
	size_t fraction, exponent;
	bool complete; /* nothing but white space follows */
};

static struct layout layout_find(struct span text)
{
	struct layout layout = { .digits = { text.start, span_digits(text) } };
	struct span rest = span_skip(text, layout.digits.length);

	if (rest.length > 0 && rest.start[0] == '.') {
		layout.fraction = 1 + span_digits(span_skip(rest, 1));
		rest = span_skip(rest, layout.fraction);
	}
	if (rest.length > 1 && (rest.start[0] | 0x20) == 'e') {
		size_t sign = rest.start[1] == '+' || rest.start[1] == '-';
		size_t digits = span_digits(span_skip(rest, 1 + sign));

		layout.exponent = digits > 0 ? 1 + sign + digits : 0;
		rest = span_skip(rest, layout.exponent);
	}
	layout.complete = span_skip_space(rest).length == 0;
	return layout;
}

/* The nearest double. Copies the digits, because the text behind them could look like more of the number. */
static double digits_real(struct span digits)
{
	char copy[310 + 1]; /* 10^309 is no finite double any more */

	while (digits.length > 0 && digits.start[0] == '0')
		digits = span_skip(digits, 1);
	if (digits.length >= sizeof(copy))
		return INFINITY;
	memcpy(copy, digits.start, digits.length);
	copy[digits.length] = '\0';
	return strtod(copy, NULL);
}

static struct number number_parse_whole(const struct layout *layout, bool negative)
{
	uint64_t magnitude;
	double value;

	if (layout->complete && layout->digits.length > 0 && digits_parse(layout->digits, &magnitude) &&
	    (!negative || magnitude <= negative_limit))
		return number_from_magnitude(negative, magnitude);
	value = digits_real(layout->digits);
	return number_from_real(NUMBER_WRITTEN, negative ? -value : value);
}

static struct number number_parse_decimal(struct span text, bool negative)
{
	struct layout layout = layout_find(text);
	double value;

	if (layout.digits.length == 0 && layout.fraction < 2)
		return number_from_real(NUMBER_WRITTEN, 0);
	if (layout.fraction == 0 && layout.exponent == 0)
		return number_parse_whole(&layout, negative);
	value = strtod(text.start, NULL);
	if (negative)
		value = -value;
	if (layout.complete && layout.exponent > 0 && value >= -TWO_TO_63 && value < TWO_TO_64 &&
	    value == trunc(value))
		return number_from_whole(value);
	return number_from_real(NUMBER_WRITTEN, value);
}

struct number number_parse(struct span text)
{
	bool negative = false;
	double word;

	text = span_skip_space(text);
	if (text.length > 0 && (text.start[0] == '-' || text.start[0] == '+')) {
		negative = text.start[0] == '-';
		text = span_skip(text, 1);
	}
	if (number_parse_word(text, &word))
		return number_from_real(NUMBER_WRITTEN, negative ? -word : word);
	return number_parse_decimal(text, negative);
}

struct number number_add(struct number a, struct number b)
{
	struct number m = a, n = b;
	uint64_t sum;

	if (!number_to_integer(&m) || !number_to_integer(&n))
		return number_from_real(NUMBER_COMPUTED, number_real(a) + number_real(b));
	if (m.negative != n.negative) {
		if (m.magnitude >= n.magnitude)
			return number_from_magnitude(m.negative, m.magnitude - n.magnitude);
		return number_from_magnitude(n.negative, n.magnitude - m.magnitude);
	}
	if (__builtin_add_overflow(m.magnitude, n.magnitude, &sum))
		return number_from_real(NUMBER_COMPUTED, number_real(a) + number_real(b));
	return number_from_magnitude(m.negative, sum);
}

struct number number_multiply(struct number a, struct number b)
{
	struct number m = a, n = b;
	uint64_t product;

	if (number_to_integer(&m) && number_to_integer(&n) &&
	    !__builtin_mul_overflow(m.magnitude, n.magnitude, &product))
		return number_from_magnitude(m.negative != n.negative, product);
	return number_from_real(NUMBER_COMPUTED, number_real(a) * number_real(b));
}

struct number number_divide(struct number a, struct number b)
{
	struct number m = a, n = b;

	if (number_to_integer(&m) && number_to_integer(&n) && m.magnitude > (UINT64_C(1) << 53) &&
	    m.magnitude % n.magnitude == 0)
		return number_from_magnitude(m.negative != n.negative, m.magnitude / n.magnitude);
	return number_from_real(NUMBER_COMPUTED, number_real(a) / number_real(b));
}

struct number number_truncate(struct number n)
{
	double whole;

	if (number_to_integer(&n))
		return n;
	whole = trunc(n.real);
	if (whole >= -TWO_TO_63 && whole < TWO_TO_64)
		return number_from_whole(whole);
	return number_from_real(NUMBER_COMPUTED, whole);
}

static enum number_order integers_compare(struct number a, struct number b)
{
	if (a.negative != b.negative)
		return a.negative ? NUMBER_LESS : NUMBER_GREATER;
	if (a.magnitude == b.magnitude)
		return NUMBER_EQUAL;
	return (a.magnitude < b.magnitude) != a.negative ? NUMBER_LESS : NUMBER_GREATER;
}

enum number_order number_compare(struct number a, struct number b)
{
	double x, y;

	if (number_to_integer(&a) && number_to_integer(&b))
		return integers_compare(a, b);
	x = number_real(a);
	y = number_real(b);
	if (x < y)
		return NUMBER_LESS;
	if (x > y)
		return NUMBER_GREATER;
	return x == y ? NUMBER_EQUAL : NUMBER_UNORDERED;
}

bool number_at_least(struct number a, struct number b)
{
	enum number_order order = number_compare(a, b);

	return order == NUMBER_GREATER || order == NUMBER_EQUAL;
}

bool number_is_zero(struct number n)
{
	return n.kind == NUMBER_INTEGER ? n.magnitude == 0 : n.real == 0;
}

size_t number_text(struct number n, char text[NUMBER_TEXT_SIZE])
{
	const char *sign = n.kind == NUMBER_INTEGER ? (n.negative ? "-" : "") : (n.real < 0 ? "-" : "");
	int length;

	if (n.kind == NUMBER_INTEGER)
		length = snprintf(text, NUMBER_TEXT_SIZE, "%s%" PRIu64, sign, n.magnitude);
	else if (isnan(n.real))
		length = snprintf(text, NUMBER_TEXT_SIZE, "NaN");
	else if (isinf(n.real))
		length = snprintf(text, NUMBER_TEXT_SIZE, "%sInf", sign);
	else
		length = snprintf(text, NUMBER_TEXT_SIZE, "%.15g", n.real + 0.0); /* never "-0" */
	return (size_t)length;
}
