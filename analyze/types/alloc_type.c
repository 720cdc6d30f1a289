/* SPDX-License-Identifier: MIT */
#include "alloc_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "array.h"
#include "element.h"
#include "mst_op.h"
#include "mstrace.h"
#include "source_type.h"

const char *const type_trust_names[TYPE_TRUSTS] = { "unknown", "sample", "likely", "certain" };
const char *const type_evidence_names[TYPE_EVIDENCES] = { NULL,     "compiler", "templates",
							  "source", "variable", "maker" };

/* Sizes of types that are remembered for each header, and so many that it takes to believe in one. */
enum { VOTE_TYPES = 32, VOTES_LEAST = 3 };

/* Of records, a common divisor of several sizes says something; of smaller ones it happens by chance. */
enum { RECORD_LEAST = 16 };

struct alloc_types {
	struct symbolizer *symbolizer;
	const struct call_sites *calls;
	struct string_set *texts;
	struct source_files sources;
	struct statement *statement, *later; /* `later`: what stands behind it */
	struct type_info **infos;            /* those that were asked */
	uint32_t n_infos, room_infos;
	struct vote *votes; /* by allocator */
	uint32_t n_votes, room_votes;
	bool no_memory;
};

struct alloc_types *alloc_types_create(struct symbolizer *symbolizer, const struct call_sites *calls)
{
	struct alloc_types *types = calloc(1, sizeof(*types));

	if (!types)
		return NULL;
	types->symbolizer = symbolizer;
	types->calls = calls;
	types->texts = string_set_create();
	types->statement = malloc(sizeof(*types->statement));
	types->later = malloc(sizeof(*types->later));
	if (types->texts && types->statement && types->later)
		return types;
	alloc_types_destroy(types);
	return NULL;
}

void alloc_types_destroy(struct alloc_types *types)
{
	if (!types)
		return;
	string_set_destroy(types->texts);
	source_files_finish(&types->sources);
	free(types->statement);
	free(types->later);
	free(types->infos);
	free(types->votes);
	free(types);
}

bool alloc_types_are_limited(const struct alloc_types *types)
{
	for (uint32_t i = 0; i < types->n_infos; i++) {
		if (type_info_is_limited(types->infos[i]))
			return true;
	}
	return false;
}

/* ---- Sizes ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void block_sizes_add(struct block_sizes *sizes, uint64_t size)
{
	const bool first = !sizes->divisors[0] && !sizes->most;

	sizes->least = first || size < sizes->least ? size : sizes->least;
	sizes->most = size > sizes->most ? size : sizes->most;
	for (unsigned i = 0; i < HEADERS; i++) {
		const uint64_t header = (uint64_t)i * HEADER_BYTES;

		sizes->divisors[i] = size >= header ? common_divisor(size - header, sizes->divisors[i]) : 1;
	}
}

static bool sizes_are(const struct block_sizes *sizes, uint64_t size)
{
	return sizes->least == size && sizes->most == size;
}

static bool sizes_fit(const struct block_sizes *sizes, uint64_t size)
{
	return size && sizes->most && sizes->divisors[0] % size == 0;
}

/* The same without a header before each block. */
static struct block_sizes sizes_behind(const struct block_sizes *sizes, unsigned header)
{
	struct block_sizes behind = { sizes->least - header, sizes->most - header, { 1, 1, 1 } };

	for (unsigned i = header / HEADER_BYTES, k = 0; i < HEADERS; i++, k++)
		behind.divisors[k] = sizes->divisors[i];
	return behind;
}

/* ---- Headers ---- */

/* How often types of different sizes fitted the blocks of an allocator, by header. */
struct vote {
	uint32_t function; /* the innermost call's */
	struct {
		uint64_t types[VOTE_TYPES]; /* sizes */
		uint32_t n;
	} headers[HEADERS];
};

static struct vote *vote_of(struct alloc_types *types, uint32_t function)
{
	for (uint32_t i = 0; i < types->n_votes; i++) {
		if (types->votes[i].function == function)
			return &types->votes[i];
	}
	if (!array_reserve(&types->votes, types->n_votes, &types->room_votes, sizeof(*types->votes)))
		return NULL;
	types->votes[types->n_votes] = (struct vote){ .function = function };
	return &types->votes[types->n_votes++];
}

