/* SPDX-License-Identifier: MIT */
#include "memusage_tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fullusage.h"
#include "output_set.h"
#include "symbolize.h"

#ifndef WITH_PNG
#define WITH_PNG 0
#endif

/* ---- Options ---- */

enum { KEY_COLOR = 0x4000, KEY_SVG, KEY_TITLE };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "memusage's report and pictures:", TOOL_GROUP_MEMUSAGE },
	{ "color", KEY_COLOR, "WHEN", 0, "colours in the report: auto, always, never (auto)",
	  TOOL_GROUP_MEMUSAGE },
	{ "mmap", 'm', "yes|no|memusage", OPTION_ARG_OPTIONAL,
	  "also count mmap, mremap and munmap; 'memusage': with memusage's errors (no)",
	  TOOL_GROUP_MEMUSAGE },
	{ "data", 'd', "FILE", 0, "write the live bytes call by call, for memusagestat",
	  TOOL_GROUP_MEMUSAGE },
	{ "png", 'p', "FILE", 0, "draw memusagestat's picture", TOOL_GROUP_MEMUSAGE },
	{ "svg", KEY_SVG, "FILE", 0, "draw it as SVG", TOOL_GROUP_MEMUSAGE },
	{ "time-based", 't', NULL, 0, "pictures over time, not over calls", TOOL_GROUP_MEMUSAGE },
	{ "total", 'T', NULL, 0, "also draw the sum of heap and stack", TOOL_GROUP_MEMUSAGE },
	{ "title", KEY_TITLE, "TEXT", 0, "title of the pictures", TOOL_GROUP_MEMUSAGE },
	{ "x-size", 'x', "N", 0, "their width in pixels (800)", TOOL_GROUP_MEMUSAGE },
	{ "y-size", 'y', "N", 0, "their height in pixels (600)", TOOL_GROUP_MEMUSAGE },
	{ 0 },
};

/* Raises values below `least`, as memusagestat does. */
static unsigned parse_size(struct argp_state *state, const char *name, const char *value, unsigned least)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n > GRAPH_MOST)
		argp_error(state, "--%s=%s: should be a number of pixels, at most %u", name, value,
			   GRAPH_MOST);
	return n < least ? least : (unsigned)n;
}

