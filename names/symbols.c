/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "address_table.h"
#include "cache_folder.h"
#include "demangle.h"
#include "lineinfo.h"
#include "namecache.h"
#include "notices.h"
#include "objfile.h"
#include "string_set.h"
#include "symtab.h"

/* Real code has inlined chains of some twenty calls; a crafted file must not make them endless. */
#define CHAIN_MAX (LINEINFO_DEPTH_MAX + 2) /* so no chain is cut */

/* A module's symbols come from its own file, a debug file, and a table embedded in the former. */
#define MODULE_ELFS 4
#define SYMBOL_ROW 64 /* of so many in libdwfl's table one is asked for its file */

struct module {
	char *path;
	const char *shown; /* the same, as it can be shown; NULL: not yet asked for */
	char *held;        /* NULL: none */
	uint8_t *build_id;
	size_t build_id_size;
	uint64_t recorded_ns;
	bool opened;
	bool described; /* `lineinfo` has been asked for */
	bool cache_asked;
	bool lacks_split;          /* a notice says so */
	struct objfile objfile;    /* cleared if there is no file */
	struct symtab *symtab;     /* NULL without a file */
	Elf *debug_file;           /* of which there are symbols, too; NULL: none */
	uint64_t debug_shift;      /* its addresses less the module's: added to an address of the latter */
	struct lineinfo *lineinfo; /* NULL without debug information */
	struct namecache *cache;   /* NULL: no answers are kept */
};

struct symbols {
	struct objfile_search *search;
	struct string_set *strings;
	struct notices notices;
	struct module *modules;
	uint32_t n_modules;
	uint32_t modules_capacity;
	struct address_table addresses;
	char *cache_folder;         /* NULL: no answers are kept */
	struct timespec cache_time; /* CLOCK_REALTIME when that was decided */
};

static const struct symbol_line unknown_line = { 0 };
static const struct symbol_chain unknown_chain = { .n = 1, .lines = &unknown_line };

/* Modules */

/* The files that symbols of a module come from, its own first. */
struct sources {
	Elf *elfs[MODULE_ELFS];
	size_t n;
	GElf_Addr main_bias;
};

/* Reads the symbols of the file that one in libdwfl's table comes from, if it is another one. False when out of memory. */
static bool module_load_source(struct module *module, int symbol, struct sources *sources)
{
	GElf_Sym entry;
	GElf_Addr address, bias;
	Elf *elf = NULL;

	if (symbol < 0 || sources->n == MODULE_ELFS ||
	    !dwfl_module_getsym_info(module->objfile.module, symbol, &entry, &address, NULL, &elf, &bias) ||
	    !elf)
		return true;
	for (size_t i = 0; i < sources->n; i++) {
		if (sources->elfs[i] == elf)
			return true;
	}
	sources->elfs[sources->n++] = elf;
	if (!module->debug_file) {
		module->debug_file = elf;
		module->debug_shift = sources->main_bias - bias;
	}
	return symtab_read(module->symtab, elf, bias - sources->main_bias);
}

/*
 * libdwfl tells the files behind its merged table only symbol by symbol: first all local ones, then the global ones,
 * among them those of each file in a row. So some in between tell of all, and those at the ends.
 */
static bool module_load_symbols(struct module *module)
{
	Dwfl_Module *dwfl_module = module->objfile.module;
	const int n = dwfl_module_getsymtab(dwfl_module);
	const int global = dwfl_module_getsymtab_first_global(dwfl_module);
	const int ends[] = { global - 1, global, n - 1 };
	struct sources sources = { .n = 0 };
	Elf *main_elf = dwfl_module_getelf(dwfl_module, &sources.main_bias);
	bool fine = main_elf && symtab_read(module->symtab, main_elf, 0);

	sources.elfs[sources.n++] = main_elf;
	for (int i = 0; i < n && fine; i += SYMBOL_ROW)
		fine = module_load_source(module, i, &sources);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && fine; i++)
		fine = module_load_source(module, ends[i], &sources);
	return fine || !main_elf;
}

/* To libdw what it has no memory for is just missing; malloc() tells more. errno was 0 before libdw was asked. */
static void note_memory(struct symbols *symbols)
{
	symbols->notices.starved |= errno == ENOMEM;
}

