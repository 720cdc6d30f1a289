/* SPDX-License-Identifier: MIT */
/*
 * What DWARF told of a module's addresses, kept for the next replay: another question about a trace, or another
 * trace of the same program, then needs none. One file a module, named by its build id, in
 *
 *   $MSREC_CACHE, if that is set; nothing is kept if it is empty;
 *   else $XDG_CACHE_HOME/msrec, if that is an absolute path;
 *   else $HOME/.cache/msrec, if $HOME is the user's own.
 *
 * An answer counts only for the very files that it was read from: device, inode, size and times of the module's file and
 * of its debug file are the same, and neither has changed within the last seconds; and for the same versions
 * of msrec and libdw. So it is what would be found again. What can't be read, written or made sense of is as if it weren't
 * there: nothing is said of it. What such a file says is a stranger's claim. Files that nobody
 * has asked for two months are removed. Single-threaded; processes may share the folder.
 */
#ifndef NAMES_NAMECACHE_H
#define NAMES_NAMECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbols.h"

struct namecache;

/* What answers depend on. */
struct namecache_module {
	const uint8_t *build_id;
	size_t build_id_size;
	const char *files[2]; /* the module's own, and its debug file or NULL */
};

/*
 * Of the module's files, as they have been since `opened` (CLOCK_REALTIME) and some seconds before. NULL: they are
 * too new, or not there, there is no build id, or no memory.
 */
struct namecache *namecache_open(const char *folder, const struct namecache_module *module,
				 const struct timespec *opened);
void namecache_close(struct namecache *cache); /* NULL is allowed */

/* Whether these are the files that the cache is about. */
bool namecache_is_about(const struct namecache *cache, const struct namecache_module *module);

/* What a chain's `bare` has. */
enum namecache_bare {
	NAMECACHE_NO_BARE,
	NAMECACHE_BARE_LINE, /* the first line, without calls */
	NAMECACHE_BARE_NAME, /* the function alone */
};

/*
 * The lines of the chain at an address, but for the function of the last one. Their texts live until
 * namecache_close(). Returns how many; 0 if nothing is known, or there are more than `max`.
 */
size_t namecache_find(const struct namecache *cache, uint64_t address, struct symbol_line *lines, size_t max,
		      enum namecache_bare *bare);

/* Takes note of a chain, which must live as long as the cache. Without memory it is left out. */
void namecache_add(struct namecache *cache, uint64_t address, const struct symbol_chain *chain);

/* Writes what has been added, and keeps what has been asked for from growing old. */
void namecache_save(struct namecache *cache);

#endif
