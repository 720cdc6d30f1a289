/* SPDX-License-Identifier: MIT */
#include "program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libc.h"
#include "os.h"

#define SCRIPTS 4u    /* a script's interpreter may be a script, as often as the kernel allows it */
#define HEADERS 64u   /* program headers that are looked at */
#define LOADS 16u     /* of them mapped parts of the file */
#define DYNAMICS 512u /* entries of the dynamic section that are looked at */
#define NAME 64u      /* bytes of a name that are looked at */
#define CHAIN 1024u   /* symbols of a bucket that are looked at */

/* ---- privileges ---- */

/* The loader ignores LD_PRELOAD where the program gains privileges. */
static bool gains_privileges(long fd)
{
	struct stat st;

	if (os_call6(SYS_newfstatat, fd, (long)"", (long)&st, AT_EMPTY_PATH, 0, 0) < 0 ||
	    os_call6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != (uid_t)os_call6(SYS_geteuid, 0, 0, 0, 0, 0, 0))
		return true;
	if (st.st_mode & S_ISGID && st.st_gid != (gid_t)os_call6(SYS_getegid, 0, 0, 0, 0, 0, 0))
		return true;
	return os_call6(SYS_geteuid, 0, 0, 0, 0, 0, 0) != 0 &&
	       os_call6(SYS_fgetxattr, fd, (long)"security.capability", 0, 0, 0, 0) > 0;
}

/* ---- reading ---- */

#define WINDOWS 2u
#define WINDOW                                                                                               \
	1024u /* bytes; tables that are read side by side are often short, so a few system calls read all */

struct window {
	uint64_t offset;
	uint32_t n; /* bytes; 0: none */
	uint8_t bytes[WINDOW];
};

struct elf {
	long fd;
	struct window windows[WINDOWS]; /* the one used last comes first */
	bool interpreted, loader;
	bool foreign; /* its loader is that of another C library */
	Elf64_Phdr dynamic;
	Elf64_Phdr loads[LOADS];
	unsigned n_loads;
};

static bool window_has(const struct window *w, uint64_t offset, size_t size)
{
	return offset >= w->offset && offset - w->offset <= w->n && size <= w->n - (offset - w->offset);
}

/* Makes a window with the bytes, at most WINDOW, the first one; fewer bytes are there if the file ends. */
static const struct window *window_at(struct elf *elf, uint64_t offset, size_t size)
{
	struct window *const first = &elf->windows[0], *const second = &elf->windows[1];
	long n;

	if (window_has(first, offset, size))
		return first;
	if (window_has(second, offset, size)) {
		const struct window swapped = *first;

		*first = *second;
		*second = swapped;
		return first;
	}
	*second = *first;
	n = os_call6(SYS_pread64, elf->fd, (long)first->bytes, WINDOW, (long)offset, 0, 0);
	first->offset = offset;
	first->n = n > 0 ? (uint32_t)n : 0;
	return first;
}

/* How many of the bytes there are. */
static size_t read_some(struct elf *elf, uint64_t offset, void *to, size_t size)
{
	const struct window *const w = window_at(elf, offset, size);
	const uint64_t left = w->n - (offset - w->offset);

	if (left < size)
		size = left;
	memcpy(to, w->bytes + (offset - w->offset), size);
	return size;
}

static bool read_at(struct elf *elf, uint64_t offset, void *to, size_t size)
{
	return read_some(elf, offset, to, size) == size;
}

/* ---- ELF ---- */

