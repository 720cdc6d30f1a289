/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, as heap profilers write it: four sample types, frames with their mappings and
 * build ids, labels for the allocating thread, for the blocks' size, and of the run. Frames without a name keep their
 * address, so pprof can symbolize them.
 *
 * Differences are what "go tool pprof -diff_base" makes: the samples of both recordings, those of the old one negative
 * and with the label pprof::base, by which pprof knows them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_sites.h"
#include "callstack.h"
#include "emit.h"
#include "fleet_labels.h"
#include "hex.h"
#include "protobuf.h"
#include "string_set.h"

/* Field numbers, named as in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

static const struct sample_type {
	const char *type, *unit;
	enum profile_value value;
} sample_types[] = {
	{ "alloc_objects", "count", PROFILE_ALLOC_OBJECTS },
	{ "alloc_space", "bytes", PROFILE_ALLOC_BYTES },
	{ "inuse_objects", "count", PROFILE_INUSE_OBJECTS },
	{ "inuse_space", "bytes", PROFILE_INUSE_BYTES },
};
#define N_SAMPLE_TYPES (sizeof(sample_types) / sizeof(*sample_types))

/* Which parts of their names the module's frames have. */
struct symbolize_seen {
	bool functions, files, lines, inlines;
};

struct writer {
	struct out *out;
	struct string_set *strings; /* numbered as in the string table, which begins with "" */
	size_t emitted;             /* strings written to the file */
	struct message outer, inner, list;
	/* Of the present recording. */
	const struct emit_view *view;
	struct call_sites *calls;
	struct callstack stack;
	bool *frames;    /* by frame: its location is written */
	bool *functions; /* by function number: the function is written */
	uint32_t n_frames, n_functions, n_modules;
	struct symbolize_seen *modules; /* by module */
	bool is_base;                   /* values are subtracted */
	/* Numbers that locations, functions and mappings of the recordings before have. */
	uint64_t first_location, first_function, first_mapping;
};

/* Returns the text's number in the string table; adds the text if it is missing. */
static uint64_t string_number(struct writer *w, const char *text)
{
	if (!*text)
		return 0;
	const size_t number = string_set_number(w->strings, text, strlen(text));
	if (number == 0)
		out_fail(w->out, ENOMEM);
	if (number > w->emitted)
		message_write_bytes(w->out, PROFILE_STRING_TABLE, text, strlen(text));
	if (number > w->emitted)
		w->emitted = number;
	return number;
}

static void write_value_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	message_clear(&w->outer);
	message_number(&w->outer, VALUE_TYPE_TYPE, string_number(w, type));
	message_number(&w->outer, VALUE_TYPE_UNIT, string_number(w, unit));
	message_write(w->out, field, &w->outer);
}

