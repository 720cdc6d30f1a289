/* SPDX-License-Identifier: MIT */
/*
 * The value of --also: further settings for the same pass over a trace, written as one text of
 * Massif's options. They start from Massif's defaults, not from the main command line's settings.
 */
#ifndef ANALYZE_ALSO_H
#define ANALYZE_ALSO_H

#include "args.h"

/*
 * Fills `args` from `text`: words separated by blanks. Single or double quotes, which may begin inside a word, keep
 * their text as it is. The words must include --output or --massif-out-file. Returns 0, ENOMEM, or EINVAL with
 * args->refusal. The caller calls args_finish() in each case.
 */
int also_parse(struct args *args, const char *text);

#endif
