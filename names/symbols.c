/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "address_table.h"
#include "array.h"
#include "cache_folder.h"
#include "demangle.h"
#include "index_map.h"
#include "string_set.h"
#include "symbol_module.h"

/* Lines of a chain: so many that none is cut. Chains of real code have some twenty. */
#define CHAIN_MAX (LINEINFO_DEPTH_MAX + 2)

/* Bytes of full names of inlined functions: large programs have some 20 MiB, crafted files would have any number. */
#define INLINED_MOST ((size_t)256 << 20)

struct symbols {
	struct symbol_sources sources;
	struct string_set *strings;
	struct symbol_module *modules;
	uint32_t n_modules;
	uint32_t modules_capacity;
	struct address_table addresses;
	struct index_map
		inlined;     /* full names of inlined functions, by the linkage name's address in its file */
	size_t inlined_left; /* bytes that full names may still take */
};

static const struct symbol_line unknown_line = { 0 };
static const struct symbol_chain unknown_chain = { .n = 1, .lines = &unknown_line };

static struct symbol_module *open_module(struct symbols *symbols, uint32_t index)
{
	symbol_module_open(&symbols->modules[index], &symbols->sources);
	return &symbols->modules[index];
}

/* ---- life ---- */

struct symbols *symbols_create(const char *const *search_dirs, size_t n)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (access(search_dirs[i], F_OK) != 0)
			notices_add(&symbols->sources.notices, "%s: %m, not searched for names",
				    search_dirs[i]);
	}
	symbols->sources.search = objfile_search_create(search_dirs, n);
	symbols->strings = string_set_create();
	symbols->inlined_left = INLINED_MOST;
	if (address_table_init(&symbols->addresses) && symbols->sources.search && symbols->strings)
		return symbols;
	symbols_destroy(symbols);
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->n_modules; i++) {
		if (symbols->modules[i].cache && !symbols->sources.notices.starved)
			namecache_save(symbols->modules[i].cache);
		symbol_module_finish(&symbols->modules[i]);
	}
	address_table_finish(&symbols->addresses);
	index_map_finish(&symbols->inlined);
	free(symbols->modules);
	free(symbols->sources.cache_folder);
	notices_finish(&symbols->sources.notices);
	string_set_destroy(symbols->strings);
	objfile_search_destroy(symbols->sources.search);
	free(symbols);
}

void symbols_use_cache(struct symbols *symbols)
{
	clock_gettime(CLOCK_REALTIME, &symbols->sources.cache_time);
	symbols->sources.cache_folder = cache_folder_path();
}

uint32_t symbols_add_module(struct symbols *symbols, const struct symbols_module *module)
{
	if (array_reserve(&symbols->modules, symbols->n_modules, &symbols->modules_capacity,
			  sizeof(*symbols->modules)) &&
	    symbol_module_init(&symbols->modules[symbols->n_modules], module))
		return symbols->n_modules++;
	symbols->sources.notices.starved = true;
	return SYMBOLS_NO_MODULE;
}

/* ---- look-ups ---- */

/* NULL: no symbol covers the address. */
static struct symbol *resolved_symbol(const struct symbols *symbols, const struct resolved *resolved)
{
	if (!resolved || resolved->symbol == SYMTAB_NONE)
		return NULL;
	assert(resolved->module < symbols->n_modules);
	return symtab_at(symbols->modules[resolved->module].symtab, resolved->symbol);
}

static bool has_stem(const char *name, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(name, stem, n) == 0 && (name[n] == '\0' || name[n] == '.');
}

enum symbol_role symbol_role_of(const char *name)
{
	if (!name)
		return SYMBOL_OTHER;
	if (strcmp(name, "main") == 0)
		return SYMBOL_MAIN;
	if (strcmp(name, "_start") == 0 || strcmp(name, "__libc_start_call_main") == 0 ||
	    has_stem(name, "__libc_start_main") || has_stem(name, "generic_start_main"))
		return SYMBOL_BELOW_MAIN;
	return SYMBOL_OTHER;
}

bool symbols_has_file(struct symbols *symbols, uint32_t module)
{
	return module < symbols->n_modules && open_module(symbols, module)->objfile.module;
}

