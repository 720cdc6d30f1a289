/* SPDX-License-Identifier: MIT */
/* How wide text is on a screen, in characters of UTF-8; bytes that are none count one each. */
#ifndef ANALYZE_WIDTH_H
#define ANALYZE_WIDTH_H

unsigned width_of(const char *text);

/* The place behind the first `n` characters, or the end. */
const char *width_skip(const char *text, unsigned n);

/*
 * Cut `text`, which malloc() gave, to at most `most` characters with the ellipsis at the end that is cut off. Returns
 * `text`.
 */
char *width_cut_right(char *text, unsigned most, const char *ellipsis);
char *width_cut_left(char *text, unsigned most, const char *ellipsis);

/* Puts the ellipsis in the place of [from, to), which is at least as long. */
void width_replace(char *from, const char *to, const char *ellipsis);

#endif