static bool begins_with(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void look_at_interpreter(struct elf *elf, const Elf64_Phdr *segment)
{
	char path[PROGRAM_FILE_PATH + 1] = { 0 };

	elf->interpreted = true;
	if (segment->p_filesz > PROGRAM_FILE_PATH ||
	    !read_at(elf, segment->p_offset, path, segment->p_filesz))
		return;
	elf->foreign = libc_of_loader(path);
}

static bool look_at_segments(struct elf *elf, const Elf64_Ehdr *header)
{
	for (unsigned i = 0; i < header->e_phnum && i < HEADERS; i++) {
		Elf64_Phdr segment;

		if (!read_at(elf, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_INTERP)
			look_at_interpreter(elf, &segment);
		else if (segment.p_type == PT_DYNAMIC)
			elf->dynamic = segment;
		else if (segment.p_type == PT_LOAD && elf->n_loads < LOADS)
			elf->loads[elf->n_loads++] = segment;
	}
	return true;
}

/* Where in the file lies what is mapped at `address`; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct elf *elf, uint64_t address)
{
	for (unsigned i = 0; i < elf->n_loads; i++) {
		const Elf64_Phdr *load = &elf->loads[i];

		if (address - load->p_vaddr < load->p_filesz)
			return load->p_offset + (address - load->p_vaddr);
	}
	return UINT64_MAX;
}

static bool next_dynamic(struct elf *elf, unsigned i, Elf64_Dyn *entry)
{
	return i < DYNAMICS && i < elf->dynamic.p_filesz / sizeof(*entry) &&
	       read_at(elf, elf->dynamic.p_offset + i * sizeof(*entry), entry, sizeof(*entry)) &&
	       entry->d_tag != DT_NULL;
}

/* Where the tables of the dynamic section lie in the file; UINT64_MAX: nowhere. */
struct tables {
	uint64_t strings, symbols, gnu_hash;
};

static struct tables find_tables(struct elf *elf)
{
	struct tables tables = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	Elf64_Dyn entry;

	for (unsigned i = 0; next_dynamic(elf, i, &entry); i++) {
		if (entry.d_tag == DT_STRTAB)
			tables.strings = offset_of(elf, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_SYMTAB)
			tables.symbols = offset_of(elf, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			tables.gnu_hash = offset_of(elf, entry.d_un.d_ptr);
		elf->loader |= entry.d_tag == DT_SONAME;
	}
	return tables;
}

/* Reads a string of the file, or its beginning. The file may end behind it. */
static bool read_name(struct elf *elf, uint64_t offset, char name[NAME])
{
	memset(name, 0, NAME);
	return read_some(elf, offset, name, NAME - 1) > 0;
}

bool program_file_is_sanitizer(const char *name)
{
	static const char *const sanitizers[] = { "libasan.so",       "libhwasan.so",
						  "liblsan.so",       "libtsan.so",
						  "libclang_rt.asan", "libclang_rt.hwasan",
						  "libclang_rt.lsan", "libclang_rt.tsan" };

	return begins_with(name, sanitizers, sizeof(sanitizers) / sizeof(*sanitizers));
}

static bool needs_sanitizer(struct elf *elf, const struct tables *tables)
{
	bool found = false;
	Elf64_Dyn entry;
	char name[NAME];

	for (unsigned i = 0; !found && next_dynamic(elf, i, &entry); i++)
		found = entry.d_tag == DT_NEEDED &&
			read_name(elf, tables->strings + entry.d_un.d_val, name) &&
			program_file_is_sanitizer(name);
	return found;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Whether symbol `i` has that name. */
static bool is_symbol(struct elf *elf, const struct tables *tables, uint32_t i, const char *wanted)
{
	Elf64_Sym symbol;
	char name[NAME];

	return read_at(elf, tables->symbols + (uint64_t)i * sizeof(symbol), &symbol, sizeof(symbol)) &&
	       read_name(elf, tables->strings + symbol.st_name, name) && strcmp(name, wanted) == 0;
}

/* Whether the program defines the symbol for its libraries. See elfsym.c for the table; this one may be damaged. */
static bool defines(struct elf *elf, const struct tables *tables, const char *name)
{
	const uint32_t hash = hash_of(name);
	uint32_t sizes[4], i, chained = 0;
	uint64_t buckets;

	if (!read_at(elf, tables->gnu_hash, sizes, sizeof(sizes)) || sizes[0] == 0)
		return false;
	buckets = tables->gnu_hash + sizeof(sizes) + sizes[2] * sizeof(uint64_t);
	if (!read_at(elf, buckets + hash % sizes[0] * sizeof(i), &i, sizeof(i)) || i < sizes[1])
		return false;
	for (unsigned n = 0; n < CHAIN && !(chained & 1); n++, i++) {
		const uint64_t at = buckets + ((uint64_t)sizes[0] + i - sizes[1]) * sizeof(chained);

		if (!read_at(elf, at, &chained, sizeof(chained)))
			return false;
		if ((chained | 1) == (hash | 1) && is_symbol(elf, tables, i, name))
			return true;
	}
	return false;
}

/* Whether a sanitizer's run-time library is linked into the program. */
static bool has_sanitizer(struct elf *elf, const struct tables *tables)
{
	static const char *const names[] = { "__asan_init", "__hwasan_init", "__lsan_init", "__msan_init",
					     "__tsan_init" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (defines(elf, tables, names[i]))
			return true;
	}
	return false;
}

static unsigned judge_elf(long fd, const Elf64_Ehdr *header)
{
	struct elf elf = { .fd = fd };
	struct tables tables;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != CPU_MACHINE)
		return SHM_SKIP_MACHINE;
	if (!look_at_segments(&elf, header))
		return 0;
	tables = find_tables(&elf);
	/* The loader itself, run as a program, has no interpreter, but a name as a library. */
	if (!elf.interpreted)
		return elf.loader ? 0 : SHM_SKIP_STATIC;
	if (elf.foreign)
		return SHM_SKIP_LIBRARY;
	if (needs_sanitizer(&elf, &tables) || has_sanitizer(&elf, &tables))
		return SHM_SKIP_SANITIZER;
	return gains_privileges(fd) ? SHM_SKIP_PRIVILEGED : 0;
}

/* ---- scripts ---- */

/* Goes on with the interpreter that the first line, `start`, names. False: it is no script. */
static bool follow_script(struct program_file *file, const char *start)
{
	size_t n;

	if (start[0] != '#' || start[1] != '!')
		return false;
	start += 2;
	start += strspn(start, " \t");
	n = strcspn(start, " \t\n");
	if (n == 0 || n >= sizeof(file->interpreter))
		return false;
	memcpy(file->interpreter, start, n);
	file->interpreter[n] = 0;
	file->dir = AT_FDCWD;
	file->path = file->interpreter;
	return true;
}

unsigned program_file_judge(struct program_file *file)
{
	unsigned reason = 0;

	for (unsigned i = 0; i <= SCRIPTS; i++) {
		char start[PROGRAM_FILE_PATH + 1] = { 0 };
		const long fd =
			os_call6(SYS_openat, file->dir, (long)file->path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
		long n;
		Elf64_Ehdr header;

		if (fd < 0)
			return 0;
		n = os_call6(SYS_pread64, fd, (long)start, PROGRAM_FILE_PATH, 0, 0, 0);
		memcpy(&header, start, sizeof(header));
		if (n >= (long)sizeof(header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
			reason = judge_elf(fd, &header);
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
		if (reason || !follow_script(file, start))
			break;
	}
	return reason;
}

bool program_file_executable(int dir, const char *path)
{
	struct stat st;

	return os_call6(SYS_newfstatat, dir, (long)path, (long)&st, 0, 0, 0) == 0 && S_ISREG(st.st_mode) &&
	       os_call6(SYS_faccessat, dir, (long)path, X_OK, 0, 0, 0) == 0;
}
