/* SPDX-License-Identifier: MIT */
/* Names of types and functions, statements that allocate, and the best order of members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_type.h"
#include "element.h"
#include "statement.h"
#include "type_layout.h"
#include "type_name.h"

/* ---- Names ---- */

static void check_name(const char *name, const char *wanted)
{
	char *canonical = type_name_canonical(name, strlen(name));

	if (!wanted)
		assert_null(canonical);
	else
		assert_string_equal(canonical, wanted);
	if (canonical) {
		char *again = type_name_canonical(canonical, strlen(canonical));

		assert_string_equal(again, canonical);
		free(again);
	}
	free(canonical);
}

static void test_one_spelling(void **state)
{
	(void)state;
	check_name("long unsigned int", "unsigned long");
	check_name("unsigned long int", "unsigned long");
	check_name("unsigned", "unsigned int");
	check_name("short unsigned int", "unsigned short");
	check_name("long long int", "long long");
	check_name("signed char", "signed char");
	check_name("long double", "long double");
	check_name("const char*", "char const*");
	check_name("char const *", "char const*");
	check_name("const volatile int", "int const volatile");
	check_name("struct node *", "node*");
	check_name("std::vector<const Node*, std::allocator<const Node*> >", "std::vector<Node const*>");
	check_name("std::vector<Node const*, std::allocator<Node const*>>", "std::vector<Node const*>");
	check_name("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		   "std::basic_string<char>");
	check_name(
		"std::__1::map<int, long, std::__1::less<int>, std::__1::allocator<std::__1::pair<int const, "
		"long> > >",
		"std::map<int, long>");
	check_name("std::map<int, long, std::greater<int>, std::allocator<std::pair<const int, long> > >",
		   "std::map<int, long, std::greater<int>>");
	check_name("std::array<int, 4ul>", "std::array<int, 4>");
	check_name("(anonymous namespace)::Node", "(anonymous namespace)::Node");
	check_name("f[abi:cxx11]", "f");
	check_name("Foo<>", "Foo<>");
	check_name("alloc::vec::Vec<u8, alloc::alloc::Global>", "alloc::vec::Vec<u8>");
	check_name("void (*)(int, char)", "void(*)(int, char)");
	check_name("", NULL);
	check_name("Foo<int", NULL);
	check_name("Foo>", NULL);
}

/* Nothing of a hostile name is read behind its end, nesting is bounded, and results have a bounded length. */
static void test_hostile_names(void **state)
{
	static const char letters[] = "ab1<>(){}[],:*& -~\"unsigned long const struct std::__1::";
	struct function_path path;
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		const size_t n = (size_t)i % 60;
		char *name = malloc(n + 1), *canonical;

		for (size_t k = 0; k < n; k++) {
			random = random * 1664525 + 1013904223;
			name[k] = letters[(random >> 16) % (sizeof(letters) - 1)];
		}
		name[n] = '\0';
		canonical = type_name_canonical(name, n);
		assert_true(!canonical || strlen(canonical) <= 2 * n + 32);
		free(canonical);
		function_path_parse(name, &path);
		assert_true(path.n <= NAME_PARTS);
		for (unsigned k = 0; k < path.n; k++) {
			const struct text_part until = function_path_until(&path, k);

			assert_true(until.text >= name && until.text + until.n <= name + n);
		}
		free(name);
	}
	char *deep = malloc(10001);

	memset(deep, '<', 10000);
	deep[10000] = '\0';
	assert_null(type_name_canonical(deep, 10000));
	function_path_parse(deep, &path);
	free(deep);
}

static void check_path(const char *name, const char *wanted)
{
	struct function_path path;
	char text[400] = "";

	function_path_parse(name, &path);
	for (unsigned i = 0; i < path.n; i++) {
		const struct name_part *part = &path.parts[i];

		sprintf(text + strlen(text), "%s%.*s", i ? "|" : "", (int)part->name.n, part->name.text);
		if (part->arguments.text)
			sprintf(text + strlen(text), "(%.*s)", (int)part->arguments.n, part->arguments.text);
	}
	assert_string_equal(text, wanted);
}

