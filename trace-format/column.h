/* SPDX-License-Identifier: MIT */
/* A walk over the varints and bytes of a column. Functions return false where it is too short or malformed. Private. */
#ifndef MSTRACE_COLUMN_H
#define MSTRACE_COLUMN_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mst_limits.h"
#include "wire.h"

struct cursor {
	const uint8_t *p, *end; /* p <= end; both NULL: an empty column */
};

static inline bool take_varint(struct cursor *c, uint64_t *v)
{
	const uint8_t *p;

	/* Most varints have one byte. */
	if (c->p != c->end && *c->p < 0x80) {
		*v = *c->p++;
		return true;
	}
	p = c->p ? wire_varint(c->p, c->end, v) : NULL;
	if (p)
		c->p = p;
	return p != NULL;
}

static inline bool take_byte(struct cursor *c, uint8_t *v)
{
	if (c->p == c->end)
		return false;
	*v = *c->p++;
	return true;
}

/* *text is NULL if memory runs out. */
static inline bool take_text(struct cursor *c, char **text)
{
	uint64_t n;

	if (!take_varint(c, &n) || n > MST_MAX_TEXT || n > (size_t)(c->end - c->p) || memchr(c->p, 0, n))
		return false;
	*text = strndup((const char *)c->p, n);
	c->p += n;
	return true;
}

#endif