/* Blocks of these sizes are for objects of this size. */
static void vote(struct alloc_types *types, uint32_t function, const struct block_sizes *sizes, uint64_t size)
{
	struct vote *v = vote_of(types, function);

	for (unsigned i = 0; v && i < HEADERS; i++) {
		bool known = sizes->least < (uint64_t)i * HEADER_BYTES + size ||
			     sizes->divisors[i] % size != 0 || v->headers[i].n == VOTE_TYPES;

		for (uint32_t k = 0; k < v->headers[i].n; k++)
			known |= v->headers[i].types[k] == size;
		if (!known)
			v->headers[i].types[v->headers[i].n++] = size;
	}
}

static uint32_t function_of(const struct alloc_types *types, const struct way_call *way)
{
	return call_sites_at(types->calls, way[0].call)->number_of_function;
}

static bool is_elected(const struct vote *v, unsigned header)
{
	const uint32_t n = v->headers[header].n;
	bool elected = n >= VOTES_LEAST;

	for (unsigned i = 0; i < HEADERS; i++)
		elected = elected && (i == header || n > 2 * v->headers[i].n);
	return elected;
}

unsigned alloc_types_header(const struct alloc_types *types, const struct way_call *way)
{
	const uint32_t function = function_of(types, way);

	for (uint32_t i = 0; i < types->n_votes; i++) {
		for (unsigned k = 1; types->votes[i].function == function && k < HEADERS; k++) {
			if (is_elected(&types->votes[i], k))
				return k * HEADER_BYTES;
		}
	}
	return 0;
}

/* ---- A question ---- */

struct question {
	struct alloc_types *types;
	const struct way_call *way;
	uint32_t n;
	unsigned op;
	const struct block_sizes *sizes; /* without headers */
	bool headed;                     /* they have been taken off */
	const char *path;                /* of the site's source */
	struct alloc_type *answer;
};

/* The set's copy of a type's name. In it, the longest name of the C++ library is what users write. */
static const char *keep(struct alloc_types *types, const char *text, size_t n)
{
	static const char string[] = "std::basic_string<char>", shown[] = "std::string";
	char *copy = malloc(n + 1), *to = copy;
	const char *kept = NULL;

	for (size_t i = 0; copy && i < n;) {
		if (n - i >= sizeof(string) - 1 && memcmp(text + i, string, sizeof(string) - 1) == 0) {
			to = mempcpy(to, shown, sizeof(shown) - 1);
			i += sizeof(string) - 1;
		} else {
			*to++ = text[i++];
		}
	}
	if (copy)
		kept = string_set_add(types->texts, copy, (size_t)(to - copy));
	free(copy);
	types->no_memory |= !kept;
	return kept;
}

/* The types of the module of a call, and where that is. NULL: it has no debug information. */
static struct type_info *info_of(struct alloc_types *types, const struct way_call *call,
				 struct type_place *place)
{
	struct type_info *info = symbolize_types(types->symbolizer, call->frame, &place->address);

	place->level = call->level;
	for (uint32_t i = 0; i < types->n_infos; i++) {
		if (types->infos[i] == info)
			return info;
	}
	if (info &&
	    array_reserve(&types->infos, types->n_infos, &types->room_infos, sizeof(struct type_info *)))
		types->infos[types->n_infos++] = info;
	return info;
}

static bool is_new(unsigned op)
{
	return op == MST_OP_NEW || op == MST_OP_NEW_ARRAY;
}

/* ---- What the compiler says ---- */

static bool by_compiler(const struct question *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		struct type_place place;
		struct type_info *info = q->way[i].level == 0 ? info_of(q->types, &q->way[i], &place) : NULL;
		const uint32_t number = info ? type_info_allocated(info, place.address) : TYPE_NONE;

		if (number == TYPE_NONE)
			continue;
		const struct type *type = type_info_at(info, number);
		const bool fits =
			sizes_fit(q->sizes, type->size) ||
			(q->op == MST_OP_NEW_ARRAY && type->size && q->sizes->divisors[1] % type->size == 0);

		if (!fits || type->form == TYPE_VOID)
			continue;
		*q->answer = (struct alloc_type){
			.name = keep(q->types, type->name, strlen(type->name)),
			.size = type->size,
			.trust = TRUST_CERTAIN,
			.evidence = EVIDENCE_COMPILER,
			.counted = true,
			.info = info,
			.type = number,
		};
		return true;
	}
	return false;
}

