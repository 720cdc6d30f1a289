/* SPDX-License-Identifier: MIT */
#include "run_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pattern.h"

/* A value with %h replaced by this machine's name, to be freed. NULL: no memory. */
static char *name_host(const char *value)
{
	char host[FLEET_LABEL_BYTES + 1] = "", *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	if (gethostname(host, sizeof(host) - 1) != 0)
		*host = '\0';
	for (; *value; value++) {
		if (value[0] == '%' && value[1] == 'h') {
			fputs(host, to);
			value++;
			continue;
		}
		fputc(*value, to);
		if (value[0] == '%' && value[1] == '%')
			fputc(*++value, to);
	}
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* False after a message. */
static bool expand_label(const struct tool *tool, const struct mst_file_info *info,
			 const struct fleet_label *label, struct fleet_labels *to)
{
	struct pattern_values values = { .pid = info->pid, .program = last_part(info->exe ? info->exe : "") };
	struct pattern_error error = { .problem = PATTERN_NO_MEMORY };
	char *text = name_host(label->value);
	char *value = text ? pattern_expand(text, &values, &error) : NULL, *pair = NULL;
	const char *why = value || error.problem == PATTERN_NO_MEMORY
				  ? mst_strerror(MST_ERR_NOMEM)
				  : "patterns are %h, %p, %e, %q{VARIABLE} and %%";
	if (value && strchr(value, ','))
		why = "a label's value has no comma";
	else if (value && asprintf(&pair, "%s=%s", label->key, value) >= 0)
		why = fleet_labels_add(to, pair);
	if (why)
		tool_error(tool, "--label=%s=%s: %s", label->key, label->value, why);
	free(pair);
	free(value);
	free(text);
	return !why;
}

bool run_labels_expand(const struct tool *tool, const struct tool_trace *trace,
		       const struct fleet_labels *labels, struct fleet_labels *to)
{
	for (size_t i = 0; i < labels->n; i++) {
		if (!expand_label(tool, mst_reader_info(trace->reader), &labels->items[i], to))
			return false;
	}
	return true;
}
