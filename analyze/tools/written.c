/* SPDX-License-Identifier: MIT */
#include "written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shell_word.h"

#define MOST_NAMES 4u /* in the second line */

/* Without memory the file is written, but not named. */
void written_add(struct written *written, const char *name, const char *viewer)
{
	struct stat st;
	if (strcmp(name, "-") == 0 || stat(name, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	struct written_file *files = reallocarray(written->files, written->n + 1, sizeof(*files));
	if (!files)
		return;
	files[written->n++] = (struct written_file){ name, viewer };
	written->files = files;
}

void written_finish(struct written *written)
{
	free(written->files);
	*written = (struct written){ 0 };
}

/* The others' names, to be freed. NULL: no memory. */
static char *list_others(const struct written *written)
{
	char *text = NULL;
	size_t length;
	FILE *list = open_memstream(&text, &length);
	if (!list)
		return NULL;
	for (size_t i = 1; i < written->n && i <= MOST_NAMES; i++)
		fprintf(list, "%s%s", i > 1 ? ", " : "", written->files[i].name);
	if (written->n > MOST_NAMES + 1)
		fprintf(list, " and %zu more", written->n - MOST_NAMES - 1);
	if (fclose(list) == 0)
		return text;
	free(text);
	return NULL;
}

void written_notice(const struct written *written, const struct tool *tool)
{
	if (written->n == 0)
		return;
	const struct written_file *first = &written->files[0];
	char *word = shell_word(first->name);
	char *others = written->n > 1 ? list_others(written) : NULL;
	if (word)
		tool_notice(tool, "%s: written; to see it: %s %s", first->name, first->viewer, word);
	if (others)
		tool_notice(tool, "%s: written, too", others);
	free(others);
	free(word);
}
