/* SPDX-License-Identifier: MIT */
/* Allocations whose types alloc_types.py knows: one function for each way in which C says them. All stays live to the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct padded { /* 24 bytes, 16 in another order */
	char kind;
	void *next;
	int count;
};

struct tight { /* 32 bytes, without padding */
	double a, b;
	long c, d;
};

struct bits { /* 12 bytes, and left alone */
	unsigned a : 3;
	int b;
	unsigned c : 5;
};

struct header {
	int n;
	char text[];
};

struct part {
	double a, b;
};

struct whole {
	int n;
	struct part parts[];
};

typedef struct {
	short s;
	long l;
	short t;
} nameless; /* 24 bytes, 16 in another order */

typedef uint32_t word;

struct owner {
	struct tight *items;
	struct {
		nameless **table;
	} inner;
};

static void *keep[4096];
static int n_kept;

static void *kept(void *block)
{
	memset(block, 1, 1);
	return keep[n_kept++] = block;
}

__attribute__((noinline)) void *xmalloc(size_t n)
{
	void *p = malloc(n);
	return p ? p : (abort(), NULL);
}

/* Keeps the size before each block, as SQLite's allocator does. */
__attribute__((noinline)) void *headed_alloc(size_t n)
{
	size_t *p = malloc(n + sizeof(size_t));
	*p = n;
	return kept(p + 1);
}

__attribute__((noinline)) void headed_tight(void)
{
	struct tight *p = headed_alloc(sizeof(*p));
	p->c = 1;
}

__attribute__((noinline)) void headed_padded(void)
{
	struct padded *p = headed_alloc(sizeof(struct padded));
	p->count = 1;
}

__attribute__((noinline)) void headed_owner(void)
{
	struct owner *p;
	p = headed_alloc(sizeof(*p));
	p->items = NULL;
}

__attribute__((noinline)) void declared_sizeof(void)
{
	struct padded *p = malloc(sizeof(struct padded));
	kept(p);
}

__attribute__((noinline)) void sizeof_star(void)
{
	struct tight *p;
	p = xmalloc(3 * sizeof *p);
	kept(p);
}

__attribute__((noinline)) void cleared_array(int n)
{
	word *p = (word *)calloc((size_t)n + 1, sizeof(word));
	kept(p);
}

__attribute__((noinline)) void member_array(struct owner *o, int n)
{
	o->items = xmalloc((size_t)(n + 1) * sizeof(*o->items));
	kept(o->items);
}

__attribute__((noinline)) void pointer_table(struct owner *o, int n)
{
	if ((o->inner.table = malloc((size_t)n * sizeof(*o->inner.table))) == NULL)
		abort();
	kept(o->inner.table);
}

__attribute__((noinline)) void anonymous_struct(void)
{
	nameless *p = malloc(sizeof(nameless));
	kept(p);
}

__attribute__((noinline)) void bit_fields(void)
{
	struct bits *p = malloc(sizeof(*p));
	kept(p);
}

__attribute__((noinline)) void with_text(size_t n)
{
	struct header *h = malloc(sizeof(struct header) + n);
	kept(h);
}

__attribute__((noinline)) void with_array(size_t n)
{
	struct whole *w = malloc(sizeof(*w) + n * sizeof(struct part));
	kept(w);
}

__attribute__((noinline)) void of_either(size_t n)
{
	struct whole *w = malloc(n ? sizeof(struct part) * n : sizeof(word) * 3); /* no sum: unknown */
	kept(w);
}

__attribute__((noinline)) void buffer(size_t n)
{
	char *text = malloc(n);
	kept(text);
}

__attribute__((noinline)) void raw(size_t n)
{
	void *p = malloc(n);
	kept(p);
}

__attribute__((noinline)) void pool_of_tight(void)
{
	struct tight *p = malloc(1000); /* no multiple of its size: unknown */
	kept(p);
}

__attribute__((noinline)) void wrong_if_guessed(void)
{
	struct tight *p = malloc(4096); /* a multiple by chance: unknown */
	kept(p);
}

__attribute__((noinline)) void two_in_a_line(void)
{
	/* clang-format off */
	struct padded *a = malloc(sizeof(*a)); struct tight *b = malloc(sizeof(*b));
	/* clang-format on */
	kept(a);
	kept(b);
}

__attribute__((noinline)) void resized(void)
{
	double *v = NULL;
	for (size_t n = 1; n <= 64; n *= 4)
		v = realloc(v, n * sizeof(*v));
	kept(v);
}

__attribute__((noinline)) void copied(const char *text)
{
	char *copy = strdup(text);
	kept(copy);
}

/* The library's buffer for a file of /proc has as many bytes, and is no array of the caller's. */
__attribute__((noinline)) static void library_buffer(void)
{
	char text[1024];
	FILE *file = fopen("/proc/self/status", "r");
	if (file && !fgets(text, sizeof(text), file))
		abort();
	if (file)
		fclose(file);
}

int main(void)
{
	struct owner owner = { NULL, { NULL } };
	for (int i = 0; i < 10; i++) {
		declared_sizeof();
		sizeof_star();
		cleared_array(i);
		member_array(&owner, i);
		pointer_table(&owner, 3);
		anonymous_struct();
		bit_fields();
		with_text(10 + (size_t)i);
		with_array(3);
		of_either(7);
		buffer(100 + (size_t)i);
		raw(64);
		pool_of_tight();
		wrong_if_guessed();
		two_in_a_line();
		resized();
		copied("text");
		headed_tight();
		headed_padded();
		headed_owner();
	}
	library_buffer();
	return 0;
}