/* Parses the options of a picture's look. */
static error_t parse_look(struct memusage_tool *usage, int key, const char *value, struct argp_state *state)
{
	struct graph *graph = &usage->graph;
	switch (key) {
	case 't':
		graph->by_time = true;
		return 0;
	case 'T':
		graph->total = true;
		return 0;
	case KEY_TITLE:
		graph->title = value;
		return 0;
	case 'x':
		graph->width = parse_size(state, "x-size", value, GRAPH_LEAST_WIDTH);
		return 0;
	case 'y':
		graph->height = parse_size(state, "y-size", value, GRAPH_LEAST_HEIGHT);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* The module may be missing, so the option's parser loads it, before the program or the replay starts. */
static void load_png(struct argp_state *state)
{
#if WITH_PNG
	const char *problem = canvas_png_load();
	if (problem)
		argp_error(state, "--png: %s; use --svg", problem);
#else
	argp_error(state, "--png: this build has no libgd; use --svg");
#endif
}

static enum memusage_maps parse_maps(struct argp_state *state, const char *value)
{
	if (!value || strcmp(value, "yes") == 0)
		return MEMUSAGE_MAPS;
	if (strcmp(value, "no") == 0)
		return MEMUSAGE_NO_MAPS;
	if (strcmp(value, "memusage") != 0)
		argp_error(state, "--mmap=%s: should be yes, no or memusage", value);
	return MEMUSAGE_MAPS_AS_MEMUSAGE;
}

static error_t parse_key(struct memusage_tool *usage, int key, const char *value, struct argp_state *state)
{
	switch (key) {
	case KEY_COLOR:
		if (!term_colour_parse(value, &usage->colour))
			argp_error(state, "--color=%s: should be auto, always or never", value);
		return 0;
	case 'm':
		usage->maps = parse_maps(state, value);
		return 0;
	case 'd':
		usage->data = value;
		return 0;
	case 'p':
		load_png(state);
		usage->png = value;
		return 0;
	case KEY_SVG:
		usage->svg = value;
		return 0;
	}
	return parse_look(usage, key, value, state);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct memusage_tool *usage = state->input;
	error_t error = parse_key(usage, key, value, state);
	for (const struct argp_option *o = options; error == 0 && !usage->given && (o->name || o->doc); o++)
		if (o->key == key && !(key == 'm' && usage->maps == MEMUSAGE_NO_MAPS))
			usage->given = o->name;
	return error;
}

const struct argp memusage_tool_argp = { .options = options, .parser = parse_option };

void memusage_tool_init(struct memusage_tool *usage)
{
	*usage = (struct memusage_tool){ .graph = { .width = GRAPH_WIDTH, .height = GRAPH_HEIGHT } };
}

/* ---- Files ---- */

/* The forms in which a data file can be written. */
enum form { FORM_DATA, FORM_PNG, FORM_SVG, FORM_COUNT };

static int draw(struct canvas *canvas, const struct graph *graph, struct datafile *data)
{
	if (!canvas)
		return ENOMEM;
	graph_draw(graph, canvas, data);
	canvas->impl->finish(canvas);
	return datafile_error(data);
}

static int write_form(enum form form, const struct graph *graph, struct datafile *data, struct out *out)
{
	int width = (int)graph->width, height = (int)graph->height;
	switch (form) {
	case FORM_DATA:
		datafile_write(data, out);
		return 0;
	case FORM_PNG:
#if WITH_PNG
		return draw(canvas_png(out, width, height), graph, data);
#endif
	case FORM_SVG:
		return draw(canvas_svg(out, width, height), graph, data);
	case FORM_COUNT:
		break;
	}
	return EINVAL;
}

static bool write_file(const struct tool *tool, enum form form, const struct graph *graph,
		       struct datafile *data, const char *name)
{
	struct output_file file;
	if (!output_begin(&file, tool, name, OUTPUT_FILE_RESULT, PACK_NONE))
		return false;
	const int error = write_form(form, graph, data, file.out);
	if (error)
		out_fail(file.out, error);
	return output_end(&file, tool, name, true);
}

/* Adds .png to a name without it, as memusage does. NULL: no memory. */
static char *name_png(const char *name)
{
	size_t length = strlen(name);
	bool named = length >= 4 && strcmp(name + length - 4, ".png") == 0;
	char *full;
	return asprintf(&full, "%s%s", name, named ? "" : ".png") < 0 ? NULL : full;
}

/* Fills and checks the names by form, which the caller frees. 0 or an exit status. */
static int name_files(const struct memusage_tool *usage, const struct tool *tool, int input,
		      char *names[FORM_COUNT])
{
	const char *const given[FORM_COUNT] = { usage->data, usage->png, usage->svg };
	struct output_set set = { 0 };
	int status = output_set_add(&set, tool, input, usage->report ? usage->report : "-");
	for (enum form form = 0; form < FORM_COUNT && status == 0; form++) {
		if (!given[form])
			continue;
		names[form] = form == FORM_PNG ? name_png(given[form]) : strdup(given[form]);
		if (names[form]) {
			status = output_set_add(&set, tool, input, names[form]);
		} else {
			tool_error(tool, "%s", strerror(ENOMEM));
			status = TOOL_NO_RESULT;
		}
	}
	output_set_finish(&set);
	return status;
}

static void free_names(char *names[FORM_COUNT])
{
	for (enum form form = 0; form < FORM_COUNT; form++)
		free(names[form]);
}

/* `data` is NULL if no file is wanted. */
static bool write_files(const struct memusage_tool *usage, const struct tool *tool, struct datafile *data,
			char *const names[FORM_COUNT])
{
	bool written = true;
	if (data && datafile_error(data)) {
		tool_error(tool, "temporary file: %s", strerror(datafile_error(data)));
		return false;
	}
	for (enum form form = 0; form < FORM_COUNT; form++)
		if (names[form])
			written = write_file(tool, form, &usage->graph, data, names[form]) && written;
	return written;
}

/* ---- The replay ---- */

/* The observers of a replay. */
struct observers {
	struct memusage *memusage;
	struct symbolizer *symbolizer; /* NULL, like `full`: no full report */
	struct fullusage *full;
};

static bool create_observers(struct observers *o, const struct memusage_tool *usage, const struct tool *tool,
			     const struct tool_trace *trace, struct datafile *data)
{
	*o = (struct observers){ .memusage = memusage_create(data, usage->maps) };
	if (usage->full) {
		o->symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
		o->full = o->symbolizer ? fullusage_create(o->symbolizer) : NULL;
	}
	return o->memusage && (o->full || !usage->full);
}

static void destroy_observers(struct observers *o)
{
	fullusage_destroy(o->full);
	symbolize_destroy(o->symbolizer);
	memusage_destroy(o->memusage);
}

static void print_report(const struct observers *o, const struct tool_trace *trace, FILE *report, bool colour)
{
	memusage_print(o->memusage, report, colour);
	if (o->full)
		fullusage_print(o->full, trace->reader, report);
}

static bool print_stream(const struct observers *o, const struct memusage_tool *usage,
			 const struct tool *tool, const struct tool_trace *trace, FILE *report, int fd)
{
	print_report(o, trace, report, term_colour_wanted(usage->colour, fd));
	errno = EIO; /* where an earlier write failed */
	if (fflush(report) == 0 && !ferror(report))
		return true;
	tool_error(tool, "standard output: %s", strerror(errno));
	return false;
}

static bool write_report(const struct observers *o, const struct memusage_tool *usage,
			 const struct tool *tool, const struct tool_trace *trace)
{
	struct output_file file;
	char *text = NULL;
	size_t length;
	FILE *report = open_memstream(&text, &length);
	if (report)
		print_report(o, trace, report, usage->colour == TERM_COLOUR_ALWAYS);
	const bool fine = report && fclose(report) == 0;
	bool written = fine && output_begin(&file, tool, usage->report, OUTPUT_FILE_RESULT, PACK_NONE);
	if (written) {
		out_write(file.out, text, length);
		written = output_end(&file, tool, usage->report, true);
	}
	if (!fine)
		tool_error(tool, "%s", strerror(ENOMEM));
	free(text);
	return written;
}

static int replay(const struct memusage_tool *usage, const struct tool *tool, const struct tool_trace *trace,
		  struct datafile *data, char *const names[FORM_COUNT], FILE *report, int fd)
{
	struct observers o;
	int status = TOOL_NO_RESULT;
	if (create_observers(&o, usage, tool, trace, data)) {
		struct observer *observers[] = { memusage_observer(o.memusage),
						 o.full ? fullusage_observer(o.full) : NULL };
		status = tool_replay(tool, trace, observers, o.full ? 2 : 1);
	} else {
		tool_error(tool, "%s", strerror(ENOMEM));
	}
	if (tool_has_result(status)) {
		const bool printed = usage->report ? write_report(&o, usage, tool, trace)
						   : print_stream(&o, usage, tool, trace, report, fd);
		if (o.full)
			tool_symbol_notices(tool, symbolize_symbols(o.symbolizer));
		if (!write_files(usage, tool, data, names) || !printed)
			status = TOOL_NO_RESULT;
	}
	destroy_observers(&o);
	return status;
}

int memusage_tool_run(const struct memusage_tool *usage, const struct tool *tool,
		      const struct tool_trace *trace, FILE *report, int fd)
{
	char *names[FORM_COUNT] = { NULL };
	struct datafile *data = NULL;
	int status = name_files(usage, tool, trace->origin, names);
	if (status == 0 && (usage->data || usage->png || usage->svg)) {
		data = datafile_create();
		if (!data) {
			tool_error(tool, "temporary file: %s", strerror(errno));
			status = TOOL_NO_RESULT;
		}
	}
	if (status == 0)
		status = replay(usage, tool, trace, data, names, report, fd);
	datafile_destroy(data);
	free_names(names);
	return status;
}

int memusage_tool_check(const struct memusage_tool *usage, const struct tool *tool)
{
	char *names[FORM_COUNT] = { NULL };
	int status = name_files(usage, tool, -1, names);
	free_names(names);
	return status;
}
