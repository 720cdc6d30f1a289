/* SPDX-License-Identifier: MIT */
#include "symbol_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwelf.h>

#include "memory_lack.h"

/* A module's symbols come from its own file, a debug file, and a table embedded in the former. */
#define MODULE_ELFS 4
#define SYMBOL_ROW 64 /* one in so many symbols of libdwfl's table is asked for its file */

/* ---- life ---- */

bool symbol_module_init(struct symbol_module *module, const struct symbols_module *from)
{
	memset(module, 0, sizeof(*module));
	module->path = strdup(from->path);
	module->pinned = from->pinned ? strdup(from->pinned) : NULL;
	module->build_id = malloc(from->build_id_size + 1);
	if (!module->path || !module->build_id || (from->pinned && !module->pinned)) {
		symbol_module_finish(module);
		return false;
	}
	module->build_id_size = from->build_id_size;
	module->recorded_ns = from->recorded_ns;
	if (from->build_id_size)
		memcpy(module->build_id, from->build_id, from->build_id_size);
	return true;
}

void symbol_module_finish(struct symbol_module *module)
{
	namecache_close(module->cache);
	type_info_destroy(module->types);
	lineinfo_close(module->lineinfo);
	symtab_destroy(module->symtab);
	objfile_close(&module->objfile);
	free(module->build_id);
	free(module->pinned);
	free(module->path);
}

/* ---- symbols ---- */

/* The files that symbols of a module come from, its own first. */
struct symbol_files {
	Elf *elfs[MODULE_ELFS];
	size_t n;
	GElf_Addr main_bias;
};

/*
 * Reads all symbols of the file that `symbol` of libdwfl's table comes from, unless they were read. False: no memory.
 */
static bool load_file(struct symbol_module *module, int symbol, struct symbol_files *files)
{
	GElf_Sym entry;
	GElf_Addr address, bias;
	Elf *elf = NULL;

	if (symbol < 0 || files->n == MODULE_ELFS ||
	    !dwfl_module_getsym_info(module->objfile.module, symbol, &entry, &address, NULL, &elf, &bias) ||
	    !elf)
		return true;
	for (size_t i = 0; i < files->n; i++) {
		if (files->elfs[i] == elf)
			return true;
	}
	files->elfs[files->n++] = elf;
	if (!module->debug_file) {
		module->debug_file = elf;
		module->debug_shift = files->main_bias - bias;
	}
	return symtab_read(module->symtab, elf, bias - files->main_bias);
}

/*
 * libdwfl names the files behind its merged table only symbol by symbol: first all local symbols, then the global ones,
 * among them those of each file in a row. So some in between, and those at the ends, name all files.
 */
static bool load_symbols(struct symbol_module *module)
{
	Dwfl_Module *dwfl_module = module->objfile.module;
	const int n = dwfl_module_getsymtab(dwfl_module);
	const int global = dwfl_module_getsymtab_first_global(dwfl_module);
	const int ends[] = { global - 1, global, n - 1 };
	struct symbol_files files = { .n = 0 };
	Elf *main_elf = dwfl_module_getelf(dwfl_module, &files.main_bias);
	bool fine = main_elf && symtab_read(module->symtab, main_elf, 0);

	files.elfs[files.n++] = main_elf;
	for (int i = 0; i < n && fine; i += SYMBOL_ROW)
		fine = load_file(module, i, &files);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && fine; i++)
		fine = load_file(module, ends[i], &files);
	return fine || !main_elf;
}

void symbol_sources_note_memory(struct symbol_sources *sources)
{
	sources->notices.starved |= memory_lack_seen();
}

void symbol_module_open(struct symbol_module *module, struct symbol_sources *sources)
{
	const struct objfile_name name = { module->path, module->pinned, module->build_id,
					   module->build_id_size, module->recorded_ns };

	if (module->opened)
		return;
	module->opened = true;
	errno = 0;
	if (objfile_open(&module->objfile, sources->search, &name, &sources->notices))
		module->symtab = symtab_create();
	if (module->symtab && !load_symbols(module))
		sources->notices.starved = true;
	if (module->symtab)
		symtab_seal(module->symtab);
	objfile_search_note(sources->search, &sources->notices);
	symbol_sources_note_memory(sources);
}

/* ---- debug information ---- */

/* The files that the module's names come from, as far as libdwfl has looked for them. */
static struct namecache_module files_of(const struct symbol_module *module)
{
	struct namecache_module files = { .build_id = module->build_id,
					  .build_id_size = module->build_id_size };

	GElf_Addr bias;
	GElf_Word crc;
	Elf *elf = dwfl_module_getelf(module->objfile.module, &bias);

	dwfl_module_info(module->objfile.module, NULL, NULL, NULL, NULL, NULL, &files.files[0],
			 &files.files[1]);
	files.link = elf ? dwelf_elf_gnu_debuglink(elf, &crc) : NULL;
	return files;
}

struct namecache *symbol_module_unseen(struct symbol_module *module, const struct symbol_sources *sources)
{
	const struct namecache_module files = { .build_id = module->build_id,
						.build_id_size = module->build_id_size,
						.files[0] = module->path };
	const char *debug_path = objfile_search_usual(sources->search);

	if (module->opened)
		return NULL;
	if (!module->unseen_asked && sources->cache_folder && debug_path && !module->pinned &&
	    module->path[0] == '/')
		module->cache = namecache_open_unseen(sources->cache_folder, &files, debug_path,
						      &sources->cache_time);
	module->unseen_asked = true;
	return module->cache;
}

struct namecache *symbol_module_cache(struct symbol_module *module, struct symbol_sources *sources)
{
	if (!module->cache_asked && sources->cache_folder && module->objfile.module) {
		const struct namecache_module files = files_of(module);

		if (module->cache && !namecache_is_about(module->cache, &files)) {
			namecache_close(module->cache);
			module->cache = NULL;
		}
		if (!module->cache)
			module->cache = namecache_open(sources->cache_folder, &files, &sources->cache_time);
	}
	module->cache_asked = true;
	return module->cache;
}

void symbol_module_describe(struct symbol_module *module, struct symbol_sources *sources)
{
	struct namecache_module files;
	const char *lacks;

	if (module->described || !module->objfile.module)
		return;
	module->described = true;
	module->lineinfo = lineinfo_open(module->objfile.module, module->debug_file, module->debug_shift);
	objfile_search_note(sources->search, &sources->notices);
	lacks = module->lineinfo ? lineinfo_lacks(module->lineinfo) : NULL;
	if (lacks)
		notices_add(&sources->notices,
			    "%s: common debug file %s not read, inlined functions have no names",
			    module->path, lacks);
	/* libdwfl may have found a debug file only now. */
	files = files_of(module);
	if (module->cache && !namecache_is_about(module->cache, &files)) {
		namecache_close(module->cache);
		module->cache = NULL;
	}
}

struct type_info *symbol_module_types(struct symbol_module *module, struct symbol_sources *sources)
{
	symbol_module_open(module, sources);
	symbol_module_describe(module, sources);
	if (!module->types && module->lineinfo) {
		module->types = type_info_create(module->lineinfo);
		sources->notices.starved |= !module->types;
	}
	return module->types;
}

void symbol_module_note_split(struct symbol_module *module, struct symbol_sources *sources, const char *lacks)
{
	if (!lacks || module->lacks_split)
		return;
	module->lacks_split = true;
	notices_add(&sources->notices, "%s: debug file %s not found, inlined functions are left out",
		    module->path, lacks);
}
