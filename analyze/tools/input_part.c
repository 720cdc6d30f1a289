/* SPDX-License-Identifier: MIT */
#include "input_part.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "moment.h"
#include "profile.h"

/* A time or a mark; nothing is no limit. `text` stays the caller's. False: neither. */
static bool parse_end(const char *text, const char **mark, uint64_t *ms)
{
	uint64_t ns;
	*mark = moment_mark(text);
	if (*mark || *text == '\0')
		return true;
	if (!duration_parse(text, &ns))
		return false;
	*ms = ns / 1000000;
	return true;
}

/* "FROM..UNTIL". Marks may have dots in their names. */
static bool parse_range(struct trace_part *range, char *text)
{
	for (char *dots = strstr(text, ".."); dots; dots = strstr(dots + 1, "..")) {
		*range = TRACE_PART_ALL;
		*dots = '\0';
		if (parse_end(text, &range->from_mark, &range->from_ms) &&
		    parse_end(dots + 2, &range->until_mark, &range->until_ms) && !trace_part_is_all(range))
			return true;
		*dots = '.';
	}
	*range = TRACE_PART_ALL;
	return false;
}

/* What stands behind an "@". */
static bool parse_part(struct input_part *part, char *text)
{
	const char *mark;
	if (*text && strcmp(text, "end") == 0)
		return true;
	if (parse_range(&part->range, text))
		return true;
	if (!*text || !parse_end(text, &mark, &part->until_ms))
		return false;
	part->range.until_mark = mark;
	return true;
}

bool input_part_parse(struct input_part *part, const struct tool *tool, const char *input)
{
	char *const text = strdup(input);
	*part = (struct input_part){ .until_ms = PROFILE_NO_TIME, .text = text };
	part->range = TRACE_PART_ALL;
	size_t n = text && access(input, F_OK) != 0 ? strlen(text) : 0;
	/* The last "@" with a time or a mark behind it. */
	while (n > 0 && !part->file) {
		n--;
		if (n > 0 && text[n] == '@' && parse_part(part, text + n + 1))
			part->file = strndup(input, n);
	}
	if (!part->file && text)
		part->file = strdup(input);
	if (!part->file)
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return part->file;
}

void input_part_finish(struct input_part *part)
{
	free(part->file);
	free(part->text);
	part->file = part->text = NULL;
}
