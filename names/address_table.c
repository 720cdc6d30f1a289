/* SPDX-License-Identifier: MIT */
#include "address_table.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

bool address_table_init(struct address_table *table)
{
	*table = (struct address_table){ .n = 0 };
	return hash_index_init(&table->index);
}

void address_table_finish(struct address_table *table)
{
	free(table->items);
	hash_index_finish(&table->index);
	pool_finish(&table->chains);
	*table = (struct address_table){ .n = 0 };
}

struct resolved *address_table_at(struct address_table *table, uint32_t module, uint64_t address, bool *added)
{
	const uint32_t hash = hash_words(address, module);

	*added = false;
	if (!hash_index_reserve(&table->index))
		return NULL;
	for (uint32_t i = hash_index_first(&table->index, hash), id;
	     hash_index_next(&table->index, hash, &i, &id);) {
		if (table->items[id].address == address && table->items[id].module == module)
			return &table->items[id];
	}
	if (!array_reserve(&table->items, table->n, &table->capacity, sizeof(*table->items)))
		return NULL;
	assert(table->index.used == table->n);
	hash_index_add(&table->index, hash, table->n);
	table->items[table->n] =
		(struct resolved){ .address = address, .module = module, .symbol = SYMTAB_NONE };
	*added = true;
	return &table->items[table->n++];
}
