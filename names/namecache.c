/* SPDX-License-Identifier: MIT */
#include "namecache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>
#include <zlib.h>

#include "file.h"
#include "hex.h"
#include "radix_sort.h"
#include "string_pool.h"
#include "string_set.h"

/* To be raised when the same files are to give other answers. */
#define RULES "1"

#define SUFFIX ".names"
#define SIZE_LIMIT (64U << 20) /* of a file; it is left as it is when it would become larger */
#define TEXT_LIMIT 8192U       /* longer names aren't kept: who made a file shall not keep us busy */
#define SETTLED_NS 2000000000U /* a file may change twice in one tick of its clock */
#define DAY_S (24 * 60 * 60)   /* how often a file's age is renewed */
#define OLD_S (60LL * DAY_S)   /* from when on it goes */
#define SECOND_NS 1000000000ULL

enum text { TEXT_FUNCTION, TEXT_DIRECTORY, TEXT_FILE, TEXT_MASSIF, TEXTS };

struct identity {
	uint64_t device, inode, size, modified_ns, changed_ns; /* all 0: there is no file */
};

/* The file: this, then answers by ascending address, lines and texts; all as this machine has them. */
struct head {
	char made_by[64];
	struct identity files[2];
	uint32_t n_answers;
	uint32_t n_lines;
	uint32_t n_text; /* bytes */
	uint32_t crc;    /* of what follows, CRC-32 */
};

struct kept_answer {
	uint64_t address;
	uint32_t first; /* index in lines */
	uint16_t n;
	uint16_t bare;
};

struct kept_line {
	uint32_t text[TEXTS]; /* where it begins, 0: NULL */
	int32_t line;
};

struct addition {
	uint64_t address;
	const struct symbol_chain *chain;
};

struct namecache {
	char *folder;
	char *path;
	struct head head; /* as the file's ought to be, without numbers */
	uint8_t *bytes;   /* the file, if it is; else NULL */
	const struct kept_answer *answers;
	const struct kept_line *lines;
	const char *text;
	uint32_t n_answers, n_lines, n_text;
	struct addition *additions;
	size_t n_additions, capacity;
	struct pool chains; /* of the old file, when it is written anew */
	bool stale;         /* it has not been renewed for a day */
};

/* Somebody else's, as after sudo(8), is to get no files that its owner can't remove. */
static bool is_own(const char *folder)
{
	struct stat status;

	return stat(folder, &status) == 0 && status.st_uid == geteuid();
}

char *namecache_folder(void)
{
	const char *own = getenv("MSREC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;

	if (own)
		return *own ? strdup(own) : NULL;
	if (xdg && *xdg == '/')
		return asprintf(&folder, "%s/msrec", xdg) < 0 ? NULL : folder;
	if (home && *home == '/' && is_own(home))
		return asprintf(&folder, "%s/.cache/msrec", home) < 0 ? NULL : folder;
	return NULL;
}

/* Which files */

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static bool identify(const char *path, struct identity *identity)
{
	struct stat status;

	*identity = (struct identity){ 0 };
	if (!path)
		return true;
	if (stat(path, &status) != 0)
		return false;
	*identity = (struct identity){ status.st_dev, status.st_ino, (uint64_t)status.st_size,
				       nanoseconds(&status.st_mtim), nanoseconds(&status.st_ctim) };
	return true;
}

static bool identify_all(const struct namecache_module *module, struct identity files[2])
{
	return module->files[0] && identify(module->files[0], &files[0]) &&
	       identify(module->files[1], &files[1]);
}

static char *path_create(const char *folder, const struct namecache_module *module)
{
	char *path = malloc(strlen(folder) + 1 + 2 * module->build_id_size + sizeof(SUFFIX));
	char *end = path;

	if (!path)
		return NULL;
	end += sprintf(end, "%s/", folder);
	end = hex_put(end, module->build_id, module->build_id_size);
	memcpy(end, SUFFIX, sizeof(SUFFIX));
	return path;
}

/* Reading */

/* Whether the answers are what we write: each has lines of its own, which are those behind the last one's. */
static bool answers_are_sound(const struct kept_answer *answers, const struct head *head)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < head->n_answers; i++) {
		if (answers[i].first != n || answers[i].n == 0 || answers[i].n > head->n_lines - n ||
		    answers[i].bare > NAMECACHE_BARE_NAME)
			return false;
		n += answers[i].n;
	}
	return true;
}