/* ---- Template arguments ---- */

/* Sizes that are the same wherever msrec runs. */
static uint64_t size_of_builtin(const char *name)
{
	static const struct {
		const char *name;
		uint64_t size;
	} builtins[] = { { "char", 1 },   { "signed char", 1 },  { "unsigned char", 1 },
			 { "bool", 1 },   { "short", 2 },        { "unsigned short", 2 },
			 { "int", 4 },    { "unsigned int", 4 }, { "float", 4 },
			 { "double", 8 }, { "long long", 8 },    { "unsigned long long", 8 },
			 { "u8", 1 },     { "i32", 4 },          { "u32", 4 },
			 { "u64", 8 } };

	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++) {
		if (strcmp(builtins[i].name, name) == 0)
			return builtins[i].size;
	}
	return 0;
}

/* The type of an element as debug information knows it. TYPE_NONE: it doesn't, or knows another one. */
static uint32_t element_number(struct type_info *info, const struct type_place *place,
			       const struct element *element, const char *name)
{
	const bool parameter = element->parameter && strcmp(name, element->parameter) == 0;
	const uint32_t number = type_info_argument(info, place, element->parameter);

	if (number != TYPE_NONE && (parameter || strcmp(type_info_at(info, number)->name, name) == 0))
		return number;
	return parameter ? TYPE_NONE : type_info_named(info, place, name, strlen(name));
}

/* The allocated type, before what keeps the element in it is taken off. */
struct allocated {
	char *name;
	uint64_t size; /* 0: not known */
	struct type_info *info;
	uint32_t number;
};

/* False: nothing is known but a parameter's name. */
static bool find_allocated(const struct question *q, uint32_t at, const struct element *element,
			   struct allocated *found)
{
	struct type_place place;

	found->info = info_of(q->types, &q->way[at], &place);
	found->number = TYPE_NONE;
	found->name = element->type.text ? type_name_canonical(element->type.text, element->type.n)
					 : strdup(element->parameter ? element->parameter : "");
	if (!found->name)
		return false;
	if (found->info)
		found->number = element_number(found->info, &place, element, found->name);
	found->size = size_of_builtin(found->name);
	if (found->number == TYPE_NONE)
		return *found->name && (!element->parameter || strcmp(found->name, element->parameter) != 0);
	const struct type *type = type_info_at(found->info, found->number);

	free(found->name);
	found->name = strdup(type->name);
	found->size = type->size;
	return found->name;
}

/* The container that a call on the way, or one around it, belongs to. NULL: none. */
static const char *find_container(const struct question *q, uint32_t at)
{
	struct function_path path;
	const char *container = NULL;

	for (; at < q->n && !container; at++) {
		function_path_parse(call_sites_at(q->types->calls, q->way[at].call)->function, &path);
		if (path.n > 1)
			container = container_of_function(&path);
	}
	return container;
}

static void name_element(const struct question *q, const struct wrapping *wrapping, const char *name)
{
	struct alloc_type *a = q->answer;
	char *pair;

	if (wrapping->more) {
		const struct text_part all = { name, strlen(name) };
		const struct text_part first = type_name_argument(all, 0),
				       second = type_name_argument(all, 1);

		if (asprintf(&pair, "(%.*s, %.*s)", (int)first.n, first.n ? first.text : "", (int)second.n,
			     second.n ? second.text : "") < 0) {
			q->types->no_memory = true;
			return;
		}
		a->name = keep(q->types, pair, strlen(pair));
		free(pair);
	} else if (wrapping->inner.text) {
		a->name = keep(q->types, wrapping->inner.text, wrapping->inner.n);
	} else {
		a->name = keep(q->types, wrapping->bare, strlen(wrapping->bare));
	}
}

