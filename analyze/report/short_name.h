/* SPDX-License-Identifier: MIT */
/*
 * Names of functions in the room there is: "f<...>::g" for what has long templates, "Type::f" for what Rust calls
 * "<Type as Trait>::f", without the parameters.
 */
#ifndef ANALYZE_SHORT_NAME_H
#define ANALYZE_SHORT_NAME_H

/* Shortens `text`, which malloc() gave, to at most `most` characters as seen on the screen. Returns `text`. */
char *short_name(char *text, unsigned most, const char *ellipsis);

/* A name within a sentence: 60 characters of up to four bytes. */
enum { SENTENCE_NAME = 60, SENTENCE_NAME_SIZE = 4 * SENTENCE_NAME + 1 };

/* Writes the name to `to` and returns it. */
const char *short_name_in_sentence(char to[SENTENCE_NAME_SIZE], const char *function);

#endif
