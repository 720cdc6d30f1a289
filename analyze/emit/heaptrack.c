/* SPDX-License-Identifier: MIT */
/*
 * heaptrack's text format, version 3: a line per call, numbers in hexadecimal. Strings, frames and stacks are
 * numbered from 1, kinds of blocks ("a SIZE STACK") from 0; each is defined before its first use. Stacks are
 * complete; heaptrack's own tools end them at main. The format has no weights: a block of a sample has the bytes of all
 * blocks that it stands for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "sample_weight.h"
#include "string_set.h"

#define NS_PER_MS 1000000u
#define FORMAT_VERSION 3
#define WRITER_VERSION 0x10400 /* heaptrack 1.4 */

/* heaptrack's numbers by id of the trace; 0: not written yet. */
struct numbers {
	uint32_t *items;
	uint32_t n, emitted;
};

struct writer {
	struct observer observer;
	struct out *out;
	const struct emit_view *view;
	struct string_set *strings;
	size_t emitted_strings;
	struct numbers frames, stacks, kinds;
	uint32_t *path; /* stacks from the wanted one to the first written ancestor */
	uint32_t n_path;
	uint64_t ms;
	uint32_t n_samples; /* of the process's memory, written */
	const struct mst_kind *kind_table;
	const struct mst_stack *stack_table;
	const struct mst_frame *frame_table;
};

/* False: no memory. */
static bool reserve(struct numbers *numbers, uint32_t n)
{
	if (n <= numbers->n)
		return true;
	n += n / 2;
	uint32_t *items = reallocarray(numbers->items, n, sizeof(*items));
	if (!items)
		return false;
	memset(items + numbers->n, 0, (n - numbers->n) * sizeof(*items));
	numbers->items = items;
	numbers->n = n;
	return true;
}

/* ---- Lines ---- */

static size_t put_hex(char *to, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	unsigned shift = value ? (63u - (unsigned)__builtin_clzll(value)) & ~3u : 0;
	size_t n = 0;
	for (;; shift -= 4) {
		to[n++] = digits[value >> shift & 15];
		if (shift == 0)
			return n;
	}
}

/* "X A" or "X A B" */
static void write_line(struct writer *w, char what, const uint64_t *values, unsigned n)
{
	char line[64];
	size_t used = 0;
	line[used++] = what;
	for (unsigned i = 0; i < n; i++) {
		line[used++] = ' ';
		used += put_hex(line + used, values[i]);
	}
	line[used++] = '\n';
	out_write(w->out, line, used);
}

static void write_number(struct writer *w, uint64_t value)
{
	char text[20];
	text[0] = ' ';
	out_write(w->out, text, 1 + put_hex(text + 1, value));
}

/* Returns the text's number; 0: the text is empty, or no memory. Blanks replace line breaks. */
static size_t write_string(struct writer *w, const char *text)
{
	if (!text || !*text)
		return 0;
	const size_t n = strlen(text), number = string_set_number(w->strings, text, n);
	if (number == 0)
		out_fail(w->out, ENOMEM);
	if (number <= w->emitted_strings)
		return number;
	w->emitted_strings = number;
	out_text(w->out, "s");
	write_number(w, n);
	out_text(w->out, " ");
	for (const char *at = text; *at;) {
		const size_t part = strcspn(at, "\n");
		out_write(w->out, at, part);
		at += part;
		if (*at) {
			out_text(w->out, " ");
			at++;
		}
	}
	out_text(w->out, "\n");
	return number;
}

/* ---- Definitions ---- */

static size_t write_path(struct writer *w, const struct symbol_line *line)
{
	char *path;
	if (!line->file || !line->directory || !*line->directory || *line->file == '/')
		return write_string(w, line->file);
	if (asprintf(&path, "%s/%s", line->directory, line->file) < 0) {
		out_fail(w->out, ENOMEM);
		return 0;
	}
	const size_t number = write_string(w, path);
	free(path);
	return number;
}

/* Strings precede the line that refers to them. */
static void write_frame(struct writer *w, uint32_t frame)
{
	const struct mst_frame *f = &w->frame_table[frame];
	const struct symbol_chain *chain = symbolize_describe(w->view->symbolizer, frame);
	const char *object = symbolize_object(w->view->symbolizer, frame);
	uint64_t address = f->address;
	uint32_t n;
	const size_t module = write_string(w, object);
	for (uint32_t i = 0; i < chain->n; i++) {
		write_string(w, chain->lines[i].function);
		write_path(w, &chain->lines[i]);
	}
	if (f->module != MST_NONE)
		address += mst_reader_modules(w->view->reader, &n)[f->module].bias;
	out_text(w->out, "i");
	write_number(w, address);
	write_number(w, module);
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];
		if (!line->function && !line->file)
			break;
		write_number(w, write_string(w, line->function));
		write_number(w, write_path(w, line));
		write_number(w, line->file && line->line > 0 ? (uint64_t)line->line : 0);
	}
	out_text(w->out, "\n");
	w->frames.items[frame] = ++w->frames.emitted;
}

