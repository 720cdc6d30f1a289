/* SPDX-License-Identifier: MIT */
#include "namecache.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>
#include <zlib.h>

#include "array.h"
#include "cache_file.h"
#include "cache_folder.h"
#include "debug_paths.h"
#include "debuginfod.h"
#include "file.h"
#include "hex.h"
#include "string_pool.h"

/* Raise it when msrec finds other names in the same files. */
#define RULES "4"

#define SETTLED_NS 2000000000U /* a file may change twice in one tick of its clock */
#define DAY_S (24 * 60 * 60)   /* how often a file's age is renewed */
#define SECOND_NS 1000000000ULL

struct namecache {
	char *folder;
	char *path;
	char *link;             /* the module's debug link, or "" */
	struct cache_head head; /* that the file must have; without numbers */
	uint8_t *bytes;         /* the file; NULL: not read */
	const struct cache_entry *entries;
	const struct cache_line *lines;
	const char *text;
	uint32_t n_entries, n_lines, n_text;
	struct cache_addition *additions;
	size_t n_additions, capacity;
	struct pool chains; /* of entries of the old file that go into the next */
	bool stale;         /* its age has not been renewed for a day */
};

/* ---- files ---- */

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static bool identify(const char *path, struct cache_identity *identity)
{
	struct stat status;

	*identity = (struct cache_identity){ 0 };
	if (!path)
		return true;
	if (stat(path, &status) != 0)
		return false;
	*identity = (struct cache_identity){ status.st_dev, status.st_ino, (uint64_t)status.st_size,
					     nanoseconds(&status.st_mtim), nanoseconds(&status.st_ctim) };
	return true;
}

static bool identify_all(const struct namecache_module *module, struct cache_identity files[2])
{
	return module->files[0] && identify(module->files[0], &files[0]) &&
	       identify(module->files[1], &files[1]);
}

static char *path_create(const char *folder, const struct namecache_module *module)
{
	char *path = malloc(strlen(folder) + 1 + 2 * module->build_id_size + sizeof(CACHE_SUFFIX));
	char *end = path;

	if (!path)
		return NULL;
	end += sprintf(end, "%s/", folder);
	end = hex_put(end, module->build_id, module->build_id_size);
	memcpy(end, CACHE_SUFFIX, sizeof(CACHE_SUFFIX));
	return path;
}

/* ---- reading ---- */

static bool bare_is_sound(const struct cache_entry *entry)
{
	for (size_t i = 0; i < MASSIF_VERSIONS; i++) {
		if (entry->bare[i] > NAMECACHE_BARE_NAME)
			return false;
	}
	return true;
}

/* True: each entry has lines of its own, which follow those of the entry before. */
static bool entries_are_sound(const struct cache_entry *entries, const struct cache_head *head)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < head->n_entries; i++) {
		if (entries[i].first != n || entries[i].n == 0 || entries[i].n > head->n_lines - n ||
		    !bare_is_sound(&entries[i]) || entries[i].undescribed > 1)
			return false;
		n += entries[i].n;
	}
	return true;
}

/* Sets the pointers into the file. False: its numbers, checksum or entries are wrong. */
static bool lay_out(struct namecache *cache, const struct cache_head *head, size_t size)
{
	const size_t entries = head->n_entries * sizeof(struct cache_entry);
	const size_t lines = head->n_lines * sizeof(struct cache_line);
	const uint8_t *body = cache->bytes + sizeof(*head);

	if (size != sizeof(*head) + entries + lines + head->n_text || head->n_text < 2 ||
	    body[entries + lines + head->n_text - 1] != '\0' ||
	    crc32_z(0, body, size - sizeof(*head)) != head->crc ||
	    !entries_are_sound((const struct cache_entry *)body, head))
		return false;
	cache->entries = (const struct cache_entry *)body;
	cache->lines = (const struct cache_line *)(body + entries);
	cache->text = (const char *)body + entries + lines;
	cache->n_entries = head->n_entries;
	cache->n_lines = head->n_lines;
	cache->n_text = head->n_text;
	return true;
}

