/* SPDX-License-Identifier: MIT */
/*
 * The value of --also: further settings for the same pass over a trace, written as one text of
 * Massif's options. They start from Massif's defaults, not from the main command line's settings.
 */
#ifndef ANALYZE_ALSO_H
#define ANALYZE_ALSO_H

#include "args.h"

/*
 * Fills `args` from `text`: words separated by blanks; what stands in single or double quotes,
 * which may begin inside a word, is taken as it is. A --massif-out-file must be among them.
 * Returns 0, ENOMEM, or EINVAL with args->problem and args->status. args_finish() is to be called
 * whatever it returns.
 */
int also_parse(struct args *args, const char *text);

#endif
