/* SPDX-License-Identifier: MIT */
#include "target_object.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"

/* ---- the file ---- */

/*
 * The link of the mapping itself leads to the file even if that has no name any more, but is not for everyone. A name
 * counts if it leads to the mapped file.
 */
static int open_file(const struct target *t, const struct mapping *m)
{
	char name[TARGET_PATH], *path;
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%lx-%lx", (int)t->pid, m->start, m->end);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (asprintf(&path, "/proc/%d/root%s", (int)t->pid, m->path) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != m->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool read_segment(const struct target_object *o, unsigned i, Elf64_Phdr *segment)
{
	return elf_file_read(&o->f, o->header.e_phoff + i * sizeof(*segment), segment, sizeof(*segment));
}

/* What the mapping at an offset of the file adds to addresses. */
static bool find_base(struct target_object *o, const struct mapping *m)
{
	Elf64_Phdr segment;

	for (unsigned i = 0; i < o->header.e_phnum && read_segment(o, i, &segment); i++) {
		const uint64_t offset = segment.p_offset & ~(PAGE - 1);

		if (segment.p_type != PT_LOAD || m->offset < offset ||
		    m->offset >= segment.p_offset + segment.p_filesz)
			continue;
		o->base = m->start - (segment.p_vaddr & ~(PAGE - 1)) - (m->offset - offset);
		return true;
	}
	return false;
}

static void find_ranges(struct target_object *o)
{
	Elf64_Phdr segment;

	o->start = UINT64_MAX;
	for (unsigned i = 0; i < o->header.e_phnum && read_segment(o, i, &segment); i++) {
		const uint64_t start = o->base + segment.p_vaddr, end = start + segment.p_memsz;

		if (segment.p_type != PT_LOAD)
			continue;
		o->start = start < o->start ? start : o->start;
		o->end = end > o->end ? end : o->end;
		if (segment.p_flags & PF_X && (!o->text_start || start < o->text_start))
			o->text_start = start;
		if (segment.p_flags & PF_X && end > o->text_end)
			o->text_end = end;
	}
}

/* The first page holds the headers and, of nearly all files, the build id. */
static bool is_mapped_file(const struct target_object *o, struct target *t, const struct mapping *m)
{
	uint8_t in_file[PAGE], in_memory[PAGE];

	return m->offset != 0 || (elf_file_read(&o->f, 0, in_file, sizeof(in_file)) &&
				  target_read(t, m->start, in_memory, sizeof(in_memory)) &&
				  memcmp(in_file, in_memory, sizeof(in_file)) == 0);
}

static bool open_at(struct target_object *o, struct target *t, const struct mapping *m, int fd)
{
	struct stat st;

	*o = (struct target_object){ .f = { .fd = fd }, .path = m->path };
	if (o->f.fd >= 0 && fstat(o->f.fd, &st) == 0) {
		o->f.size = (uint64_t)st.st_size;
		if (elf_file_read(&o->f, 0, &o->header, sizeof(o->header)) &&
		    memcmp(o->header.e_ident, ELFMAG, SELFMAG) == 0 &&
		    o->header.e_ident[EI_CLASS] == ELFCLASS64 && o->header.e_machine == EM_X86_64 &&
		    find_base(o, m) && is_mapped_file(o, t, m)) {
			find_ranges(o);
			return true;
		}
	}
	target_object_close(o);
	return false;
}

bool target_object_open(struct target_object *o, struct target *t, const struct mapping *m)
{
	return open_at(o, t, m, open_file(t, m));
}

bool target_object_open_as(struct target_object *o, struct target *t, const struct mapping *m,
			   const char *path)
{
	return open_at(o, t, m, open(path, O_RDONLY | O_CLOEXEC));
}

void target_object_close(struct target_object *o)
{
	if (o->f.fd >= 0)
		close(o->f.fd);
	o->f.fd = -1;
}

/* ---- symbols ---- */

typedef void take_symbol(const Elf64_Sym *symbol, const char *name, void *context);

static void each_symbol_of(const struct target_object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *names,
			   take_symbol *take, void *context)
{
	char *table = elf_file_part(&o->f, symbols->sh_offset, symbols->sh_size, ELF_FILE_TABLE_MOST);
	char *text =
		table ? elf_file_part(&o->f, names->sh_offset, names->sh_size, ELF_FILE_TABLE_MOST) : NULL;

	for (uint64_t at = 0; text && symbols->sh_size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table + at, sizeof(symbol));
		if (symbol.st_name < names->sh_size && symbol.st_shndx != SHN_UNDEF)
			take(&symbol, text + symbol.st_name, context);
	}
	free(text);
	free(table);
}

