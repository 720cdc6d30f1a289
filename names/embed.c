/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <stdlib.h>

int embed_names(struct mst_writer *writer, uint32_t frame, const struct symbol_chain *chain,
		const char *linker_name)
{
	struct mst_name *names = malloc(chain->n * sizeof(*names));
	int error;

	if (!names)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];

		names[i] = (struct mst_name){
			.function = line->plain ? line->plain : line->function,
			.directory = line->directory,
			.file = line->file,
			.line = (uint32_t)line->line,
			.full = line->plain ? line->function : NULL,
		};
	}
	names[chain->n - 1].function = linker_name;
	error = mst_writer_names(writer, frame, names, chain->n);
	free(names);
	return error == MST_ERR_LIMIT ? 0 : error;
}
