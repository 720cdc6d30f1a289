/* SPDX-License-Identifier: MIT */
#include "entry_planner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocator_functions.h"
#include "array.h"
#include "displace.h"
#include "mst_op.h"

#define FOUND_MOST 512u /* symbols of the allocators' functions */
#define CODES_MOST 16u  /* executable parts of a file */

/* A symbol of an allocator's function. */
struct found {
	const struct allocator_function *function;
	uint64_t address, size;
	uint32_t family;
	bool local;
};

struct planner {
	const struct elf_file *f;
	const Elf64_Ehdr *header;
	bool hooks; /* wanted, too */
	struct found found[FOUND_MOST];
	uint32_t n_found;
	struct code codes[CODES_MOST];
	uint32_t n_codes;
	uint64_t starts[ENTRY_MOST]; /* of the functions whose entries the plan has */
	char *problem;
};

/* The first problem stays. */
static void __attribute__((format(printf, 2, 3))) object(struct planner *p, const char *format, ...)
{
	va_list list;

	if (p->problem)
		return;
	va_start(list, format);
	if (vasprintf(&p->problem, format, list) < 0)
		p->problem = NULL;
	va_end(list);
	if (!p->problem)
		p->problem = strdup("memory is short");
}

/* ---- symbols ---- */

static bool is_known(const struct planner *p, const struct found *found)
{
	for (uint32_t i = 0; i < p->n_found; i++) {
		if (p->found[i].function == found->function && p->found[i].family == found->family &&
		    p->found[i].address == found->address && p->found[i].local == found->local)
			return true;
	}
	return false;
}

static void take_symbol(struct planner *p, const Elf64_Sym *symbol, const char *name)
{
	struct found found = {
		.address = symbol->st_value,
		.size = symbol->st_size,
		.local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL,
	};

	if (p->problem || symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	found.function = allocator_function_find(name, &found.family);
	if (!found.function && p->hooks)
		found.function = allocator_hook_find(name);
	if (!found.function || is_known(p, &found))
		return;
	if (p->n_found == FOUND_MOST)
		object(p, "it has too many functions of these names");
	else
		p->found[p->n_found++] = found;
}

static void take_symbols(struct planner *p, const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
	char *table = elf_file_part(p->f, symbols->sh_offset, symbols->sh_size, ELF_FILE_TABLE_MOST);
	char *text =
		table ? elf_file_part(p->f, names->sh_offset, names->sh_size, ELF_FILE_TABLE_MOST) : NULL;

	for (uint64_t at = 0; text && symbols->sh_size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table + at, sizeof(symbol));
		if (symbol.st_name < names->sh_size)
			take_symbol(p, &symbol, text + symbol.st_name);
	}
	free(text);
	free(table);
}

static void find_functions(struct planner *p)
{
	const uint64_t bytes = (uint64_t)p->header->e_shnum * sizeof(Elf64_Shdr);
	Elf64_Shdr *section;

	if (p->header->e_shentsize != sizeof(*section))
		return;
	section = (Elf64_Shdr *)(void *)elf_file_part(p->f, p->header->e_shoff, bytes,
						      ELF_FILE_SECTIONS_MOST * sizeof(*section));
	for (unsigned i = 0; section && i < p->header->e_shnum; i++) {
		if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
		    section[i].sh_link < p->header->e_shnum)
			take_symbols(p, &section[i], &section[section[i].sh_link]);
	}
	free(section);
}

/* ---- code ---- */