/* Notes where the layout of the element is. */
static void find_layout(const struct question *q, uint32_t at, const struct wrapping *wrapping,
			const struct allocated *allocated)
{
	struct alloc_type *a = q->answer;
	struct type_place place;

	if (allocated->number == TYPE_NONE)
		return;
	a->info = allocated->info;
	a->type = allocated->number;
	if (!wrapping->container)
		return;
	if (wrapping->inner.text && !wrapping->more)
		a->type = type_info_named(info_of(q->types, &q->way[at], &place), &place,
					  wrapping->inner.text, wrapping->inner.n);
	if (!wrapping->inner.text || wrapping->more || a->type == TYPE_NONE)
		a->info = NULL;
}

/* False: the sizes contradict it. */
static bool tell_element(const struct question *q, uint32_t at, const struct element *element,
			 const struct allocated *allocated)
{
	const struct wrapping wrapping =
		wrapping_of((struct text_part){ allocated->name, strlen(allocated->name) });
	const bool more = element->more || wrapping.more;
	struct alloc_type *a = q->answer;

	if (!more && allocated->size && !sizes_fit(q->sizes, allocated->size))
		return false;
	*a = (struct alloc_type){
		.size = allocated->size,
		.trust = more || allocated->size ? TRUST_CERTAIN : TRUST_LIKELY,
		.evidence = EVIDENCE_TEMPLATE,
		.counted = !more && allocated->size,
	};
	name_element(q, &wrapping, allocated->name);
	a->container = wrapping.only ? wrapping.container : find_container(q, at);
	if (!a->container)
		a->container = wrapping.container ? wrapping.container : element->container;
	find_layout(q, at, &wrapping, allocated);
	return a->name;
}

/* What a call says of its element. False: nothing; else allocated->name is the caller's. */
static bool find_element(const struct question *q, uint32_t at, struct element *element,
			 struct allocated *allocated)
{
	struct function_path path;

	function_path_parse(call_sites_at(q->types->calls, q->way[at].call)->function, &path);
	if (path.n < 2 || !element_of(&path, element))
		return false;
	if (find_allocated(q, at, element, allocated))
		return true;
	free(allocated->name);
	return false;
}

/* The innermost call of the function that called the one that call `at` is inlined in; q->n: that is the site's. */
static uint32_t calling_frame(const struct question *q, uint32_t at)
{
	const uint32_t frame = q->way[at].frame;

	while (at < q->n && q->way[at].frame == frame)
		at++;
	return at;
}

/*
 * LLVM makes one function of several with equal code, which rustc's generic ones often have: what it says is of any type
 * of that size. What is inlined in its caller is for the caller's type. *at moves there; true: to the site's own frame.
 */
static bool leave_merged(const struct question *q, uint32_t *at, struct element *element,
			 struct allocated *allocated)
{
	for (;;) {
		const uint32_t next = calling_frame(q, *at);
		struct element outer;
		struct allocated better;

		if (next == q->n)
			return true;
		if (!find_element(q, next, &outer, &better))
			return false;
		if (!better.size || (allocated->size && better.size != allocated->size)) {
			free(better.name);
			return false;
		}
		free(allocated->name);
		*allocated = better;
		*element = outer;
		*at = next;
	}
}

static bool by_templates(const struct question *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		struct element element;
		struct allocated allocated;
		uint32_t at = i;
		bool told, sure;

		if (!find_element(q, i, &element, &allocated))
			continue;
		sure = !element.merged || leave_merged(q, &at, &element, &allocated);
		told = tell_element(q, at, &element, &allocated);
		if (told && !sure)
			q->answer->trust = TRUST_LIKELY;
		free(allocated.name);
		if (told)
			return true;
	}
	return false;
}

/* ---- The source ---- */

struct told {
	struct source_type type;
	enum type_trust trust;
	bool one_each;
	bool uncounted; /* how many objects there are is open */
};

static const struct told nothing = { .type = { TYPE_NONE, 0 } };

static uint64_t size_of(const struct source_place *place, struct source_type type)
{
	if (type.type == TYPE_NONE)
		return 0;
	return type.stars ? type_info_pointer_size(place->info, &place->place)
			  : type_info_at(place->info, type.type)->size;
}

static enum type_form form_of(const struct source_place *place, struct source_type type)
{
	return type.stars ? TYPE_POINTER : type_info_at(place->info, type.type)->form;
}

