/* SPDX-License-Identifier: MIT */
/* Text in JSON. */
#ifndef ANALYZE_JSON_H
#define ANALYZE_JSON_H

#include "out.h"

/* A string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void json_string(struct out *out, const char *text);

/* A part of a string, without quotes. */
void json_part(struct out *out, const char *text);

#endif
