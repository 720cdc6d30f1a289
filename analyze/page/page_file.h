/* SPDX-License-Identifier: MIT */
/* A page's file: the template that the build made, with what a page knows in two places of it. */
#ifndef ANALYZE_PAGE_FILE_H
#define ANALYZE_PAGE_FILE_H

#include "answer.h"
#include "out.h"

/* The whole template, to be freed. NULL: there is none, or no memory; *why says what to do about it. */
char *page_template(const char **why);

/* How many bytes deflated data may have, so that the page is as small as it should be. */
size_t page_room(const char *page_template);

/* Writes JSON to `out`. */
typedef void page_writer(struct out *out, void *data);

/* The whole page: what `write` writes of `meta` as its small object, and deflated data. False with errno. */
bool page_fill(struct out *out, const char *page_template, page_writer *write, void *meta,
	       const uint8_t *data, size_t size);

/* An answer as JSON, *size bytes of it, to be freed; its texts are cut first. NULL with errno. */
char *page_answer(struct answer *answer, size_t *size);

#endif
