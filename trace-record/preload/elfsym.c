/* SPDX-License-Identifier: MIT */
#include "elfsym.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libc/libc_objects.h"

/* An object's symbols, from its dynamic section. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
};

/* The loader has relocated these pointers in some objects and not in others (the vDSO). */
static const void *pointer(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *t)
{
	const ElfW(Dyn) *dynamic = NULL;

	*t = (struct tables){ 0 };
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			t->symbols = pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_STRTAB)
			t->strings = pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_GNU_HASH)
			t->gnu_hash = pointer(object, dynamic->d_un.d_ptr);
	}
	return t->symbols && t->strings && t->gnu_hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The table: four numbers, a Bloom filter, buckets, and chains of hashes whose last has bit 0 set. */
static const ElfW(Sym) * find_symbol(const struct tables *t, const char *name)
{
	const uint32_t n_buckets = t->gnu_hash[0], first = t->gnu_hash[1], n_bloom = t->gnu_hash[2];
	const uint32_t *buckets = t->gnu_hash + 4 + n_bloom * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + n_buckets;
	const uint32_t hash = hash_of(name);
	uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;

	if (i < first)
		return NULL;
	for (;; i++) {
		const uint32_t chained = chains[i - first];

		if ((chained | 1) == (hash | 1) && t->symbols[i].st_shndx != SHN_UNDEF &&
		    strcmp(t->strings + t->symbols[i].st_name, name) == 0)
			return &t->symbols[i];
		if (chained & 1)
			return NULL;
	}
}

static bool contains(const struct dl_phdr_info *object, const void *address)
{
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (uintptr_t)address - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

struct search {
	const char *name;
	bool past_us;
	void *found;
};

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct search *search = data;
	struct tables tables;
	const ElfW(Sym) * symbol;

	(void)size;
	if (!search->past_us) {
		search->past_us = contains(object, (const void *)elfsym_next);
		return 0;
	}
	if (!find_tables(object, &tables))
		return 0;
	symbol = find_symbol(&tables, search->name);
	if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return 0;
	search->found = (void *)(object->dlpi_addr + symbol->st_value);
	return 1;
}

void *elfsym_next(const char *name)
{
	struct search search = { .name = name };

	libc_each_object(visit, &search);
	return search.found;
}

void *elfsym_any(const char *name)
{
	struct search search = { .name = name, .past_us = true };

	libc_each_object(visit, &search);
	return search.found;
}

uintptr_t elfsym_in(uintptr_t bias, const ElfW(Phdr) * headers, unsigned n, const char *name)
{
	const struct dl_phdr_info object = {
		.dlpi_addr = bias,
		.dlpi_phdr = headers,
		.dlpi_phnum = (ElfW(Half))n,
	};
	struct tables tables;
	const ElfW(Sym) *const symbol = find_tables(&object, &tables) ? find_symbol(&tables, name) : NULL;

	return symbol ? bias + symbol->st_value : 0;
}

struct first {
	const char *name;
	bool ours;
};

/* Stops at this library. An object without readable tables may define the function. */
static int visit_first(struct dl_phdr_info *object, size_t size, void *data)
{
	struct first *first = data;
	struct tables tables;

	(void)size;
	first->ours = contains(object, (const void *)elfsym_next);
	return first->ours || !find_tables(object, &tables) || find_symbol(&tables, first->name);
}

bool elfsym_is_ours(const char *name)
{
	struct first first = { .name = name };

	libc_each_object(visit_first, &first);
	return first.ours;
}

struct pair {
	const void *a, *b;
};

/* Stops at the object of either. */
static int visit_pair(struct dl_phdr_info *object, size_t size, void *data)
{
	const struct pair *pair = data;
	const int n = contains(object, pair->a) + contains(object, pair->b);

	(void)size;
	return n;
}

bool elfsym_are_together(const void *a, const void *b)
{
	return libc_each_object(visit_pair, &(struct pair){ a, b }) != 1;
}

struct place {
	const void *address;
	const char *file;
	bool found;
};

static int visit_place(struct dl_phdr_info *object, size_t size, void *data)
{
	struct place *place = data;
	const char *slash = strrchr(object->dlpi_name, '/');
	const char *name = slash ? slash + 1 : object->dlpi_name;

	(void)size;
	place->found =
		contains(object, place->address) && strncmp(name, place->file, strlen(place->file)) == 0;
	return place->found;
}

bool elfsym_is_of(const void *address, const char *file)
{
	struct place place = { .address = address, .file = file };

	libc_each_object(visit_place, &place);
	return place.found;
}
