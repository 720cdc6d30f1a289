/* SPDX-License-Identifier: MIT */
/* Addresses that the symbolizer has resolved: some 50 bytes an address of one call. Single-threaded. */
#ifndef NAMES_ADDRESS_TABLE_H
#define NAMES_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "hash_index.h"
#include "string_pool.h"
#include "symbols.h"
#include "symtab.h"

struct resolved {
	uint64_t address;
	uint32_t module;
	uint32_t symbol;                  /* number in the module's symtab, or SYMTAB_NONE */
	bool cached;                      /* the name cache knew it, so that the symtab wasn't asked */
	const char *linker;               /* if `cached`: the symbol's name in the file; NULL: it has none */
	const struct symbol_chain *chain; /* in `chains`; NULL until symbols_describe() wants it */
};

struct address_table {
	struct resolved *items; /* [n] */
	uint32_t n, capacity;
	struct hash_index index; /* of items, by module and address */
	struct pool chains;
};

bool address_table_init(struct address_table *table); /* false: no memory */
void address_table_finish(struct address_table *table);

/*
 * Finds the item of an address, or adds one; valid until the next call. *added: it is a new one, whose symbol and
 * chain the caller fills in. NULL: no memory.
 */
struct resolved *address_table_at(struct address_table *table, uint32_t module, uint64_t address,
				  bool *added);

#endif
