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
 * The printers cannot be stopped by their callback. In callback form they allocate nothing, so leaving them by
 * longjmp() loses nothing.
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

/* What stands for a character in names that Valgrind's scheme has encoded; 0: nothing does. */
static char decoded(char letter)
{
	static const char letters[] = "acdhpsuADLPRSZ", characters[] = "*:.-+ _@$(%)/Z";
	const char *found = letter ? strchr(letters, letter) : NULL;

	return found ? characters[found - letters] : 0;
}

/*
 * The name of the function that one of Valgrind's replaces or wraps: behind "_vgr" or "_vgw", five digits, "ZU_" or
 * "ZZ_" and the name of the library; with "ZZ_" it is encoded. NULL: `name` is none of those, or there is no
 * memory.
 */
static char *replaced_name(const char *name)
{
	const char *library = name + strlen("_vgr00000ZU_"), *function;
	char *text, *to;

	if (strncmp(name, "_vgr", 4) != 0 && strncmp(name, "_vgw", 4) != 0)
		return NULL;
	if (strspn(name + 4, "0123456789") != 5 || name[9] != 'Z' || !strchr("UZ", name[10]) ||
	    name[10] == '\0' || name[11] != '_')
		return NULL;
	function = strchr(library, '_');
	text = to = function && function[1] ? strdup(function + 1) : NULL;
	for (const char *p = text; p && name[10] == 'Z'; p++) {
		*to = *p == 'Z' && decoded(p[1]) ? decoded(*++p) : *p;
		if (!*to++)
			break;
	}
	return text;
}

static char *demangle_replaced(const char *name)
{
	char *function = replaced_name(name);
	char *text = function ? demangle_name(function) : NULL;

	if (!text)
		return function;
	free(function);
	return text;
}

char *demangle_name(const char *name)
{
	struct output *output;
	char *text = NULL;

	if (strncmp(name, "_vg", 3) == 0)
		return demangle_replaced(name);
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