static void test_function_paths(void **state)
{
	(void)state;
	check_path("main", "main");
	check_path("std::__new_allocator<Node>::allocate(unsigned long, void const*)",
		   "std|__new_allocator(Node)|allocate");
	check_path("std::shared_ptr<Node> std::make_shared<Node, int&>(int&)", "std|make_shared(Node, int&)");
	check_path("(anonymous namespace)::f(std::string, std::string)", "(anonymous namespace)|f");
	check_path("Parser::read(std::string*, std::char_traits<char>)", "Parser|read");
	check_path("std::ostream& std::operator<< <char>(std::ostream&, char)", "std|operator");
	check_path("operator new(unsigned long)", "operator");
	check_path("decltype (f(1)) std::invoke<int>(int)", "std|invoke(int)");
	check_path("main::{lambda(int)#1}::operator()(int) const", "main|{lambda(int)#1}|operator");
	check_path("alloc::raw_vec::RawVec<T,A>::grow_one", "alloc|raw_vec|RawVec(T,A)|grow_one");
	check_path("<alloc::vec::Vec<u8>>::push", "alloc|vec|Vec(u8)|push");
	check_path("<alloc::vec::Vec<T,A> as core::iter::Extend<T>>::extend", "alloc|vec|Vec(T,A)|extend");
	check_path("alloc::boxed::Box::<Node>::new", "alloc|boxed|Box(Node)|new");
}

/* ---- Elements ---- */

static void check_element(const char *function, const char *type, const char *container)
{
	struct function_path path;
	struct element element;

	function_path_parse(function, &path);
	assert_int_equal(path.n > 1 && element_of(&path, &element), type != NULL);
	if (type)
		assert_true(text_part_is(element.type, type));
	if (container)
		assert_string_equal(container_of_function(&path), container);
	else
		assert_null(container_of_function(&path));
}

static void test_elements(void **state)
{
	(void)state;
	check_element("std::__new_allocator<Node>::allocate(unsigned long, void const*)", "Node", NULL);
	check_element("__gnu_cxx::new_allocator<std::pair<int, long> >::allocate(unsigned long)",
		      "std::pair<int, long>", NULL);
	check_element("std::__1::allocator<Node>::allocate(unsigned long)", "Node", NULL);
	check_element("std::_Vector_base<Node*, std::allocator<Node*> >::_M_allocate(unsigned long)", "Node*",
		      "std::vector");
	check_element("std::vector<Node, std::allocator<Node> >::push_back(Node const&)", NULL,
		      "std::vector");
	check_element("std::_MakeUniq<Node>::__single_object std::make_unique<Node>()", "Node", NULL);
	check_element("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		      ">::_M_create(unsigned long&, unsigned long)",
		      "char", "std::string");
	check_element("std::_Bvector_base<std::allocator<bool> >::_M_allocate(unsigned long)", NULL,
		      "std::vector<bool>");
	check_element("std::vector<bool, std::allocator<bool> >::_M_insert_aux(std::_Bit_iterator, bool)",
		      NULL, "std::vector<bool>");
	check_element("my::allocator<Node>::allocate(unsigned long)", NULL, NULL);
	check_element("alloc::raw_vec::RawVec<T,A>::grow_one", "T", NULL);
	check_element("<alloc::boxed::Box<Node>>::new", "Node", "Box");
	check_element("alloc::collections::vec_deque::VecDeque<T,A>::grow", "T", "VecDeque");
	check_element("std::collections::hash::map::HashMap<K,V,S>::insert", NULL, NULL);
	check_element("llvm::SmallVectorTemplateBase<Node, false>::grow(unsigned long)", "Node", NULL);
	check_element("llvm::DenseMap<Node*, int, llvm::DenseMapInfo<Node*, void>, "
		      "llvm::detail::DenseMapPair<Node*, int> >::grow(unsigned int)",
		      "llvm::detail::DenseMapPair<Node*, int>", NULL);
	check_element("llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
		      NULL, NULL);
}

static void check_node(const char *type, const char *inner, const char *container)
{
	const struct wrapping w = wrapping_of((struct text_part){ type, strlen(type) });

	assert_true(inner ? text_part_is(w.inner, inner) : !w.inner.text);
	if (container)
		assert_string_equal(w.container, container);
	else
		assert_null(w.container);
}

