/* SPDX-License-Identifier: MIT */
#include "script_names.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

struct script_name {
	char *file, *function; /* NULL: not known */
};

void script_names_finish(struct script_names *names)
{
	for (uint32_t i = 0; i < names->n; i++) {
		free(names->items[i].file);
		free(names->items[i].function);
	}
	free(names->items);
	*names = (struct script_names){ 0 };
}

/* A text of the table, to be freed. NULL: it is not inside the table's text, or no memory. */
static char *text_at(const struct script_table *table, uint32_t at, uint32_t used)
{
	uint16_t size;

	if (used > SCRIPT_TEXT || used < sizeof(size) || at > used - sizeof(size))
		return NULL;
	memcpy(&size, table->text + at, sizeof(size));
	if (size > SCRIPT_TEXT_MOST || size > used - sizeof(size) - at)
		return NULL;
	return strndup(table->text + at + sizeof(size), size);
}

static bool add(struct script_names *names, struct script_name name)
{
	if (!array_reserve(&names->items, names->n, &names->capacity, sizeof(*names->items))) {
		free(name.file);
		free(name.function);
		return false;
	}
	names->items[names->n++] = name;
	return true;
}

bool script_names_read(struct script_names *names, const struct script_table *table)
{
	const uint32_t count = atomic_load_explicit(&table->count, memory_order_acquire);
	const uint32_t used = atomic_load_explicit(&table->text_used, memory_order_acquire);
	const uint32_t n = count < SCRIPT_FUNCTIONS ? count : SCRIPT_FUNCTIONS;

	while (names->n < n) {
		const struct script_function *const at = &table->functions[names->n];
		const volatile uint32_t *const file = &at->file, *const function = &at->name;
		struct script_name name = { NULL, NULL };

		if (names->n > 0)
			name = (struct script_name){ text_at(table, *file, used),
						     text_at(table, *function, used) };
		if (!add(names, name))
			return false;
	}
	return true;
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

bool script_names_copy(struct script_names *to, const struct script_names *from)
{
	*to = (struct script_names){ 0 };
	for (uint32_t i = 0; i < from->n; i++) {
		const struct script_name *const name = &from->items[i];

		if (!add(to, (struct script_name){ copy_of(name->file), copy_of(name->function) })) {
			script_names_finish(to);
			return false;
		}
	}
	return true;
}

struct script_frame script_names_frame(const struct script_names *names, uint64_t address)
{
	const uint64_t function = (address - SCRIPT_ADDRESS) >> SCRIPT_LINE_BITS;
	const uint32_t line = (uint32_t)(address & ((1u << SCRIPT_LINE_BITS) - 1));

	if (function >= names->n)
		return (struct script_frame){ .line = line };
	return (struct script_frame){
		.file = names->items[function].file,
		.function = names->items[function].function,
		.line = line,
	};
}