/* What only a variable or a cast says: the size must leave no doubt. */
static struct told tell_loosely(const struct question *q, const struct source_place *place,
				struct source_type type)
{
	const uint64_t size = size_of(place, type);
	bool fits;

	if (!size)
		return nothing;
	switch (form_of(place, type)) {
	case TYPE_BASE:
	case TYPE_POINTER:
		fits = sizes_fit(q->sizes, size);
		break;
	case TYPE_RECORD:
		fits = sizes_are(q->sizes, size) || (q->sizes->least != q->sizes->most &&
						     size >= RECORD_LEAST && sizes_fit(q->sizes, size));
		break;
	default:
		fits = false;
	}
	return fits ? (struct told){ type, TRUST_LIKELY, false, false } : nothing;
}

/* `new T`, `new T[n]`, g_new(T, n) */
static struct told tell_new(const struct question *q, const struct source_place *place,
			    const struct allocation *a)
{
	const struct source_type type = source_type_named(place, q->types->statement, a->type);
	const uint64_t size = size_of(place, type);
	bool fits;

	if (!size)
		return nothing;
	if (!a->array)
		fits = sizes_are(q->sizes, size);
	else
		fits = sizes_fit(q->sizes, size) || (is_new(q->op) && q->sizes->divisors[1] % size == 0);
	return fits ? (struct told){ type, TRUST_CERTAIN, false, false } : nothing;
}

static bool is_same(struct source_type a, struct source_type b)
{
	return a.type == b.type && a.stars == b.stars;
}

/* What gets the result, or what it is cast to; not what C converts without a word. */
static struct source_type target_of(const struct question *q, const struct source_place *place,
				    const struct allocation *a)
{
	const struct statement *s = q->types->statement;
	struct source_type target = { TYPE_NONE, 0 };

	if (tokens_are(a->declared))
		target = source_type_named(place, s, a->declared);
	else if (tokens_are(a->lvalue))
		target = source_type_target(place, source_type_of(place, s, a->lvalue));
	else if (tokens_are(a->cast))
		target = source_type_named(place, s, a->cast);
	return target;
}

static struct told tell_sized(const struct question *q, const struct source_place *place,
			      const struct allocation *a, struct source_type target)
{
	const struct source_type type = source_type_measured(place, q->types->statement, a->size);
	const uint64_t size = size_of(place, type);
	enum type_trust trust = TRUST_CERTAIN;

	if (!size)
		return nothing;
	/* What comes first is an object of the pointer's type; how many there are, a product leaves open. */
	if (a->more)
		return q->sizes->least >= size && form_of(place, type) == TYPE_RECORD && is_same(target, type)
			       ? (struct told){ type, TRUST_LIKELY, !a->times, a->times }
			       : nothing;
	if (!q->headed && q->n > 1 && size > 1)
		vote(q->types, function_of(q->types, q->way), q->sizes, size);
	if (target.type != TYPE_NONE && !is_same(target, type) && form_of(place, target) == TYPE_RECORD)
		trust = TRUST_LIKELY;
	return sizes_fit(q->sizes, size) ? (struct told){ type, trust, false, false } : nothing;
}

/* A sum of several types' sizes, as of a record and the array behind it: the block begins with what the pointer is to. */
static struct told tell_sum(const struct question *q, const struct source_place *place,
			    const struct allocation *a, struct source_type target)
{
	for (uint32_t i = 0; a->more && target.type != TYPE_NONE && i < a->n_sizes; i++) {
		const struct source_type type = source_type_measured(place, q->types->statement, a->sizes[i]);

		if (is_same(target, type) && form_of(place, type) == TYPE_RECORD &&
		    q->sizes->least >= size_of(place, type))
			return (struct told){ type, TRUST_LIKELY, !a->times, a->times };
	}
	return nothing;
}

/* Bytes of which the function makes something else are no bytes. */
static bool is_made_of(const struct question *q, const struct source_place *place, const struct allocation *a)
{
	const struct statement *s = q->types->statement;
	const uint32_t end = tokens_are(a->declared) ? a->name
			     : tokens_are(a->lvalue) ? a->lvalue.end - 1
						     : 0;

	if (!end || !token_is_word(&s->tokens[end]))
		return true;
	return statement_casts_later(q->types->later, source_files_open(&q->types->sources, q->path),
				     place->line, &s->tokens[end]);
}

