/* SPDX-License-Identifier: MIT */
#include "type_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "array.h"
#include "dwarf_unit.h"
#include "lineinfo.h"
#include "string_set.h"
#include "type_definitions.h"
#include "type_index.h"
#include "type_layout.h"
#include "type_name.h"

/* DIEs of a module that are looked at: clang's largest units have a million. */
#define DIES_MAX ((size_t)6 << 20)

/* The same of the search for what is only declared where it is used. */
#define DEFINING_DIES_MAX ((size_t)4 << 20)

#define CHAIN_MAX 24      /* of pointers and arrays */
#define SCOPES_MAX 24     /* blocks in each other */
#define CHILDREN_DEPTH 4  /* unnamed members of members, base classes of base classes */
#define NAME_LONGEST 4096 /* bytes of a type's name */

#define ALLOC_TYPE 0x3e0e /* DW_AT_LLVM_alloc_type; DWARF 6 is to have its like */

#ifndef DW_LANG_C17
#define DW_LANG_C17 0x2c
#endif

struct item {
	Dwarf_Die die; /* without const, typedef ...; addr is NULL: void */
	struct type type;
};

struct type_info {
	struct lineinfo *lineinfo;
	struct type_index index;
	struct type_definitions definitions;
	struct string_set *names;
	struct item *items;
	uint32_t n, room;
	struct index_map numbers; /* of a DIE's address */
};

struct type_info *type_info_create(struct lineinfo *lineinfo)
{
	struct type_info *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->lineinfo = lineinfo;
	info->index.dies_left = DIES_MAX;
	info->definitions.dies_left = DEFINING_DIES_MAX;
	info->names = string_set_create();
	if (info->names)
		return info;
	type_info_destroy(info);
	return NULL;
}

void type_info_destroy(struct type_info *info)
{
	if (!info)
		return;
	type_index_finish(&info->index);
	type_definitions_finish(&info->definitions);
	string_set_destroy(info->names);
	index_map_finish(&info->numbers);
	free(info->items);
	free(info);
}

bool type_info_is_limited(const struct type_info *info)
{
	return info->index.limited || info->definitions.limited;
}

const struct type *type_info_at(const struct type_info *info, uint32_t type)
{
	return &info->items[type].type;
}

/* ---- Types ---- */

static bool is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

static enum type_form form_of(Dwarf_Die *die)
{
	const int tag = die->addr ? dwarf_tag(die) : DW_TAG_unspecified_type;

	if (!die->addr)
		return TYPE_VOID;
	if (is_record(tag))
		return TYPE_RECORD;
	if (is_pointer(tag))
		return TYPE_POINTER;
	if (tag == DW_TAG_array_type)
		return TYPE_ARRAY;
	return tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type ? TYPE_BASE : TYPE_OTHER;
}

/* What a type is without qualifiers; a record or enumeration without a name is its typedef. void: no address. */
static Dwarf_Die peeled(Dwarf_Die die)
{
	Dwarf_Die alias = { 0 }, at = die;

	for (int i = 0; i < DIE_CHAIN_MAX && at.addr && die_is_qualifier(&at); i++) {
		if (dwarf_tag(&at) == DW_TAG_typedef)
			alias = at;
		if (!die_reference(&at, DW_AT_type, &at))
			return (Dwarf_Die){ 0 };
	}
	/* A declaration that stands for a type unit. */
	if (at.addr && dwarf_hasattr(&at, DW_AT_declaration) && die_reference(&at, DW_AT_signature, &at))
		return at;
	return at.addr && alias.addr && form_of(&at) != TYPE_POINTER && !dwarf_diename(&at) ? alias : at;
}

static Dwarf_Die target_of(Dwarf_Die *die)
{
	Dwarf_Die target;

	return die_reference(die, DW_AT_type, &target) ? target : (Dwarf_Die){ 0 };
}

/* ---- Names of types ---- */

static bool is_c(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C17:
		return true;
	default:
		return false;
	}
}

/* An entry and what it lies in, outermost first. Functions have no part in a type's name. */
static void print_scope(struct type_info *info, FILE *out, uint32_t entry, int depth)
{
	const struct index_entry *e;

	if (entry == INDEX_NONE || depth > SCOPES_MAX)
		return;
	e = &info->index.entries[entry];
	print_scope(info, out, e->parent, depth + 1);
	if (dwarf_tag(&info->index.entries[entry].die) == DW_TAG_subprogram)
		return;
	fprintf(out, "%.*s::", NAME_LONGEST, e->name ? e->name : "(anonymous namespace)");
}

