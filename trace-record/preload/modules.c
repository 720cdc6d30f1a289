/* SPDX-License-Identifier: MIT */
#include "modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "module_path.h"
#include "os.h"
#include "recorder_assert.h"
#include "sighting.h"

#define OBJECTS_MAX 4096
#define STATE_ENTERED (UINT64_C(1) << 16)
#define STATE_CLOSED (UINT64_C(1) << 40)

/* Load order of objects outside the base namespace (dlmopen): after all others. */
#define ORDER_OTHER_NAMESPACE (UINT32_C(1) << 20)

/* The process's part of a table entry; objects[i] belongs to table->modules[i]. start <= inside < end while it is open. */
struct object {
	uintptr_t start, end;
	uintptr_t inside; /* an address that the loader found in it */
	uint64_t opened;  /* as the entry has it */
	const void *identity;
	uint64_t name_hash;
	struct cfi_section section;
	struct module_room path;
	/* Odd while the object is open. Entries are reused: what a reader has read of one holds if this has not changed. */
	_Atomic uint32_t life;
};

_Atomic uint64_t modules_state = STATE_ENTERED;

static modules_entered *tell_entered;
static modules_gone *tell_gone;
static struct module_table *table;
static bool asks_loader; /* without a lock, at each look; else once for each object */
static uint64_t (*stamp_now)(void);
static struct object objects[OBJECTS_MAX];
static _Atomic uint32_t object_count; /* release: objects below are complete */
static _Atomic bool table_lock;

/* ---- known objects ---- */

/* A later object may have the size, the place and the link map address of an earlier one; then the name differs. */
static bool is_same(const struct object *object, const struct sighting *seen)
{
	return object->identity == seen->identity && object->start <= seen->start &&
	       seen->end <= object->end && (seen->name_hash == 0 || object->name_hash == seen->name_hash);
}

static bool is_open(uint32_t life)
{
	return life & 1;
}

static uint32_t life_of(const struct object *object)
{
	return atomic_load_explicit(&object->life, memory_order_acquire);
}

static bool still_lives(const struct object *object, uint32_t life)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&object->life, memory_order_relaxed) == life;
}

static struct object *find_known(const struct sighting *seen)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_acquire);

	for (struct object *o = objects; o < objects + count; o++) {
		const uint32_t life = life_of(o);

		if (is_open(life) && is_same(o, seen) && still_lives(o, life))
			return o;
	}
	return NULL;
}

/* Without _dl_find_object an object, once found, is taken to be there until a dlclose(). */
static struct object *find_covering(uintptr_t pc)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_acquire);

	for (struct object *o = objects; o < objects + count; o++) {
		const uint32_t life = life_of(o);

		if (is_open(life) && pc >= o->start && pc < o->end && still_lives(o, life))
			return o;
	}
	return NULL;
}

/* ---- entering ---- */

/*
 * The order follows from the nearest earlier object in the link map whose order is known. So later objects get higher numbers
 * although others went away. The list may change meanwhile: every link is probed, and the number of hops is bounded.
 */
static uint32_t find_order(const struct sighting *seen)
{
	const struct link_map *map = seen->map;
	uint32_t count = atomic_load_explicit(&object_count, memory_order_relaxed);

	if (!map)
		return seen->order;
	for (uint32_t hops = 1; hops < OBJECTS_MAX; hops++) {
		map = map->l_prev;
		if (!map || !os_readable((uintptr_t)&map->l_prev))
			break;
		for (uint32_t i = 0; i < count; i++)
			if (objects[i].identity == map && is_open(life_of(&objects[i])))
				return table->modules[i].order + hops;
		if (!map->l_prev)
			return ORDER_OTHER_NAMESPACE + hops;
	}
	return 0;
}

/* Until the end `closed` is a stamp before all others, so the reader finds no pc in the entry. */
static void fill_module(struct module *module, struct module_room *path, const struct sighting *seen)
{
	struct module filled = {
		.start = seen->start,
		.end = seen->end,
		.bias = seen->bias,
		.opened = stamp_now(),
		.closed = 1,
		.role = (uint8_t)sighting_role(seen),
		.order = find_order(seen),
	};

	sighting_read_build_id(seen, &filled);
	module_path_place(table, &filled, path, seen->name ? seen->name : "");
	*module = filled;
	atomic_store_explicit(&module->closed, 0, memory_order_release);
}

