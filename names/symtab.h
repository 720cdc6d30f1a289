/* SPDX-License-Identifier: MIT */
/*
 * The function symbols of one module, merged from all its symbol tables, with Massif's choice among several names of
 * one address (measured on Massif 3.19):
 *
 * - functions, indirect functions and data objects in code count; symbols without a size or
 *   without a type do not;
 * - a symbol ends where the next one begins, also if that one lies inside it: nothing resumes
 *   after an inner symbol. Of two that begin together the longer one names only its rest;
 * - equal ranges: the name with the shortest part before `@`; then one with a version; then the
 *   first in byte order.
 */
#ifndef NAMES_SYMTAB_H
#define NAMES_SYMTAB_H

#include <stdbool.h>
#include <stdint.h>

#include <libelf.h>

struct symbol {
	uint64_t lo;          /* link-time address */
	uint64_t hi;          /* first address after it */
	const char *name;     /* as in the file, owned by the Elf */
	const char *readable; /* the caller's; NULL at first */
};

#define SYMTAB_NONE UINT32_MAX

struct symtab;

struct symtab *symtab_create(void);         /* NULL: no memory */
void symtab_destroy(struct symtab *symtab); /* NULL is allowed */

/*
 * Adds the .symtab and .dynsym of `elf`, `shift` bytes further up. The names stay in `elf`, which must outlive the
 * table. Damaged tables are read as far as they make sense. False: no memory.
 */
bool symtab_read(struct symtab *symtab, Elf *elf, uint64_t shift);

/* Call once, after the last symtab_read(). */
void symtab_seal(struct symtab *symtab);

/* The number of the symbol that covers `address`; SYMTAB_NONE: none does. O(log n). */
uint32_t symtab_find(const struct symtab *symtab, uint64_t address);
struct symbol *symtab_at(struct symtab *symtab, uint32_t number);

#endif