/* Writes a stack after its unwritten ancestors. False: no memory. */
static bool write_stack(struct writer *w, uint32_t stack)
{
	uint32_t depth = 0;
	for (uint32_t s = stack; s != MST_ROOT_STACK && !w->stacks.items[s]; s = w->stack_table[s].parent) {
		if (depth == w->n_path) {
			const uint32_t n = w->n_path * 2 + 64;
			uint32_t *path = reallocarray(w->path, n, sizeof(*path));
			if (!path)
				return false;
			w->path = path;
			w->n_path = n;
		}
		w->path[depth++] = s;
	}
	while (depth-- > 0) {
		const struct mst_stack *s = &w->stack_table[w->path[depth]];
		if (!w->frames.items[s->frame])
			write_frame(w, s->frame);
		const uint64_t values[] = { w->frames.items[s->frame], w->stacks.items[s->parent] };
		write_line(w, 't', values, 2);
		w->stacks.items[w->path[depth]] = ++w->stacks.emitted;
	}
	return true;
}

static bool write_kind(struct writer *w, uint32_t kind)
{
	const struct mst_kind *k = &w->kind_table[kind];
	if (w->kinds.items[kind])
		return true;
	if (!write_stack(w, k->stack))
		return false;
	const uint64_t size = weight_bytes(emit_sample_mean(w->view), k->size, k->size);
	const uint64_t values[] = { size, w->stacks.items[k->stack] };
	write_line(w, 'a', values, 2);
	w->kinds.items[kind] = ++w->kinds.emitted;
	return true;
}

/* ---- Records ---- */

static bool write_record(struct writer *w, const struct mst_token *symbol)
{
	if (symbol->role >= MST_CALL || w->kind_table[symbol->kind].op == MST_OP_UNKNOWN)
		return true;
	if (!write_kind(w, symbol->kind))
		return false;
	const uint64_t number = w->kinds.items[symbol->kind] - 1;
	write_line(w, symbol->role == MST_ALLOC ? '+' : '-', &number, 1);
	return true;
}

/* "R PAGES", as heaptrack's timer writes them behind a "c". */
static void write_resident(struct writer *w, uint64_t bytes)
{
	const uint32_t page_size = mst_reader_info(w->view->reader)->page_size;
	const uint64_t pages = page_size ? bytes / page_size : 0;
	write_line(w, 'R', &pages, 1);
}

/* The samples up to a time, at which the last one was taken. */
static void write_samples(struct writer *w, uint64_t ns)
{
	const unsigned shift = mst_reader_time_shift(w->view->reader);
	uint32_t n, before = w->n_samples;
	const struct mst_memory_sample *samples = mst_reader_memory(w->view->reader, &n);
	while (w->n_samples < n && samples[w->n_samples].time << shift <= ns)
		w->n_samples++;
	for (; before < w->n_samples; before++)
		write_resident(w, samples[before].resident);
}

static void write_time(struct writer *w, uint64_t ns)
{
	const uint64_t ms = ns / NS_PER_MS;
	if (ms <= w->ms)
		return;
	w->ms = ms;
	write_line(w, 'c', &ms, 1);
	write_samples(w, ns);
}

static int write_chunk(struct observer *observer, const struct mst_reader *reader,
		       const struct mst_chunk *chunk)
{
	struct writer *w = (struct writer *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	uint32_t n_kinds, n_stacks, n_frames, stamp = 0;
	w->kind_table = mst_reader_kinds(reader, &n_kinds);
	w->stack_table = mst_reader_stacks(reader, &n_stacks);
	w->frame_table = mst_reader_frames(reader, &n_frames);
	if (!reserve(&w->kinds, n_kinds) || !reserve(&w->stacks, n_stacks) || !reserve(&w->frames, n_frames))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		for (; stamp < chunk->n_stamps && chunk->stamps[stamp].record <= i; stamp++)
			write_time(w, chunk->stamps[stamp].time << shift);
		if (!write_record(w, &chunk->tokens[chunk->records[i]]))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static int write_end(struct observer *observer, const struct mst_reader *reader)
{
	struct writer *w = (struct writer *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (end)
		write_time(w, end->time_ns);
	write_samples(w, UINT64_MAX);
	if (mst_reader_peak_resident(reader))
		write_resident(w, mst_reader_peak_resident(reader));
	return 0;
}

static void write_head(struct writer *w)
{
	const struct mst_file_info *info = mst_reader_info(w->view->reader);
	out_printf(w->out, "v %x %x\nX ", WRITER_VERSION, FORMAT_VERSION);
	out_name(w->out, info->argc ? info->argv[0] : info->exe);
	for (uint32_t i = 1; i < info->argc; i++) {
		out_text(w->out, " ");
		out_name(w->out, info->argv[i]);
	}
	emit_sample(w->out, w->view);
	out_printf(w->out, "\nI %x 0\n", (unsigned)info->page_size);
}

static void destroy(struct observer *observer)
{
	struct writer *w = (struct writer *)observer;
	if (!w)
		return;
	string_set_destroy(w->strings);
	free(w->frames.items);
	free(w->stacks.items);
	free(w->kinds.items);
	free(w->path);
	free(w);
}

static struct observer *create(struct out *out, const struct emit_view *view)
{
	static const struct observer_impl impl = { .chunk = write_chunk, .end = write_end };
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->observer.impl = &impl;
	w->observer.spared = MST_ALL_COLUMNS & ~MST_TIMES;
	w->out = out;
	w->view = view;
	w->strings = string_set_create();
	if (!w->strings) {
		destroy(&w->observer);
		return NULL;
	}
	write_head(w);
	return &w->observer;
}

static const struct emit_pass pass = { create, destroy };

const struct emitter emit_heaptrack = {
	.name = "heaptrack",
	.suffix = ".heaptrack",
	.help = "heaptrack's text: for heaptrack_gui and heaptrack_print",
	.source = EMIT_EVENTS,
	.pass = &pass,
};
