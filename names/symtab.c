/* SPDX-License-Identifier: MIT */
#include "symtab.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "array.h"
#include "check.h"
#include "radix_sort.h"

/* Symbols that begin together are put one after another; a crafted file could make that take for ever. */
#define SEAL_ROUNDS 16

#define NAMES_AHEAD 16

#define FEW 8u /* symbols that are sorted without qsort(3) */

struct symtab {
	size_t n;
	size_t capacity;
	struct symbol *v;
};

struct symtab *symtab_create(void)
{
	return calloc(1, sizeof(struct symtab));
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	free(symtab->v);
	free(symtab);
}

static bool symtab_add(struct symtab *symtab, uint64_t lo, uint64_t size, const char *name)
{
	if (size == 0 || lo + size < lo)
		return true;
	if (!array_reserve(&symtab->v, symtab->n, &symtab->capacity, sizeof(*symtab->v)))
		return false;
	symtab->v[symtab->n++] = (struct symbol){ lo, lo + size, name, NULL };
	return true;
}

static bool section_is_code(Elf *elf, size_t index)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(elf, index);

	return section && gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR);
}

static bool symbol_counts(Elf *elf, const GElf_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_OBJECT:
		return section_is_code(elf, symbol->st_shndx);
	default:
		return false;
	}
}

/* The bytes of a string section up to its last NUL: every offset below is a terminated string. */
static const char *section_strings(Elf *elf, size_t index, size_t *n)
{
	Elf_Scn *section = elf_getscn(elf, index);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	const char *last;

	if (!data || !data->d_buf)
		return NULL;
	last = memrchr(data->d_buf, '\0', data->d_size);
	*n = last ? (size_t)(last - (const char *)data->d_buf) + 1 : 0;
	return data->d_buf;
}

static bool section_read(struct symtab *symtab, Elf *elf, Elf_Scn *section, size_t strings_index,
			 uint64_t shift)
{
	size_t n_strings, n;
	const char *strings = section_strings(elf, strings_index, &n_strings);
	Elf_Data *data = elf_getdata(section, NULL);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	if (!strings || !data || !data->d_buf || size == 0)
		return true;
	n = data->d_size / size;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_name >= n_strings)
			continue;
		if (!symbol_counts(elf, &symbol))
			continue;
		if (!symtab_add(symtab, symbol.st_value + shift, symbol.st_size, strings + symbol.st_name))
			return false;
	}
	return true;
}

bool symtab_read(struct symtab *symtab, Elf *elf, uint64_t shift)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		if (!section_read(symtab, elf, section, header.sh_link, shift))
			return false;
	}
	return true;
}

/* Drops symbols without a name. The names lie all over the file, in pages that were not touched yet. */
static void drop_nameless(struct symtab *symtab)
{
	size_t n = 0;

	for (size_t i = 0; i < symtab->n; i++) {
		if (i + NAMES_AHEAD < symtab->n)
			__builtin_prefetch(symtab->v[i + NAMES_AHEAD].name);
		if (*symtab->v[i].name)
			symtab->v[n++] = symtab->v[i];
	}
	symtab->n = n;
}

static int name_compare(const char *a, const char *b)
{
	const size_t length_a = (size_t)(strchrnul(a, '@') - a), length_b = (size_t)(strchrnul(b, '@') - b);

	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	if ((a[length_a] == '@') != (b[length_b] == '@'))
		return a[length_a] == '@' ? -1 : 1;
	return strcmp(a, b);
}

static int symbol_compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return name_compare(x->name, y->name);
}

/* Sorts by beginning; without memory for that, by all that symbol_compare() looks at. */
static void sort_by_beginning(struct symtab *symtab)
{
	struct radix_item *items = malloc(symtab->n * sizeof(*items));
	struct symbol *sorted = malloc(symtab->n * sizeof(*sorted));

	for (size_t i = 0; items && i < symtab->n; i++)
		items[i] = (struct radix_item){ symtab->v[i].lo, (uint32_t)i };
	if (items && sorted && symtab->n <= UINT32_MAX && radix_sort(items, symtab->n)) {
		for (size_t i = 0; i < symtab->n; i++)
			sorted[i] = symtab->v[items[i].number];
		free(symtab->v);
		symtab->v = sorted;
		symtab->capacity = symtab->n;
	} else {
		array_sort(symtab->v, symtab->n, sizeof(*symtab->v), symbol_compare);
		free(sorted);
	}
	free(items);
}

/* Most symbols that begin together are two. */
static void sort_few(struct symbol *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct symbol symbol = v[i];
		size_t at = i;

		for (; at > 0 && symbol_compare(&v[at - 1], &symbol) > 0; at--)
			v[at] = v[at - 1];
		v[at] = symbol;
	}
}

static void symtab_sort(struct symtab *symtab)
{
	size_t n = 0, end;

	if (symtab->n == 0)
		return;
	sort_by_beginning(symtab);
	for (size_t i = 0; i < symtab->n; i = end) {
		for (end = i + 1; end < symtab->n && symtab->v[end].lo == symtab->v[i].lo;)
			end++;
		if (end - i > FEW)
			array_sort(&symtab->v[i], end - i, sizeof(*symtab->v), symbol_compare);
		else
			sort_few(&symtab->v[i], end - i);
	}
	for (size_t i = 1; i < symtab->n; i++) {
		const struct symbol *symbol = &symtab->v[i];

		if (symbol->lo != symtab->v[n].lo || symbol->hi != symtab->v[n].hi)
			symtab->v[++n] = *symbol;
	}
	symtab->n = n + 1;
}

/* Puts symbols that begin together one after another. False: there are none. */
static bool symtab_spread(struct symtab *symtab)
{
	bool changed = false;
	uint64_t lo = 0;

	for (size_t i = 0; i < symtab->n; i++) {
		struct symbol *symbol = &symtab->v[i];
		bool together = i && symbol->lo == lo;

		lo = symbol->lo;
		if (together) {
			symbol->lo = symtab->v[i - 1].hi;
			changed = true;
		}
	}
	return changed;
}

static void check_sealed(const struct symtab *symtab)
{
	for (size_t i = 0; i < symtab->n; i++) {
		assert(symtab->v[i].lo < symtab->v[i].hi);
		assert(i == 0 || symtab->v[i - 1].hi <= symtab->v[i].lo);
	}
}

void symtab_seal(struct symtab *symtab)
{
	size_t n = 0;

	drop_nameless(symtab);
	symtab_sort(symtab);
	for (int i = 0; i < SEAL_ROUNDS && symtab_spread(symtab); i++)
		symtab_sort(symtab);
	for (size_t i = 0; i < symtab->n; i++) {
		struct symbol symbol = symtab->v[i];

		if (i + 1 < symtab->n && symtab->v[i + 1].lo < symbol.hi)
			symbol.hi = symtab->v[i + 1].lo;
		if (symbol.lo < symbol.hi)
			symtab->v[n++] = symbol;
	}
	symtab->n = n;
	if (check_wanted())
		check_sealed(symtab);
}

uint32_t symtab_find(const struct symtab *symtab, uint64_t address)
{
	size_t lo = 0, hi = symtab->n;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (symtab->v[middle].hi <= address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < symtab->n && lo < SYMTAB_NONE && symtab->v[lo].lo <= address ? (uint32_t)lo : SYMTAB_NONE;
}

struct symbol *symtab_at(struct symtab *symtab, uint32_t number)
{
	assert(number < symtab->n);
	return &symtab->v[number];
}
