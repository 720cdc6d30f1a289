/* SPDX-License-Identifier: MIT */
/* Writes an answer in one of four formats. Errors are the struct out's. */
#ifndef ANALYZE_ANSWER_FORMATS_H
#define ANALYZE_ANSWER_FORMATS_H

#include "answer.h"
#include "out.h"

/* Of the text for a screen. */
struct answer_style {
	unsigned width; /* characters */
	bool utf8;      /* the screen shows UTF-8 */
	bool colour;
	bool si; /* units of 1000 */
};

void answer_write_text(struct out *out, const struct answer *answer, const struct answer_style *style);
/* `most`: bytes of a section, of which rows are left out that don't fit; 0: all rows. */
void answer_write_json(struct out *out, const struct answer *answer, uint64_t most);
void answer_write_markdown(struct out *out, const struct answer *answer, const struct answer_style *style);
void answer_write_csv(struct out *out, const struct answer *answer);

/* What stands above all sections of a filtered answer, without an end of line. The caller frees it; NULL: no memory. */
char *answer_show_filter(const struct answer_filter *filter, const struct answer_style *style);
char *answer_show_note(const struct answer_note *note, const struct answer_style *style);

/*
 * A value as people read it, in at most `most` characters if it is text. The caller frees it; NULL: no memory.
 */
char *answer_show(const struct answer_value *value, enum answer_unit unit, unsigned most,
		  const struct answer_style *style);

#endif
