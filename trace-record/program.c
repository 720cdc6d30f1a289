/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "elf_file.h"
#include "entry_planner.h"
#include "libc.h"
#include "os.h"

#define NOTES_MOST (1u << 20)
#define INTERPRETER_MOST 4096u

/* What the answer depends on. */
struct facts {
	bool interpreted;
	bool loader;         /* it is glibc's dynamic loader, run as a program */
	const char *library; /* the C library, if the interpreter is that of another than msrec's */
	bool go;
	bool own_malloc;       /* defined in the program: the loader prefers that to any library's */
	bool asks;             /* it uses the requests of msrec.h */
	const char *sanitizer; /* that replaces malloc; NULL: none */
	const char *allocator; /* called by names of its own; NULL: none */
	bool planned;          /* calls of its own allocator will reach the recorder */
	char *obstacle;        /* why not; NULL: that was not asked, or it is planned */
};

/* ---- notes ---- */

/* Whether the program's notes have Go's own, the id of its build. */
static bool has_go_note(const char *notes, uint64_t size)
{
	static const char go[] = { 'G', 'o', 0, 0 };
	Elf64_Nhdr note;

	for (uint64_t at = 0; size - at >= sizeof(note) + sizeof(go);) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_type == 4 && note.n_namesz == sizeof(go) &&
		    memcmp(notes + at, go, sizeof(go)) == 0)
			return true;
		/* Both lengths fit 32 bits, so the sum fits 64. */
		at += ((uint64_t)note.n_namesz + 3) / 4 * 4 + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (at > size)
			break;
	}
	return false;
}

static void look_at_notes(const struct elf_file *f, const Elf64_Phdr *segment, struct facts *facts)
{
	char *notes = elf_file_part(f, segment->p_offset, segment->p_filesz, NOTES_MOST);

	facts->go |= notes && has_go_note(notes, segment->p_filesz);
	free(notes);
}

/* ---- the interpreter ---- */

static void look_at_interpreter(const struct elf_file *f, const Elf64_Phdr *segment, struct facts *facts)
{
	char *path = elf_file_part(f, segment->p_offset, segment->p_filesz, INTERPRETER_MOST);

	facts->interpreted = true;
	facts->library = path ? libc_of_loader(path) : NULL;
	free(path);
}

/* False if the program headers cannot be read. */
static bool look_at_segments(const struct elf_file *f, const Elf64_Ehdr *header, struct facts *facts)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		if (!elf_file_read(f, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_INTERP)
			look_at_interpreter(f, &segment, facts);
		else if (segment.p_type == PT_NOTE)
			look_at_notes(f, &segment, facts);
	}
	return true;
}

/* ---- symbols ---- */

/* `name` is of a symbol that the program defines or uses. */
static void look_at_name(const char *name, bool function, struct facts *facts)
{
	static const char *const sanitizers[][2] = {
		{ "__asan_init", "AddressSanitizer" }, { "__hwasan_init", "HWAddressSanitizer" },
		{ "__lsan_init", "LeakSanitizer" },    { "__msan_init", "MemorySanitizer" },
		{ "__tsan_init", "ThreadSanitizer" },
	};
	static const char *const allocators[] = { "je_malloc", "_rjem_malloc", "mi_malloc", "tc_malloc" };

	facts->own_malloc |= function && strcmp(name, "malloc") == 0;
	facts->asks |= strcmp(name, "msrec_malloclike") == 0;
	facts->loader |= strcmp(name, "_rtld_global_ro") == 0;
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++) {
		if (strcmp(name, sanitizers[i][0]) == 0)
			facts->sanitizer = sanitizers[i][1];
	}
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (strcmp(name, allocators[i]) == 0)
			facts->allocator = allocators[i];
	}
}

static void look_at_symbols(const struct elf_file *f, const Elf64_Shdr *symbols, const Elf64_Shdr *names,
			    struct facts *facts)
{
	char *table = elf_file_part(f, symbols->sh_offset, symbols->sh_size, ELF_FILE_TABLE_MOST);
	char *text = table ? elf_file_part(f, names->sh_offset, names->sh_size, ELF_FILE_TABLE_MOST) : NULL;

	for (uint64_t at = 0; text && symbols->sh_size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table + at, sizeof(symbol));
		if (symbol.st_name < names->sh_size)
			look_at_name(text + symbol.st_name,
				     symbol.st_shndx != SHN_UNDEF &&
					     ELF64_ST_TYPE(symbol.st_info) == STT_FUNC,
				     facts);
	}
	free(text);
	free(table);
}

/* Sections may be absent or damaged: the loader does not need them. */
static void look_at_sections(const struct elf_file *f, const Elf64_Ehdr *header, struct facts *facts)
{
	const uint64_t bytes = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);
	Elf64_Shdr *section;

	if (header->e_shentsize != sizeof(*section))
		return;
	section = (Elf64_Shdr *)(void *)elf_file_part(f, header->e_shoff, bytes,
						      ELF_FILE_SECTIONS_MOST * sizeof(*section));
	for (unsigned i = 0; section && i < header->e_shnum; i++) {
		if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
		    section[i].sh_link < header->e_shnum)
			look_at_symbols(f, &section[i], &section[section[i].sh_link], facts);
	}
	free(section);
}