static void print_named(struct type_info *info, FILE *out, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	const uint32_t entry = type_index_entry(&info->index, die);
	const int tag = dwarf_tag(die);

	if (name && is_c(die))
		fputs(tag == DW_TAG_structure_type     ? "struct "
		      : tag == DW_TAG_union_type       ? "union "
		      : tag == DW_TAG_enumeration_type ? "enum "
						       : "",
		      out);
	else if (entry != INDEX_NONE && info->index.entries[entry].die.addr == die->addr)
		print_scope(info, out, info->index.entries[entry].parent, 0);
	fprintf(out, "%.*s", NAME_LONGEST, name ? name : is_record(tag) ? "(unnamed struct)" : "(unnamed)");
}

static bool array_count(Dwarf_Die *array, uint64_t *count);

static void print_type(struct type_info *info, FILE *out, Dwarf_Die die, int depth)
{
	Dwarf_Die target;
	uint64_t count;

	if (depth > CHAIN_MAX || !die.addr) {
		fputs(depth > CHAIN_MAX ? "..." : "void", out);
		return;
	}
	if (dwarf_tag(&die) == DW_TAG_const_type) {
		print_type(info, out, target_of(&die), depth + 1);
		fputs(" const", out);
		return;
	}
	die = peeled(die);
	target = die.addr ? target_of(&die) : (Dwarf_Die){ 0 };
	switch (form_of(&die)) {
	case TYPE_VOID:
		fputs("void", out);
		return;
	case TYPE_POINTER:
		print_type(info, out, target, depth + 1);
		fputs(dwarf_tag(&die) == DW_TAG_pointer_type     ? "*"
		      : dwarf_tag(&die) == DW_TAG_reference_type ? "&"
								 : "&&",
		      out);
		return;
	case TYPE_ARRAY:
		print_type(info, out, target, depth + 1);
		if (array_count(&die, &count))
			fprintf(out, "[%llu]", (unsigned long long)count);
		else
			fputs("[]", out);
		return;
	case TYPE_BASE:
	case TYPE_RECORD:
	case TYPE_OTHER:
		break;
	}
	if (dwarf_tag(&die) == DW_TAG_subroutine_type)
		fputs("function", out);
	else
		print_named(info, out, &die);
}

/* NULL: no memory. */
static const char *name_of(struct type_info *info, Dwarf_Die *die)
{
	char *text = NULL, *canonical;
	const char *kept;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	bool tagged;

	if (!out)
		return NULL;
	print_type(info, out, *die, 0);
	if (fclose(out) != 0 || !text) {
		free(text);
		return NULL;
	}
	/* Names of C's keep the word before them. */
	tagged = strncmp(text, "struct ", 7) == 0 || strncmp(text, "union ", 6) == 0 ||
		 strncmp(text, "enum ", 5) == 0;
	canonical = tagged || n > NAME_LONGEST ? NULL : type_name_canonical(text, n);
	kept = canonical ? string_set_add_shown(info->names, canonical, strlen(canonical))
			 : string_set_add_shown(info->names, text, n > NAME_LONGEST ? NAME_LONGEST : n);
	free(canonical);
	free(text);
	return kept;
}

/* ---- Sizes ---- */

static bool array_count(Dwarf_Die *array, uint64_t *count)
{
	Dwarf_Die child;
	uint64_t all = 1, n;
	int dimensions = 0, children = 0;

	if (dwarf_child(array, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (die_value(&child, DW_AT_count, &n)) {
			dimensions++;
		} else if (die_value(&child, DW_AT_upper_bound, &n) && n < UINT64_MAX) {
			n++;
			dimensions++;
		} else {
			return false;
		}
		if (__builtin_mul_overflow(all, n, &all))
			return false;
	} while (++children < CHAIN_MAX && dwarf_siblingof(&child, &child) == 0);
	*count = all;
	return dimensions > 0;
}

uint64_t type_die_size(Dwarf_Die *type)
{
	Dwarf_Die die = *type;
	uint64_t times = 1, n, size;

	for (int i = 0; i < CHAIN_MAX && die.addr; i++) {
		die = die_unqualified(die);
		if (!die.addr)
			return 0;
		if (die_value(&die, DW_AT_byte_size, &size))
			return __builtin_mul_overflow(size, times, &size) ? 0 : size;
		if (is_pointer(dwarf_tag(&die)))
			return __builtin_mul_overflow(type_pointer_size(&die), times, &size) ? 0 : size;
		if (dwarf_tag(&die) != DW_TAG_array_type || !array_count(&die, &n) ||
		    __builtin_mul_overflow(times, n, &times))
			return 0;
		die = target_of(&die);
	}
	return 0;
}

uint64_t type_pointer_size(Dwarf_Die *die)
{
	uint8_t size;
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, &size, NULL) ? size : 0;
}

