/* SPDX-License-Identifier: MIT */
/* The frames and the nodes of the tree. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* The path of a module, "" for none. */
static const char *module_path(const struct parts *p, uint32_t module)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(p->report->reader, &n);
	return module < n ? modules[module].path : "";
}

static void write_frames(struct parts *p)
{
	const struct page_nodes *nodes = &p->nodes;
	struct columns *c = &p->columns;
	columns_begin(c, PART_FRAMES);
	columns_number(c, nodes->n_frames);
	for (uint32_t i = 0; i < nodes->n_frames; i++)
		columns_number(c,
			       texts_add(&p->texts,
					 call_sites_at(p->report->calls, nodes->frames[i].call)->function));
	for (uint32_t i = 0; i < nodes->n_frames; i++)
		columns_number(c, texts_add(&p->texts,
					    call_sites_at(p->report->calls, nodes->frames[i].call)->file));
	for (uint32_t i = 0; i < nodes->n_frames; i++) {
		const int line = call_sites_at(p->report->calls, nodes->frames[i].call)->line;
		columns_number(c, line > 0 ? (uint64_t)line : 0);
	}
	for (uint32_t i = 0; i < nodes->n_frames; i++)
		columns_number(c, texts_add(&p->texts, module_path(p, nodes->frames[i].module)));
	for (uint32_t i = 0; i < nodes->n_frames; i++) {
		const bool named = call_sites_at(p->report->calls, nodes->frames[i].call)->named;
		columns_number(c, (nodes->frames[i].hidden ? FRAME_HIDDEN : 0u) | (named ? FRAME_NAMED : 0u));
	}
	columns_end(c);
}

static bool write_nodes(struct parts *p)
{
	const struct page_nodes *nodes = &p->nodes;
	struct columns *c = &p->columns;
	bool fine = true;
	columns_begin(c, PART_NODES);
	columns_number(c, nodes->n);
	columns_number(c, nodes->n_all);
	for (uint32_t i = 0; i < nodes->n; i++)
		columns_number(c, nodes->items[i].parent == MST_NONE ? 0 : i - nodes->items[i].parent);
	for (uint32_t i = 0; i < nodes->n; i++)
		columns_number(c, nodes->items[i].frame == MST_NONE ? 0 : nodes->items[i].frame + 1u);
	for (uint32_t i = 0; i < nodes->n; i++)
		columns_number(c, nodes->items[i].others);
	/* 0: no stack ends here. */
	for (uint32_t i = 0; i < nodes->n; i++) {
		const uint32_t stack = nodes->items[i].stack;
		const uint64_t id = stack == MST_NONE ? 0 : sites_id(p->report->sites, stack);
		uint8_t bytes[8];
		fine &= stack == MST_NONE || id;
		for (unsigned k = 0; k < 8; k++)
			bytes[k] = (uint8_t)(id >> 8 * k);
		columns_bytes(c, bytes, sizeof(bytes));
	}
	columns_end(c);
	return fine;
}

bool part_tree(struct parts *p)
{
	write_frames(p);
	return write_nodes(p);
}
