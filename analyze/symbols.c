/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "lineinfo.h"
#include "notices.h"
#include "objfile.h"
#include "printable.h"
#include "stringset.h"
#include "symtab.h"

/* Real code has inlined chains of some twenty calls; a crafted file must not make them endless. */
#define CHAIN_MAX 128

/* A module's symbols come from its own file, a debug file, and a table embedded in the former. */
#define MODULE_ELFS 4

struct module {
	char *path;
	uint8_t *build_id;
	size_t build_id_size;
	bool opened;
	bool described;            /* `lineinfo` has been asked for */
	struct objfile objfile;    /* cleared if there is no file */
	struct symtab *symtab;     /* NULL without a file */
	struct lineinfo *lineinfo; /* NULL without debug information */
};

struct chain {
	struct symbol_chain public;
	struct symbol_line lines[];
};

/* What is known of one address; `module` is SYMBOLS_NO_MODULE in a free slot. */
struct answer {
	uint64_t address;
	uint32_t module;
	struct symbol *symbol; /* in the module's symtab; NULL: none */
	struct chain *chain;   /* NULL until it is asked for */
};

struct symbols {
	struct objfile_search *search;
	struct stringset *strings;
	struct notices notices;
	struct module *modules;
	uint32_t n_modules;
	uint32_t modules_capacity;
	struct answer *answers; /* open addressing; at most half of the slots in use */
	size_t n_answers;
	size_t mask; /* number of slots - 1, a power of two - 1 */
};

static const struct symbol_line unknown_line = { NULL, NULL, NULL, 0 };
static const struct symbol_chain unknown_chain = { 1, &unknown_line };

/* Answers */

static struct answer *answers_create(size_t slots)
{
	struct answer *answers = calloc(slots, sizeof(*answers));

	for (size_t i = 0; answers && i < slots; i++)
		answers[i].module = SYMBOLS_NO_MODULE;
	return answers;
}

static struct answer *answer_slot(const struct symbols *symbols, uint32_t module, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)module << 48) * 0x9e3779b97f4a7c15U;
	size_t i = (hash ^ hash >> 32) & symbols->mask;

	for (;; i = (i + 1) & symbols->mask) {
		struct answer *answer = &symbols->answers[i];

		if (answer->module == SYMBOLS_NO_MODULE ||
		    (answer->module == module && answer->address == address))
			return answer;
	}
}

static bool answers_grow(struct symbols *symbols)
{
	struct answer *old = symbols->answers;
	size_t old_mask = symbols->mask;
	struct answer *answers = answers_create(2 * (old_mask + 1));

	if (!answers)
		return false;
	symbols->answers = answers;
	symbols->mask = 2 * old_mask + 1;
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].module != SYMBOLS_NO_MODULE)
			*answer_slot(symbols, old[i].module, old[i].address) = old[i];
	free(old);
	return true;
}

/* Modules */

static void module_load_symbols(struct module *module)
{
	Dwfl_Module *dwfl_module = module->objfile.module;
	Elf *elfs[MODULE_ELFS];
	GElf_Addr main_bias;
	size_t n_elfs = 0;
	int n = dwfl_module_getsymtab(dwfl_module);
	Elf *main_elf = dwfl_module_getelf(dwfl_module, &main_bias);

	if (!main_elf || !symtab_read(module->symtab, main_elf, 0))
		return;
	elfs[n_elfs++] = main_elf;
	/* libdwfl tells the files behind its merged table only symbol by symbol. */
	for (int i = 0; i < n && n_elfs < MODULE_ELFS; i++) {
		GElf_Sym symbol;
		GElf_Addr address, bias;
		Elf *elf = NULL;
		size_t known = 0;

		if (!dwfl_module_getsym_info(dwfl_module, i, &symbol, &address, NULL, &elf, &bias) || !elf)
			continue;
		while (known < n_elfs && elfs[known] != elf)
			known++;
		if (known < n_elfs)
			continue;
		elfs[n_elfs++] = elf;
		if (!symtab_read(module->symtab, elf, bias - main_bias))
			return;
	}
}

static struct module *module_open(struct symbols *symbols, uint32_t index)
{
	struct module *module = &symbols->modules[index];

	if (module->opened)
		return module;
	module->opened = true;
	if (!objfile_open(&module->objfile, symbols->search, module->path, module->build_id,
			  module->build_id_size, &symbols->notices))
		return module;
	module->symtab = symtab_create();
	if (module->symtab) {
		module_load_symbols(module);
		symtab_seal(module->symtab);
	}
	return module;
}

static void module_finish(struct module *module)
{
	lineinfo_close(module->lineinfo);
	symtab_destroy(module->symtab);
	objfile_close(&module->objfile);
	free(module->build_id);
	free(module->path);
}

/* The cached answer for an address; NULL for an unknown module, or when out of memory. */
static struct answer *symbols_answer(struct symbols *symbols, uint32_t index, uint64_t address)
{
	struct answer *answer;
	struct module *module;

	if (index >= symbols->n_modules)
		return NULL;
	answer = answer_slot(symbols, index, address);
	if (answer->module != SYMBOLS_NO_MODULE)
		return answer;
	if (2 * (symbols->n_answers + 1) > symbols->mask) {
		if (!answers_grow(symbols))
			return NULL;
		answer = answer_slot(symbols, index, address);
	}
	module = module_open(symbols, index);
	answer->module = index;
	answer->address = address;
	answer->symbol = module->symtab ? symtab_find(module->symtab, address) : NULL;
	symbols->n_answers++;
	return answer;
}

/* Life */