/* Points into the file, if its numbers are those of its size. */
static bool lay_out(struct namecache *cache, const struct head *head, size_t size)
{
	const size_t answers = head->n_answers * sizeof(struct kept_answer);
	const size_t lines = head->n_lines * sizeof(struct kept_line);
	const uint8_t *body = cache->bytes + sizeof(*head);

	if (size != sizeof(*head) + answers + lines + head->n_text || head->n_text == 0 ||
	    body[answers + lines + head->n_text - 1] != '\0' ||
	    crc32_z(0, body, size - sizeof(*head)) != head->crc ||
	    !answers_are_sound((const struct kept_answer *)body, head))
		return false;
	cache->answers = (const struct kept_answer *)body;
	cache->lines = (const struct kept_line *)(body + answers);
	cache->text = (const char *)body + answers + lines;
	cache->n_answers = head->n_answers;
	cache->n_lines = head->n_lines;
	cache->n_text = head->n_text;
	return true;
}

static void file_take(struct namecache *cache, int fd, const struct stat *status)
{
	const size_t size = (size_t)status->st_size;
	struct head head;

	if (!S_ISREG(status->st_mode) || size < sizeof(head) || size > SIZE_LIMIT)
		return;
	cache->bytes = malloc(size);
	if (!cache->bytes || !file_read_at(fd, 0, cache->bytes, size))
		return;
	memcpy(&head, cache->bytes, sizeof(head));
	if (memcmp(&head, &cache->head, offsetof(struct head, n_answers)) != 0 ||
	    !lay_out(cache, &head, size))
		return;
	cache->stale = time(NULL) - status->st_mtim.tv_sec > DAY_S;
}

static void file_load(struct namecache *cache)
{
	const int fd = open(cache->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0)
		file_take(cache, fd, &status);
	close(fd);
}

struct namecache *namecache_open(const char *folder, const struct namecache_module *module,
				 const struct timespec *opened)
{
	struct namecache *cache;
	struct head head = { .n_answers = 0 };

	if (module->build_id_size == 0 || !identify_all(module, head.files))
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		if (head.files[i].changed_ns + SETTLED_NS > nanoseconds(opened))
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
	if (!cache->folder || !cache->path) {
		namecache_close(cache);
		return NULL;
	}
	file_load(cache);
	return cache;
}

void namecache_close(struct namecache *cache)
{
	if (!cache)
		return;
	pool_finish(&cache->chains);
	free(cache->additions);
	free(cache->bytes);
	free(cache->path);
	free(cache->folder);
	free(cache);
}

bool namecache_is_about(const struct namecache *cache, const struct namecache_module *module)
{
	struct identity files[2];

	return identify_all(module, files) && memcmp(files, cache->head.files, sizeof(files)) == 0;
}

/* The file ends with a NUL, so there is one behind each text. */
static bool text_fits(const struct namecache *cache, uint32_t at)
{
	return at < cache->n_text && strnlen(cache->text + at, TEXT_LIMIT + 1) <= TEXT_LIMIT;
}

static const char *text_at(const struct namecache *cache, uint32_t at)
{
	return at ? cache->text + at : NULL;
}

/* False: that can't be. */
static bool line_take(const struct namecache *cache, uint32_t i, struct symbol_line *line)
{
	const struct kept_line *kept = &cache->lines[i];
	bool fits = kept->line >= 0;

	for (size_t k = 0; k < TEXTS; k++)
		fits = fits && text_fits(cache, kept->text[k]);
	if (!fits)
		return false;
	*line = (struct symbol_line){
		.function = text_at(cache, kept->text[TEXT_FUNCTION]),
		.directory = text_at(cache, kept->text[TEXT_DIRECTORY]),
		.file = text_at(cache, kept->text[TEXT_FILE]),
		.line = kept->line,
		.massif = text_at(cache, kept->text[TEXT_MASSIF]),
	};
	return true;
}

