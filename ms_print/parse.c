/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <stdlib.h>

struct parser {
	struct lines lines;
	struct profile *profile;
	size_t capacity; /* of profile->snapshots */
	struct parse_error error;
};

bool lines_next(struct lines *lines, struct span *line)
{
	while (lines->rest.length > 0) {
		const char *end = memchr(lines->rest.start, '\n', lines->rest.length);
		const char *comment;

		*line = end ? span_from(lines->rest.start, end) : lines->rest;
		lines->rest = span_skip(lines->rest, line->length + (end != NULL));
		lines->number++;
		comment = memchr(line->start, '#', line->length);
		if (comment)
			*line = span_from(line->start, comment);
		if (span_skip_space(*line).length > 0)
			return true;
	}
	*line = (struct span){ NULL, 0 };
	return false;
}

static bool span_take_prefix(struct span *span, const char *prefix)
{
	size_t length = strlen(prefix);

	if (span->length < length || memcmp(span->start, prefix, length) != 0)
		return false;
	*span = span_skip(*span, length);
	return true;
}

bool node_parse(struct span line, struct node *node)
{
	line = span_skip_space(line);
	if (!span_take_prefix(&line, "n"))
		return false;
	node->children = (struct span){ line.start, span_digits(line) };
	line = span_skip(line, node->children.length);
	if (node->children.length == 0 || !span_take_prefix(&line, ":"))
		return false;
	line = span_skip_space(line);
	node->bytes = (struct span){ line.start, span_digits(line) };
	node->text = span_skip(line, node->bytes.length);
	return node->bytes.length > 0;
}

uint64_t node_children(const struct node *node)
{
	struct number count = number_parse(node->children);

	return count.kind == NUMBER_INTEGER ? count.magnitude : UINT64_MAX;
}

static bool parser_fail(struct parser *parser, enum parse_problem problem, struct span line)
{
	parser->error = (struct parse_error){
		.problem = problem,
		.line = line,
		.number = parser->lines.number,
	};
	return false;
}

static bool parse_description(struct parser *parser, struct span value)
{
	struct profile *profile = parser->profile;
	char *grown = realloc(profile->description, profile->description_size + value.length + 1);

	if (!grown)
		return parser_fail(parser, PARSE_NO_MEMORY, value);
	profile->description = grown;
	memcpy(grown + profile->description_size, value.start, value.length);
	grown[profile->description_size + value.length] = '\n';
	profile->description_size += value.length + 1;
	return true;
}

static bool parse_header(struct parser *parser)
{
	struct span line;

	lines_next(&parser->lines, &line);
	while (span_take_prefix(&line, "desc:")) {
		if (!parse_description(parser, line))
			return false;
		lines_next(&parser->lines, &line);
	}
	if (!span_take_prefix(&line, "cmd:"))
		return parser_fail(parser, PARSE_NO_COMMAND, line);
	parser->profile->command = span_skip_space(line);
	lines_next(&parser->lines, &line);
	if (!span_take_prefix(&line, "time_unit:"))
		return parser_fail(parser, PARSE_NO_TIME_UNIT, line);
	parser->profile->time_unit = span_skip_space(line);
	return true;
}

/* Walks one tree to its end. Only the number of nodes still to come matters, so depth costs nothing. */
static bool parse_tree(struct parser *parser, const struct snapshot *snapshot)
{
	uint64_t pending = 1;

	while (pending > 0) {
		struct span line;
		struct node node;

		if (!lines_next(&parser->lines, &line) || !node_parse(line, &node))
			return parser_fail(parser, PARSE_EXPECTED_NODE, line);
		if (!number_at_least(snapshot->total, number_parse(node.bytes)))
			return parser_fail(parser, PARSE_NODE_TOO_LARGE, line);
		/* A saturated count outlasts any text. */
		if (__builtin_add_overflow(pending - 1, node_children(&node), &pending))
			pending = UINT64_MAX;
	}
	return true;
}

static bool span_contains(struct span span, const char *word)
{
	return span.length && memmem(span.start, span.length, word, strlen(word)) != NULL;
}

static bool parse_heap_tree(struct parser *parser, struct snapshot *snapshot, struct span value)
{
	if (span_equals(value, "empty"))
		return true;
	if (!span_contains(value, "detailed") && !span_contains(value, "peak"))
		return parser_fail(parser, PARSE_BAD_HEAP_TREE, value);
	if (span_equals(value, "peak")) {
		parser->profile->has_peak = true;
		parser->profile->peak = number_parse(snapshot->number);
	}
	snapshot->tree = parser->lines.rest.start;
	return parse_tree(parser, snapshot);
}

static bool parse_value(struct parser *parser, struct span line, const char *key, struct span *value)
{
	struct span rest = line;

	if (line.start && span_take_prefix(&rest, key) && span_take_prefix(&rest, "=")) {
		*value = rest;
		return true;
	}
	parser_fail(parser, PARSE_EXPECTED_KEY, line);
	parser->error.key = key;
	return false;
}

/* One snapshot, whose first line has been read already. */
static bool parse_snapshot(struct parser *parser, struct span line, struct snapshot *snapshot)
{
	static const char *const keys[] = {
		"snapshot", "time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B", "heap_tree",
	};
	struct span values[6];

	for (size_t i = 0; i < 6; i++) {
		if (i > 0)
			lines_next(&parser->lines, &line);
		if (!parse_value(parser, line, keys[i], &values[i]))
			return false;
	}
	*snapshot = (struct snapshot){
		.number = values[0],
		.time = values[1],
		.heap = values[2],
		.extra = values[3],
		.stacks = values[4],
	};
	snapshot->total = number_add(number_add(number_parse(snapshot->heap), number_parse(snapshot->extra)),
				     number_parse(snapshot->stacks));
	return parse_heap_tree(parser, snapshot, values[5]);
}

static bool parser_reserve_snapshot(struct parser *parser)
{
	struct profile *profile = parser->profile;
	size_t capacity = parser->capacity + parser->capacity / 2 + 16;
	struct snapshot *grown;

	if (profile->count < parser->capacity)
		return true;
	grown = reallocarray(profile->snapshots, capacity, sizeof(*grown));
	if (!grown)
		return parser_fail(parser, PARSE_NO_MEMORY, (struct span){ NULL, 0 });
	profile->snapshots = grown;
	parser->capacity = capacity;
	return true;
}

static bool parse_snapshots(struct parser *parser)
{
	struct profile *profile = parser->profile;
	struct span line;

	while (lines_next(&parser->lines, &line)) {
		if (!parser_reserve_snapshot(parser) ||
		    !parse_snapshot(parser, line, &profile->snapshots[profile->count]))
			return false;
		profile->count++;
	}
	return true;
}

bool profile_parse(struct profile *profile, struct span text, struct parse_error *error)
{
	struct parser parser = { .lines = { text, 0 }, .profile = profile };

	*profile = (struct profile){ .text = text };
	if (parse_header(&parser) && parse_snapshots(&parser))
		return true;
	*error = parser.error;
	profile_finish(profile);
	return false;
}

void profile_finish(struct profile *profile)
{
	free(profile->description);
	free(profile->snapshots);
	*profile = (struct profile){ 0 };
}

bool profile_is_peak(const struct profile *profile, size_t index)
{
	return profile->has_peak && number_compare(number_from_integer(index), profile->peak) == NUMBER_EQUAL;
}
