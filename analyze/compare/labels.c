/* SPDX-License-Identifier: MIT */
#include "labels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "label_text.h"
#include "string_set.h"

struct labels {
	struct string_set *keys; /* a label's is numbered one above it */
	uint32_t *loose;
	uint8_t *nameless, *hidden;
	struct string_set *names;
	const char **functions;
	uint32_t n, room, room_nameless, room_hidden, room_functions;
	bool by_page;
};

struct labels *labels_create(void)
{
	struct labels *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->keys = string_set_create();
	l->names = string_set_create();
	if (l->keys && l->names)
		return l;
	labels_destroy(l);
	return NULL;
}

void labels_destroy(struct labels *l)
{
	if (!l)
		return;
	string_set_destroy(l->keys);
	string_set_destroy(l->names);
	free(l->functions);
	free(l->loose);
	free(l->nameless);
	free(l->hidden);
	free(l);
}

/* Keys begin with a letter for their sort: F a function, L a loose one, A an address. */
static bool number_key(struct labels *l, char sort, bool inside, const char *first, const char *second,
		       uint32_t *label)
{
	char *key;
	const int n = asprintf(&key, "%c%s%s\n%s", sort, inside ? ">" : " ", first, second);
	if (n < 0)
		return false;
	const size_t number = string_set_number(l->keys, key, (size_t)n);
	free(key);
	if (number == 0 || number >= UINT32_MAX ||
	    !array_reserve(&l->loose, (uint32_t)number - 1, &l->room, sizeof(*l->loose)) ||
	    !array_reserve(&l->functions, (uint32_t)number - 1, &l->room_functions, sizeof(*l->functions)) ||
	    !array_reserve_zeroed(&l->hidden, (uint32_t)number - 1, &l->room_hidden, sizeof(*l->hidden)) ||
	    !array_reserve(&l->nameless, (uint32_t)number - 1, &l->room_nameless, sizeof(*l->nameless)))
		return false;
	*label = (uint32_t)number - 1;
	if (*label == l->n) {
		l->functions[l->n] = string_set_add(l->names, first, strlen(first));
		if (!l->functions[l->n])
			return false;
		l->nameless[l->n] = sort == 'A';
		l->loose[l->n++] = *label;
	}
	assert(*label < l->n);
	return true;
}

static bool add_named(struct labels *l, char *function, const char *module, bool inside, uint32_t *label)
{
	uint32_t loose;
	label_text_trim(function);
	if (!number_key(l, 'F', inside, function, module, label))
		return false;
	if (l->loose[*label] != *label)
		return true;
	label_text_loosen(function);
	if (!number_key(l, 'L', inside, function, "", &loose))
		return false;
	l->loose[*label] = loose;
	return true;
}

void labels_by_page(struct labels *l)
{
	l->by_page = true;
}

/* The last three digits of "[libfoo.so+0x1234]", and the bracket. */
static const char *page_offset(const char *function)
{
	enum { TAIL = 4 };
	const size_t n = strlen(function);
	return n > TAIL ? function + n - TAIL : function;
}

static bool add_address(struct labels *l, const struct labelled *what, const char *module, uint32_t *label)
{
	uint32_t loose;
	const char *place = l->by_page ? page_offset(what->function) : what->function;
	if (!number_key(l, 'A', what->inside, place, l->by_page ? module : what->build, label) ||
	    !number_key(l, 'L', what->inside, "", module, &loose))
		return false;
	l->loose[*label] = loose;
	return true;
}

bool labels_add(struct labels *l, const struct labelled *what, uint32_t *label)
{
	char *function = strdup(what->function), *module = strdup(what->module);
	bool fine = function && module;
	if (fine) {
		label_text_module(module);
		fine = what->named ? add_named(l, function, module, what->inside, label)
				   : add_address(l, what, module, label);
	}
	if (fine && what->hidden)
		l->hidden[*label] = l->hidden[l->loose[*label]] = 1;
	free(function);
	free(module);
	return fine;
}

const char *labels_function(const struct labels *l, uint32_t label)
{
	assert(label < l->n);
	return l->functions[label];
}

struct match_labels labels_list(const struct labels *l)
{
	return (struct match_labels){ l->loose, l->nameless, l->n, l->hidden };
}
