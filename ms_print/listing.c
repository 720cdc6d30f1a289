/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char rule[] =
	"--------------------------------------------------------------------------------\n";

/* A node with children still to come. */
struct level {
	uint64_t children; /* still to come */
	uint64_t hidden;   /* children not shown so far */
	struct number hidden_bytes;
	bool shown;
};

/*
 * A tree being printed. `levels` holds the path to the present node, so a tree of any depth needs no
 * recursion. `prefix` holds two characters for each level but the root: the lines of its children begin with
 * them. They contain a bar as long as the node has siblings to come.
 */
struct tree {
	FILE *out;
	struct number total, threshold;
	struct level *levels;
	char *prefix;
	size_t depth, capacity;
};

static void print_padded(FILE *out, const char *text, size_t length, size_t width)
{
	for (; width > length; width--)
		putc(' ', out);
	fwrite(text, 1, length, out);
}

static size_t commas_count(size_t digits)
{
	return digits > 0 ? (digits - 1) / 3 : 0;
}

/* Groups the leading digits of the text with commas. */
static void print_commas(FILE *out, struct span text)
{
	size_t digits = span_digits(text);

	for (size_t i = 0; i < digits; i++) {
		if (i > 0 && (digits - i) % 3 == 0)
			putc(',', out);
		putc(text.start[i], out);
	}
	fwrite(text.start + digits, 1, text.length - digits, out);
}

static void print_column(FILE *out, struct span text, size_t width)
{
	size_t commas = commas_count(span_digits(text));

	putc(' ', out);
	print_padded(out, "", 0, width > text.length + commas ? width - text.length - commas : 0);
	print_commas(out, text);
}

static void print_header(FILE *out, const struct profile *profile)
{
	struct span unit = profile->time_unit;

	fputs(rule, out);
	fprintf(out, "  n %*s%.*s) %16s %16s %13s %12s\n", 13 - (int)unit.length, "time(", (int)unit.length,
		unit.start, "total(B)", "useful-heap(B)", "extra-heap(B)", "stacks(B)");
	fputs(rule, out);
}

static void print_row(FILE *out, const struct snapshot *snapshot)
{
	char total[NUMBER_TEXT_SIZE];
	size_t length = number_text(snapshot->total, total);

	print_padded(out, snapshot->number.start, snapshot->number.length, 3);
	print_column(out, snapshot->time, 14);
	print_column(out, (struct span){ total, length }, 16);
	print_column(out, snapshot->heap, 16);
	print_column(out, snapshot->extra, 13);
	print_column(out, snapshot->stacks, 12);
	putc('\n', out);
}

/* At least two digits before the point, padded with zeros; the words for infinite values and NaN, too. */
static void print_percentage(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, "%05.2f%%", value);
	else
		fprintf(out, "00%s%%", isnan(value) ? "NaN" : "Inf");
}

static double tree_percentage(const struct tree *tree, struct number bytes)
{
	struct number scaled = number_multiply(number_from_integer(100), bytes);

	if (number_is_zero(tree->total))
		return 0;
	return number_real(number_divide(scaled, tree->total));
}

static bool tree_shows(const struct tree *tree, struct number bytes)
{
	if (tree->depth == 0 || number_is_zero(tree->threshold))
		return true;
	return !number_is_zero(tree->total) && tree_percentage(tree, bytes) >= number_real(tree->threshold);
}

/* The prefix of the lines of the children of the node on level `depth`. */
static void tree_print_prefix(const struct tree *tree, size_t depth)
{
	fwrite(tree->prefix, 2, depth, tree->out);
}

/* The number of levels in the prefix of a node's own line: without its own and the root's. */
static size_t tree_parent_depth(const struct tree *tree)
{
	return tree->depth > 1 ? tree->depth - 1 : 0;
}

static void tree_print_node(const struct tree *tree, const struct node *node, struct number bytes)
{
	tree_print_prefix(tree, tree_parent_depth(tree));
	fputs(tree->depth > 0 ? "->" : "", tree->out);
	print_percentage(tree->out, tree_percentage(tree, bytes));
	fputs(" (", tree->out);
	print_commas(tree->out, node->bytes);
	fputs("B)", tree->out);
	fwrite(node->text.start, 1, node->text.length, tree->out);
	putc('\n', tree->out);
}

