/* SPDX-License-Identifier: MIT */
#include "input_part.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "profile.h"

bool input_part_parse(struct input_part *part, const struct tool *tool, const char *input)
{
	const char *at = strrchr(input, '@');
	uint64_t ns;
	*part = (struct input_part){ .until_ms = PROFILE_NO_TIME };
	if (at && at > input && access(input, F_OK) != 0) {
		if (duration_parse(at + 1, &ns)) {
			part->file = strndup(input, (size_t)(at - input));
			part->until_ms = ns / 1000000;
		} else if (strcmp(at + 1, "end") == 0) {
			part->file = strndup(input, (size_t)(at - input));
		}
	}
	if (!part->file && !(part->file = strdup(input))) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return false;
	}
	return true;
}

void input_part_finish(struct input_part *part)
{
	free(part->file);
	part->file = NULL;
}
