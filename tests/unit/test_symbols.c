/* SPDX-License-Identifier: MIT */
/*
 * The symbolizer on this very program, which knows the places of its own code. Expected names
 * and lines follow from the source below; the choice among symbols was measured on Massif 3.19.
 * Without debug information (-g) the tests of lines are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <link.h>

#include "demangle.h"
#include "ranges.h"
#include "symbols.h"

/* Offsets from `tests_code`; see test_choice(). */
__asm__(".text\n"
	".macro place name, type, size\n"
	"\t.type \\name, %\\type\n"
	"\\name:\n"
	"\t.size \\name, \\size\n"
	".endm\n"
	".globl tests_code\n"
	".type tests_code, %notype\n"
	"tests_code:\n"
	"\tplace tests_full, function, 16\n"
	"\t.fill 16, 1, 0\n"
	"\tplace tests_outer, function, 48\n" /* +16 */
	"\t.fill 16, 1, 0\n"
	"\tplace tests_inner, function, 16\n" /* +32 */
	"\t.fill 32, 1, 0\n"
	"\tplace tests_together_long, function, 32\n" /* +64 */
	"\tplace tests_together, function, 16\n"
	"\t.fill 32, 1, 0\n"
	"\tplace tests_bb, function, 16\n" /* +96 */
	"\tplace tests_ba, function, 16\n"
	"\tplace tests_aaa, function, 16\n"
	"\t.fill 16, 1, 0\n"
	"\tplace tests_sizeless, function, 0\n" /* +112 */
	"\t.fill 16, 1, 0\n"
	"\tplace tests_typeless, notype, 16\n" /* +128 */
	"\t.fill 16, 1, 0\n"
	"\tplace tests_data, object, 16\n" /* +144 */
	"\t.fill 16, 1, 0\n"
	"\tplace _ZN3foo3barEi, function, 16\n" /* +160 */
	"\t.fill 16, 1, 0\n"
	"\tplace __libc_start_main.old, function, 16\n" /* +176 */
	"\t.fill 16, 1, 0\n"
	"\tplace __libc_start_mainly, function, 16\n" /* +192 */
	"\t.fill 16, 1, 0\n");
extern const char tests_code[];

static uintptr_t load_bias;
static uint8_t build_id[64];
static size_t build_id_size;
static char own_path[4096];
static char scratch[] = "/tmp/test_symbols.XXXXXX";

#define ALIGN4(n) (((n) + 3U) & ~3U)

static void notes_read(const uint8_t *note, size_t n)
{
	while (n > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const void *)note;
		size_t size = sizeof(*header) + ALIGN4(header->n_namesz) + ALIGN4(header->n_descsz);

		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    memcmp(header + 1, "GNU", 4) == 0 && header->n_descsz <= sizeof(build_id)) {
			build_id_size = header->n_descsz;
			memcpy(build_id, (const uint8_t *)(header + 1) + 4, build_id_size);
		}
		if (size > n)
			return;
		note += size;
		n -= size;
	}
}

static int own_module(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	load_bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			notes_read((const uint8_t *)load_bias + info->dlpi_phdr[i].p_vaddr,
				   info->dlpi_phdr[i].p_memsz);
	return 1; /* the program itself is always the first */
}

static int group_setup(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	(void)state;
	dl_iterate_phdr(own_module, NULL);
	return n > 0 && mkdtemp(scratch) ? 0 : -1;
}

static int group_teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

static uint64_t code(size_t offset)
{
	return (uintptr_t)tests_code - load_bias + offset;
}

static struct symbols *own_symbols(uint32_t *module)
{
	const struct symbols_module own = { .path = own_path };
	struct symbols *symbols = symbols_create(NULL, 0);

	assert_non_null(symbols);
	*module = symbols_add_module(symbols, &own);
	assert_int_equal(*module, 0);
	return symbols;
}