/* Whether the entry's object is gone and msrec has read all that was captured there. */
static bool is_free(const struct module *module)
{
	uint64_t closed = atomic_load_explicit(&module->closed, memory_order_relaxed);

	return closed != 0 && closed < atomic_load_explicit(&table->taken, memory_order_acquire);
}

/* The first free entry; OBJECTS_MAX, or the table's capacity: there is none. Under the lock. */
static uint32_t find_entry(void)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++)
		if (is_free(&table->modules[i]))
			return i;
	if (count < OBJECTS_MAX)
		objects[count].path = (struct module_room){ 0 };
	return count;
}

static void fill_object(struct object *object, const struct sighting *seen, uintptr_t pc,
			const struct cfi_section *section, uint64_t opened)
{
	uint32_t life = atomic_load_explicit(&object->life, memory_order_relaxed);

	RECORDER_ASSERT(seen->start <= pc && pc < seen->end);
	/* A reader that sees any of this sees that the former object's life has ended. */
	atomic_thread_fence(memory_order_release);
	object->start = seen->start;
	object->end = seen->end;
	object->inside = pc;
	object->opened = opened;
	object->identity = seen->identity;
	object->name_hash = seen->name_hash;
	object->section = *section;
	/* In a forked child the entry may be one that the parent left open. */
	atomic_store_explicit(&object->life, (life + 1) | 1, memory_order_release);
}

/* msrec must see the entry before any stack with a pc in it: see module_table.h. */
static void publish_entry(uint32_t i)
{
	RECORDER_ASSERT(i <= atomic_load_explicit(&object_count, memory_order_relaxed));
	if (i < atomic_load_explicit(&object_count, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&table->reused, 1, memory_order_release);
	} else {
		atomic_store_explicit(&table->count, i + 1, memory_order_release);
		atomic_store_explicit(&object_count, i + 1, memory_order_release);
	}
	atomic_fetch_add_explicit(&modules_state, STATE_ENTERED, memory_order_release);
}

/* Enters an object. When the table is full, only msrec does not learn of it. */
static void enter_object(const struct sighting *seen, uintptr_t pc, struct cfi_section *section)
{
	uint64_t mask;
	uint32_t i;

	*section = sighting_frames(seen);
	mask = os_lock(&table_lock);
	if (!find_known(seen)) {
		i = find_entry();
		if (i < OBJECTS_MAX && i < table->capacity) {
			fill_module(&table->modules[i], &objects[i].path, seen);
			fill_object(&objects[i], seen, pc, section, table->modules[i].opened);
			publish_entry(i);
		} else {
			atomic_fetch_add_explicit(&table->refused, 1, memory_order_relaxed);
		}
	}
	os_unlock(&table_lock, mask);
}

/* ---- closing ---- */

/* Whether `object` is where it was; `now`: an object seen now, or NULL to ask the loader. */
static bool is_there(const struct object *object, const struct sighting *now)
{
	struct sighting seen;

	if (now)
		return is_same(object, now) || now->start >= object->end || now->end <= object->start;
	return sighting_find(object->inside, &seen) && is_same(object, &seen);
}

/* Closes open objects that are gone: all, or those that an object seen `now` overlaps. Returns whether there were any. */
static bool close_gone(uint64_t stamp, const struct sighting *now)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_acquire);
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t life = life_of(&objects[i]);

		/* One thread closes the object. The entry is not reused before `closed` is set. */
		if (!is_open(life) || is_there(&objects[i], now) ||
		    !atomic_compare_exchange_strong_explicit(&objects[i].life, &life, life + 1,
							     memory_order_acq_rel, memory_order_relaxed))
			continue;
		atomic_store_explicit(&table->modules[i].closed, stamp, memory_order_release);
		if (tell_gone)
			tell_gone(objects[i].start, objects[i].end);
		any = true;
	}
	return any;
}

/* ---- the interface ---- */

bool modules_find(uintptr_t pc, struct cfi_section *section)
{
	struct sighting seen;
	struct object *known = asks_loader ? NULL : find_covering(pc);

	if (!known) {
		if (!sighting_find(pc, &seen))
			return false;
		/* The object's code is on the stack, so it is not unloaded meanwhile. */
		seen.name_hash = sighting_hash(seen.name ? seen.name : "");
		known = find_known(&seen);
	}
	if (known) {
		*section = known->section;
		return true;
	}
	sighting_complete(&seen);
	/* The C library unloads some objects by itself (gconv, nss): noticed here, when another takes their place. */
	if (close_gone(stamp_now(), &seen))
		modules_code_changed();
	enter_object(&seen, pc, section);
	if (tell_entered)
		tell_entered(&seen);
	return true;
}

