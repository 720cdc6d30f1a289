/* SPDX-License-Identifier: MIT */
/* massif.out, as Massif 3.19 writes it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "compat_names.h"
#include "emit.h"

#define ROOT_TEXT "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
#define PAGES_TEXT "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc."

/* ---- header ---- */

const char *emit_time_unit(enum time_unit unit)
{
	return clock_unit_name(unit);
}

void emit_command(struct out *out, const struct emit_view *view)
{
	const struct mst_file_info *info = mst_reader_info(view->reader);

	out_text(out, "cmd: ");
	out_name(out, info->argc ? info->argv[0] : info->exe);
	for (uint32_t i = 1; i < info->argc; i++) {
		out_text(out, " ");
		out_name(out, info->argv[i]);
	}
	out_text(out, "\n");
}

static void write_header(struct out *out, const struct emit_view *view)
{
	const char *desc = view->settings->desc;

	out_printf(out, "desc: %s", *desc ? desc : "(none)");
	emit_sample(out, view);
	out_text(out, "\n");
	emit_command(out, view);
	out_printf(out, "time_unit: %s\n", emit_time_unit(view->settings->time_unit));
}

/* ---- trees ---- */

/* Massif rounds half down to two decimals. */
static void write_percent(struct out *out, double percent)
{
	uint64_t whole = (uint64_t)percent;
	const double hundredths = (percent - (double)whole) * 100;
	unsigned fraction = (unsigned)hundredths;

	if (hundredths - fraction > 0.5)
		fraction++;
	if (fraction >= 100) {
		fraction -= 100;
		whole++;
	}
	out_printf(out, "%" PRIu64 ".%02u%%", whole, fraction);
}

/* "nCHILDREN: BYTES " */
static void write_count(struct out *out, uint32_t children, uint64_t bytes)
{
	out_text(out, "n");
	out_number(out, children);
	out_text(out, ": ");
	out_number(out, bytes);
	out_text(out, " ");
}

static void write_aggregate(struct out *out, const struct tree_node *node, double threshold)
{
	write_count(out, 0, node->bytes);
	out_text(out, "in ");
	out_number(out, node->places);
	out_text(out, node->places == 1 ? " place, below massif's threshold ("
					: " places, all below massif's threshold (");
	write_percent(out, threshold);
	out_text(out, ")\n");
}

/*
 * Writes the directory of a file. Without --fullpath-after: nothing. With it: the part behind the first of the
 * option's strings that occurs in the directory, or else the whole directory.
 */
static void write_directory(struct out *out, const struct settings *settings, const char *directory)
{
	const struct name_list *after = &settings->fullpath_after;
	const char *shown = directory;

	if (after->n == 0 || !directory)
		return;
	for (size_t i = 0; i < after->n; i++) {
		const char *found = strstr(directory, after->names[i]);

		if (found) {
			shown = found + strlen(after->names[i]);
			break;
		}
	}
	if (strncmp(shown, "./", 2) == 0)
		shown += 2;
	if (*shown)
		out_printf(out, "%s/", shown);
}

struct symbol_chain emit_chain(const struct emit_view *view, uint32_t frame)
{
	const struct symbol_chain *chain;
	const struct symbol_line *bare;

	if (view->settings->compat == COMPAT_FIXED)
		return *symbolize_describe(view->symbolizer, frame);
	chain = symbolize_describe_at_end(view->symbolizer, frame);
	bare = compat_bare(view->settings->compat, chain);
	return bare ? (struct symbol_chain){ .n = 1, .lines = bare } : *chain;
}