static void test_choice(void **state)
{
	static const struct {
		size_t offset;
		const char *name;
	} cases[] = {
		{ 0, "tests_full" },
		{ 15, "tests_full" },
		{ 16, "tests_outer" },
		{ 31, "tests_outer" },
		{ 32, "tests_inner" },
		{ 47, "tests_inner" },
		{ 48, NULL },
		{ 63, NULL },
		{ 64, "tests_together" },
		{ 79, "tests_together" },
		{ 80, "tests_together_long" },
		{ 96, "tests_ba" },
		{ 112, NULL },
		{ 128, NULL },
		{ 144, "tests_data" },
		{ 160, "foo::bar(int)" },
	};
	uint32_t module;
	struct symbols *symbols = own_symbols(&module);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *name = symbols_function(symbols, module, code(cases[i].offset));
		const struct symbol_chain *chain = symbols_describe(symbols, module, code(cases[i].offset));

		if (!cases[i].name) {
			assert_null(name);
			assert_null(chain->lines[chain->n - 1].function);
			continue;
		}
		assert_non_null(name);
		assert_string_equal(name, cases[i].name);
		assert_ptr_equal(chain->lines[chain->n - 1].function, name);
	}
	symbols_destroy(symbols);
}

static enum symbol_role role(struct symbols *symbols, uint32_t module, uint64_t address)
{
	return symbol_role_of(symbols_linker_name(symbols, module, address));
}

static void test_role(void **state)
{
	uint32_t module;
	struct symbols *symbols = own_symbols(&module);
	int main(void);

	(void)state;
	assert_int_equal(role(symbols, module, (uintptr_t)main - load_bias), SYMBOL_MAIN);
	assert_int_equal(role(symbols, module, code(0)), SYMBOL_OTHER);
	assert_int_equal(role(symbols, module, code(48)), SYMBOL_OTHER);
	assert_int_equal(role(symbols, module, code(176)), SYMBOL_BELOW_MAIN);
	assert_int_equal(role(symbols, module, code(192)), SYMBOL_OTHER);
	symbols_destroy(symbols);
}

static uint64_t caller_address;
static volatile int one = 1; /* keeps the calls from becoming jumps or constants */

static __attribute__((noinline)) int note_caller(void)
{
	caller_address = (uintptr_t)__builtin_return_address(0) - load_bias - 1;
	return one;
}

enum { INNER_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) int inner(void)
{
	return note_caller() + 1;
}

enum { MIDDLE_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) int middle(void)
{
	return inner() + 1;
}

enum { OUTER_LINE = __LINE__ + 3 };
static __attribute__((noinline)) int outer(void)
{
	return middle() + 1;
}

static void line_check(const struct symbol_line *line, const char *function, int number)
{
	assert_non_null(line->function);
	assert_string_equal(line->function, function);
	assert_non_null(line->file);
	/* clang's name keeps the path from its command line. */
	assert_non_null(strstr(line->file, "test_symbols.c"));
	assert_non_null(line->directory);
	assert_int_equal(line->directory[0], '/');
	assert_int_equal(line->line, number);
}

static void test_inlined(void **state)
{
	const struct symbol_chain *chain;
	uint32_t module;
	struct symbols *symbols = own_symbols(&module);

	(void)state;
	assert_int_equal(outer(), 4);
	chain = symbols_describe(symbols, module, caller_address);
	assert_ptr_equal(chain, symbols_describe(symbols, module, caller_address));
	assert_string_equal(chain->lines[chain->n - 1].function, "outer");
	if (!chain->lines[0].file) {
		symbols_destroy(symbols);
		skip();
	}
	assert_int_equal(chain->n, 3);
	line_check(&chain->lines[0], "inner", INNER_LINE);
	line_check(&chain->lines[1], "middle", MIDDLE_LINE);
	line_check(&chain->lines[2], "outer", OUTER_LINE);
	symbols_destroy(symbols);
}

static void test_unknown(void **state)
{
	static const char *const paths[] = { "/nonexistent/lib.so", "[vdso]", "", "/", "/etc/passwd" };
	struct symbols *symbols = symbols_create(NULL, 0);

	(void)state;
	for (uint32_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct symbols_module module = { .path = paths[i] };

		assert_int_equal(symbols_add_module(symbols, &module), i);
		assert_null(symbols_notice(symbols, 0));
	}
	for (uint32_t i = 0; i <= sizeof(paths) / sizeof(*paths); i++) {
		const struct symbol_chain *chain = symbols_describe(symbols, i, 0x1234);

		assert_int_equal(chain->n, 1);
		assert_null(chain->lines[0].function);
		assert_null(chain->lines[0].file);
		assert_int_equal(chain->lines[0].line, 0);
		assert_null(symbols_function(symbols, i, 0x1234));
		assert_int_equal(role(symbols, i, 0x1234), SYMBOL_OTHER);
	}
	assert_string_equal(symbols_object(symbols, 1), "[vdso]");
	assert_null(symbols_object(symbols, SYMBOLS_NO_MODULE));
	assert_string_equal(symbols_notice(symbols, 0),
			    "/nonexistent/lib.so: not found, its functions have no names");
	assert_string_equal(symbols_notice(symbols, 2), "/etc/passwd: not a usable ELF file, not used");
	assert_null(symbols_notice(symbols, 3));
	symbols_destroy(symbols);
	symbols_destroy(NULL);
}

