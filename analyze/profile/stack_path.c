/* SPDX-License-Identifier: MIT */
#include "stack_path.h"

#include <stdlib.h>
#include <string.h>

static bool reserve(struct stack_path *path, size_t more)
{
	if (path->n + more <= path->room)
		return true;
	const size_t room = (path->n + more) * 2;
	char *text = realloc(path->text, room);
	if (!text)
		return false;
	path->text = text;
	path->room = room;
	return true;
}

bool stack_path_append(struct stack_path *path, const char *function)
{
	if (!reserve(path, strlen(function) + 1))
		return false;
	if (path->n)
		path->text[path->n++] = ';';
	for (; *function; function++)
		path->text[path->n++] = *function == ';' ? ':' : *function == '\n' ? ' ' : *function;
	return true;
}

const char *stack_path_text(struct stack_path *path)
{
	if (!reserve(path, 1))
		return NULL;
	path->text[path->n] = '\0';
	return path->text;
}
