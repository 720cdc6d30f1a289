/* SPDX-License-Identifier: MIT */
#include "element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_one_of(struct text_part part, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text_part_is(part, words[i]))
			return true;
	}
	return false;
}

static bool begins_with(const struct function_path *f, const char *first)
{
	return f->n > 1 && text_part_is(f->parts[0].name, first);
}

/* ---- Elements ---- */

/* Argument `i` of the class that part `at` is. */
static struct text_part argument_of(const struct name_part *part, unsigned i)
{
	const struct text_part arguments = part->arguments;

	if (!arguments.text)
		return text_part_none();
	return type_name_argument((struct text_part){ arguments.text - 1, arguments.n + 2 }, i);
}

static bool cpp_element(const struct function_path *f, struct element *e)
{
	static const char *const allocators[] = { "allocator", "new_allocator", "__new_allocator",
						  "malloc_allocator" };
	static const char *const vectors[] = { "vector", "_Vector_base", "__split_buffer" };
	static const char *const makers[] = { "make_unique", "make_unique_for_overwrite" };
	const struct name_part *last = &f->parts[f->n - 1], *around = &f->parts[f->n - 2];

	*e = (struct element){ .type = argument_of(around, 0) };
	if (text_part_is(last->name, "allocate") && is_one_of(around->name, allocators, COUNT(allocators)))
		return e->type.text;
	if (text_part_is(around->name, "basic_string") ||
	    (text_part_is(last->name, "_M_allocate") && is_one_of(around->name, vectors, COUNT(vectors))))
		return e->type.text;
	if (!is_one_of(last->name, makers, COUNT(makers)))
		return false;
	e->type = argument_of(last, 0);
	return e->type.text;
}

/* LLVM's containers allocate by functions of their classes; those without an argument know a size alone. */
static bool llvm_element(const struct function_path *f, struct element *e)
{
	static const struct {
		const char *name;
		unsigned argument;
		const char *container;
	} classes[] = { { "SmallVectorTemplateBase", 0, "llvm::SmallVector" },
			{ "SmallVectorTemplateCommon", 0, "llvm::SmallVector" },
			{ "SmallVectorImpl", 0, "llvm::SmallVector" },
			{ "DenseMap", 3, "llvm::DenseMap" },
			{ "SmallDenseMap", 4, "llvm::DenseMap" } };

	for (size_t i = 0; i < COUNT(classes); i++) {
		const struct name_part *around = &f->parts[f->n - 2];

		if (!text_part_is(around->name, classes[i].name))
			continue;
		*e = (struct element){ .type = argument_of(around, classes[i].argument),
				       .container = classes[i].container };
		return e->type.text;
	}
	return false;
}

static bool rust_element(const struct function_path *f, struct element *e)
{
	static const char *const owners[] = { "Box", "RawVec", "Vec", "VecDeque" };

	for (unsigned i = f->n; i-- > 0;) {
		const struct name_part *part = &f->parts[i];
		const bool table = text_part_is(part->name, "RawTable");

		if (!table && !is_one_of(part->name, owners, COUNT(owners)))
			continue;
		*e = (struct element){
			.type = argument_of(part, 0), .parameter = "T", .more = table, .merged = true
		};
		if (table)
			e->container = "HashMap";
		else if (text_part_is(part->name, "RawVec"))
			e->container = "Vec";
		return true;
	}
	return false;
}

bool element_of(const struct function_path *f, struct element *e)
{
	if (begins_with(f, "std") || begins_with(f, "__gnu_cxx"))
		return cpp_element(f, e);
	if (begins_with(f, "alloc") || begins_with(f, "hashbrown"))
		return rust_element(f, e);
	if (begins_with(f, "llvm"))
		return llvm_element(f, e);
	return false;
}

/* ---- Makers and pools ---- */

struct text_part made_by(const struct function_path *f)
{
	static const char *const makers[] = { "Create", "CreateEmpty", "CreateDeserialized", "create" };

	if (f->n < 2 || f->parts[f->n - 1].arguments.text ||
	    !is_one_of(f->parts[f->n - 1].name, makers, COUNT(makers)))
		return text_part_none();
	return function_path_until(f, f->n - 2);
}

bool is_of_pool(const struct function_path *f)
{
	static const char *const words[] = { "Allocate", "Allocator", "allocate_buffer", "safe_malloc",
					     "Slab",     "Arena",     "operator new" };

	for (unsigned i = 0; i < f->n; i++) {
		const struct text_part name = f->parts[i].name;

		for (size_t k = 0; k < COUNT(words); k++) {
			if (memmem(name.text, name.n, words[k], strlen(words[k])))
				return true;
		}
	}
	return false;
}

/* ---- Containers ---- */