struct symbols *symbols_create(const char *const *search_dirs, size_t n)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->search = objfile_search_create(search_dirs, n);
	symbols->strings = stringset_create();
	symbols->mask = 1023;
	symbols->answers = answers_create(symbols->mask + 1);
	if (symbols->search && symbols->strings && symbols->answers)
		return symbols;
	symbols_destroy(symbols);
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; symbols->answers && i <= symbols->mask; i++)
		free(symbols->answers[i].chain);
	free(symbols->answers);
	for (uint32_t i = 0; i < symbols->n_modules; i++)
		module_finish(&symbols->modules[i]);
	free(symbols->modules);
	notices_finish(&symbols->notices);
	stringset_destroy(symbols->strings);
	objfile_search_destroy(symbols->search);
	free(symbols);
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

	if (symbols->n_modules == symbols->modules_capacity && !modules_grow(symbols))
		return SYMBOLS_NO_MODULE;
	copy = &symbols->modules[symbols->n_modules];
	memset(copy, 0, sizeof(*copy));
	copy->path = strdup(module->path);
	copy->build_id = malloc(module->build_id_size + 1);
	if (!copy->path || !copy->build_id) {
		module_finish(copy);
		return SYMBOLS_NO_MODULE;
	}
	copy->build_id_size = module->build_id_size;
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

enum symbol_role symbols_role(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct answer *answer = symbols_answer(symbols, module, address);
	const char *name = answer && answer->symbol ? answer->symbol->name : "";

	if (strcmp(name, "main") == 0)
		return SYMBOL_MAIN;
	if (strcmp(name, "_start") == 0 || strcmp(name, "__libc_start_call_main") == 0 ||
	    has_stem(name, "__libc_start_main") || has_stem(name, "generic_start_main"))
		return SYMBOL_BELOW_MAIN;
	return SYMBOL_OTHER;
}

/* Names are shown on terminals and in files of lines: they are kept as they can be shown. */
static const char *keep_name(struct symbols *symbols, const char *name, size_t n)
{
	const char *kept;
	char *copy;

	if (printable_run(name, n) == n)
		return stringset_add(symbols->strings, name, n);
	copy = printable_copy(name, n);
	kept = copy ? stringset_add(symbols->strings, copy, strlen(copy)) : NULL;
	free(copy);
	return kept;
}

static const char *symbol_readable(struct symbols *symbols, struct symbol *symbol)
{
	char *readable;

	if (symbol->readable)
		return symbol->readable;
	readable = demangle_name(symbol->name);
	if (readable)
		symbol->readable = keep_name(symbols, readable, strlen(readable));
	else
		symbol->readable = keep_name(symbols, symbol->name, strlen(symbol->name));
	free(readable);
	return symbol->readable;
}

const char *symbols_function(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct answer *answer = symbols_answer(symbols, module, address);

	return answer && answer->symbol ? symbol_readable(symbols, answer->symbol) : NULL;
}

static const char *frame_directory(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	int n = frame->file > frame->path + 1 ? (int)(frame->file - frame->path) - 1 : 0;
	const char *directory;
	char *joined;

	if (!frame->base)
		return n ? keep_name(symbols, frame->path, (size_t)n) : NULL;
	if (asprintf(&joined, "%s%s%.*s", frame->base, n ? "/" : "", n, frame->path) < 0)
		return NULL;
	directory = keep_name(symbols, joined, strlen(joined));
	free(joined);
	return directory;
}

static struct symbol_line line_create(struct symbols *symbols, const struct lineinfo_frame *frame)
{
	struct symbol_line line = { NULL, NULL, NULL, 0 };

	if (frame->inlined)
		line.function = keep_name(symbols, frame->inlined, strlen(frame->inlined));
	if (!frame->path)
		return line;
	line.file = keep_name(symbols, frame->file, strlen(frame->file));
	line.directory = frame_directory(symbols, frame);
	if (line.file)
		line.line = frame->line;
	return line;
}

static struct chain *chain_create(struct symbols *symbols, const struct answer *answer)
{
	struct module *module = &symbols->modules[answer->module];
	struct lineinfo_frame frames[CHAIN_MAX] = { { .line = 0 } };
	struct chain *chain;
	size_t n = 0;

	if (!module->described && module->objfile.module)
		module->lineinfo = lineinfo_open(module->objfile.module);
	module->described = true;
	if (module->lineinfo)
		n = lineinfo_frames(module->lineinfo, answer->address, frames, CHAIN_MAX);
	if (n == 0)
		n = 1;
	chain = malloc(sizeof(*chain) + n * sizeof(*chain->lines));
	if (!chain)
		return NULL;
	for (size_t i = 0; i < n; i++)
		chain->lines[i] = line_create(symbols, &frames[i]);
	if (answer->symbol)
		chain->lines[n - 1].function = symbol_readable(symbols, answer->symbol);
	chain->public.n = (uint32_t)n;
	chain->public.lines = chain->lines;
	return chain;
}

const struct symbol_chain *symbols_describe(struct symbols *symbols, uint32_t module, uint64_t address)
{
	struct answer *answer = symbols_answer(symbols, module, address);

	if (answer && !answer->chain)
		answer->chain = chain_create(symbols, answer);
	return answer && answer->chain ? &answer->chain->public : &unknown_chain;
}

const char *symbols_object(struct symbols *symbols, uint32_t module)
{
	const char *path = module < symbols->n_modules ? symbols->modules[module].path : NULL;

	return path ? keep_name(symbols, path, strlen(path)) : NULL;
}

const char *symbols_notice(const struct symbols *symbols, size_t i)
{
	return i < symbols->notices.n ? symbols->notices.text[i] : NULL;
}