void modules_closing_begin(void)
{
	atomic_fetch_add_explicit(&modules_state, 1, memory_order_seq_cst);
}

/* Another thread may have opened an object where one is gone; modules_find() distinguishes these by name. */
void modules_closing_end(uint64_t stamp, bool alone)
{
	uint64_t change = close_gone(stamp, NULL) || !alone ? STATE_CLOSED : 0;
	uint64_t old = atomic_load_explicit(&modules_state, memory_order_relaxed);
	uint64_t next;

	/* A child forked inside dlclose() ends more closings than it began. */
	do {
		next = old + change - ((old & MODULES_CLOSING) != 0);
	} while (!atomic_compare_exchange_weak_explicit(&modules_state, &old, next, memory_order_acq_rel,
							memory_order_relaxed));
}

void modules_code_changed(void)
{
	atomic_fetch_add_explicit(&modules_state, STATE_CLOSED, memory_order_release);
}

void modules_watch(modules_entered *entered, modules_gone *gone)
{
	tell_entered = entered;
	tell_gone = gone;
}

static void enter_executable(void)
{
	struct cfi_section section;

	modules_find(getauxval(AT_BASE) ? getauxval(AT_ENTRY) : getauxval(AT_PHDR), &section);
}

void modules_init(struct module_table *empty, modules_find_function *find, uint64_t (*stamp)(void))
{
	table = empty;
	asks_loader = find != NULL;
	sighting_init(find);
	stamp_now = stamp;
	enter_executable();
}

/*
 * Copies the parent's entry of an open object. The parent goes on: it may have closed the object since the fork, and given the
 * entry to another, or its memory may be another process's. False: that is so.
 */
static bool inherit_entry(struct module_table *to, const struct module_table *from, uint32_t i)
{
	const struct module *const theirs = &from->modules[i];
	const struct module entry = *theirs;

	if (entry.opened != objects[i].opened || entry.path > from->text_capacity ||
	    entry.path_size > from->text_capacity - entry.path)
		return false;
	memcpy(module_table_text(to) + entry.path, (const char *)&from->modules[from->capacity] + entry.path,
	       entry.path_size);
	to->modules[i] = entry;
	/* Before an entry is another object's, it is closed. */
	atomic_thread_fence(memory_order_acquire);
	return *(const volatile uint64_t *)&theirs->opened == entry.opened &&
	       atomic_load_explicit(&theirs->closed, memory_order_relaxed) == 0 &&
	       atomic_load_explicit(&to->modules[i].closed, memory_order_relaxed) == 0;
}

/* False: not all of it can be taken over. */
static bool inherit_table(struct module_table *to, const struct module_table *from)
{
	const uint32_t count = atomic_load_explicit(&object_count, memory_order_relaxed);
	const uint32_t text_used = atomic_load_explicit(&from->text_used, memory_order_acquire);

	if (from->capacity != to->capacity || from->text_capacity != to->text_capacity ||
	    text_used > to->text_capacity || atomic_load(&from->refused) != 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!is_open(life_of(&objects[i])))
			to->modules[i] = (struct module){ .closed = 1 };
		else if (!inherit_entry(to, from, i))
			return false;
	}
	atomic_store_explicit(&to->text_used, text_used, memory_order_relaxed);
	atomic_store_explicit(&to->count, count, memory_order_release);
	return true;
}

void modules_after_fork(struct module_table *empty, const struct module_table *parents)
{
	const uint64_t state = atomic_load_explicit(&modules_state, memory_order_relaxed);
	const bool inherits = parents && !(state & MODULES_CLOSING) && inherit_table(empty, parents);

	/* The owner of the lock, and threads inside dlclose(), may not exist in the child. */
	atomic_store_explicit(&table_lock, false, memory_order_relaxed);
	table = empty;
	if (inherits) {
		atomic_store_explicit(&modules_state, state + STATE_ENTERED, memory_order_release);
		return;
	}
	atomic_store_explicit(&object_count, 0, memory_order_relaxed);
	atomic_store_explicit(&modules_state, (state & ~(uint64_t)MODULES_CLOSING) + STATE_CLOSED,
			      memory_order_release);
	enter_executable();
}