static void read_code(struct planner *p)
{
	for (unsigned i = 0; i < p->header->e_phnum && p->n_codes < CODES_MOST; i++) {
		Elf64_Phdr segment;
		char *part;

		if (!elf_file_read(p->f, p->header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			break;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		part = elf_file_part(p->f, segment.p_offset, segment.p_filesz, ELF_FILE_TABLE_MOST);
		if (part)
			p->codes[p->n_codes++] =
				(struct code){ (uint8_t *)part, segment.p_filesz, segment.p_vaddr };
	}
}

/* The code from an address on; of 0 bytes if there is none. */
static struct code code_at(const struct planner *p, uint64_t address)
{
	for (uint32_t i = 0; i < p->n_codes; i++) {
		const uint64_t offset = address - p->codes[i].address;

		if (offset < p->codes[i].bytes)
			return (struct code){ p->codes[i].start + offset, p->codes[i].bytes - offset,
					      address };
	}
	return (struct code){ .address = address };
}

/* ---- choosing ---- */

static bool is_same_name(const struct found *a, const struct found *b)
{
	return a->function == b->function && a->family == b->family;
}

/* A local function of that name is another one where there is a global one. */
static bool is_hidden(const struct planner *p, const struct found *found)
{
	for (uint32_t i = 0; i < p->n_found && found->local; i++) {
		if (is_same_name(&p->found[i], found) && !p->found[i].local)
			return true;
	}
	return false;
}

/* In the order of the table, where the first of several names of an address stands for all. */
static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->family < y->family ? -1 : x->family > y->family;
}

static bool has(const struct planner *p, uint32_t family, bool freeing)
{
	for (uint32_t i = 0; i < p->n_found; i++) {
		const struct allocator_function *function = p->found[i].function;

		if (p->found[i].family == family && function->shape < ENTRY_SHAPES &&
		    !allocator_shape_is_hook(function->shape) && !function->is_operator &&
		    allocator_shape_frees(function->shape) == freeing)
			return true;
	}
	return false;
}

/* The first in the table of those that do the same. */
static bool is_first_hook(const struct planner *p, const struct found *found)
{
	for (uint32_t i = 0; i < p->n_found; i++) {
		if (p->found[i].function->shape == found->function->shape)
			return p->found[i].function == found->function;
	}
	return false;
}

/* Where C's functions are another library's, C++'s operators are a part of the program that calls these. */
static bool is_wanted(const struct planner *p, const struct found *found)
{
	if (allocator_shape_is_hook(found->function->shape))
		return is_first_hook(p, found);
	return has(p, found->family, false) && has(p, found->family, true) && !is_hidden(p, found);
}

static uint64_t find_usable(const struct planner *p, uint32_t family)
{
	for (uint32_t i = 0; i < p->n_found; i++) {
		if (p->found[i].family == family && p->found[i].function->shape == ENTRY_SHAPES)
			return p->found[i].address;
	}
	return 0;
}

/* ---- entries ---- */

/*
 * Another name of an entry, in the order of the table. Which of both is called is not known, so the one with the fewest
 * arguments decides.
 */
static void merge(struct planner *p, struct entry *e, const struct allocator_function *function)
{
	const bool frees = allocator_shape_frees(e->shape);

	if (e->shape == function->shape) {
		e->any_free |= frees && e->op != function->op;
		e->is_operator &= function->is_operator;
		return;
	}
	if (frees != allocator_shape_frees(function->shape) ||
	    allocator_shape_arguments(e->shape) == allocator_shape_arguments(function->shape)) {
		object(p, "%s has the code of another function", function->name);
		return;
	}
	e->any_free |= frees;
	e->is_operator &= function->is_operator;
	if (allocator_shape_arguments(function->shape) < allocator_shape_arguments(e->shape)) {
		e->shape = function->shape;
		e->op = function->op;
	}
}

static void add(struct planner *p, struct entry_plan *plan, const struct found *found)
{
	const struct code code = code_at(p, found->address);
	const char *reason;
	struct entry *e;

	if (plan->n == ENTRY_MOST) {
		object(p, "it has too many functions");
		return;
	}
	p->starts[plan->n] = found->address;
	e = &plan->entries[plan->n++];
	*e = (struct entry){
		.usable = find_usable(p, found->family),
		.shape = found->function->shape,
		.op = found->function->op,
		.is_operator = found->function->is_operator,
	};
	reason = displace_first(&code, found->size, e);
	if (reason)
		object(p, "%s cannot be patched: %s", found->function->name, reason);
}

static struct entry *find_entry(const struct planner *p, struct entry_plan *plan, uint64_t start)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		if (p->starts[i] == start)
			return &plan->entries[i];
	}
	return NULL;
}

static void plan_function(struct planner *p, struct entry_plan *plan, const struct found *found)
{
	struct entry *known;

	for (const struct found *other = p->found; other < found; other++) {
		if (is_same_name(other, found) && other->address != found->address && !is_hidden(p, other))
			object(p, "it has several functions named %s", found->function->name);
	}
	known = find_entry(p, plan, found->address);
	if (known)
		merge(p, known, found->function);
	else
		add(p, plan, found);
}

static void look_for_jumps(struct planner *p, const struct entry_plan *plan)
{
	for (uint32_t i = 0; i < plan->n && !p->problem; i++) {
		for (uint32_t k = 0; k < plan->n; k++) {
			if (i != k && plan->entries[i].address - plan->entries[k].address <
					      plan->entries[k].n_displaced)
				object(p, "its functions overlap");
		}
	}
	for (uint32_t i = 0; i < p->n_codes && !p->problem; i++) {
		if (displace_may_be_target(&p->codes[i], plan->entries, plan->n))
			object(p, "code jumps into its functions");
	}
}

static char *make_plan(const struct elf_file *f, const Elf64_Ehdr *header, bool hooks,
		       struct entry_plan *plan)
{
	struct planner *p = calloc(1, sizeof(*p));
	struct stat st;
	char *problem;

	*plan = (struct entry_plan){ 0 };
	if (!p || fstat(f->fd, &st) != 0) {
		free(p);
		return strdup("it cannot be read");
	}
	p->f = f;
	p->header = header;
	p->hooks = hooks;
	find_functions(p);
	array_sort(p->found, p->n_found, sizeof(*p->found), compare_found);
	read_code(p);
	for (uint32_t i = 0; i < p->n_found && !p->problem; i++) {
		if (p->found[i].function->shape < ENTRY_SHAPES && is_wanted(p, &p->found[i]))
			plan_function(p, plan, &p->found[i]);
	}
	look_for_jumps(p, plan);
	if (plan->n == 0)
		object(p, "it has no functions that give memory and take it back");
	plan->device = st.st_dev;
	plan->inode = st.st_ino;
	if (p->problem)
		*plan = (struct entry_plan){ 0 };
	for (uint32_t i = 0; i < p->n_codes; i++)
		free((void *)p->codes[i].start);
	problem = p->problem;
	free(p);
	return problem;
}

char *entry_planner_plan(const struct elf_file *f, const Elf64_Ehdr *header, struct entry_plan *plan)
{
	return make_plan(f, header, false, plan);
}

char *entry_planner_plan_libc(const struct elf_file *f, const Elf64_Ehdr *header, struct entry_plan *plan)
{
	return make_plan(f, header, true, plan);
}