struct type_info *symbols_types(struct symbols *symbols, uint32_t module)
{
	return module < symbols->n_modules ? symbol_module_types(&symbols->modules[module], &symbols->sources)
					   : NULL;
}

/* A printable copy, which lives as long as the symbolizer; NULL: no memory. */
static const char *keep_shown(struct symbols *symbols, const char *text, size_t n)
{
	const char *kept = string_set_add_shown(symbols->strings, text, n);

	symbols->sources.notices.starved |= !kept;
	return kept;
}

static const char *symbol_readable(struct symbols *symbols, struct symbol *symbol)
{
	char *readable;
	const char *name;

	if (symbol->readable)
		return symbol->readable;
	readable = demangle_name(symbol->name);
	name = readable ? readable : symbol->name;
	symbol->readable = keep_shown(symbols, name, strlen(name));
	free(readable);
	return symbol->readable;
}

static const char *frame_directory(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	int n = frame->file > frame->path + 1 ? (int)(frame->file - frame->path) - 1 : 0;
	const char *directory;
	char *joined;

	if (!frame->base || !*frame->base)
		return n ? keep_shown(symbols, frame->path, (size_t)n) : NULL;
	if (asprintf(&joined, "%s%s%.*s", frame->base, n ? "/" : "", n, frame->path) < 0) {
		symbols->sources.notices.starved = true;
		return NULL;
	}
	directory = keep_shown(symbols, joined, strlen(joined));
	free(joined);
	return directory;
}

/* The readable form of a mangled name, kept. NULL: it isn't mangled, or too much memory is used already. */
static const char *demangle_inlined(struct symbols *symbols, const char *mangled)
{
	char *readable = symbols->inlined_left ? demangle_name(mangled) : NULL;
	const size_t n = readable ? strlen(readable) : 0;
	const char *kept = n && n < symbols->inlined_left ? keep_shown(symbols, readable, n) : NULL;

	symbols->inlined_left -= n < symbols->inlined_left ? n : symbols->inlined_left;
	free(readable);
	return kept;
}

/* The same, once for each name: many frames share it. */
static const char *inlined_full_name(struct symbols *symbols, const char *mangled)
{
	uint64_t known = 0;

	if (!index_map_find(&symbols->inlined, (uintptr_t)mangled, &known)) {
		known = (uintptr_t)demangle_inlined(symbols, mangled);
		index_map_put(&symbols->inlined, (uintptr_t)mangled, known);
	}
	return (const char *)(uintptr_t)known;
}

static void line_set_inlined(struct symbols *symbols, const struct lineinfo_frame *frame,
			     struct symbol_line *line)
{
	const char *mangled = frame->linkage ? frame->linkage : frame->inlined;
	const char *plain = frame->inlined ? frame->inlined : frame->linkage;

	if (!mangled)
		return;
	line->function = inlined_full_name(symbols, mangled);
	if (line->function && !frame->inlined)
		return;
	line->plain = keep_shown(symbols, plain, strlen(plain));
	if (!line->function || line->function == line->plain) {
		line->function = line->plain;
		line->plain = NULL;
	}
}

static struct symbol_line line_create(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	struct symbol_line line = { .massif = frame->massif,
				    .massif_3_27 = frame->massif_3_27,
				    .fileless = frame->fileless };

	line_set_inlined(symbols, frame, &line);
	if (!frame->path)
		return line;
	line.file = keep_shown(symbols, frame->file, strlen(frame->file));
	line.directory = frame_directory(symbols, frame);
	if (line.file)
		line.line = frame->line;
	return line;
}

/* A chain in the making, without its outermost function. */
struct description {
	size_t n;
	struct symbol_line lines[CHAIN_MAX];
	enum namecache_bare bare[MASSIF_VERSIONS];
	bool is_new;      /* the name cache lacks it, and the same would be found again */
	bool undescribed; /* there is no debug information */
};

static void set_bare(struct description *description, enum namecache_bare bare)
{
	for (size_t i = 0; i < MASSIF_VERSIONS; i++)
		description->bare[i] = bare;
}

/*
 * What Massif knows of an address. No version opens .dwo files; 3.19 knows neither indices nor DWARF 5's skeletons; only
 * 3.27 looks for inlined calls in types and modules.
 */