static void test_nodes(void **state)
{
	(void)state;
	check_node("Node", "Node", NULL);
	check_node("std::_List_node<Node>", "Node", "std::list");
	check_node("std::_Rb_tree_node<std::pair<int const, Node>>", "std::pair<int const, Node>",
		   "std::map");
	check_node("std::_Rb_tree_node<long>", "long", "std::set");
	check_node("std::__detail::_Hash_node<std::pair<int const, long>, false>",
		   "std::pair<int const, long>", "std::unordered_map");
	check_node("std::__detail::_Hash_node_base*", NULL, "std::unordered_map");
	check_node("std::_Sp_counted_ptr_inplace<Node, std::allocator<void>, 2>", "Node", "std::shared_ptr");
	check_node("alloc::rc::RcInner<Node>", "Node", "Rc");
	check_node("llvm::detail::DenseSetPair<Node*>", "Node*", "llvm::DenseSet");
}

/* ---- Statements ---- */

static struct source_file *file_of(struct source_files *files, const char *text, char path[64])
{
	const int fd = mkstemps(strcpy(path, "/tmp/test-types-XXXXXX.c"), 2);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	const struct source_file *file = source_files_open(files, path);

	unlink(path);
	assert_non_null(file);
	return (struct source_file *)file;
}

static void join(const struct statement *s, struct tokens tokens, const char *name, char *to)
{
	if (!tokens_are(tokens))
		return;
	sprintf(to + strlen(to), "%s%s=", *to ? " " : "", name);
	for (uint32_t i = tokens.begin; i < tokens.end; i++)
		sprintf(to + strlen(to), "%.*s", (int)s->tokens[i].n, s->tokens[i].text);
}

/* `line` of the text; `function`: NULL for new. */
static void check_statement(const char *text, int line, const char *function, const char *wanted)
{
	struct source_files files = { 0 };
	struct statement *s = malloc(sizeof(*s));
	char path[64], said[400] = "";

	if (statement_read(s, file_of(&files, text, path), line, function)) {
		const struct allocation *a = &s->calls[0];

		join(s, a->type, a->array ? "array" : "type", said);
		join(s, a->size, a->more ? "size+" : a->times ? "size*" : "size", said);
		join(s, a->cast, "cast", said);
		join(s, a->declared, "declared", said);
		join(s, a->lvalue, "lvalue", said);
	}
	assert_string_equal(said, wanted);
	free(s);
	source_files_finish(&files);
}

static void test_statements(void **state)
{
	(void)state;
	check_statement("struct node *p = malloc(sizeof(struct node));", 1, "malloc",
			"size=structnode declared=structnode");
	check_statement("p = (T *)malloc(n * sizeof(T));", 1, "malloc", "size*=T cast=T lvalue=p");
	check_statement("a->b[i] = calloc(n + 1, sizeof *a->b[i]);", 1, "calloc",
			"size=*a->b lvalue=a->b[i]");
	check_statement("T *p = malloc(sizeof(T) + n);", 1, "malloc", "size+=T declared=T");
	check_statement("T *p = malloc((n + 1) * sizeof(T));", 1, "malloc", "size*=T declared=T");
	check_statement("if ((p = malloc(n)) == NULL)\n\treturn;", 1, "malloc", "lvalue=p");
	check_statement("if (n) p = malloc(n);", 1, "malloc", "lvalue=p");
	check_statement("static char *p = malloc(n);", 1, "malloc", "declared=char");
	check_statement("auto p = static_cast<T *>(malloc(n));", 1, "malloc", "cast=T");
	check_statement("p = g_new0(struct node, n);", 1, "g_malloc0_n", "array=structnode");
	check_statement("f();\np =\n\tmalloc(\n\t\tsizeof(T));\ng();", 3, "malloc", "size=T lvalue=p");
	check_statement("/* p = malloc(sizeof(A)); */ q = malloc(sizeof(B)); // malloc(sizeof(C))", 1,
			"malloc", "size=B lvalue=q");
	check_statement("/*\n * x\n p = malloc(1);\n*/\nq = malloc(n);", 3, "malloc", "");
	check_statement("p = \"malloc(sizeof(T))\";", 1, "malloc", "");
	check_statement("p = malloc(sizeof(A) + sizeof(B));", 1, "malloc", "lvalue=p");
	check_statement("p = x->malloc(sizeof(A));", 1, "malloc", "size=A lvalue=p");
	check_statement("Base *p = new ns::Node<int, 3>(1);", 1, NULL, "type=ns::Node<int,3>");
	check_statement("p = new Node *[n];", 1, NULL, "array=Node*");
	check_statement("p = new (std::nothrow) Node;", 1, NULL, "type=Node");
	check_statement("p = malloc(1);", 1, "xmalloc", "");
	check_statement("p = malloc(1);", 99, "malloc", "");
	check_statement("p = malloc(", 1, "malloc", "lvalue=p");
	check_statement(")]}((( = malloc(((", 1, "malloc", "");
}