/* `unseen`: of the debug file the cache's own word is taken. */
static void file_take(struct namecache *cache, int fd, const struct stat *status, bool unseen)
{
	const size_t size = (size_t)status->st_size;
	struct cache_head head;

	if (!S_ISREG(status->st_mode) || size < sizeof(head) || size > CACHE_FILE_MOST)
		return;
	cache->bytes = malloc(size);
	if (!cache->bytes || !file_read_at(fd, 0, cache->bytes, size))
		return;
	memcpy(&head, cache->bytes, sizeof(head));
	if (unseen && memcmp(&head.files[0], &cache->head.files[0], sizeof(head.files[0])) == 0)
		cache->head.files[1] = head.files[1];
	if (memcmp(&head, &cache->head, offsetof(struct cache_head, n_entries)) != 0 ||
	    !lay_out(cache, &head, size))
		return;
	cache->stale = time(NULL) - status->st_mtim.tv_sec > DAY_S;
}

static void file_load(struct namecache *cache, bool unseen)
{
	const int fd = open(cache->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0)
		file_take(cache, fd, &status, unseen);
	close(fd);
}

/* The file ends with a NUL, so each text does. */
static bool text_fits(const struct namecache *cache, uint32_t at)
{
	return at < cache->n_text && strnlen(cache->text + at, CACHE_TEXT_MOST + 1) <= CACHE_TEXT_MOST;
}

static const char *text_at(const struct namecache *cache, uint32_t at)
{
	return at ? cache->text + at : NULL;
}

static bool is_settled(const struct cache_identity *file, const struct timespec *opened)
{
	return file->changed_ns + SETTLED_NS <= nanoseconds(opened);
}

static struct namecache *open_cache(const char *folder, const struct namecache_module *module,
				    const struct timespec *opened, bool unseen)
{
	struct namecache *cache;
	struct cache_head head = { .n_entries = 0 };

	if (module->build_id_size == 0 || !identify_all(module, head.files))
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		if (!is_settled(&head.files[i], opened))
			return NULL;
	}
	snprintf(head.made_by, sizeof(head.made_by), "msrec %s, rules %s, libdw %s\n", MSREC_VERSION, RULES,
		 dwfl_version(NULL));
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->head = head;
	cache->folder = strdup(folder);
	cache->path = path_create(folder, module);
	cache->link = strdup(module->link ? module->link : "");
	if (!cache->folder || !cache->path || !cache->link) {
		namecache_close(cache);
		return NULL;
	}
	file_load(cache, unseen);
	return cache;
}

struct namecache *namecache_open(const char *folder, const struct namecache_module *module,
				 const struct timespec *opened)
{
	return open_cache(folder, module, opened, false);
}

/* True: libdwfl finds the debug file that the cache is about, or none if the cache knows none. */
static bool finds_the_same(const struct namecache *cache, const struct debug_paths *paths,
			   const struct timespec *opened)
{
	static const struct cache_identity none;
	struct cache_identity identity;
	char *first;
	const bool any = debug_paths_first(paths, &first);
	const bool same =
		any ? first && identify(first, &identity) &&
				memcmp(&identity, &cache->head.files[1], sizeof(identity)) == 0 &&
				is_settled(&identity, opened)
		    : memcmp(&cache->head.files[1], &none, sizeof(none)) == 0 && !debuginfod_is_wanted();

	free(first);
	return same;
}

struct namecache *namecache_open_unseen(const char *folder, const struct namecache_module *module,
					const char *debug_path, const struct timespec *opened)
{
	struct namecache *cache = open_cache(folder, module, opened, true);
	struct debug_paths paths = { .path = debug_path,
				     .file = module->files[0],
				     .build_id = module->build_id,
				     .build_id_size = module->build_id_size };
	char *link = NULL;

	if (cache && cache->entries && text_fits(cache, CACHE_LINK))
		link = strdup(cache->text + CACHE_LINK);
	paths.link = link && *link ? link : NULL;
	if (!link || !finds_the_same(cache, &paths, opened)) {
		free(link);
		namecache_close(cache);
		return NULL;
	}
	free(cache->link);
	cache->link = link;
	return cache;
}

void namecache_close(struct namecache *cache)
{
	if (!cache)
		return;
	pool_finish(&cache->chains);
	free(cache->additions);
	free(cache->bytes);
	free(cache->link);
	free(cache->path);
	free(cache->folder);
	free(cache);
}

bool namecache_is_about(const struct namecache *cache, const struct namecache_module *module)
{
	struct cache_identity files[2];

	return identify_all(module, files) && memcmp(files, cache->head.files, sizeof(files)) == 0;
}