static struct told tell_call(const struct question *q, const struct source_place *place,
			     const struct allocation *a)
{
	struct source_type target;
	struct told told;

	if (tokens_are(a->type))
		return tell_new(q, place, a);
	target = target_of(q, place, a);
	if (a->sized)
		return tokens_are(a->size) ? tell_sized(q, place, a, target) : tell_sum(q, place, a, target);
	told = tell_loosely(q, place, target);
	if (told.type.type != TYPE_NONE && size_of(place, told.type) == 1 && is_made_of(q, place, a))
		return nothing;
	return told;
}

/* The name of the function that the site calls, as the source has it. NULL: `new`; "": unknown. To be freed. */
static char *called_function(const struct question *q)
{
	struct function_path path;
	const char *name;
	size_t n;

	if (q->n < 2 && (q->op == MST_OP_REALLOC_MOVED || q->op == MST_OP_REALLOC_IN_PLACE))
		return strdup("realloc");
	if (q->n < 2)
		return is_new(q->op) ? NULL : strdup(mst_op_name(q->op));
	name = call_sites_at(q->types->calls, q->way[q->n - 2].call)->function;
	if (strncmp(name, "operator new", 12) == 0)
		return NULL;
	function_path_parse(name, &path);
	if (path.n == 0)
		return strdup("");
	n = path.parts[path.n - 1].name.n;
	name = path.parts[path.n - 1].name.text;
	for (size_t i = 0; i < n; i++) {
		if (name[i] == '.') /* xmalloc.constprop.0 */
			n = i;
	}
	return strndup(name, n);
}

/* True: the file was changed behind the module that was made of it. */
static bool is_changed(const struct question *q, const struct source_file *file, uint32_t frame)
{
	const char *path = symbolize_object(q->types->symbolizer, frame);
	struct stat st;

	return path && stat(path, &st) == 0 && file->modified > st.st_mtime;
}

static void tell_source(const struct question *q, const struct source_place *place, const struct told *told,
			enum type_evidence evidence)
{
	const struct type *type = type_info_at(place->info, told->type.type);
	struct alloc_type *a = q->answer;
	char *name;

	if (asprintf(&name, "%s%.*s", type->name, told->type.stars, "****") < 0) {
		q->types->no_memory = true;
		return;
	}
	*a = (struct alloc_type){
		.name = keep(q->types, name, strlen(name)),
		.size = size_of(place, told->type),
		.trust = told->trust,
		.evidence = evidence,
		.one_each = told->one_each,
		.counted = !told->uncounted,
		.type = told->type.type,
		.info = told->type.stars ? NULL : place->info,
	};
	free(name);
}

/* What all calls of the statement agree on. */
static struct told tell_statement(const struct question *q, const struct source_place *place)
{
	const struct statement *s = q->types->statement;
	struct told all = nothing;
	uint32_t silent = 0;

	for (uint32_t i = 0; i < s->n_calls; i++) {
		const struct told told = tell_call(q, place, &s->calls[i]);

		if (told.type.type == TYPE_NONE) {
			silent++;
			continue;
		}
		if (all.type.type != TYPE_NONE && !is_same(all.type, told.type))
			return nothing;
		all = told;
	}
	if (silent)
		all.trust = all.trust ? TRUST_LIKELY : TRUST_NONE;
	return all;
}

/* *read: the statement was found, so it says all that there is. */
static bool by_source(const struct question *q, const struct source_place *place, bool *read)
{
	const struct source_file *file = source_files_open(&q->types->sources, q->path);
	char *function = called_function(q);
	struct told told = nothing;

	*read = file && statement_read(q->types->statement, file, place->line, function);
	free(function);
	if (*read)
		told = tell_statement(q, place);
	if (told.type.type == TYPE_NONE)
		return false;
	if (is_changed(q, file, q->way[q->n - 1].frame))
		told.trust = TRUST_LIKELY;
	tell_source(q, place, &told, EVIDENCE_SOURCE);
	return true;
}

