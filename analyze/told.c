/* SPDX-License-Identifier: MIT */
#include "told.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "pool.h"
#include "stringset.h"

struct told {
	const struct mst_reader *reader;
	struct stringset *strings;
	struct pool pool;
	struct symbol_chain **chains; /* in the pool, by frame; NULL: not yet asked for, or none */
	uint32_t n_chains;
};

struct told *told_create(const struct mst_reader *reader)
{
	struct told *told = calloc(1, sizeof(*told));
	if (!told)
		return NULL;
	told->reader = reader;
	told->strings = stringset_create();
	if (told->strings)
		return told;
	told_destroy(told);
	return NULL;
}

void told_destroy(struct told *told)
{
	if (!told)
		return;
	free(told->chains);
	pool_finish(&told->pool);
	stringset_destroy(told->strings);
	free(told);
}

static bool reserve(struct told *told, uint32_t frame)
{
	if (frame < told->n_chains)
		return true;
	uint32_t n;
	mst_reader_frames(told->reader, &n);
	struct symbol_chain **chains = reallocarray(told->chains, n, sizeof(*chains));
	if (!chains)
		return false;
	told->chains = chains;
	while (told->n_chains < n)
		chains[told->n_chains++] = NULL;
	return true;
}

/* NULL stands for a name that isn't known. */
static const char *shown(struct told *told, const char *name)
{
	return name ? stringset_add_shown(told->strings, name, strlen(name)) : NULL;
}

static const char *readable(struct told *told, const char *linker_name)
{
	char *text = linker_name ? demangle_name(linker_name) : NULL;
	const char *kept = shown(told, text ? text : linker_name);
	free(text);
	return kept;
}

static struct symbol_chain *chain_create(struct told *told, uint32_t frame, uint32_t n)
{
	struct symbol_chain *chain = pool_take(&told->pool, sizeof(*chain) + n * sizeof(*chain->lines));
	if (!chain)
		return NULL;
	struct symbol_line *lines = (struct symbol_line *)(chain + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_name name = mst_reader_name(told->reader, frame, i);
		lines[i] = (struct symbol_line){
			.function = i + 1 < n ? shown(told, name.function) : readable(told, name.function),
			.directory = shown(told, name.directory),
			.file = shown(told, name.file),
			.line = (int)name.line,
		};
	}
	*chain = (struct symbol_chain){ .n = n, .lines = lines };
	return chain;
}

const struct symbol_chain *told_chain(struct told *told, uint32_t frame)
{
	const uint32_t n = mst_reader_names(told->reader, frame);
	if (n == 0 || !reserve(told, frame))
		return NULL;
	if (!told->chains[frame])
		told->chains[frame] = chain_create(told, frame, n);
	return told->chains[frame];
}

const char *told_linker_name(const struct told *told, uint32_t frame)
{
	const uint32_t n = mst_reader_names(told->reader, frame);
	return n ? mst_reader_name(told->reader, frame, n - 1).function : NULL;
}