/*
 * The definition of a record that its unit declares. Those of equal names may be different types in C: if their sizes
 * differ, none is meant.
 */
static Dwarf_Die definition_of(struct type_info *info, Dwarf_Die *declared, const char *full)
{
	Dwarf_Die found = { 0 };
	const char *name = dwarf_diename(declared), *other;
	uint32_t i =
		name ? type_definitions_first(&info->definitions, info->lineinfo, name) : DEFINITION_NONE;

	for (; i != DEFINITION_NONE && type_index_spend(&info->index);
	     i = info->definitions.items[i].same_name) {
		Dwarf_Die die = info->definitions.items[i].die;

		if (found.addr && type_die_size(&die) == type_die_size(&found))
			continue;
		other = dwarf_diename(&die);
		if (!other || strcmp(other, name) != 0)
			continue;
		other = name_of(info, &die);
		if (!other || strcmp(other, full) != 0)
			continue;
		if (found.addr)
			return (Dwarf_Die){ 0 };
		found = die;
	}
	return found;
}

/* The number of a type; TYPE_NONE: no memory. */
static uint32_t number_of(struct type_info *info, Dwarf_Die die)
{
	uint64_t known;
	struct item *item;
	const char *name;
	Dwarf_Die real;

	die = peeled(die);
	if (index_map_find(&info->numbers, (uintptr_t)die.addr, &known))
		return (uint32_t)known;
	name = name_of(info, &die);
	real = die_unqualified(die);
	if (name && real.addr && is_record(dwarf_tag(&real)) && dwarf_hasattr(&real, DW_AT_declaration)) {
		const Dwarf_Die definition = definition_of(info, &real, name);

		real = definition.addr ? definition : real;
	}
	if (!name || !array_reserve(&info->items, info->n, &info->room, sizeof(*info->items)) ||
	    !index_map_put(&info->numbers, (uintptr_t)die.addr, info->n))
		return TYPE_NONE;
	item = &info->items[info->n];
	*item = (struct item){ .die = real, .type = { .name = name, .form = form_of(&real) } };
	if (real.addr)
		item->type.size = type_die_size(&real);
	return info->n++;
}

/* ---- Places ---- */

/* The function that the code at a place belongs to. False: unknown. */
static bool function_at(struct type_info *info, const struct type_place *place, Dwarf_Die *function)
{
	uint64_t address = place->address;
	struct unit *unit = lineinfo_unit(info->lineinfo, &address);
	uint32_t scope = unit ? ranges_find(&unit->scope_map, address) : RANGES_NONE;

	for (uint32_t i = 0; scope != RANGES_NONE; i++) {
		struct scope *s = &unit->scopes[scope];

		if (i == place->level) {
			*function = s->die;
			return true;
		}
		if (dwarf_tag(&s->die) != DW_TAG_inlined_subroutine)
			break;
		scope = s->parent;
	}
	return false;
}

/* The function that is no inlined call. */
static bool outer_function_at(struct type_info *info, uint64_t address, Dwarf_Die *function)
{
	struct unit *unit = lineinfo_unit(info->lineinfo, &address);
	uint32_t scope = unit ? ranges_find(&unit->scope_map, address) : RANGES_NONE;

	while (scope != RANGES_NONE && dwarf_tag(&unit->scopes[scope].die) == DW_TAG_inlined_subroutine)
		scope = unit->scopes[scope].parent;
	if (scope == RANGES_NONE)
		return false;
	*function = unit->scopes[scope].die;
	return true;
}

/* ---- What the compiler says ---- */

struct call_search {
	uint64_t returns; /* the address behind the call */
	Dwarf_Die site;
	bool found;
};

static bool is_call_site(Dwarf_Die *die, uint64_t returns)
{
	const int tag = dwarf_tag(die);
	Dwarf_Attribute attribute;
	Dwarf_Addr at;

	if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site)
		return false;
	return dwarf_attr(die, tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc, &attribute) &&
	       dwarf_formaddr(&attribute, &at) == 0 && at == returns;
}

