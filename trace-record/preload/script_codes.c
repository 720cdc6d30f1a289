/* SPDX-License-Identifier: MIT */
#include "script_codes.h"

#include <string.h>

#include "os.h"
#include "recorder_assert.h"

#define CODES 65536u /* that live at one time; a power of two, as are the sizes of the indexes */
#define INDEX (2 * SCRIPT_FUNCTIONS)
#define HOPS_MOST 64u /* a bucket is followed without the lock: a code that is dropped leads elsewhere */

/*
 * The functions and texts that are known, as in the shared table: a forked child has another one of these. An index has the
 * place of a text + 1, or the number of a function, at the first free place from its hash on; at most half of it is used.
 */
struct memory {
	struct script_table table;
	uint32_t texts[INDEX], functions[INDEX];
	uint32_t n_texts;
	struct script_code codes[CODES]; /* [0] is none */
	_Atomic uint32_t buckets[CODES];
	uint32_t n_codes, free;
	uint64_t lives;
};

static struct memory *_Atomic memory;
static struct script_table *shared;
static _Atomic bool lock;

_Atomic uint64_t script_codes_deaths = 1; /* never 0 */

static struct memory *memory_now(void)
{
	return atomic_load_explicit(&memory, memory_order_acquire);
}

/* ---- texts ---- */

static uint32_t hash_bytes(const char *bytes, uint32_t n)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
	return hash;
}

static uint32_t point_at(const struct script_text *text, size_t i)
{
	if (text->width == 1)
		return ((const uint8_t *)text->points)[i];
	return text->width == 2 ? ((const uint16_t *)text->points)[i] : ((const uint32_t *)text->points)[i];
}