static void limit_knowledge(const struct lineinfo_frame *first, bool outside_text,
			    struct description *description)
{
	set_bare(description, outside_text   ? NAMECACHE_BARE_NAME
			      : first->split ? NAMECACHE_BARE_LINE
					     : NAMECACHE_NO_BARE);
	if (outside_text)
		return;
	if (first->hidden)
		description->bare[MASSIF_3_19] = description->bare[MASSIF_3_24] = NAMECACHE_BARE_LINE;
	if (first->indexed)
		description->bare[MASSIF_3_19] = NAMECACHE_BARE_LINE;
	if (first->lineless)
		description->bare[MASSIF_3_19] = NAMECACHE_BARE_NAME;
}

static void describe_from_files(struct symbols *symbols, struct symbol_module *module, uint64_t address,
				struct description *description)
{
	struct lineinfo_frame frames[CHAIN_MAX];
	size_t n = 0;

	frames[0] = (struct lineinfo_frame){ .line = 0 };
	errno = 0;
	symbol_module_describe(module, &symbols->sources);
	if (module->lineinfo) {
		n = lineinfo_frames(module->lineinfo, address, frames, CHAIN_MAX);
		symbol_module_note_split(module, &symbols->sources, frames[0].lacks);
		description->is_new =
			lineinfo_is_whole(module->lineinfo) && !frames[0].split && !frames[0].lacks;
		limit_knowledge(&frames[0], lineinfo_outside_text(module->lineinfo, address), description);
	} else {
		description->is_new = description->undescribed = module->objfile.module;
	}
	symbol_sources_note_memory(&symbols->sources);
	description->n = n ? n : 1;
	for (size_t i = 0; i < description->n; i++)
		description->lines[i] = line_create(symbols, &frames[i]);
}

/* Copies the texts, which come from an untrusted file, in printable form. */
static void keep_texts(struct symbols *symbols, struct symbol_line *line)
{
	const char **texts[] = { &line->function, &line->directory, &line->file,
				 &line->plain,    &line->massif,    &line->massif_3_27 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (*texts[i])
			*texts[i] = keep_shown(symbols, *texts[i], strlen(*texts[i]));
	}
}

/* Takes what a cache knows; false: nothing. */
static bool describe_from_cache(struct symbols *symbols, const struct namecache *cache, uint64_t address,
				struct description *description, const char **linker)
{
	struct namecache_entry entry = { .linker = NULL };

	description->n = cache ? namecache_find(cache, address, description->lines, CHAIN_MAX, &entry) : 0;
	for (size_t i = 0; i < description->n; i++)
		keep_texts(symbols, &description->lines[i]);
	memcpy(description->bare, entry.bare, sizeof(entry.bare));
	description->undescribed = entry.undescribed;
	*linker = entry.linker;
	return description->n;
}

static void describe(struct symbols *symbols, struct symbol_module *module, uint64_t address,
		     struct description *description)
{
	const struct namecache *cache = symbol_module_cache(module, &symbols->sources);
	const char *linker;

	/* Debug information that was not there may be by now. */
	if (describe_from_cache(symbols, cache, address, description, &linker) && !description->undescribed)
		return;
	set_bare(description, NAMECACHE_NO_BARE);
	describe_from_files(symbols, module, address, description);
}

/* Makes the one line, at `bare`, that a chain of `n` lines is to Massif. */
static const struct symbol_line *bare_line(enum namecache_bare knowledge, const struct symbol_line *lines,
					   size_t n, struct symbol_line *bare)
{
	assert(knowledge != NAMECACHE_NO_BARE);
	*bare = knowledge == NAMECACHE_BARE_LINE ? lines[0] : (struct symbol_line){ .line = 0 };
	bare->function = lines[n - 1].function;
	bare->plain = bare->massif = bare->massif_3_27 = NULL;
	return bare;
}