/* What users call the classes that a container is made of. */
static const struct shown_class {
	const char *name, *shown;
} shown_classes[] = {
	{ "_Bvector_base", "std::vector<bool>" },
	{ "vector", "std::vector" },
	{ "_Vector_base", "std::vector" },
	{ "deque", "std::deque" },
	{ "_Deque_base", "std::deque" },
	{ "list", "std::list" },
	{ "_List_base", "std::list" },
	{ "forward_list", "std::forward_list" },
	{ "_Fwd_list_base", "std::forward_list" },
	{ "basic_string", "std::string" },
	{ "map", "std::map" },
	{ "multimap", "std::multimap" },
	{ "set", "std::set" },
	{ "multiset", "std::multiset" },
	{ "unordered_map", "std::unordered_map" },
	{ "unordered_multimap", "std::unordered_multimap" },
	{ "unordered_set", "std::unordered_set" },
	{ "unordered_multiset", "std::unordered_multiset" },
	{ "function", "std::function" },
	{ "shared_ptr", "std::shared_ptr" },
	{ "__shared_ptr", "std::shared_ptr" },
};

static const struct shown_class rust_classes[] = {
	{ "Box", "Box" }, { "Vec", "Vec" }, { "VecDeque", "VecDeque" }, { "Rc", "Rc" }, { "Arc", "Arc" },
};

static const char *find_class(const struct shown_class *classes, size_t n, struct text_part name)
{
	for (size_t i = 0; i < n; i++) {
		if (text_part_is(name, classes[i].name))
			return classes[i].shown;
	}
	return NULL;
}

const char *container_of_function(const struct function_path *f)
{
	const bool cpp = begins_with(f, "std");
	const bool rust = begins_with(f, "alloc") || begins_with(f, "hashbrown");

	for (unsigned i = f->n; i-- > 1 && (cpp || rust);) {
		const struct text_part name = f->parts[i].name;
		const char *shown = cpp ? find_class(shown_classes, COUNT(shown_classes), name)
					: find_class(rust_classes, COUNT(rust_classes), name);

		/* Its elements are bits in words. */
		if (cpp && text_part_is(name, "vector") && text_part_is(argument_of(&f->parts[i], 0), "bool"))
			shown = "std::vector<bool>";
		/* Of Rust, `map` is a module. */
		if (shown && i + 1 < f->n && (rust || f->parts[i].arguments.text))
			return shown;
	}
	return NULL;
}

/* ---- Nodes ---- */

static const struct node_class {
	const char *name, *container;
	const char *pairs; /* the container, if the element is a pair; NULL: the same */
	bool more;
} node_classes[] = {
	{ "std::_List_node", "std::list", NULL, false },
	{ "std::_Fwd_list_node", "std::forward_list", NULL, false },
	{ "std::_Rb_tree_node", "std::set", "std::map", false },
	{ "std::__detail::_Hash_node", "std::unordered_set", "std::unordered_map", false },
	{ "std::_Sp_counted_ptr_inplace", "std::shared_ptr", NULL, false },
	{ "std::__list_node", "std::list", NULL, false },
	{ "std::__forward_list_node", "std::forward_list", NULL, false },
	{ "std::__tree_node", "std::set", "std::map", false },
	{ "std::__hash_node", "std::unordered_set", "std::unordered_map", false },
	{ "std::__shared_ptr_emplace", "std::shared_ptr", NULL, false },
	{ "llvm::detail::DenseSetPair", "llvm::DenseSet", NULL, false },
	{ "alloc::rc::RcInner", "Rc", NULL, false },
	{ "alloc::rc::RcBox", "Rc", NULL, false },
	{ "alloc::sync::ArcInner", "Arc", NULL, false },
	{ "alloc::collections::linked_list::Node", "LinkedList", NULL, false },
	{ "alloc::collections::btree::node::LeafNode", "BTreeMap", NULL, true },
	{ "alloc::collections::btree::node::InternalNode", "BTreeMap", NULL, true },
};

static bool is_pair(struct text_part type)
{
	const struct text_part name = type_name_template(type);

	return text_part_is(name, "std::pair") || text_part_is(name, "std::__value_type");
}

struct wrapping wrapping_of(struct text_part type)
{
	static const char buckets[] = "std::__detail::_Hash_node_base*";
	const struct text_part name = type_name_template(type);

	if (text_part_is(type, buckets))
		return (struct wrapping){ .container = "std::unordered_map", .bare = "buckets" };
	for (size_t i = 0; i < COUNT(node_classes); i++) {
		const struct node_class *class = &node_classes[i];
		struct wrapping wrapping = { .more = class->more };

		if (!text_part_is(name, class->name))
			continue;
		wrapping.inner = type_name_argument(type, 0);
		wrapping.only = memcmp(class->name, "alloc::", 7) == 0;
		wrapping.container =
			class->pairs && is_pair(wrapping.inner) ? class->pairs : class->container;
		return wrapping;
	}
	return (struct wrapping){ .inner = type };
}