/* Writes the first `n` bytes of this program, `damage` of them changed, to scratch/name. */
static void copy_write(const char *name, long n, unsigned damage, unsigned seed)
{
	char path[4096];
	FILE *file = fopen(own_path, "rb");
	uint8_t *bytes;
	long size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	fclose(file);
	if (n < 0 || n > size)
		n = size;
	for (; damage; damage--) {
		seed = seed * 1103515245U + 12345U;
		bytes[(seed >> 4) % (unsigned long)size] = (uint8_t)(seed >> 16);
	}
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, (size_t)n, file), n);
	fclose(file);
	free(bytes);
}

static const char *name_with(const char *dir, const char *path, const uint8_t *id, size_t id_size,
			     char *notice)
{
	const struct symbols_module module = { .path = path, .build_id = id, .build_id_size = id_size };
	struct symbols *symbols = symbols_create(&dir, dir ? 1 : 0);
	const char *name, *text;

	assert_int_equal(symbols_add_module(symbols, &module), 0);
	name = symbols_function(symbols, 0, code(0));
	text = symbols_notice(symbols, 0);
	snprintf(notice, 4096, "%s", text ? text : "");
	assert_true(!name || strcmp(name, "tests_full") == 0);
	name = name ? "tests_full" : NULL;
	symbols_destroy(symbols);
	return name;
}

static void test_build_id(void **state)
{
	static char notice[4096], expected[8192], other[8192];
	uint8_t wrong[sizeof(build_id)];

	(void)state;
	if (build_id_size == 0)
		skip();
	memcpy(wrong, build_id, sizeof(wrong));
	wrong[0] ^= 1;
	assert_non_null(name_with(NULL, own_path, build_id, build_id_size, notice));
	assert_string_equal(notice, "");
	assert_null(name_with(NULL, own_path, wrong, build_id_size, notice));
	snprintf(expected, sizeof(expected), "%s: build id differs from the recorded one, not used",
		 own_path);
	assert_string_equal(notice, expected);
	assert_null(name_with(NULL, own_path, build_id, build_id_size - 1, notice));

	/* A search folder comes first, by base name; a wrong file there is ignored. */
	copy_write("gone.so", -1, 0, 0);
	assert_non_null(name_with(scratch, "/nonexistent/gone.so", build_id, build_id_size, notice));
	assert_string_equal(notice, "");
	snprintf(other, sizeof(other), "%s/sys/nonexistent", scratch);
	snprintf(expected, sizeof(expected), "%s/sys", scratch);
	assert_int_equal(mkdir(expected, 0777), 0);
	assert_int_equal(mkdir(other, 0777), 0);
	copy_write("sys/nonexistent/gone.so", -1, 0, 0);
	assert_non_null(name_with(expected, "/nonexistent/gone.so", NULL, 0, notice));
}

static void test_damaged(void **state)
{
	static char path[4096];
	const struct symbols_module module = { .path = path };

	(void)state;
	snprintf(path, sizeof(path), "%s/damaged", scratch);
	for (unsigned i = 0; i < 150; i++) {
		struct symbols *symbols = symbols_create(NULL, 0);

		copy_write("damaged", i % 5 == 0 ? (long)i * 997 : -1, 1U << i % 11, i);
		symbols_add_module(symbols, &module);
		for (uint64_t address = code(0) & ~UINT64_C(0xfff); address < code(4096); address += 7)
			assert_true(symbols_describe(symbols, 0, address)->n >= 1);
		symbols_destroy(symbols);
	}
}

static void test_cache(void **state)
{
	uint32_t module;
	struct symbols *symbols = own_symbols(&module);
	const char *name = symbols_function(symbols, module, code(0));

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		symbols_function(symbols, module, i * 16);
	assert_ptr_equal(symbols_function(symbols, module, code(0)), name);
	assert_string_equal(name, "tests_full");
	symbols_destroy(symbols);
}