static const struct kept_answer *answer_at(const struct namecache *cache, uint64_t address)
{
	uint32_t lo = 0, hi = cache->n_answers;

	while (lo < hi) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (cache->answers[middle].address < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < cache->n_answers && cache->answers[lo].address == address ? &cache->answers[lo] : NULL;
}

static bool lines_take(const struct namecache *cache, const struct kept_answer *answer,
		       struct symbol_line *lines)
{
	bool fine = true;

	for (uint32_t i = 0; i < answer->n && fine; i++)
		fine = line_take(cache, answer->first + i, &lines[i]);
	return fine;
}

size_t namecache_find(const struct namecache *cache, uint64_t address, struct symbol_line *lines, size_t max,
		      enum namecache_bare *bare)
{
	const struct kept_answer *answer = answer_at(cache, address);

	if (!answer || answer->n > max || !lines_take(cache, answer, lines))
		return 0;
	*bare = answer->bare;
	return answer->n;
}

/* Writing */

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Bytes of all texts that are kept, and one; 0: one of them is too long. */
static size_t texts_size(const struct symbol_chain *chain)
{
	size_t size = 1;

	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];
		const size_t sizes[] = { i + 1 < chain->n ? text_size(line->function) : 0,
					 text_size(line->directory), text_size(line->file),
					 text_size(line->massif) };

		for (size_t k = 0; k < TEXTS; k++) {
			if (sizes[k] > TEXT_LIMIT + 1)
				return 0;
			size += sizes[k];
		}
	}
	return size;
}

void namecache_add(struct namecache *cache, uint64_t address, const struct symbol_chain *chain)
{
	if (chain->n > UINT16_MAX || texts_size(chain) == 0)
		return;
	if (cache->n_additions == cache->capacity) {
		const size_t capacity = 2 * cache->capacity + 64;
		struct addition *grown = reallocarray(cache->additions, capacity, sizeof(*grown));

		if (!grown)
			return;
		cache->additions = grown;
		cache->capacity = capacity;
	}
	cache->additions[cache->n_additions++] = (struct addition){ address, chain };
}

/* Adds what the old file has, so that only additions are to be written. False when out of memory. */
static bool take_over(struct namecache *cache)
{
	static const struct symbol_line no_line;

	for (uint32_t i = 0; i < cache->n_answers; i++) {
		const struct kept_answer *answer = &cache->answers[i];
		struct symbol_chain *chain;
		struct symbol_line *lines;

		chain = pool_take(&cache->chains, sizeof(*chain) + answer->n * sizeof(*lines));
		if (!chain)
			return false;
		lines = (struct symbol_line *)(chain + 1);
		*chain = (struct symbol_chain){ .n = answer->n, .lines = lines };
		if (!lines_take(cache, answer, lines))
			continue;
		if (answer->bare != NAMECACHE_NO_BARE)
			chain->bare = answer->bare == NAMECACHE_BARE_LINE ? lines : &no_line;
		namecache_add(cache, answer->address, chain);
	}
	return true;
}

/* What a new file is made of. Everything has as much room as it can need. */
struct book {
	struct head head;
	struct kept_answer *answers;
	struct kept_line *lines;
	char *text;
	struct string_set *known; /* the texts, without the empty one at the beginning, which is NULL */
	uint32_t *places;         /* by a text's number there */
	uint32_t n_known;
	bool starved;
};

static uint32_t book_text(struct book *book, const char *text)
{
	const size_t size = text_size(text);
	const size_t number = text ? string_set_number(book->known, text, size - 1) : 0;

	if (number == 0) {
		book->starved |= text != NULL;
		return 0;
	}
	if (number > book->n_known) {
		book->n_known++;
		book->places[number] = book->head.n_text;
		memcpy(book->text + book->head.n_text, text, size);
		book->head.n_text += (uint32_t)size;
	}
	return book->places[number];
}

static void book_chain(struct book *book, const struct addition *addition)
{
	const struct symbol_chain *chain = addition->chain;
	const enum namecache_bare bare = !chain->bare        ? NAMECACHE_NO_BARE
					 : chain->bare->file ? NAMECACHE_BARE_LINE
							     : NAMECACHE_BARE_NAME;

	book->answers[book->head.n_answers++] = (struct kept_answer){ addition->address, book->head.n_lines,
								      (uint16_t)chain->n, (uint16_t)bare };
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];

		book->lines[book->head.n_lines++] = (struct kept_line){
			.text[TEXT_FUNCTION] = i + 1 < chain->n ? book_text(book, line->function) : 0,
			.text[TEXT_DIRECTORY] = book_text(book, line->directory),
			.text[TEXT_FILE] = book_text(book, line->file),
			.text[TEXT_MASSIF] = book_text(book, line->massif),
			.line = line->line,
		};
	}
}