/* "0xADDRESS: function (where)" */
static void write_place(struct out *out, const struct emit_view *view, uint32_t frame,
			const struct symbol_line *line, bool physical)
{
	const char *object = view->settings->compat == COMPAT_FIXED
				     ? symbolize_object(view->symbolizer, frame)
				     : symbolize_object_at_end(view->symbolizer, frame);
	const char *function = compat_name(view->settings->compat, line);

	if (physical && !view->settings->show_below_main &&
	    symbolize_role(view->symbolizer, frame) == SYMBOL_BELOW_MAIN)
		function = "(below main)";
	out_text(out, "0x");
	out_hex(out, symbolize_address(view->symbolizer, frame));
	out_text(out, ": ");
	out_text(out, function ? function : "???");
	if (line->fileless && view->settings->compat != COMPAT_FIXED) {
		out_printf(out, " (\?\?\?:%d)\n", line->line);
	} else if (line->file) {
		out_text(out, " (");
		write_directory(out, view->settings, line->directory);
		out_text(out, line->file);
		out_printf(out, ":%d)\n", line->line);
	} else if (object && *object) {
		out_text(out, " (in ");
		out_text(out, object);
		out_text(out, ")\n");
	} else {
		out_text(out, function ? " (in \?\?\?)\n" : "\n");
	}
}

/* Writes the lines of one entry, inlined calls innermost first; returns their number. */
static uint32_t write_entry(struct out *out, const struct emit_view *view, const struct tree_node *node,
			    uint32_t indent)
{
	const struct symbol_chain chain = emit_chain(view, node->frame);

	for (uint32_t i = 0; i < chain.n; i++) {
		const bool physical = i + 1 == chain.n;

		out_repeat(out, ' ', indent + i);
		write_count(out, physical ? node->children : 1, node->bytes);
		write_place(out, view, node->frame, &chain.lines[i], physical);
	}
	return chain.n;
}

/* Writes the subtree at *i, which isn't the root, and advances *i past it. */
static void write_node(struct out *out, const struct emit_view *view, const struct tree *tree, size_t *i,
		       uint32_t indent, double threshold)
{
	const struct tree_node *node = &tree->nodes[(*i)++];

	if (node->frame == TREE_AGGREGATE) {
		out_repeat(out, ' ', indent);
		write_aggregate(out, node, threshold);
		return;
	}
	indent += write_entry(out, view, node, indent);
	for (uint32_t child = 0; child < node->children; child++)
		write_node(out, view, tree, i, indent, threshold);
}

/* Recursion is as deep as the deepest captured stack. */
void emit_tree(struct out *out, const struct emit_view *view, const struct tree *tree, const char *root,
	       double threshold)
{
	size_t i = 1;

	write_count(out, tree->nodes[0].children, tree->nodes[0].bytes);
	out_text(out, root);
	out_text(out, "\n");
	for (uint32_t child = 0; child < tree->nodes[0].children; child++)
		write_node(out, view, tree, &i, 1, threshold);
}

/* ---- snapshots ---- */

static const char *tree_word(const struct snapshot *s)
{
	if (!s->live)
		return "empty";
	return s->kind == SNAPSHOT_PEAK ? "peak" : "detailed";
}

static void write_snapshot(struct out *out, const struct emit_view *view, const struct snapshot *s,
			   size_t number)
{
	struct tree *tree = s->live ? massif_tree(view->massif, s) : NULL;

	if (s->live && !tree) {
		out_fail(out, ENOMEM);
		return;
	}
	out_printf(out, "#-----------\nsnapshot=%zu\n#-----------\n", number);
	out_printf(out, "time=%" PRId64 "\n", s->time);
	out_printf(out, "mem_heap_B=%" PRIu64 "\n", tree ? tree->nodes[0].bytes : s->heap);
	out_printf(out, "mem_heap_extra_B=%" PRIu64 "\n", s->extra);
	out_printf(out, "mem_stacks_B=%" PRIu64 "\n", s->stacks);
	out_printf(out, "heap_tree=%s\n", tree_word(s));
	if (tree)
		emit_tree(out, view, tree, view->settings->pages_as_heap ? PAGES_TEXT : ROOT_TEXT,
			  view->settings->threshold);
	tree_destroy(tree);
}

static void write_massif(struct out *out, const struct emit_view *view)
{
	write_header(out, view);
	for (size_t i = 0; i < view->n_snapshots; i++)
		write_snapshot(out, view, &view->snapshots[i], i);
}

const struct emitter emit_massif = {
	.name = "massif",
	.suffix = ".massif",
	.help = "Massif's massif.out: for ms_print and massif-visualizer",
	.write = write_massif,
};
