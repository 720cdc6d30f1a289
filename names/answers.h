/* SPDX-License-Identifier: MIT */
/*
 * What the symbolizer has found out so far, by module and address: some 60 bytes for an address of one
 * call. Single-threaded.
 */
#ifndef NAMES_ANSWERS_H
#define NAMES_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "string_pool.h"
#include "symbols.h"
#include "symtab.h"

struct answer {
	uint64_t address;
	uint32_t module;                  /* SYMBOLS_NO_MODULE in a free slot */
	uint32_t symbol;                  /* number in the module's symtab, or SYMTAB_NONE */
	const struct symbol_chain *chain; /* NULL until it is asked for; in `chains` */
};

struct answers {
	struct answer *slots; /* open addressing; at most three quarters in use */
	size_t n;
	size_t mask; /* number of slots - 1, a power of two - 1 */
	struct pool chains;
};

bool answers_init(struct answers *answers); /* false when out of memory */
void answers_finish(struct answers *answers);

/*
 * The answer for an address, valid until the next call. *fresh: it is a new one, whose symbol and chain
 * are for the caller to fill in. NULL when out of memory.
 */
struct answer *answers_at(struct answers *answers, uint32_t module, uint64_t address, bool *fresh);

#endif