/* Of a table of symbols: the dynamic one, which the loader knows, or that of all symbols, which may be stripped. */
static void each_symbol_in(const struct target_object *o, uint32_t table, take_symbol *take, void *context)
{
	const uint64_t bytes = (uint64_t)o->header.e_shnum * sizeof(Elf64_Shdr);
	Elf64_Shdr *section = NULL;

	if (o->header.e_shentsize == sizeof(*section))
		section = (Elf64_Shdr *)(void *)elf_file_part(&o->f, o->header.e_shoff, bytes,
							      ELF_FILE_SECTIONS_MOST * sizeof(*section));
	for (unsigned i = 0; section && i < o->header.e_shnum; i++) {
		if (section[i].sh_type == table && section[i].sh_link < o->header.e_shnum)
			each_symbol_of(o, &section[i], &section[section[i].sh_link], take, context);
	}
	free(section);
}

static void each_symbol(const struct target_object *o, take_symbol *take, void *context)
{
	each_symbol_in(o, SHT_DYNSYM, take, context);
}

struct wanted {
	const char *name;
	unsigned type;
	uint64_t value;
};

static void take_wanted(const Elf64_Sym *symbol, const char *name, void *context)
{
	struct wanted *w = context;

	if (!w->value && ELF64_ST_TYPE(symbol->st_info) == w->type && strcmp(name, w->name) == 0)
		w->value = symbol->st_value;
}

uint64_t target_object_symbol(const struct target_object *o, const char *name, unsigned type)
{
	struct wanted w = { .name = name, .type = type };

	each_symbol(o, take_wanted, &w);
	return w.value ? o->base + w.value : 0;
}

bool target_object_function(const struct target_object *o, const char *name)
{
	struct wanted w = { .name = name, .type = STT_FUNC };

	each_symbol(o, take_wanted, &w);
	if (!w.value)
		each_symbol_in(o, SHT_SYMTAB, take_wanted, &w);
	return w.value;
}

struct neighbours {
	bool (*is_of)(const char *name);
	uint64_t first, last;   /* of the file's functions */
	uint64_t before, after; /* the others' that are nearest */
};

static void take_own(const Elf64_Sym *symbol, const char *name, void *context)
{
	struct neighbours *n = context;
	const uint64_t end = symbol->st_value + symbol->st_size;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !n->is_of(name))
		return;
	if (!n->first || symbol->st_value < n->first)
		n->first = symbol->st_value;
	if (end > n->last)
		n->last = end;
}

static void take_other(const Elf64_Sym *symbol, const char *name, void *context)
{
	struct neighbours *n = context;
	const uint64_t end = symbol->st_value + symbol->st_size;

	(void)name;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	if (symbol->st_value < n->first && end <= n->first && end > n->before)
		n->before = end;
	if (symbol->st_value >= n->last && symbol->st_value < n->after)
		n->after = symbol->st_value;
}

void target_object_range(const struct target_object *o, bool (*is_of)(const char *name), uint64_t *start,
			 uint64_t *end)
{
	struct neighbours n = { .is_of = is_of, .after = UINT64_MAX };

	*start = *end = 0;
	each_symbol(o, take_own, &n);
	if (!n.first)
		return;
	each_symbol(o, take_other, &n);
	*start = n.before ? o->base + n.before : o->text_start;
	*end = n.after < UINT64_MAX ? o->base + n.after : o->text_end;
}

/* ---- code ---- */

uint64_t target_object_code(const struct target_object *o, const uint8_t *bytes, size_t n)
{
	Elf64_Phdr segment;
	uint64_t found = 0;

	for (unsigned i = 0; !found && i < o->header.e_phnum && read_segment(o, i, &segment); i++) {
		char *part = NULL;
		const char *at;

		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			part = elf_file_part(&o->f, segment.p_offset, segment.p_filesz, ELF_FILE_TABLE_MOST);
		at = part ? memmem(part, segment.p_filesz, bytes, n) : NULL;
		if (at)
			found = o->base + segment.p_vaddr + (uint64_t)(at - part);
		free(part);
	}
	return found;
}