/* Room for all additions. False: they are too many, or there is no memory. */
static bool book_create(struct book *book, const struct namecache *cache)
{
	size_t lines = 0, text = 1;

	for (size_t i = 0; i < cache->n_additions && text <= SIZE_LIMIT; i++) {
		lines += cache->additions[i].chain->n;
		text += texts_size(cache->additions[i].chain);
	}
	*book = (struct book){ .head = cache->head };
	if (text > SIZE_LIMIT || lines > SIZE_LIMIT / sizeof(*book->lines) ||
	    cache->n_additions > SIZE_LIMIT / sizeof(*book->answers))
		return false;
	book->answers = calloc(cache->n_additions, sizeof(*book->answers));
	book->lines = calloc(lines, sizeof(*book->lines));
	book->text = calloc(text, 1);
	book->places = calloc(TEXTS * lines + 1, sizeof(*book->places));
	book->known = string_set_create();
	book->head.n_text = 1;
	return book->answers && book->lines && book->text && book->places && book->known;
}

static void book_finish(struct book *book)
{
	free(book->answers);
	free(book->lines);
	free(book->text);
	free(book->places);
	string_set_destroy(book->known);
}

/* In the order of addresses. */
static bool book_fill(struct book *book, const struct namecache *cache)
{
	struct radix_item *items = calloc(cache->n_additions, sizeof(*items));
	bool fine = items;

	for (uint32_t i = 0; i < cache->n_additions && fine; i++)
		items[i] = (struct radix_item){ cache->additions[i].address, i };
	fine = fine && radix_sort(items, cache->n_additions);
	for (size_t i = 0; i < cache->n_additions && fine; i++)
		book_chain(book, &cache->additions[items[i].number]);
	free(items);
	return fine && !book->starved;
}

/* Whether a file may be so large: the signal that says no would end the process (setrlimit(2)). */
static bool book_may_be_written(const struct book *book)
{
	struct rlimit most;
	const size_t size = sizeof(book->head) + book->head.n_answers * sizeof(*book->answers) +
			    book->head.n_lines * sizeof(*book->lines) + book->head.n_text;

	return getrlimit(RLIMIT_FSIZE, &most) == 0 && size <= most.rlim_cur;
}

static bool book_write(struct book *book, int fd)
{
	const size_t answers = book->head.n_answers * sizeof(*book->answers);
	const size_t lines = book->head.n_lines * sizeof(*book->lines);
	uLong crc = crc32_z(0, (const uint8_t *)book->answers, answers);

	crc = crc32_z(crc, (const uint8_t *)book->lines, lines);
	crc = crc32_z(crc, (const uint8_t *)book->text, book->head.n_text);
	book->head.crc = (uint32_t)crc;
	return file_write(fd, (const uint8_t *)&book->head, sizeof(book->head)) &&
	       file_write(fd, (const uint8_t *)book->answers, answers) &&
	       file_write(fd, (const uint8_t *)book->lines, lines) &&
	       file_write(fd, (const uint8_t *)book->text, book->head.n_text);
}

/* Puts the book in the old file's place: who reads meanwhile sees one or the other, whole. */
static void book_publish(struct book *book, const char *path)
{
	char *new = NULL;
	int fd;
	bool written;

	if (asprintf(&new, "%s.XXXXXX", path) < 0)
		return;
	fd = mkostemp(new, O_CLOEXEC);
	if (fd >= 0) {
		written = book_write(book, fd);
		if (close(fd) != 0 || !written || rename(new, path) != 0)
			unlink(new);
	}
	free(new);
}

/* The last two folders may be missing, as the XDG rules have it. */
static void folder_create(const char *folder)
{
	char *above = strdup(folder), *slash = above ? strrchr(above, '/') : NULL;

	if (slash && slash > above) {
		*slash = '\0';
		mkdir(above, 0700);
	}
	free(above);
	mkdir(folder, 0700);
}

/* Whether a file in the folder is one of these, be it half written: the folder may have others. */
static bool is_ours(const char *name)
{
	const size_t digits = strspn(name, "0123456789abcdef");

	return digits && strncmp(name + digits, SUFFIX, strlen(SUFFIX)) == 0;
}

/* Removes what nobody has asked for. */
static void folder_tidy(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	struct stat status;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (is_ours(entry->d_name) &&
		    fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && time(NULL) - status.st_mtim.tv_sec > OLD_S)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

void namecache_save(struct namecache *cache)
{
	struct book book;

	if (cache->stale)
		utimensat(AT_FDCWD, cache->path, NULL, AT_SYMLINK_NOFOLLOW);
	if (cache->n_additions == 0 || !take_over(cache))
		return;
	if (book_create(&book, cache) && book_fill(&book, cache) && book_may_be_written(&book)) {
		folder_create(cache->folder);
		folder_tidy(cache->folder);
		book_publish(&book, cache->path);
	}
	book_finish(&book);
}
