/* SPDX-License-Identifier: MIT */
/*
 * The symbolizer: names for code addresses, as Massif would have printed them. Functions come from symbol tables,
 * source lines and inlined calls from DWARF. Works offline on recorded modules; objfile.h says where their files are
 * looked for, symtab.h how one of several names is chosen.
 *
 * An address is a pair of a module and a link-time address (the ELF file's own p_vaddr space: program counter minus
 * load bias) inside an instruction, i.e. a return address minus 1.
 *
 * Results mark what Massif 3.19 doesn't know: full names of inlined functions; names of those that are described in
 * another unit (link-time optimisation, Rust) or file (dwz's common one) or known to the linker alone; inlined calls in
 * member functions of a function's own types, in DWARF 5 written by clang and in split units; lines of code outside the
 * section .text, and of split units in DWARF 5.
 *
 * Lazy: the first address of a module opens its file, the first symbols_describe() its debug information; results are
 * kept. Single-threaded. Files are hostile input: what is missing, damaged or of another build is "unknown", never an
 * error; so is what there is no memory for, and a notice says so. Prints nothing. All strings live until
 * symbols_destroy().
 */
#ifndef NAMES_SYMBOLS_H
#define NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

struct symbols_module {
	const char *path;        /* as recorded */
	const uint8_t *build_id; /* NULL if there is none */
	size_t build_id_size;    /* bytes; 0: any file at `path` is used */
	const char *pinned;      /* where to open the file instead (/proc/self/fd/N), or NULL */
	uint64_t recorded_ns;    /* CLOCK_REALTIME when the file was there; 0: not known */
};

#define SYMBOLS_NO_MODULE UINT32_MAX

/*
 * `search_dirs` are sysroots or folders of debug files (--symbols=DIR), searched before the recorded paths; copied, may
 * be empty. NULL: no memory.
 */
struct symbols *symbols_create(const char *const *search_dirs, size_t n);
void symbols_destroy(struct symbols *symbols); /* NULL is allowed */

/*
 * Makes symbols_describe() use the name cache (namecache.h). Call it before the first look-up. symbols_destroy() writes
 * what is new.
 */
void symbols_use_cache(struct symbols *symbols);

/*
 * Adds a module; copies all of it and opens nothing yet. Returns its index, dense from 0; SYMBOLS_NO_MODULE: no
 * memory. In all functions below, an index that was never returned, like SYMBOLS_NO_MODULE, is a module of which
 * nothing is known.
 */
uint32_t symbols_add_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * For the cut below main (--show-below-main). Decided by the name as it stands in the file: `main`; `_start`,
 * `__libc_start_main`, `__libc_start_call_main`, `generic_start_main`, and both `*start_main` names with any
 * `.suffix`. A name with a version, `__libc_start_main@@GLIBC_2.34`, is not among them: Massif does not know it
 * either.
 */
enum symbol_role { SYMBOL_OTHER, SYMBOL_MAIN, SYMBOL_BELOW_MAIN };
enum symbol_role symbol_role_of(const char *name); /* NULL is allowed */

/* The readable name of the out-of-line function at `address`; NULL if unknown. Reads no DWARF. */
const char *symbols_function(struct symbols *symbols, uint32_t module, uint64_t address);

/* The same name as it stands in the file. */
const char *symbols_linker_name(struct symbols *symbols, uint32_t module, uint64_t address);

/* True: the module has a file to look names up in. */
bool symbols_has_file(struct symbols *symbols, uint32_t module);

/* The types in its debug information (type_info.h). NULL: it has none. */
struct type_info *symbols_types(struct symbols *symbols, uint32_t module);

struct symbol_line {
	const char *function;  /* NULL: unknown */
	const char *directory; /* without a slash at its end; NULL: unknown or none recorded */
	const char *file;      /* as in the line table: a base name, in Rust `src/x.rs`; NULL: unknown */
	int line;              /* 0: unknown, or code of no one line */
	const char *plain;  /* of an inlined function whose `function` says more: its own name; else NULL */
	const char *massif; /* Massif's name of an inlined function that it does not find; else NULL */
	const char *massif_3_27; /* the same of 3.27, which finds more */
	bool fileless;           /* to Massif the file of this call is ??? */
};

/* Versions of Massif that know different things of inlined functions. 3.27 is as 3.26, and 3.24 as 3.22 to 3.25. */
enum massif_version {
	MASSIF_3_19,
	MASSIF_3_24,
	MASSIF_3_27,
	MASSIF_VERSIONS,
};

/* What Massif calls the function. NULL: unknown. */
static inline const char *symbol_line_massif(const struct symbol_line *line, enum massif_version version)
{
	const char *instead = version == MASSIF_3_27 ? line->massif_3_27 : line->massif;

	return instead ? instead : line->plain ? line->plain : line->function;
}

/*
 * The calls that one address stands for, innermost first. All but the last are inlined functions: with namespaces and
 * arguments if there is a linkage name in C++ or Rust (what addr2line -Cfi shows), else by their plain names; the last is
 * that of symbols_function(). The first has the line of the address, each further one that of the call inside it.
 * Without a file there is no line; compilers write a file with line 0 for code that belongs to no one line, and Massif
 * prints it.
 */
struct symbol_chain {
	uint32_t n; /* at least 1 */
	const struct symbol_line *lines;
	const struct symbol_line
		*bare[MASSIF_VERSIONS]; /* all that Massif knows, if it knows less; else NULL */
};

/* Never NULL: one line without content means "unknown". Valid until symbols_destroy(). */
const struct symbol_chain *symbols_describe(struct symbols *symbols, uint32_t module, uint64_t address);

/* The module's path as recorded, in printable form; NULL: no such module, or no memory. */
const char *symbols_object(struct symbols *symbols, uint32_t module);

/*
 * Remark number `i` for the user, NULL: there are no more. Each is about a file that was refused or not found, one
 * line without a newline: `/usr/lib/x.so: build id differs from the recorded one, not used`. Modules add remarks when
 * they are opened, so ask at the end.
 */
const char *symbols_notice(const struct symbols *symbols, size_t i);

#endif
