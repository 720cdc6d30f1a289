/* SPDX-License-Identifier: MIT */
/* Values of CSV files, as RFC 4180 has them. */
#ifndef ANALYZE_CSV_H
#define ANALYZE_CSV_H

struct out;

/* A text, in quotes where it needs them. An empty one has them, so that it isn't taken for an unknown value. */
void csv_text(struct out *out, const char *text);

#endif
