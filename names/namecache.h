/* SPDX-License-Identifier: MIT */
/*
 * The name cache: names and lines of a module's addresses, kept for the next replay. Another question about a trace, or
 * another trace of the same program, then needs neither DWARF nor symbol tables. One file a module, named by its build
 * id, in
 *
 *   $MSREC_CACHE, if that is set; nothing is cached if it is empty;
 *   else $XDG_CACHE_HOME/msrec, if that is an absolute path;
 *   else $HOME/.cache/msrec, if $HOME is the user's own.
 *
 * An entry counts only for the very files that it was read from: device, inode, size and times of the module's file and
 * of its debug file are the same, and neither has changed within the last seconds; and only for the same versions of
 * msrec and libdw. So an entry is what would be found again. A file that can't be read, written or understood counts as
 * missing, without a message: its content is an untrusted claim. Files that were not used for two months are removed.
 * Single-threaded; processes may share the folder.
 */
#ifndef NAMES_NAMECACHE_H
#define NAMES_NAMECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbols.h"

struct namecache;

/* What the names of a module depend on. */
struct namecache_module {
	const uint8_t *build_id;
	size_t build_id_size;
	const char *files[2]; /* the module's own, and its debug file or NULL */
	const char *link;     /* the debug link in the former; NULL: none, or not known */
};

/*
 * Opens the cache of a module's files, unchanged since some seconds before `opened` (CLOCK_REALTIME). NULL: they are
 * younger, or missing; there is no build id; or no memory.
 */
struct namecache *namecache_open(const char *folder, const struct namecache_module *module,
				 const struct timespec *opened);

/*
 * The same without a look into any file: which files the cache is about is told by the cache, and there is no debug file
 * in `module`. NULL also if libdwfl could find another debug file by now, or one at all, in its list of folders
 * `debug_path`.
 */
struct namecache *namecache_open_unseen(const char *folder, const struct namecache_module *module,
					const char *debug_path, const struct timespec *opened);

void namecache_close(struct namecache *cache); /* NULL is allowed */

/* True: the cache is about these files. */
bool namecache_is_about(const struct namecache *cache, const struct namecache_module *module);

/* What a version of Massif knows of an address; in the cache, a chain's `bare`. */
enum namecache_bare {
	NAMECACHE_NO_BARE,
	NAMECACHE_BARE_LINE, /* the first line, without calls */
	NAMECACHE_BARE_NAME, /* the function alone */
};

/* What is known of an address beside its lines. */
struct namecache_entry {
	enum namecache_bare bare[MASSIF_VERSIONS];
	const char *linker; /* the symbol as it stands in the file; NULL: none */
	bool undescribed;   /* no debug information was found */
};

/*
 * Stores the lines of the chain at an address. The texts live until namecache_close(). Returns how many; 0: the cache has
 * none, or more than `max`.
 */
size_t namecache_find(const struct namecache *cache, uint64_t address, struct symbol_line *lines, size_t max,
		      struct namecache_entry *entry);

/*
 * Adds a chain, which must live as long as the cache, as must `linker`; NULL: there is no symbol. An address that the
 * cache has already keeps its chain. Without memory it is left out.
 */
void namecache_add(struct namecache *cache, uint64_t address, const struct symbol_chain *chain,
		   const char *linker, bool undescribed);

/* Writes what has been added. Renews the age of a file that was used. */
void namecache_save(struct namecache *cache);

#endif
