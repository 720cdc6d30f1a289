/* SPDX-License-Identifier: MIT */
/* A sample of mstop as JSON; docs/mstop.schema.json describes it. */
#ifndef ANALYZE_TOP_JSON_H
#define ANALYZE_TOP_JSON_H

#include "out.h"
#include "top_screen.h"

/* At most `top` rows of each table. */
void top_json_write(struct out *out, const struct top_scene *scene, uint64_t top);

#endif