static void test_ranges(void **state)
{
	struct ranges ranges = { 0, 0, NULL };
	uint64_t start;

	(void)state;
	assert_true(ranges_add(&ranges, 100, 200, 1));
	assert_true(ranges_add(&ranges, 120, 180, 2));
	assert_true(ranges_add(&ranges, 130, 140, 3));
	assert_true(ranges_add(&ranges, 170, 250, 4));
	assert_true(ranges_add(&ranges, 90, 90, 5));
	assert_true(ranges_add(&ranges, 300, 400, 6));
	assert_true(ranges_add(&ranges, 500, UINT64_MAX, 6));
	assert_true(ranges_seal(&ranges));
	for (uint64_t i = 0; i < 600; i++) {
		uint32_t value = RANGES_NONE;

		if (i >= 100 && i < 200)
			value = 1;
		if (i >= 120 && i < 180)
			value = 2;
		if (i >= 130 && i < 140)
			value = 3;
		if (i >= 170 && i < 250)
			value = 4;
		if ((i >= 300 && i < 400) || i >= 500)
			value = 6;
		assert_int_equal(ranges_find(&ranges, i), value);
	}
	assert_int_equal(ranges_find_between(&ranges, 99, &start), RANGES_NONE);
	assert_int_equal(ranges_find_between(&ranges, 250, &start), RANGES_NONE);
	assert_int_equal(ranges_find_between(&ranges, 400, &start), 6);
	assert_int_equal(start, 400);
	assert_int_equal(ranges_find_between(&ranges, 499, &start), 6);
	ranges_finish(&ranges);
	assert_int_equal(ranges_find(&ranges, 100), RANGES_NONE);
	assert_int_equal(ranges_find_between(&ranges, 100, &start), RANGES_NONE);
}

/* Overlaps of any kind against the obvious method. */
static void test_ranges_random(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct ranges ranges = { 0, 0, NULL };
		uint32_t expected[256];

		memset(expected, 0xff, sizeof(expected));
		for (uint32_t i = 0; i < 40; i++) {
			unsigned lo, n;

			seed = seed * 1103515245U + 12345U;
			lo = seed >> 8 & 127;
			n = seed >> 16 & 127;
			assert_true(ranges_add(&ranges, lo, lo + n, i));
			for (unsigned k = lo; k < lo + n; k++)
				expected[k] = i;
		}
		assert_true(ranges_seal(&ranges));
		for (unsigned k = 0; k < 256; k++)
			assert_int_equal(ranges_find(&ranges, k), expected[k]);
		ranges_finish(&ranges);
	}
}

static void test_demangle(void **state)
{
	static const char *const pairs[][2] = {
		{ "_Znwm", "operator new(unsigned long)" },
		{ "_ZN3foo3barEi.part.12", "foo::bar(int) [clone .part.12]" },
		{ "_Z1fILi3EEvv", "void f<3>()" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvNtCskwGfYPst2Cb_3foo3bar3baz", "foo::bar::baz" },
		{ "main", NULL },
		{ "_ZN", NULL },
		{ "", NULL },
		{ "_Z", NULL },
		{ "_R", NULL },
		{ "_ZN3foo3barEi@@V1", NULL },
		{ "_D3std5stdio9writelnFZv", NULL },
		{ "_GLOBAL__sub_I_x", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char *text = demangle_name(pairs[i][0]);

		if (pairs[i][1]) {
			assert_non_null(text);
			assert_string_equal(text, pairs[i][1]);
		} else {
			assert_null(text);
		}
		free(text);
	}
}

/* Each argument's type names the one before twice: 2^35 letters from 400. */
static void test_demangle_bomb(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1aIiiE";
	char *text;

	(void)state;
	for (size_t i = 0; i < 35; i++) {
		size_t n = strlen(name);

		snprintf(name + n, sizeof(name) - n, "S_IS%c_S%c_E", digits[i], digits[i]);
		text = demangle_name(name);
		if (i == 2)
			assert_non_null(text);
		if (i > 20)
			assert_null(text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),        cmocka_unit_test(test_role),
		cmocka_unit_test(test_inlined),       cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_build_id),      cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_cache),         cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ranges_random), cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_bomb),
	};

	/* Names must come from this machine's files alone. */
	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