static void search_call(struct type_info *info, Dwarf_Die *parent, struct call_search *search, int depth)
{
	Dwarf_Die die;

	if (depth > LINEINFO_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!type_index_spend(&info->index))
			return;
		if (is_call_site(&die, search->returns)) {
			search->site = die;
			search->found = true;
		} else if (dwarf_tag(&die) == DW_TAG_inlined_subroutine ||
			   dwarf_tag(&die) == DW_TAG_lexical_block) {
			search_call(info, &die, search, depth + 1);
		}
	} while (!search->found && dwarf_siblingof(&die, &die) == 0);
}

uint32_t type_info_allocated(struct type_info *info, uint64_t address)
{
	struct call_search search = { .found = false };
	Dwarf_Die function, type;
	uint64_t shifted = address;

	if (!outer_function_at(info, address, &function) || !lineinfo_unit(info->lineinfo, &shifted))
		return TYPE_NONE;
	search.returns = shifted + 1;
	search_call(info, &function, &search, 0);
	if (!search.found || !die_reference(&search.site, ALLOC_TYPE, &type))
		return TYPE_NONE;
	return number_of(info, type);
}

/* ---- Template arguments ---- */

/* An argument among a DIE's children. *any: it has some. */
static bool find_argument(struct type_info *info, Dwarf_Die *parent, const char *name, bool *any,
			  Dwarf_Die *type)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		const char *own;

		if (!type_index_spend(&info->index))
			return false;
		if (dwarf_tag(&die) != DW_TAG_template_type_parameter)
			continue;
		*any = true;
		own = dwarf_diename(&die);
		if (!name || (own && strcmp(own, name) == 0)) {
			*type = target_of(&die);
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The DIE, what it is a copy of, and what it defines: `dies` of at most three. */
static unsigned declarations_of(Dwarf_Die *function, Dwarf_Die dies[3])
{
	unsigned n = 1;

	dies[0] = *function;
	if (die_reference(&dies[n - 1], DW_AT_abstract_origin, &dies[n]))
		n++;
	if (die_reference(&dies[n - 1], DW_AT_specification, &dies[n]))
		n++;
	return n;
}

uint32_t type_info_argument(struct type_info *info, const struct type_place *place, const char *name)
{
	Dwarf_Die function, dies[3], type;
	bool any = false;
	unsigned n;
	uint32_t entry;

	if (!function_at(info, place, &function))
		return TYPE_NONE;
	n = declarations_of(&function, dies);
	for (unsigned i = 0; i < n; i++) {
		if (find_argument(info, &dies[i], name, &any, &type))
			return number_of(info, type);
	}
	entry = type_index_entry(&info->index, &dies[n - 1]);
	for (int i = 0; entry != INDEX_NONE && i < SCOPES_MAX && (name || !any); i++) {
		Dwarf_Die around = info->index.entries[entry].die;

		/* A class that is described in a type unit. */
		if (info->index.entries[entry].declared)
			die_reference(&around, DW_AT_signature, &around);
		if (find_argument(info, &around, name, &any, &type))
			return number_of(info, type);
		entry = info->index.entries[entry].parent;
	}
	return TYPE_NONE;
}

/* ---- Types by name ---- */

/* Where the last component of a name begins. */
static size_t last_component(const char *name, size_t n)
{
	size_t last = 0;
	int depth = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (strchr("<([{", name[i]))
			depth++;
		else if (strchr(">)]}", name[i]))
			depth--;
		else if (depth == 0 && name[i] == ':' && name[i + 1] == ':')
			last = i + 2;
	}
	return last;
}

/* True: `name` is all of the type's name, or its last components. */
static bool ends_as(const char *full, const char *name, size_t n)
{
	const size_t length = strlen(full);

	if (length < n || memcmp(full + length - n, name, n) != 0)
		return false;
	return length == n || (length >= n + 2 && memcmp(full + length - n - 2, "::", 2) == 0);
}

/* What a function or type lies in, "" if in nothing. To be freed. NULL: no memory. */
static char *scope_name(struct type_info *info, uint32_t entry)
{
	char *text = NULL, *canonical;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	if (entry != INDEX_NONE)
		print_scope(info, out, info->index.entries[entry].parent, 0);
	if (fclose(out) != 0 || !text)
		return text;
	canonical = type_name_canonical(text, n);
	if (!canonical)
		return text;
	free(text);
	return canonical;
}