static bool by_variable(const struct question *q, const struct source_place *place)
{
	const struct source_type variable = { type_info_declared(place->info, &place->place, place->line),
					      0 };
	const struct told told = tell_loosely(q, place, source_type_target(place, variable));

	/* Bytes may be made something else behind the line. */
	if (told.type.type == TYPE_NONE || size_of(place, told.type) == 1)
		return false;
	tell_source(q, place, &told, EVIDENCE_VARIABLE);
	return true;
}

/* The functions of C's and C++'s libraries allocate for themselves, but for those that are named for what they return. */
static bool is_librarys_own(const struct question *q)
{
	static const char *const libraries[] = { "libc.so", "libc-2.", "ld-musl", "libstdc++.so",
						 "libc++.so" };
	static const char *const allocators[] = { "alloc", "align", "dup", "asprintf" };
	const struct way_call *site = &q->way[q->n - 1], *called = NULL;
	bool library = false, allocator = false;

	/* Not what is inlined in the site's function: a stream's constructor. */
	for (uint32_t i = q->n; i-- > 0 && !called;)
		called = q->way[i].frame != site->frame ? &q->way[i] : NULL;

	const char *path = called ? symbolize_object(q->types->symbolizer, called->frame) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL, *file = slash ? slash + 1 : path;

	for (size_t i = 0; file && i < sizeof(libraries) / sizeof(*libraries); i++)
		library |= strncmp(file, libraries[i], strlen(libraries[i])) == 0;
	for (size_t i = 0; library && i < sizeof(allocators) / sizeof(*allocators); i++)
		allocator |=
			strstr(call_sites_at(q->types->calls, called->call)->function, allocators[i]) != NULL;
	return library && !allocator;
}

static bool by_site(const struct question *q)
{
	const struct way_call *site = &q->way[q->n - 1];
	const struct call *call = call_sites_at(q->types->calls, site->call);
	struct source_place place = { .line = call->line };
	bool read = false;

	place.info = call->line > 0 ? info_of(q->types, site, &place.place) : NULL;
	if (!place.info || is_librarys_own(q))
		return false;
	return by_source(q, &place, &read) || (!read && by_variable(q, &place));
}

/* ---- Pools ---- */

/* What pools ask for: pages, and more as they grow. */
enum { SLAB_LEAST = 4096 };

/*
 * A pool's slab has objects of all types, so none. But which object finds the last slab full is close to chance, in
 * proportion to its size. Nothing but the pool may stand between the allocator and the maker of objects.
 */
static bool by_maker(const struct question *q)
{
	struct function_path path;
	struct text_part type;

	if (q->n < 2 || q->sizes->least < SLAB_LEAST || q->sizes->divisors[0] % SLAB_LEAST)
		return false;
	for (uint32_t i = 0; i + 1 < q->n; i++) {
		const struct call *call = call_sites_at(q->types->calls, q->way[i].call);

		if (!call->named)
			continue;
		function_path_parse(call->function, &path);
		if (!is_of_pool(&path))
			return false;
	}
	function_path_parse(call_sites_at(q->types->calls, q->way[q->n - 1].call)->function, &path);
	type = made_by(&path);
	if (!type.text)
		return false;
	*q->answer = (struct alloc_type){
		.name = keep(q->types, type.text, type.n),
		.container = "slab",
		.trust = TRUST_SAMPLE,
		.evidence = EVIDENCE_MAKER,
		.type = TYPE_NONE,
	};
	return q->answer->name;
}

bool alloc_types_tell(struct alloc_types *types, const struct way_call *way, uint32_t n, unsigned op,
		      const struct block_sizes *sizes, struct alloc_type *type)
{
	const unsigned header = n > 1 ? alloc_types_header(types, way) : 0;
	const bool headed = header && sizes->least >= header;
	const struct block_sizes behind = headed ? sizes_behind(sizes, header) : *sizes;
	const char *path = call_sites_at(types->calls, way[n - 1].call)->file;
	const struct question q = { types, way, n, op, &behind, headed, path, type };

	*type = (struct alloc_type){ .type = TYPE_NONE };
	if (!by_compiler(&q) && !by_templates(&q) && !by_site(&q) && !by_maker(&q))
		*type = (struct alloc_type){ .type = TYPE_NONE };
	if (headed) {
		type->header = header;
		type->trust = type->trust == TRUST_CERTAIN ? TRUST_LIKELY : type->trust;
	}
	return !types->no_memory;
}
