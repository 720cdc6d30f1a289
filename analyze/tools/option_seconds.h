/* SPDX-License-Identifier: MIT */
/* Times in seconds as option values. */
#ifndef ANALYZE_OPTION_SECONDS_H
#define ANALYZE_OPTION_SECONDS_H

#include <argp.h>
#include <stdint.h>

/* In ns, from `least` to a day: a plain number is one of seconds, units are those of duration.h. Else argp_error(). */
uint64_t option_seconds(struct argp_state *state, const char *option, const char *value, uint64_t least);

#endif