/* False: the line makes no sense. */
static bool line_take(const struct namecache *cache, uint32_t i, struct symbol_line *line)
{
	const struct cache_line *kept = &cache->lines[i];
	bool fits = kept->line >= 0;

	assert(i < cache->n_lines);

	for (size_t k = 0; k < TEXTS; k++)
		fits = fits && text_fits(cache, kept->text[k]);
	if (!fits)
		return false;
	*line = (struct symbol_line){
		.function = text_at(cache, kept->text[TEXT_FUNCTION]),
		.directory = text_at(cache, kept->text[TEXT_DIRECTORY]),
		.file = text_at(cache, kept->text[TEXT_FILE]),
		.line = kept->line,
		.plain = text_at(cache, kept->text[TEXT_PLAIN]),
		.massif = text_at(cache, kept->text[TEXT_MASSIF]),
		.massif_3_27 = text_at(cache, kept->text[TEXT_MASSIF_3_27]),
		.fileless = kept->fileless,
	};
	return true;
}

static const struct cache_entry *entry_at(const struct namecache *cache, uint64_t address)
{
	uint32_t lo = 0, hi = cache->n_entries;

	while (lo < hi) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (cache->entries[middle].address < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < cache->n_entries && cache->entries[lo].address == address ? &cache->entries[lo] : NULL;
}

static bool lines_take(const struct namecache *cache, const struct cache_entry *entry,
		       struct symbol_line *lines)
{
	bool fine = true;

	for (uint32_t i = 0; i < entry->n && fine; i++)
		fine = line_take(cache, entry->first + i, &lines[i]);
	return fine;
}

size_t namecache_find(const struct namecache *cache, uint64_t address, struct symbol_line *lines, size_t max,
		      struct namecache_entry *found)
{
	const struct cache_entry *entry = entry_at(cache, address);

	if (!entry || entry->n > max || !text_fits(cache, entry->linker) || !lines_take(cache, entry, lines))
		return 0;
	*found = (struct namecache_entry){ .linker = text_at(cache, entry->linker),
					   .undescribed = entry->undescribed };
	for (size_t i = 0; i < MASSIF_VERSIONS; i++)
		found->bare[i] = (enum namecache_bare)entry->bare[i];
	return entry->n;
}

/* ---- writing ---- */

static void add(struct namecache *cache, const struct cache_addition *addition)
{
	if (cache_file_takes(addition) &&
	    array_reserve(&cache->additions, cache->n_additions, &cache->capacity, sizeof(*cache->additions)))
		cache->additions[cache->n_additions++] = *addition;
}

void namecache_add(struct namecache *cache, uint64_t address, const struct symbol_chain *chain,
		   const char *linker, bool undescribed)
{
	const struct cache_addition addition = { address, chain, linker, undescribed };

	if (!entry_at(cache, address))
		add(cache, &addition);
}

/* Adds the entries of the old file: the next one is made of additions only. False: no memory. */
static bool take_over(struct namecache *cache)
{
	static const struct symbol_line no_line;

	for (uint32_t i = 0; i < cache->n_entries; i++) {
		const struct cache_entry *entry = &cache->entries[i];
		struct symbol_chain *chain;
		struct symbol_line *lines;

		chain = pool_take(&cache->chains, sizeof(*chain) + entry->n * sizeof(*lines));
		if (!chain)
			return false;
		lines = (struct symbol_line *)(chain + 1);
		*chain = (struct symbol_chain){ .n = entry->n, .lines = lines };
		if (!lines_take(cache, entry, lines))
			continue;
		for (size_t k = 0; k < MASSIF_VERSIONS; k++) {
			if (entry->bare[k] != NAMECACHE_NO_BARE)
				chain->bare[k] = entry->bare[k] == NAMECACHE_BARE_LINE ? lines : &no_line;
		}
		if (text_fits(cache, entry->linker)) {
			const struct cache_addition addition = { entry->address, chain,
								 text_at(cache, entry->linker),
								 entry->undescribed };

			add(cache, &addition);
		}
	}
	return true;
}

void namecache_save(struct namecache *cache)
{
	if (cache->stale)
		utimensat(AT_FDCWD, cache->path, NULL, AT_SYMLINK_NOFOLLOW);
	if (cache->n_additions == 0 || !take_over(cache))
		return;
	cache_file_write(cache->folder, cache->path, &cache->head, cache->link, cache->additions,
			 cache->n_additions);
}
