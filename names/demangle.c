/* SPDX-License-Identifier: MIT */
#include "demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

struct output {
	char *text;
	size_t n;
	size_t capacity;
	jmp_buf full;
};

/*
 * The printers have no way to be told "enough". They work on their own stack alone in callback
 * form, so leaving by longjmp() loses nothing.
 */
static void output_add(const char *piece, size_t n, void *opaque)
{
	struct output *output = opaque;

	if (n >= DEMANGLE_MAX - output->n)
		longjmp(output->full, 1);
	if (output->n + n >= output->capacity) {
		size_t capacity = 2 * (output->n + n) + 128;
		char *text = realloc(output->text, capacity);

		if (!text)
			longjmp(output->full, 1);
		output->text = text;
		output->capacity = capacity;
	}
	memcpy(output->text + output->n, piece, n);
	output->n += n;
	output->text[output->n] = '\0';
}

/* Rust first: its older names are valid C++ names too, and would keep their hash. */
static bool output_fill(struct output *output, const char *name)
{
	if (setjmp(output->full))
		return false;
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, output_add, output))
		return true;
	output->n = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, output_add, output);
}

char *demangle_name(const char *name)
{
	struct output *output;
	char *text = NULL;

	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	output = calloc(1, sizeof(*output));
	if (!output)
		return NULL;
	if (output_fill(output, name) && output->n)
		text = output->text;
	else
		free(output->text);
	free(output);
	return text;
}
