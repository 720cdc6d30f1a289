/* SPDX-License-Identifier: MIT */
/*
 * One module of the symbolizer: its file, symbols, debug information and cached names, each opened when it is first
 * needed.
 */
#ifndef NAMES_SYMBOL_MODULE_H
#define NAMES_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "lineinfo.h"
#include "namecache.h"
#include "notices.h"
#include "objfile.h"
#include "symbols.h"
#include "symtab.h"
#include "type_info.h"

/* What all modules share. */
struct symbol_sources {
	struct objfile_search *search;
	struct notices notices;
	char *cache_folder;         /* NULL: nothing is cached */
	struct timespec cache_time; /* CLOCK_REALTIME when that was decided */
};

struct symbol_module {
	char *path;
	const char *shown; /* the path in printable form; NULL: not yet made */
	char *pinned;      /* NULL: none */
	uint8_t *build_id;
	size_t build_id_size;
	uint64_t recorded_ns;
	bool opened;
	bool described; /* symbol_module_describe() was called */
	bool cache_asked;
	bool unseen_asked;         /* symbol_module_unseen() was called */
	bool lacks_split;          /* a notice says so */
	struct objfile objfile;    /* cleared if there is no file */
	struct symtab *symtab;     /* NULL without a file */
	Elf *debug_file;           /* that has symbols, too; NULL: none */
	uint64_t debug_shift;      /* an address in `debug_file` less that in the module */
	struct lineinfo *lineinfo; /* NULL without debug information */
	struct type_info *types;   /* NULL: not asked for, or without debug information */
	struct namecache *cache;   /* NULL: none */
};

/* Copies all of `from`. False: no memory; nothing is to be finished. */
bool symbol_module_init(struct symbol_module *module, const struct symbols_module *from);
void symbol_module_finish(struct symbol_module *module);

/* Opens the file and reads its symbols. In all functions below, only the first call does something. */
void symbol_module_open(struct symbol_module *module, struct symbol_sources *sources);

/* The module's name cache, if it is known without a look into the module's file; NULL: it isn't, or that was opened. */
struct namecache *symbol_module_unseen(struct symbol_module *module, const struct symbol_sources *sources);

/* The module's name cache, NULL if there is none. */
struct namecache *symbol_module_cache(struct symbol_module *module, struct symbol_sources *sources);

/* Opens the debug information. The cache is closed if it turns out to be about other files. */
void symbol_module_describe(struct symbol_module *module, struct symbol_sources *sources);

/* The types in the module's debug information; NULL: it has none, or no memory. */
struct type_info *symbol_module_types(struct symbol_module *module, struct symbol_sources *sources);

/* Adds a notice about a missing .dwo file; the first one stands for all of the module. */
void symbol_module_note_split(struct symbol_module *module, struct symbol_sources *sources,
			      const char *lacks);

/* Takes note of a lack of memory since `errno` was set to 0, before libdw was asked: see memory_lack.h. */
void symbol_sources_note_memory(struct symbol_sources *sources);

#endif