static void tree_print_hidden(const struct tree *tree, size_t depth, const struct level *level)
{
	char bytes[NUMBER_TEXT_SIZE];
	size_t length = number_text(level->hidden_bytes, bytes);

	tree_print_prefix(tree, depth);
	fputs("->", tree->out);
	print_percentage(tree->out, tree_percentage(tree, level->hidden_bytes));
	fputs(" (", tree->out);
	print_commas(tree->out, (struct span){ bytes, length });
	fprintf(tree->out, "B) in %" PRIu64 "+ places, all below ms_print's threshold (", level->hidden);
	print_percentage(tree->out, number_real(tree->threshold));
	fputs(")\n", tree->out);
}

static bool tree_reserve_level(struct tree *tree)
{
	size_t capacity = tree->capacity + tree->capacity / 2 + 64;
	struct level *levels;
	char *prefix;

	if (tree->depth < tree->capacity)
		return true;
	levels = reallocarray(tree->levels, capacity, sizeof(*levels));
	if (!levels)
		return false;
	tree->levels = levels;
	prefix = reallocarray(tree->prefix, capacity, 2);
	if (!prefix)
		return false;
	tree->prefix = prefix;
	tree->capacity = capacity;
	return true;
}

/* Prints the node if it is to be shown and makes it the deepest level. */
static bool tree_enter(struct tree *tree, const struct node *node)
{
	struct number bytes = number_parse(node->bytes);
	struct level level = {
		.children = node_children(node),
		.hidden_bytes = number_from_integer(0),
		.shown = tree_shows(tree, bytes),
	};

	if (!tree_reserve_level(tree))
		return false;
	if (tree->depth > 0) {
		struct level *parent = &tree->levels[tree->depth - 1];

		parent->children--;
		if (!level.shown) {
			parent->hidden++;
			parent->hidden_bytes = number_add(parent->hidden_bytes, bytes);
		}
		memcpy(tree->prefix + 2 * (tree->depth - 1), parent->children > 0 ? "| " : "  ", 2);
	}
	if (level.shown)
		tree_print_node(tree, node, bytes);
	tree->levels[tree->depth++] = level;
	return true;
}

/* Ends the levels whose children are all done; `leaf` says that the deepest one never had any. */
static void tree_leave(struct tree *tree, bool leaf)
{
	while (tree->depth > 0 && tree->levels[tree->depth - 1].children == 0) {
		const struct level *level = &tree->levels[--tree->depth];

		if (level->shown && level->hidden > 0)
			tree_print_hidden(tree, tree->depth, level);
		if (level->shown && (level->hidden > 0 || leaf)) {
			tree_print_prefix(tree, tree->depth);
			putc('\n', tree->out);
		}
		leaf = false;
	}
}

/* The snapshot's tree, which profile_parse() found to be complete. */
static bool tree_print(struct tree *tree, struct lines lines)
{
	struct span line;
	struct node node;

	do {
		if (!lines_next(&lines, &line) || !node_parse(line, &node))
			return true;
		if (!tree_enter(tree, &node))
			return false;
		tree_leave(tree, tree->levels[tree->depth - 1].children == 0);
	} while (tree->depth > 0);
	return true;
}

static void print_detailed_list(FILE *out, const struct profile *profile)
{
	const char *separator = "";

	fprintf(out, "\nNumber of snapshots: %zu\n Detailed snapshots: [", profile->count);
	for (size_t i = 0; i < profile->count; i++) {
		if (!profile->snapshots[i].tree)
			continue;
		fprintf(out, "%s%zu%s", separator, i, profile_is_peak(profile, i) ? " (peak)" : "");
		separator = ", ";
	}
	fputs("]\n\n", out);
}

bool listing_print(FILE *out, const struct profile *profile, struct number threshold)
{
	struct tree tree = { .out = out, .threshold = threshold };
	bool complete = true;

	print_detailed_list(out, profile);
	print_header(out, profile);
	for (size_t i = 0; i < profile->count && complete; i++) {
		const struct snapshot *snapshot = &profile->snapshots[i];
		struct lines lines = { .number = 0 };

		print_row(out, snapshot);
		if (!snapshot->tree)
			continue;
		tree.total = snapshot->total;
		lines.rest = span_from(snapshot->tree, span_end(profile->text));
		complete = tree_print(&tree, lines);
		if (complete && i + 1 < profile->count)
			print_header(out, profile);
	}
	free(tree.levels);
	free(tree.prefix);
	return complete;
}