static struct module *module_open(struct symbols *symbols, uint32_t index)
{
	struct module *module = &symbols->modules[index];
	const struct objfile_name name = { module->path, module->held, module->build_id,
					   module->build_id_size, module->recorded_ns };

	if (module->opened)
		return module;
	module->opened = true;
	errno = 0;
	if (objfile_open(&module->objfile, symbols->search, &name, &symbols->notices))
		module->symtab = symtab_create();
	if (module->symtab && !module_load_symbols(module))
		symbols->notices.starved = true;
	if (module->symtab)
		symtab_seal(module->symtab);
	note_memory(symbols);
	return module;
}

static void module_finish(struct module *module)
{
	namecache_close(module->cache);
	lineinfo_close(module->lineinfo);
	symtab_destroy(module->symtab);
	objfile_close(&module->objfile);
	free(module->build_id);
	free(module->held);
	free(module->path);
}

/* The cached answer for an address; NULL for an unknown module, or when out of memory. */
static struct resolved *resolve(struct symbols *symbols, uint32_t index, uint64_t address)
{
	struct resolved *resolved;
	struct module *module;
	bool fresh;

	if (index >= symbols->n_modules)
		return NULL;
	resolved = address_table_at(&symbols->addresses, index, address, &fresh);
	if (!resolved)
		symbols->notices.starved = true;
	if (!resolved || !fresh)
		return resolved;
	module = module_open(symbols, index);
	if (module->symtab)
		resolved->symbol = symtab_find(module->symtab, address);
	return resolved;
}

/* Its symbol; NULL: none. */
static struct symbol *resolved_symbol(const struct symbols *symbols, const struct resolved *resolved)
{
	if (!resolved || resolved->symbol == SYMTAB_NONE)
		return NULL;
	return symtab_at(symbols->modules[resolved->module].symtab, resolved->symbol);
}

/* Life */

struct symbols *symbols_create(const char *const *search_dirs, size_t n)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (access(search_dirs[i], F_OK) != 0)
			notices_add(&symbols->notices, "%s: %m, not searched for names", search_dirs[i]);
	}
	symbols->search = objfile_search_create(search_dirs, n);
	symbols->strings = string_set_create();
	if (address_table_init(&symbols->addresses) && symbols->search && symbols->strings)
		return symbols;
	symbols_destroy(symbols);
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->n_modules; i++) {
		if (symbols->modules[i].cache && !symbols->notices.starved)
			namecache_save(symbols->modules[i].cache);
		module_finish(&symbols->modules[i]);
	}
	address_table_finish(&symbols->addresses);
	free(symbols->modules);
	free(symbols->cache_folder);
	notices_finish(&symbols->notices);
	string_set_destroy(symbols->strings);
	objfile_search_destroy(symbols->search);
	free(symbols);
}

void symbols_use_cache(struct symbols *symbols)
{
	clock_gettime(CLOCK_REALTIME, &symbols->cache_time);
	symbols->cache_folder = cache_folder_path();
}

static bool modules_grow(struct symbols *symbols)
{
	uint32_t capacity = symbols->modules_capacity * 2 + 32;
	struct module *modules = realloc(symbols->modules, capacity * sizeof(*modules));

	if (!modules)
		return false;
	symbols->modules = modules;
	symbols->modules_capacity = capacity;
	return true;
}

uint32_t symbols_add_module(struct symbols *symbols, const struct symbols_module *module)
{
	struct module *copy;

	if (symbols->n_modules == symbols->modules_capacity && !modules_grow(symbols)) {
		symbols->notices.starved = true;
		return SYMBOLS_NO_MODULE;
	}
	copy = &symbols->modules[symbols->n_modules];
	memset(copy, 0, sizeof(*copy));
	copy->path = strdup(module->path);
	copy->held = module->held ? strdup(module->held) : NULL;
	copy->build_id = malloc(module->build_id_size + 1);
	if (!copy->path || !copy->build_id || (module->held && !copy->held)) {
		module_finish(copy);
		symbols->notices.starved = true;
		return SYMBOLS_NO_MODULE;
	}
	copy->build_id_size = module->build_id_size;
	copy->recorded_ns = module->recorded_ns;
	if (module->build_id_size)
		memcpy(copy->build_id, module->build_id, module->build_id_size);
	return symbols->n_modules++;
}