static struct symbol_chain *chain_create(struct symbols *symbols, const struct description *description,
					 const char *function)
{
	const size_t n = description->n;
	size_t n_bare = 0;
	struct symbol_chain *chain;
	struct symbol_line *lines;

	assert(n > 0 && n <= CHAIN_MAX);
	for (size_t i = 0; i < MASSIF_VERSIONS; i++)
		n_bare += description->bare[i] != NAMECACHE_NO_BARE;
	chain = pool_take(&symbols->addresses.chains, sizeof(*chain) + (n + n_bare) * sizeof(*lines));
	if (!chain) {
		symbols->sources.notices.starved = true;
		return NULL;
	}
	lines = (struct symbol_line *)(chain + 1);
	memcpy(lines, description->lines, n * sizeof(*lines));
	if (function)
		lines[n - 1].function = function;
	*chain = (struct symbol_chain){ .n = (uint32_t)n, .lines = lines };
	for (size_t i = 0; i < MASSIF_VERSIONS; i++) {
		if (description->bare[i] != NAMECACHE_NO_BARE)
			chain->bare[i] = bare_line(description->bare[i], lines, n, &lines[n + --n_bare]);
	}
	return chain;
}

static const struct symbol_chain *chain_from_files(struct symbols *symbols, const struct resolved *resolved)
{
	struct symbol_module *module = &symbols->modules[resolved->module];
	struct symbol *symbol = resolved_symbol(symbols, resolved);
	struct description description; /* large: lines are set as far as there are some */
	struct symbol_chain *chain;

	description.is_new = false;
	describe(symbols, module, resolved->address, &description);
	chain = chain_create(symbols, &description, symbol ? symbol_readable(symbols, symbol) : NULL);
	if (chain && description.is_new && module->cache)
		namecache_add(module->cache, resolved->address, chain, symbol ? symbol->name : NULL,
			      description.undescribed);
	return chain;
}

/* Takes all from the name cache. False: that is not enough. */
static bool resolve_unseen(struct symbols *symbols, struct resolved *resolved)
{
	struct symbol_module *module = &symbols->modules[resolved->module];
	struct description description;
	const char *linker;

	if (!describe_from_cache(symbols, symbol_module_unseen(module, &symbols->sources), resolved->address,
				 &description, &linker))
		return false;
	resolved->chain = chain_create(symbols, &description, NULL);
	resolved->linker = linker ? string_set_add(symbols->strings, linker, strlen(linker)) : NULL;
	resolved->cached = resolved->chain && (resolved->linker || !linker);
	return resolved->cached;
}

/* The item of an address; NULL: unknown module, or no memory. */
static struct resolved *resolve(struct symbols *symbols, uint32_t index, uint64_t address)
{
	struct resolved *resolved;
	struct symbol_module *module;
	bool fresh;

	if (index >= symbols->n_modules)
		return NULL;
	resolved = address_table_at(&symbols->addresses, index, address, &fresh);
	if (!resolved)
		symbols->sources.notices.starved = true;
	if (!resolved || !fresh || resolve_unseen(symbols, resolved))
		return resolved;
	module = open_module(symbols, index);
	if (module->symtab)
		resolved->symbol = symtab_find(module->symtab, address);
	return resolved;
}

const char *symbols_linker_name(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct resolved *resolved = resolve(symbols, module, address);
	const struct symbol *symbol = resolved_symbol(symbols, resolved);

	if (resolved && resolved->cached)
		return resolved->linker;
	return symbol ? symbol->name : NULL;
}

const char *symbols_function(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct resolved *resolved = resolve(symbols, module, address);
	struct symbol *symbol = resolved_symbol(symbols, resolved);

	if (resolved && resolved->cached)
		return resolved->linker ? resolved->chain->lines[resolved->chain->n - 1].function : NULL;
	return symbol ? symbol_readable(symbols, symbol) : NULL;
}

const struct symbol_chain *symbols_describe(struct symbols *symbols, uint32_t module, uint64_t address)
{
	struct resolved *resolved = resolve(symbols, module, address);

	if (resolved && !resolved->chain)
		resolved->chain = chain_from_files(symbols, resolved);
	return resolved && resolved->chain ? resolved->chain : &unknown_chain;
}

const char *symbols_object(struct symbols *symbols, uint32_t module)
{
	struct symbol_module *m = module < symbols->n_modules ? &symbols->modules[module] : NULL;

	if (m && !m->shown)
		m->shown = keep_shown(symbols, m->path, strlen(m->path));
	return m ? m->shown : NULL;
}

const char *symbols_notice(const struct symbols *symbols, size_t i)
{
	if (i < symbols->sources.notices.n)
		return symbols->sources.notices.text[i];
	return i == symbols->sources.notices.n && symbols->sources.notices.starved
		       ? "out of memory, some names are missing"
		       : NULL;
}