/* The samples' types; the first text is the empty one. */
static void write_types(struct writer *w, const struct emit_view *view)
{
	message_write_bytes(w->out, PROFILE_STRING_TABLE, "", 0);
	for (size_t i = 0; i < N_SAMPLE_TYPES; i++)
		write_value_type(w, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
	for (size_t i = 0; i < N_SAMPLE_TYPES; i++) {
		if (sample_types[i].value == view->query->value)
			message_write_number(w->out, PROFILE_DEFAULT_SAMPLE_TYPE,
					     string_number(w, sample_types[i].type));
	}
	write_value_type(w, PROFILE_PERIOD_TYPE, "space", "bytes");
}

/* The facts of one recording, or as pprof puts those of two together: the longer period, the first start. */
struct facts {
	uint64_t period, start_ns, duration_ns;
};

/* A profile begins with the trace, which may be a later part of a recording, or since when allocations count. */
static struct facts facts_of(const struct emit_view *view)
{
	const struct mst_file_info *info = mst_reader_info(view->reader);
	const uint64_t mean = emit_sample_mean(view), end_ns = profile_end_ns(view->profile);
	const uint64_t allocs_ns = profile_alloc_begin_ns(view->profile);
	const uint64_t begin_ns = allocs_ns > info->begin_ns ? allocs_ns : info->begin_ns;
	return (struct facts){
		.period = mean ? mean : 1,
		.start_ns = info->start_ns ? info->start_ns + begin_ns : 0,
		.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0,
	};
}

static struct facts facts_of_both(const struct emit_view *view, const struct emit_view *base)
{
	const struct facts a = facts_of(view), b = facts_of(base);
	const bool before = a.start_ns == 0 || (b.start_ns && b.start_ns < a.start_ns);
	return (struct facts){
		.period = a.period > b.period ? a.period : b.period,
		.start_ns = before ? b.start_ns : a.start_ns,
		.duration_ns = a.duration_ns + b.duration_ns,
	};
}

static void write_facts(struct writer *w, const struct facts *facts)
{
	message_write_number(w->out, PROFILE_PERIOD, facts->period);
	message_write_number(w->out, PROFILE_TIME_NANOS, facts->start_ns);
	message_write_number(w->out, PROFILE_DURATION_NANOS, facts->duration_ns);
}

/* A comment, unless it is that of another recording, which is written. */
static void write_comment(struct writer *w, const char *text, const char *other)
{
	if (*text && strcmp(text, other) != 0)
		message_write_number(w->out, PROFILE_COMMENT, string_number(w, text));
}

/* `other`: a view whose comments are written, or NULL. */
static void write_comments(struct writer *w, const struct emit_view *view, const struct emit_view *other)
{
	char estimates[EMIT_SAMPLE_TEXT], others[EMIT_SAMPLE_TEXT] = "";
	emit_sample_text(estimates, view);
	if (other)
		emit_sample_text(others, other);
	write_comment(w, mst_reader_info(view->reader)->recorder,
		      other ? mst_reader_info(other->reader)->recorder : "");
	write_comment(w, estimates, others);
}

/* ---- Frames ---- */

static void write_function(struct writer *w, const struct call *call)
{
	const uint32_t number = call->number_of_function;
	if (number >= w->n_functions) {
		const uint32_t n = number + number / 2 + 64;
		bool *grown = realloc(w->functions, n * sizeof(*grown));
		if (!grown) {
			out_fail(w->out, ENOMEM);
			return;
		}
		memset(grown + w->n_functions, 0, (n - w->n_functions) * sizeof(*grown));
		w->functions = grown;
		w->n_functions = n;
	}
	if (w->functions[number])
		return;
	w->functions[number] = true;
	const uint64_t name = string_number(w, call->function);
	message_clear(&w->inner);
	message_number(&w->inner, FUNCTION_ID, w->first_function + number + 1);
	message_number(&w->inner, FUNCTION_NAME, name);
	message_number(&w->inner, FUNCTION_SYSTEM_NAME, name);
	message_number(&w->inner, FUNCTION_FILENAME, string_number(w, call->file));
	message_write(w->out, PROFILE_FUNCTION, &w->inner);
}

static void note_names(struct writer *w, uint32_t module, const struct call *call, uint32_t n)
{
	if (module == MST_NONE)
		return;
	struct symbolize_seen *seen = &w->modules[module];
	seen->functions = true;
	seen->files |= *call->file != '\0';
	seen->lines |= call->line > 0;
	seen->inlines |= n > 1;
}

static void write_lines(struct writer *w, uint32_t frame, uint32_t module)
{
	uint32_t n;
	const uint32_t *numbers = call_sites_of(w->calls, frame, &n);
	if (!numbers)
		out_fail(w->out, ENOMEM);
	for (uint32_t i = 0; numbers && i < n; i++) {
		const struct call *call = call_sites_at(w->calls, numbers[i]);
		if (!call->named && n == 1)
			continue;
		note_names(w, module, call, n);
		write_function(w, call);
		message_clear(&w->inner);
		message_number(&w->inner, LINE_FUNCTION_ID, w->first_function + call->number_of_function + 1);
		message_number(&w->inner, LINE_LINE, (uint64_t)call->line);
		message_message(&w->outer, LOCATION_LINE, &w->inner);
	}
}

/* Writes the frame's location. */
static void write_location(struct writer *w, uint32_t frame)
{
	uint32_t n;
	if (w->frames[frame])
		return;
	w->frames[frame] = true;
	const struct mst_frame *f = &mst_reader_frames(w->view->reader, &n)[frame];
	uint64_t address = f->address;
	message_clear(&w->outer);
	message_number(&w->outer, LOCATION_ID, w->first_location + frame + 1);
	if (f->module != MST_NONE) {
		address += mst_reader_modules(w->view->reader, &n)[f->module].bias;
		message_number(&w->outer, LOCATION_MAPPING_ID, w->first_mapping + f->module + 1);
	}
	message_number(&w->outer, LOCATION_ADDRESS, address);
	write_lines(w, frame, f->module);
	message_write(w->out, PROFILE_LOCATION, &w->outer);
}

/* ---- Samples ---- */

static void add_label(struct writer *w, const char *key, const char *text)
{
	message_clear(&w->inner);
	message_number(&w->inner, LABEL_KEY, string_number(w, key));
	message_number(&w->inner, LABEL_STR, string_number(w, text));
	message_message(&w->outer, SAMPLE_LABEL, &w->inner);
}

static void add_thread(struct writer *w, uint32_t thread)
{
	uint32_t n;
	char text[16];
	const struct mst_thread *threads = mst_reader_threads(w->view->reader, &n);
	if (thread >= n)
		return;
	snprintf(text, sizeof(text), "%u", (unsigned)threads[thread].tid);
	add_label(w, "thread", text);
	if (threads[thread].name)
		add_label(w, "thread_name", threads[thread].name);
}

static void add_size(struct writer *w, uint64_t size)
{
	if (size == 0)
		return;
	message_clear(&w->inner);
	message_number(&w->inner, LABEL_KEY, string_number(w, "bytes"));
	message_number(&w->inner, LABEL_NUM, size);
	message_number(&w->inner, LABEL_NUM_UNIT, string_number(w, "bytes"));
	message_message(&w->outer, SAMPLE_LABEL, &w->inner);
}

static void add_run_labels(struct writer *w)
{
	const struct fleet_labels *labels = w->view->query->labels;
	for (size_t i = 0; labels && i < labels->n; i++)
		add_label(w, labels->items[i].key, labels->items[i].value);
}

static bool is_shown(const struct stack_row *s)
{
	uint64_t any = 0;
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		any |= s->values[v];
	return any != 0;
}

static void write_sample(struct writer *w, const struct stack_row *s)
{
	if (!callstack_load(&w->stack, s->stack)) {
		out_fail(w->out, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < w->stack.n; i++)
		write_location(w, w->stack.frames[i]);
	message_clear(&w->outer);
	message_clear(&w->list);
	for (uint32_t i = 0; i < w->stack.n; i++)
		message_packed(&w->list, w->first_location + w->stack.frames[i] + 1);
	message_message(&w->outer, SAMPLE_LOCATION_ID, &w->list);
	message_clear(&w->list);
	for (size_t i = 0; i < N_SAMPLE_TYPES; i++) {
		const uint64_t value = s->values[sample_types[i].value];
		message_packed(&w->list, w->is_base ? -value : value);
	}
	message_message(&w->outer, SAMPLE_VALUE, &w->list);
	add_thread(w, s->thread);
	add_size(w, s->size);
	add_run_labels(w);
	if (w->is_base)
		add_label(w, "pprof::base", "true");
	message_write(w->out, PROFILE_SAMPLE, &w->outer);
}

/* ---- Mappings ---- */

static void write_mapping(struct writer *w, uint32_t number, const struct mst_module *module)
{
	const struct symbolize_seen *seen = &w->modules[number];
	char build_id[2 * MST_BUILD_ID_MAX + 1];
	hex_put(build_id, module->build_id, module->build_id_size);
	message_clear(&w->outer);
	message_number(&w->outer, MAPPING_ID, w->first_mapping + number + 1);
	message_number(&w->outer, MAPPING_START, module->start);
	message_number(&w->outer, MAPPING_LIMIT, module->end);
	message_number(&w->outer, MAPPING_FILENAME, string_number(w, module->path));
	message_number(&w->outer, MAPPING_BUILD_ID, string_number(w, build_id));
	message_number(&w->outer, MAPPING_HAS_FUNCTIONS, seen->functions);
	message_number(&w->outer, MAPPING_HAS_FILENAMES, seen->files);
	message_number(&w->outer, MAPPING_HAS_LINE_NUMBERS, seen->lines);
	message_number(&w->outer, MAPPING_HAS_INLINE_FRAMES, seen->inlines);
	message_write(w->out, PROFILE_MAPPING, &w->outer);
}

/* pprof takes the first mapping for the program. */
static void write_mappings(struct writer *w)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(w->view->reader, &n);
	for (unsigned executables = 2; executables-- > 0;) {
		for (uint32_t i = 0; i < n; i++) {
			if ((modules[i].role == MST_MODULE_EXECUTABLE) == executables &&
			    modules[i].role != MST_MODULE_UNLOADED)
				write_mapping(w, i, &modules[i]);
		}
	}
}

/* ---- Recordings ---- */

static bool begin_recording(struct writer *w, const struct emit_view *view)
{
	w->view = view;
	mst_reader_frames(view->reader, &w->n_frames);
	mst_reader_modules(view->reader, &w->n_modules);
	callstack_init(&w->stack, view->reader, view->symbolizer, view->settings);
	w->calls = call_sites_create(view->symbolizer);
	w->frames = calloc(w->n_frames + (size_t)1, sizeof(*w->frames));
	w->modules = calloc(w->n_modules + (size_t)1, sizeof(*w->modules));
	return w->calls && w->frames && w->modules;
}

/* The next recording's numbers follow. */
static void end_recording(struct writer *w)
{
	w->first_location += w->n_frames;
	w->first_function += w->n_functions;
	w->first_mapping += w->n_modules;
	w->n_functions = 0;
	callstack_finish(&w->stack);
	call_sites_destroy(w->calls);
	free(w->frames);
	free(w->functions);
	free(w->modules);
	w->functions = NULL;
}

static void write_recording(struct writer *w, const struct emit_view *view)
{
	struct profile_rows samples = { 0 };
	if (begin_recording(w, view) &&
	    profile_rows_collect(&samples, view->reader, view->profile, &view->query->filter, true)) {
		for (size_t i = 0; i < samples.n; i++) {
			if (is_shown(&samples.items[i]))
				write_sample(w, &samples.items[i]);
		}
		write_mappings(w);
	} else {
		out_fail(w->out, ENOMEM);
	}
	profile_rows_finish(&samples);
	end_recording(w);
}

static bool begin(struct writer *w, struct out *out)
{
	*w = (struct writer){ .out = out, .strings = string_set_create() };
	if (!w->strings)
		out_fail(out, ENOMEM);
	return w->strings;
}

static void finish(struct writer *w)
{
	message_finish(&w->outer);
	message_finish(&w->inner);
	message_finish(&w->list);
	string_set_destroy(w->strings);
}

static void write_pprof(struct out *out, const struct emit_view *view)
{
	const struct facts facts = facts_of(view);
	struct writer w;
	if (begin(&w, out)) {
		write_types(&w, view);
		write_facts(&w, &facts);
		write_comments(&w, view, NULL);
		write_recording(&w, view);
	}
	finish(&w);
}

static void write_pprof_diff(struct out *out, const struct emit_view *view, const struct emit_view *base)
{
	const struct facts facts = facts_of_both(view, base);
	struct writer w;
	if (begin(&w, out)) {
		write_types(&w, view);
		write_facts(&w, &facts);
		write_comments(&w, view, NULL);
		write_comments(&w, base, view);
		write_recording(&w, view);
		w.is_base = true;
		write_recording(&w, base);
	}
	finish(&w);
}

const struct emitter emit_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.help = "pprof's profile.proto, gzipped: for go tool pprof, Pyroscope, Parca",
	.source = EMIT_PROFILE,
	.binary = true,
	.packing = PACK_GZIP,
	.threads = true,
	.labels = true,
	.write = write_pprof,
	.write_diff = write_pprof_diff,
};