/* ---- the answer ---- */

static char *objection_to(const struct facts *facts)
{
	char *text;

	if (!facts->interpreted && facts->loader)
		return NULL;
	if (!facts->interpreted)
		return asprintf(
			       &text,
			       "is %sstatically linked: there is no dynamic loader that could load the recorder%s "
			       "(--engine=valgrind records its client requests, and with --pages its pages)",
			       facts->go ? "a Go program and " : "",
			       facts->go ? ", and Go's own heap goes past malloc" : "") < 0
			       ? NULL
			       : text;
	if (facts->library)
		return asprintf(&text,
				"is linked with another C library (%s); the recorder is for " LIBC_NAME
				"%s%s%s",
				facts->library, libc_is_known(facts->library) ? ": an msrec built with " : "",
				libc_is_known(facts->library) ? facts->library : "",
				libc_is_known(facts->library) ? " records it" : "") < 0
			       ? NULL
			       : text;
	if (facts->sanitizer)
		return asprintf(&text,
				"is built with %s, which replaces malloc and bears no recorder beside it",
				facts->sanitizer) < 0
			       ? NULL
			       : text;
	if (!facts->own_malloc || facts->asks || facts->planned)
		return NULL;
	return asprintf(&text, "has a malloc of its own linked into it, whose calls cannot be seen%s%s%s",
			facts->obstacle ? ": " : "", facts->obstacle ? facts->obstacle : "",
			facts->obstacle ? " (--engine=valgrind sees them)" : "") < 0
		       ? NULL
		       : text;
}

static char *remark_on(const struct facts *facts)
{
	char *text;

	if (facts->go)
		return strdup("is a Go program: what its C code allocates is recorded, Go's own heap is not");
	if (facts->planned)
		return NULL;
	if (facts->own_malloc)
		return strdup(
			"has a malloc of its own linked into it: only its requests (msrec.h) are recorded");
	if (facts->allocator)
		return asprintf(&text,
				"uses an allocator by a name of its own (%s): those calls are not recorded",
				facts->allocator) < 0
			       ? NULL
			       : text;
	return NULL;
}

/* Valgrind replaces any malloc, by a library that the loader loads, but that of a C library only where it knows the name. */
static char *exact_remark_on(const struct facts *facts)
{
	char *text;

	if (!facts->interpreted && !facts->loader)
		return strdup("is statically linked, so Valgrind cannot replace its malloc: only client "
			      "requests and, with --pages, pages are recorded");
	if (!facts->library)
		return NULL;
	return asprintf(&text,
			"is linked with another C library (%s), whose malloc Valgrind may not replace: then "
			"no calls are recorded",
			facts->library) < 0
		       ? NULL
		       : text;
}

/* A program that makes requests says itself which blocks there are. */
static void make_plan(const struct elf_file *f, const Elf64_Ehdr *header, struct facts *facts,
		      struct entry_plan *plan)
{
	if (!plan || !(facts->own_malloc || facts->allocator) || facts->asks || facts->loader ||
	    !facts->interpreted || facts->library || facts->sanitizer)
		return;
	facts->obstacle = entry_planner_plan(f, header, plan);
	facts->planned = !facts->obstacle;
}

static char *judge_elf64(const struct elf_file *f, const Elf64_Ehdr *header, bool exact, char **remark,
			 struct entry_plan *plan)
{
	struct facts facts = { 0 };
	char *objection, *text;

	if (header->e_machine != CPU_MACHINE)
		return asprintf(&text, "is for another kind of processor (ELF machine %u)",
				header->e_machine) < 0
			       ? NULL
			       : text;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return strdup("is not an executable");
	if (!look_at_segments(f, header, &facts))
		return strdup("has damaged program headers");
	if (exact) {
		*remark = exact_remark_on(&facts);
		return NULL;
	}
	look_at_sections(f, header, &facts);
	make_plan(f, header, &facts, plan);
	objection = objection_to(&facts);
	if (!objection)
		*remark = remark_on(&facts);
	free(facts.obstacle);
	return objection;
}

char *program_objection(int fd, bool exact, char **remark, struct entry_plan *plan)
{
	struct stat st;
	struct elf_file f = { .fd = fd };
	Elf64_Ehdr header;

	*remark = NULL;
	if (plan)
		*plan = (struct entry_plan){ 0 };
	if (fstat(fd, &st) == 0)
		f.size = (uint64_t)st.st_size;
	memset(&header, 0, sizeof(header));
	if (!elf_file_read(&f, 0, &header, sizeof(header)) && !elf_file_read(&f, 0, &header, EI_NIDENT))
		return strdup("is not a whole program");
	if (header.e_ident[EI_CLASS] == ELFCLASS32)
		return strdup("is a 32-bit program; only 64-bit ones can be recorded");
	if (f.size < sizeof(header) || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return strdup("is for another kind of processor");
	return judge_elf64(&f, &header, exact, remark, plan);
}