struct name_search {
	uint32_t type;
	size_t shared; /* bytes of the scope that it has in common with the function */
	bool several;
};

/* Of types in several scopes, the one whose scope is around the function; nested ones first. */
static void consider(struct type_info *info, uint32_t entry, const char *around, struct name_search *best)
{
	char *scope = scope_name(info, entry);
	const size_t n = scope ? strlen(scope) : 0;
	const bool visible = scope && strncmp(around, scope, n) == 0;
	const uint32_t type = scope ? number_of(info, info->index.entries[entry].die) : TYPE_NONE;

	free(scope);
	if (type == TYPE_NONE || type == best->type)
		return;
	if (best->type == TYPE_NONE || (visible && n > best->shared)) {
		best->several = best->type != TYPE_NONE && !visible;
		best->type = type;
		best->shared = visible ? n : 0;
	} else if (!visible || n == best->shared) {
		best->several |= best->shared == 0 || n == best->shared;
	}
}

static bool is_type_entry(struct index_entry *entry, bool declared)
{
	const int tag = dwarf_tag(&entry->die);

	return entry->declared == declared && tag != DW_TAG_namespace && tag != DW_TAG_subprogram &&
	       tag != DW_TAG_variable && tag != DW_TAG_module;
}

/* Among definitions, or among what is only declared in the unit. */
static void search_name(struct type_info *info, Dwarf_Die *function, const char *name, size_t n,
			bool declared, const char *around, struct name_search *best)
{
	const size_t last = last_component(name, n);
	uint32_t entry = type_index_first(&info->index, function, name + last, n - last);

	for (; entry != INDEX_NONE; entry = type_index_next(&info->index, entry, name + last, n - last)) {
		uint32_t type;

		if (!is_type_entry(&info->index.entries[entry], declared))
			continue;
		type = number_of(info, info->index.entries[entry].die);
		if (type != TYPE_NONE && (last == 0 || ends_as(info->items[type].type.name, name, n)))
			consider(info, entry, around, best);
	}
}

uint32_t type_info_named(struct type_info *info, const struct type_place *place, const char *name, size_t n)
{
	struct name_search best = { .type = TYPE_NONE };
	Dwarf_Die function, dies[3];
	char *around;
	unsigned count;

	if (!function_at(info, place, &function))
		return TYPE_NONE;
	count = declarations_of(&function, dies);
	around = scope_name(info, type_index_entry(&info->index, &dies[count - 1]));
	if (!around)
		return TYPE_NONE;
	search_name(info, &dies[count - 1], name, n, false, around, &best);
	if (best.type == TYPE_NONE)
		search_name(info, &dies[count - 1], name, n, true, around, &best);
	free(around);
	return best.several ? TYPE_NONE : best.type;
}

/* ---- Variables ---- */

struct variable_search {
	const char *name; /* NULL: any pointer that is declared at `line` */
	size_t n;
	int line;
	int best_line; /* 0: none found */
	Dwarf_Die type;
	bool several;
};