static uint32_t utf8_bytes(uint32_t point)
{
	return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static void put_utf8(char *to, uint32_t point, uint32_t bytes)
{
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (uint32_t i = bytes - 1; i > 0; i--, point >>= 6)
		to[i] = (char)(0x80 | (point & 0x3f));
	to[0] = (char)(first[bytes] | point);
}

/* Halves of surrogate pairs, which Python has in names of files that are no UTF-8, are no characters. */
static bool is_character(uint32_t point)
{
	return point <= 0x10ffff && point - 0xd800 >= 0x800;
}

/* Encodes the first `most` bytes of a text. */
static uint32_t encode(char *to, uint32_t most, const struct script_text *text)
{
	uint32_t n = 0;

	for (size_t i = 0; i < text->n; i++) {
		const uint32_t point = is_character(point_at(text, i)) ? point_at(text, i) : '?';
		const uint32_t bytes = utf8_bytes(point);

		if (bytes > most - n)
			break;
		put_utf8(to + n, point, bytes);
		n += bytes;
	}
	return n;
}

static uint32_t text_size(const struct script_table *table, uint32_t at)
{
	uint16_t size;

	memcpy(&size, table->text + at, sizeof(size));
	return size;
}

/* Copies what the shared table lacks of the texts and functions; msrec sees a function behind its texts. */
static void publish(const struct memory *m)
{
	const uint32_t text = atomic_load(&m->table.text_used), n = atomic_load(&m->table.count);
	const uint32_t text_before = atomic_load(&shared->text_used), before = atomic_load(&shared->count);

	memcpy(shared->text + text_before, m->table.text + text_before, text - text_before);
	atomic_store_explicit(&shared->text_used, text, memory_order_release);
	memcpy(&shared->functions[before], &m->table.functions[before],
	       (n - before) * sizeof(*shared->functions));
	atomic_store_explicit(&shared->count, n, memory_order_release);
}

/* The place of a text in the table. False: there is no room. */
static bool place_text(struct memory *m, const struct script_text *text, uint32_t *place)
{
	const uint32_t end = atomic_load(&m->table.text_used), room = SCRIPT_TEXT - end;
	char *const bytes = m->table.text + end + sizeof(uint16_t);
	uint16_t size;
	uint32_t i;

	if (room < sizeof(size) + SCRIPT_TEXT_MOST || 2 * m->n_texts >= INDEX)
		return false;
	size = (uint16_t)encode(bytes, SCRIPT_TEXT_MOST, text);
	for (i = hash_bytes(bytes, size) & (INDEX - 1); m->texts[i]; i = (i + 1) & (INDEX - 1)) {
		const uint32_t known = m->texts[i] - 1;

		if (text_size(&m->table, known) == size &&
		    memcmp(m->table.text + known + sizeof(size), bytes, size) == 0) {
			*place = known;
			return true;
		}
	}
	memcpy(bytes - sizeof(size), &size, sizeof(size));
	/* In this order, because another thread may fork: the child has no part of a text or function. */
	atomic_store(&m->table.text_used, end + (uint32_t)sizeof(size) + size);
	m->n_texts++;
	m->texts[i] = end + 1;
	*place = end;
	return true;
}

/* ---- functions ---- */

/* The number of a function; 0: there is no room. */
static uint32_t function_of(struct memory *m, const struct script_text *file, const struct script_text *name)
{
	const uint32_t n = atomic_load(&m->table.count);
	struct script_function function;
	uint32_t i;

	if (!place_text(m, file, &function.file) || !place_text(m, name, &function.name))
		return 0;
	i = hash_bytes((const char *)&function, sizeof(function)) & (INDEX - 1);
	for (; m->functions[i]; i = (i + 1) & (INDEX - 1)) {
		const struct script_function *known = &m->table.functions[m->functions[i]];

		if (known->file == function.file && known->name == function.name)
			return m->functions[i];
	}
	if (n == SCRIPT_FUNCTIONS)
		return 0;
	m->table.functions[n] = function;
	atomic_store(&m->table.count, n + 1);
	m->functions[i] = n;
	publish(m);
	return n;
}

/* ---- code objects ---- */

static _Atomic uint32_t *bucket_of(struct memory *m, uintptr_t object)
{
	return &m->buckets[(object * 0x9e3779b97f4a7c15u) >> 48];
}

static struct script_code *find(struct memory *m, uintptr_t object, uint32_t hops)
{
	uint32_t i = atomic_load_explicit(bucket_of(m, object), memory_order_acquire);

	_Static_assert(CODES == 1 << 16, "numbers and hashes of 16 bits");
	for (; i && hops > 0; hops--) {
		struct script_code *const code = &m->codes[i];

		if (atomic_load_explicit(&code->object, memory_order_acquire) == object)
			return code;
		i = atomic_load_explicit(&code->next, memory_order_acquire);
	}
	return NULL;
}

struct script_code *script_codes_find(uintptr_t object)
{
	struct memory *const m = memory_now();

	return m ? find(m, object, HOPS_MOST) : NULL;
}

/* A free place; 0: there is none. */
static uint32_t take_place(struct memory *m)
{
	const uint32_t i = m->free;

	if (i)
		m->free = atomic_load(&m->codes[i].next);
	return i ? i : m->n_codes < CODES ? m->n_codes++ : 0;
}

static struct script_code *add(struct memory *m, uintptr_t object, uint32_t function)
{
	_Atomic uint32_t *const bucket = bucket_of(m, object);
	const uint32_t i = take_place(m);
	struct script_code *const code = &m->codes[i];

	if (i == 0)
		return NULL;
	code->function = function;
	atomic_store(&code->next, atomic_load(bucket));
	atomic_store(&code->life, ++m->lives);
	atomic_store_explicit(&code->object, object, memory_order_release);
	atomic_store_explicit(bucket, i, memory_order_release);
	return code;
}

struct script_code *script_codes_add(uintptr_t object, const struct script_text *file,
				     const struct script_text *name)
{
	struct memory *const m = memory_now();
	struct script_code *code;
	uint64_t mask;

	if (!m)
		return NULL;
	mask = os_lock(&lock);
	code = find(m, object, UINT32_MAX);
	if (!code) {
		const uint32_t function = function_of(m, file, name);

		if (function == 0)
			atomic_fetch_add_explicit(&shared->refused, 1, memory_order_relaxed);
		code = add(m, object, function);
	}
	os_unlock(&lock, mask);
	return code;
}

/* Under the lock. */
static void drop(struct memory *m, struct script_code *code)
{
	const uint32_t number = (uint32_t)(code - m->codes);
	_Atomic uint32_t *link = bucket_of(m, atomic_load(&code->object));

	while (atomic_load(link) != number) {
		RECORDER_ASSERT(atomic_load(link) != 0);
		link = &m->codes[atomic_load(link)].next;
	}
	atomic_store(&code->life, 0);
	atomic_fetch_add(&script_codes_deaths, 1);
	atomic_store(link, atomic_load(&code->next));
	atomic_store(&code->object, 0);
	atomic_store(&code->next, m->free);
	m->free = number;
}

void script_codes_drop(uintptr_t object)
{
	struct memory *const m = memory_now();
	struct script_code *code;
	uint64_t mask;

	if (!m || !find(m, object, UINT32_MAX))
		return;
	mask = os_lock(&lock);
	code = find(m, object, UINT32_MAX);
	if (code)
		drop(m, code);
	os_unlock(&lock, mask);
}

void script_codes_drop_all(void)
{
	struct memory *const m = memory_now();
	uint64_t mask;

	if (!m)
		return;
	mask = os_lock(&lock);
	for (uint32_t i = 1; i < m->n_codes; i++) {
		if (atomic_load(&m->codes[i].object))
			drop(m, &m->codes[i]);
	}
	os_unlock(&lock, mask);
}

/* ---- the process ---- */

bool script_codes_begin(struct script_table *table)
{
	struct memory *m = memory_now();

	shared = table;
	if (!m) {
		m = os_map(sizeof(*m));
		if (!m)
			return false;
		m->n_codes = 1;
		atomic_store(&m->table.count, 1);
		atomic_store_explicit(&memory, m, memory_order_release);
	}
	publish(m);
	return true;
}

void script_codes_after_fork(void)
{
	atomic_store(&lock, false);
}