/* Questions */

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

const char *symbols_linker_name(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct symbol *symbol = resolved_symbol(symbols, resolve(symbols, module, address));

	return symbol ? symbol->name : NULL;
}

bool symbols_has_file(struct symbols *symbols, uint32_t module)
{
	return module < symbols->n_modules && module_open(symbols, module)->objfile.module;
}

/* A text that can be shown, for as long as there are answers; NULL when out of memory. */
static const char *keep_shown(struct symbols *symbols, const char *text, size_t n)
{
	const char *kept = string_set_add_shown(symbols->strings, text, n);

	symbols->notices.starved |= !kept;
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

const char *symbols_function(struct symbols *symbols, uint32_t module, uint64_t address)
{
	struct symbol *symbol = resolved_symbol(symbols, resolve(symbols, module, address));

	return symbol ? symbol_readable(symbols, symbol) : NULL;
}

static const char *frame_directory(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	int n = frame->file > frame->path + 1 ? (int)(frame->file - frame->path) - 1 : 0;
	const char *directory;
	char *joined;

	if (!frame->base || !*frame->base)
		return n ? keep_shown(symbols, frame->path, (size_t)n) : NULL;
	if (asprintf(&joined, "%s%s%.*s", frame->base, n ? "/" : "", n, frame->path) < 0) {
		symbols->notices.starved = true;
		return NULL;
	}
	directory = keep_shown(symbols, joined, strlen(joined));
	free(joined);
	return directory;
}

static struct symbol_line line_create(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	struct symbol_line line = { .massif = frame->massif };
	/* Where Massif doesn't find the name, it may be the linker's. */
	char *readable = frame->inlined && frame->massif ? demangle_name(frame->inlined) : NULL;
	const char *function = readable ? readable : frame->inlined;

	if (function)
		line.function = keep_shown(symbols, function, strlen(function));
	free(readable);
	if (!frame->path)
		return line;
	line.file = keep_shown(symbols, frame->file, strlen(frame->file));
	line.directory = frame_directory(symbols, frame);
	if (line.file)
		line.line = frame->line;
	return line;
}

/* Which files the module's names come from, as far as libdwfl has looked for them. */
static struct namecache_module module_files(const struct module *module)
{
	struct namecache_module files = { .build_id = module->build_id,
					  .build_id_size = module->build_id_size };

	dwfl_module_info(module->objfile.module, NULL, NULL, NULL, NULL, NULL, &files.files[0],
			 &files.files[1]);
	return files;
}

static struct namecache *module_cache(struct symbols *symbols, struct module *module)
{
	if (!module->cache_asked && symbols->cache_folder && module->objfile.module) {
		const struct namecache_module files = module_files(module);

		module->cache = namecache_open(symbols->cache_folder, &files, &symbols->cache_time);
	}
	module->cache_asked = true;
	return module->cache;
}

/* Opens a module's debug information, the first time. */
static void module_describe(struct symbols *symbols, struct module *module)
{
	struct namecache_module files;
	const char *lacks;

	if (module->described || !module->objfile.module)
		return;
	module->described = true;
	module->lineinfo = lineinfo_open(module->objfile.module, module->debug_file, module->debug_shift);
	lacks = module->lineinfo ? lineinfo_lacks(module->lineinfo) : NULL;
	if (lacks)
		notices_add(&symbols->notices,
			    "%s: common debug file %s not read, inlined functions have no names",
			    module->path, lacks);
	/* A debug file that nobody had looked for until now is another one. */
	files = module_files(module);
	if (module->cache && !namecache_is_about(module->cache, &files)) {
		namecache_close(module->cache);
		module->cache = NULL;
	}
}

/* One file stands for all that are missing. */
static void note_split(struct symbols *symbols, struct module *module, const char *lacks)
{
	if (!lacks || module->lacks_split)
		return;
	module->lacks_split = true;
	notices_add(&symbols->notices, "%s: debug file %s not found, inlined functions are left out",
		    module->path, lacks);
}

/* A chain on its way to the answers, without its outermost function. */
struct description {
	size_t n;
	struct symbol_line lines[CHAIN_MAX];
	enum namecache_bare bare;
	bool is_new; /* and would be found again: the cache should know it */
};

static void describe_from_files(struct symbols *symbols, struct module *module, uint64_t address,
				struct description *description)
{
	struct lineinfo_frame frames[CHAIN_MAX] = { { .line = 0 } };
	size_t n = 0;

	errno = 0;
	module_describe(symbols, module);
	if (module->lineinfo) {
		n = lineinfo_frames(module->lineinfo, address, frames, CHAIN_MAX);
		note_split(symbols, module, frames[0].lacks);
		description->is_new =
			lineinfo_is_whole(module->lineinfo) && !frames[0].split && !frames[0].lacks;
		if (frames[0].lineless || lineinfo_outside_text(module->lineinfo, address))
			description->bare = NAMECACHE_BARE_NAME;
		else if (frames[0].uninlined)
			description->bare = NAMECACHE_BARE_LINE;
	}
	note_memory(symbols);
	description->n = n ? n : 1;
	for (size_t i = 0; i < description->n; i++)
		description->lines[i] = line_create(symbols, &frames[i]);
}

/* Its texts come from a file that anybody may have written. */
static void keep_texts(struct symbols *symbols, struct symbol_line *line)
{
	const char **texts[] = { &line->function, &line->directory, &line->file, &line->massif };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (*texts[i])
			*texts[i] = keep_shown(symbols, *texts[i], strlen(*texts[i]));
	}
}