static bool is_variable(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

static bool die_is_named(Dwarf_Die *die, const char *name, size_t n)
{
	const char *own = dwarf_diename(die);

	return own && strncmp(own, name, n) == 0 && own[n] == '\0';
}

static void see_variable(Dwarf_Die *die, struct variable_search *search)
{
	Dwarf_Attribute attribute;
	Dwarf_Word line = 0;
	Dwarf_Die type, real;

	if (!die_attribute(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type))
		return;
	if (die_attribute(die, DW_AT_decl_line, &attribute))
		dwarf_formudata(&attribute, &line);
	if (search->name) {
		if (!die_is_named(die, search->name, search->n) || (int64_t)line > search->line ||
		    (int)line < search->best_line)
			return;
	} else {
		real = die_unqualified(type);
		if ((int64_t)line != search->line || !real.addr || !is_pointer(dwarf_tag(&real)))
			return;
		search->several |= search->best_line && die_unqualified(search->type).addr != real.addr;
	}
	search->best_line = line ? (int)line : 1;
	search->type = type;
}

/* In the blocks of a function, but not in those that are inlined into it. */
static void search_variables(struct type_info *info, Dwarf_Die *parent, struct variable_search *search,
			     int depth)
{
	Dwarf_Die die;

	if (depth > SCOPES_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!type_index_spend(&info->index))
			return;
		if (is_variable(dwarf_tag(&die)))
			see_variable(&die, search);
		else if (dwarf_tag(&die) == DW_TAG_lexical_block)
			search_variables(info, &die, search, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static uint32_t local_variable(struct type_info *info, const struct type_place *place,
			       struct variable_search *search)
{
	Dwarf_Die function, dies[3];
	unsigned n;

	if (!function_at(info, place, &function))
		return TYPE_NONE;
	n = declarations_of(&function, dies);
	for (unsigned i = 0; i < n && !search->best_line; i++)
		search_variables(info, &dies[i], search, 0);
	return search->best_line && !search->several ? number_of(info, search->type) : TYPE_NONE;
}

/* A variable outside of functions. */
static uint32_t global_variable(struct type_info *info, const struct type_place *place, const char *name,
				size_t n)
{
	Dwarf_Die function, dies[3], type;
	Dwarf_Attribute attribute;
	uint32_t entry, found = TYPE_NONE;

	if (!function_at(info, place, &function))
		return TYPE_NONE;
	entry = type_index_first(&info->index, &dies[declarations_of(&function, dies) - 1], name, n);
	for (; entry != INDEX_NONE; entry = type_index_next(&info->index, entry, name, n)) {
		Dwarf_Die die = info->index.entries[entry].die;

		if (dwarf_tag(&die) != DW_TAG_variable || !die_attribute(&die, DW_AT_type, &attribute) ||
		    !dwarf_formref_die(&attribute, &type))
			continue;
		const uint32_t own = number_of(info, type);

		if (found != TYPE_NONE && found != own)
			return TYPE_NONE;
		found = own;
	}
	return found;
}

uint32_t type_info_variable(struct type_info *info, const struct type_place *place, const char *name,
			    size_t n, int line)
{
	struct variable_search search = { .name = name, .n = n, .line = line };
	struct variable_search this = { .name = "this", .n = 4, .line = line };
	uint32_t type = local_variable(info, place, &search);

	if (type == TYPE_NONE && !search.best_line && n != 4) {
		type = local_variable(info, place, &this);
		type = type == TYPE_NONE ? TYPE_NONE : type_info_target(info, type);
		type = type == TYPE_NONE ? TYPE_NONE : type_info_member(info, type, name, n);
	}
	return type == TYPE_NONE && !search.best_line ? global_variable(info, place, name, n) : type;
}

uint32_t type_info_declared(struct type_info *info, const struct type_place *place, int line)
{
	struct variable_search search = { .line = line };

	return line > 0 ? local_variable(info, place, &search) : TYPE_NONE;
}

/* ---- Members ---- */

static bool find_member(struct type_info *info, Dwarf_Die record, const char *name, size_t n, int depth,
			Dwarf_Die *type)
{
	Dwarf_Die die;

	record = die_unqualified(record);
	if (depth > CHILDREN_DEPTH || !record.addr || !is_record(dwarf_tag(&record)) ||
	    dwarf_child(&record, &die) != 0)
		return false;
	do {
		const int tag = dwarf_tag(&die);

		if (!type_index_spend(&info->index))
			return false;
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (tag == DW_TAG_member && die_is_named(&die, name, n)) {
			*type = target_of(&die);
			return true;
		}
		if ((tag == DW_TAG_inheritance || !dwarf_diename(&die)) &&
		    find_member(info, target_of(&die), name, n, depth + 1, type))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

uint32_t type_info_member(struct type_info *info, uint32_t type, const char *name, size_t n)
{
	Dwarf_Die member;

	return find_member(info, info->items[type].die, name, n, 0, &member) ? number_of(info, member)
									     : TYPE_NONE;
}

uint32_t type_info_target(struct type_info *info, uint32_t type)
{
	Dwarf_Die die = die_unqualified(info->items[type].die);

	if (!die.addr || (!is_pointer(dwarf_tag(&die)) && dwarf_tag(&die) != DW_TAG_array_type))
		return TYPE_NONE;
	return number_of(info, target_of(&die));
}

bool type_info_layout(struct type_info *info, uint32_t type, struct type_layout *layout)
{
	Dwarf_Die die = die_unqualified(info->items[type].die);

	return die.addr && is_record(dwarf_tag(&die)) && type_layout_read(&info->index, &die, layout);
}

uint64_t type_info_pointer_size(struct type_info *info, const struct type_place *place)
{
	Dwarf_Die function;

	return function_at(info, place, &function) ? type_pointer_size(&function) : 0;
}
