/* SPDX-License-Identifier: MIT */
#include "mst_names.h"

#include <assert.h>
#include <stdlib.h>

#include "symbolize.h"

struct mst_names {
	const struct mst_reader *reader;
	struct symbolizer *symbolizer;
	struct mst_names_call *calls; /* the last answer; there is room for n_room */
	uint32_t n_room;
};

int mst_names_create(struct mst_names **names, const struct mst_reader *reader,
		     const struct mst_names_options *options)
{
	static const struct mst_names_options defaults;
	const struct mst_names_options *o = options ? options : &defaults;
	struct mst_names *n = calloc(1, sizeof(*n));

	*names = NULL;
	if (!n)
		return MST_ERR_NOMEM;
	n->reader = reader;
	n->symbolizer = symbolize_create(reader, o->search_dirs, o->n_search_dirs, o->cache);
	if (!n->symbolizer) {
		mst_names_destroy(n);
		return MST_ERR_NOMEM;
	}
	*names = n;
	return 0;
}

void mst_names_destroy(struct mst_names *n)
{
	if (!n)
		return;
	symbolize_destroy(n->symbolizer);
	free(n->calls);
	free(n);
}

static bool has_frame(const struct mst_names *n, uint32_t frame)
{
	uint32_t n_frames;

	mst_reader_frames(n->reader, &n_frames);
	return frame < n_frames;
}

static bool reserve(struct mst_names *n, uint32_t count)
{
	struct mst_names_call *calls;

	if (count <= n->n_room)
		return true;
	calls = reallocarray(n->calls, count, sizeof(*calls));
	if (!calls)
		return false;
	n->calls = calls;
	n->n_room = count;
	return true;
}

uint32_t mst_names_frame(struct mst_names *n, uint32_t frame, const struct mst_names_call **calls)
{
	const struct symbol_chain *chain;

	*calls = NULL;
	if (!has_frame(n, frame))
		return 0;
	chain = symbolize_describe(n->symbolizer, frame);
	assert(chain->n > 0);
	if (!reserve(n, chain->n))
		return 0;
	for (uint32_t i = 0; i < chain->n; i++)
		n->calls[i] = (struct mst_names_call){
			.function = chain->lines[i].function,
			.directory = chain->lines[i].directory,
			.file = chain->lines[i].file,
			.line = (uint32_t)chain->lines[i].line,
			.inlined = i + 1 < chain->n,
		};
	*calls = n->calls;
	return chain->n;
}

const char *mst_names_object(struct mst_names *n, uint32_t frame)
{
	return has_frame(n, frame) ? symbolize_object(n->symbolizer, frame) : NULL;
}

const char *mst_names_notice(const struct mst_names *n, size_t i)
{
	return symbols_notice(symbolize_symbols(n->symbolizer), i);
}