static void describe(struct symbols *symbols, struct module *module, uint64_t address,
		     struct description *description)
{
	const struct namecache *cache = module_cache(symbols, module);

	description->n = 0;
	description->bare = NAMECACHE_NO_BARE;
	description->is_new = false;
	if (cache)
		description->n =
			namecache_find(cache, address, description->lines, CHAIN_MAX, &description->bare);
	for (size_t i = 0; i < description->n; i++)
		keep_texts(symbols, &description->lines[i]);
	if (description->n == 0)
		describe_from_files(symbols, module, address, description);
}

static const struct symbol_chain *chain_create(struct symbols *symbols, const struct resolved *resolved)
{
	struct module *module = &symbols->modules[resolved->module];
	struct symbol *symbol = resolved_symbol(symbols, resolved);
	struct description description;
	struct symbol_chain *chain;
	struct symbol_line *lines;
	size_t n;

	describe(symbols, module, resolved->address, &description);
	n = description.n;
	chain = pool_take(&symbols->addresses.chains, sizeof(*chain) + (n + 1) * sizeof(*lines));
	if (!chain) {
		symbols->notices.starved = true;
		return NULL;
	}
	lines = (struct symbol_line *)(chain + 1);
	memcpy(lines, description.lines, n * sizeof(*lines));
	if (symbol)
		lines[n - 1].function = symbol_readable(symbols, symbol);
	*chain = (struct symbol_chain){ .n = (uint32_t)n, .lines = lines };
	if (description.bare != NAMECACHE_NO_BARE) {
		lines[n] = description.bare == NAMECACHE_BARE_LINE ? lines[0]
								   : (struct symbol_line){ .line = 0 };
		lines[n].function = lines[n - 1].function;
		lines[n].massif = NULL;
		chain->bare = &lines[n];
	}
	if (description.is_new && module->cache)
		namecache_add(module->cache, resolved->address, chain);
	return chain;
}

const struct symbol_chain *symbols_describe(struct symbols *symbols, uint32_t module, uint64_t address)
{
	struct resolved *resolved = resolve(symbols, module, address);

	if (resolved && !resolved->chain)
		resolved->chain = chain_create(symbols, resolved);
	return resolved && resolved->chain ? resolved->chain : &unknown_chain;
}

const char *symbols_object(struct symbols *symbols, uint32_t module)
{
	struct module *m = module < symbols->n_modules ? &symbols->modules[module] : NULL;

	if (m && !m->shown)
		m->shown = keep_shown(symbols, m->path, strlen(m->path));
	return m ? m->shown : NULL;
}

const char *symbols_notice(const struct symbols *symbols, size_t i)
{
	if (i < symbols->notices.n)
		return symbols->notices.text[i];
	return i == symbols->notices.n && symbols->notices.starved ? "out of memory, some names are missing"
								   : NULL;
}