static void test_casts_behind(void **state)
{
	static const char text[] =
		"void *f(int n)\n{\n\tchar *p = malloc(n);\n\tT *t = (T *)p;\n\treturn t;\n}\n"
		"void g(int n)\n{\n\tchar *p = malloc(n);\n\tp[0] = *(char *)q;\n}\n"
		"T *h(void)\n{\n\treturn (T *)p;\n}\n"
		"void i(int n)\n{\n\ta->b = malloc(n);\n\tt = (T *)(&a->b[1]);\n}\n";
	struct source_files files = { 0 };
	struct statement *s = malloc(sizeof(*s));
	const struct token p = { "p", 1, 0 }, b = { "b", 1, 0 };
	char path[64];
	struct source_file *file = file_of(&files, text, path);

	(void)state;
	assert_true(statement_casts_later(s, file, 3, &p));
	assert_false(statement_casts_later(s, file, 9, &p));
	assert_true(statement_casts_later(s, file, 18, &b));
	free(s);
	source_files_finish(&files);
}

/* ---- Sizes and layouts ---- */

static void test_sizes(void **state)
{
	struct block_sizes sizes = { 0 };

	(void)state;
	block_sizes_add(&sizes, 48);
	block_sizes_add(&sizes, 72);
	assert_int_equal(sizes.least, 48);
	assert_int_equal(sizes.most, 72);
	assert_int_equal(sizes.divisors[0], 24);
	assert_int_equal(sizes.divisors[1], 8);
	assert_int_equal(sizes.divisors[2], 8);
}

/* All orders of up to six members, one after the other: the best is what type_layout_pack() says. */
static uint64_t best_of(const struct member_shape *members, uint32_t n, uint32_t used, uint64_t at,
			uint64_t most)
{
	uint64_t best = UINT64_MAX;

	if (used == (1u << n) - 1)
		return (at + most - 1) / most * most;
	for (uint32_t i = 0; i < n; i++) {
		if (used & 1u << i)
			continue;
		const uint64_t align = members[i].align;
		const uint64_t size = best_of(members, n, used | 1u << i,
					      (at + align - 1) / align * align + members[i].size,
					      align > most ? align : most);

		best = size < best ? size : best;
	}
	return best;
}

static void test_best_order(void **state)
{
	uint32_t random = 7;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct member_shape members[6];
		const uint32_t n = 1 + (uint32_t)i % 6;
		uint64_t at = 0, most = 1;

		for (uint32_t k = 0; k < n; k++) {
			random = random * 1664525 + 1013904223;
			const uint64_t align = 1u << (random >> 20) % 5, times = 1 + (random >> 26) % 3;

			at = (at + align - 1) / align * align;
			members[k] = (struct member_shape){ at, align * times, align };
			at += align * times;
			most = align > most ? align : most;
		}
		const uint64_t size = (at + most - 1) / most * most;

		assert_int_equal(type_layout_pack(members, n, size), best_of(members, n, 0, 0, 1));
	}
}

static void test_odd_layouts(void **state)
{
	struct member_shape packed[] = { { 0, 1, 1 }, { 1, 8, 8 } },
			    overlapping[] = { { 0, 8, 8 }, { 0, 4, 4 } },
			    outside[] = { { 0, 8, 8 }, { UINT64_MAX - 7, 8, 8 } };

	(void)state;
	assert_int_equal(type_layout_pack(packed, 2, 9), 0);
	assert_int_equal(type_layout_pack(overlapping, 2, 8), 0);
	assert_int_equal(type_layout_pack(outside, 2, 16), 0);
	assert_int_equal(type_layout_pack(packed, 0, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_spelling),   cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_function_paths), cmocka_unit_test(test_elements),
		cmocka_unit_test(test_nodes),          cmocka_unit_test(test_statements),
		cmocka_unit_test(test_casts_behind),   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_best_order),     cmocka_unit_test(test_odd_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
