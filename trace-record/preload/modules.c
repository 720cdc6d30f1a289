/* SPDX-License-Identifier: MIT */

#include "modules.h"
#include "os.h"
#include "recorder_assert.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#define OBJECTS_MAX 4096
#define ROOM_STEP 64u
#define STATE_ENTERED (UINT64_C(1) << 16)
#define STATE_CLOSED (UINT64_C(1) << 40)

/* Load order of objects outside the base namespace (dlmopen): after all others. */
#define ORDER_OTHER_NAMESPACE (UINT32_C(1) << 20)

/* An object as the loader describes it; 0 or NULL: not known. */
struct sighting {
	uintptr_t start, end, bias; /* before complete_sighting(), [start, end) may be one segment */
	const void *identity;       /* link map, or the program headers' address */
	const struct link_map *map; /* NULL when found by dl_iterate_phdr */
	const char *name;
	uint64_t name_hash; /* 0: the name has not been read */
	const ElfW(Phdr) * headers;
	unsigned header_count;
	uintptr_t frames;
	uint32_t order; /* used when map is NULL */
};

/* A part of the text area. */
struct room {
	uint32_t at, end;
};

/* The process's part of a table entry; objects[i] belongs to table->modules[i]. start <= inside < end while it is open. */
struct object {
	uintptr_t start, end;
	uintptr_t inside; /* an address that the loader found in it */
	const void *identity;
	uint64_t name_hash;
	struct cfi_section section;
	struct room path;
	/* Odd while the object is open. Entries are reused: what a reader has read of one holds if this has not changed. */
	_Atomic uint32_t life;
};

_Atomic uint64_t modules_state = STATE_ENTERED;

static struct module_table *table;
static modules_find_function *find_object;
static uint64_t (*stamp_now)(void);
static struct object objects[OBJECTS_MAX];
static _Atomic uint32_t object_count; /* release: objects below are complete */
static _Atomic bool table_lock;

/* Whether the program headers are at `at`: one of them must map their place in the file there. */
static bool are_headers(uintptr_t at, const ElfW(Ehdr) * elf, uintptr_t bias)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)at;

	if (!os_readable(at) || !os_readable((uintptr_t)(headers + elf->e_phnum) - sizeof(uint64_t)))
		return false;
	for (unsigned i = 0; i < elf->e_phnum; i++)
		if (headers[i].p_type == PT_LOAD &&
		    elf->e_phoff - headers[i].p_offset < headers[i].p_filesz &&
		    bias + headers[i].p_vaddr + (elf->e_phoff - headers[i].p_offset) == at)
			return true;
	return false;
}

/* Finds program headers that don't follow the ELF header: in a later segment, most often the last. 0: not found. */
static uintptr_t find_far_headers(const struct sighting *seen, const ElfW(Ehdr) * elf)
{
	const uintptr_t bytes = elf->e_phnum * sizeof(ElfW(Phdr)), in_page = elf->e_phoff % PAGE;
	uintptr_t at = ((seen->end - bytes - in_page) & ~(PAGE - 1)) + in_page;

	if (seen->end - seen->start < bytes + in_page)
		return 0;
	for (; at > seen->start; at -= PAGE)
		if (are_headers(at, elf, seen->bias))
			return at;
	return 0;
}

/* Takes the program headers from the ELF header at `at`, if there is one. */
static bool find_headers_at(struct sighting *seen, uintptr_t at)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)at;
	uintptr_t headers;

	if (at % PAGE != 0 || !os_readable(at) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_phentsize != sizeof(ElfW(Phdr)) || elf->e_phnum == 0 ||
	    elf->e_phnum > PAGE / sizeof(ElfW(Phdr)))
		return false;
	if (elf->e_phoff <= PAGE - elf->e_phnum * sizeof(ElfW(Phdr)))
		headers = at + elf->e_phoff;
	else
		headers = find_far_headers(seen, elf);
	seen->headers = (const ElfW(Phdr) *)headers;
	seen->header_count = elf->e_phnum;
	return headers != 0;
}

/*
 * The kernel says where the executable's program headers are. For other objects the ELF header does, which the first segment
 * maps, nearly always at link-time address 0.
 */
static bool find_headers(struct sighting *seen)
{
	if (seen->headers)
		return true;
	if (seen->map && !seen->map->l_prev && seen->name[0] == '\0') {
		seen->headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		seen->header_count = (unsigned)getauxval(AT_PHNUM);
		return seen->headers != NULL;
	}
	return find_headers_at(seen, seen->start) || find_headers_at(seen, seen->bias);
}

/* Widens [start, end) to all segments: for objects with gaps between segments the loader gives a single one. */
static void complete_sighting(struct sighting *seen)
{
	uintptr_t start = UINTPTR_MAX, end = 0;

	if (!find_headers(seen))
		return;
	for (unsigned i = 0; i < seen->header_count; i++) {
		const ElfW(Phdr) *header = &seen->headers[i];
		uintptr_t from = seen->bias + header->p_vaddr, to = from + header->p_memsz;

		if (header->p_type != PT_LOAD)
			continue;
		from &= ~(PAGE - 1);
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (start <= seen->start && seen->end <= end) {
		seen->start = start;
		seen->end = end;
	}
}

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static bool find_by_loader(uintptr_t pc, struct sighting *seen)
{
	struct modules_found found;

	if (find_object((void *)pc, &found) != 0)
		return false;
	*seen = (struct sighting){
		.start = (uintptr_t)found.map_start,
		.end = (uintptr_t)found.map_end,
		.bias = found.map->l_addr,
		.identity = found.map,
		.map = found.map,
		.name = found.map->l_name,
		.frames = (uintptr_t)found.frames,
	};
	return true;
}

/* One call of dl_iterate_phdr(). */
struct iteration {
	uintptr_t pc;
	uint32_t position;
	struct sighting *seen;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct iteration *iteration = data;
	struct sighting seen = {
		.start = iteration->pc,
		.end = iteration->pc,
		.bias = info->dlpi_addr,
		.identity = info->dlpi_phdr,
		.name = info->dlpi_name,
		.headers = info->dlpi_phdr,
		.header_count = info->dlpi_phnum,
		.order = iteration->position++,
	};

	(void)size;
	complete_sighting(&seen);
	if (iteration->pc < seen.start || iteration->pc >= seen.end)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			seen.frames = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	seen.name_hash = hash_of(seen.name);
	*iteration->seen = seen;
	return 1;
}

static bool find_sighting(uintptr_t pc, struct sighting *seen)
{
	struct iteration iteration = { pc, 0, seen };

	if (find_object)
		return find_by_loader(pc, seen);
	return dl_iterate_phdr(visit_object, &iteration) == 1;
}

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

/* The file's bytes of the segment that holds the address. False: no segment does. */
static bool find_segment(const struct sighting *seen, uintptr_t at, uintptr_t *start, uintptr_t *end)
{
	for (unsigned i = 0; i < seen->header_count; i++) {
		const ElfW(Phdr) *header = &seen->headers[i];

		*start = seen->bias + header->p_vaddr;
		*end = *start + header->p_filesz;
		if (header->p_type == PT_LOAD && at >= *start && at < *end)
			return true;
	}
	return false;
}

/* The call frame information, with the readable bytes around it: its segments, or the object if these are not known. */
static struct cfi_section frame_section(const struct sighting *seen)
{
	struct cfi_section section = { seen->frames, seen->end, seen->start, seen->end };
	uintptr_t start, end;

	if (!seen->frames || !find_segment(seen, seen->frames, &start, &end))
		return section;
	section.header_end = end;
	if (!find_segment(seen, cfi_frames(seen->frames, end), &section.start, &section.end)) {
		section.start = start;
		section.end = end;
	}
	return section;
}

/* Copies the GNU build id out of one note segment. */
static void read_notes(struct module *module, uintptr_t at, uint64_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		uint64_t name = ((uint64_t)note->n_namesz + 3) & ~UINT64_C(3);
		uint64_t bytes = sizeof(*note) + name + note->n_descsz;

		if (bytes > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(note + 1, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
		    note->n_descsz <= MODULE_BUILD_ID_MAX) {
			memcpy(module->build_id, (const char *)(note + 1) + name, note->n_descsz);
			module->build_id_size = (uint8_t)note->n_descsz;
			return;
		}
		/* The last note may lack its padding. */
		bytes = (bytes + 3) & ~UINT64_C(3);
		if (bytes > size)
			return;
		at += bytes;
		size -= bytes;
	}
}

static void read_build_id(struct module *module, const struct sighting *seen)
{
	for (unsigned i = 0; i < seen->header_count && module->build_id_size == 0; i++) {
		const ElfW(Phdr) *header = &seen->headers[i];
		uintptr_t start = seen->bias + header->p_vaddr;

		if (header->p_type == PT_NOTE && start >= seen->start && start < seen->end &&
		    header->p_memsz <= seen->end - start && os_readable(start))
			read_notes(module, start, header->p_memsz);
	}
}

static enum module_role find_role(const struct sighting *seen)
{
	uintptr_t loader = getauxval(AT_BASE), entry = getauxval(AT_ENTRY);

	if (seen->start == getauxval(AT_SYSINFO_EHDR))
		return MODULE_VDSO;
	if (loader != 0 && seen->start == loader)
		return MODULE_INTERPRETER;
	if (loader != 0 ? entry >= seen->start && entry < seen->end : seen->map && !seen->map->l_prev)
		return MODULE_EXECUTABLE;
	if ((seen->start <= (uintptr_t)&table && seen->end > (uintptr_t)&table) || os_is_own(seen->start))
		return MODULE_RECORDER;
	return MODULE_LIBRARY;
}

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

/* These functions write at room->at and advance it. False: there is no room. */
static bool put_text(struct room *room, const char *text, size_t size)
{
	if (size > room->end - room->at)
		return false;
	memcpy(module_table_text(table) + room->at, text, size);
	room->at += (uint32_t)size;
	return true;
}

static bool put_link(struct room *room, const char *link)
{
	const uint32_t most = room->end - room->at;
	long size = most == 0 ? 0
			      : os_call6(SYS_readlinkat, AT_FDCWD, (long)link,
					 (long)(module_table_text(table) + room->at), (long)most, 0, 0);

	room->at += size > 0 ? (uint32_t)size : 0;
	return size != (long)most; /* else the link may be cut off */
}

/* The directory of a relative name: the current one, unless the program has changed it since it loaded the object. */
static bool put_directory(struct room *room)
{
	char *text = module_table_text(table) + room->at;
	long size = os_call6(SYS_getcwd, (long)text, (long)(room->end - room->at), 0, 0, 0, 0);

	if (size == -ERANGE)
		return false;
	/* The size counts the NUL, which the slash replaces. */
	if (size <= 1 || text[0] != '/')
		return true;
	text[size - 1] = '/';
	room->at += size == 2 ? 1 : (uint32_t)size;
	return true;
}

static bool put_path(struct room *room, enum module_role role, const char *name)
{
	if (role == MODULE_VDSO)
		return put_text(room, "[vdso]", 6);
	if (role == MODULE_EXECUTABLE && getauxval(AT_BASE))
		return put_link(room, "/proc/self/exe");
	/* The loader was executed as the program; it sets AT_EXECFN to what it has loaded. */
	if (role == MODULE_EXECUTABLE && getauxval(AT_EXECFN))
		name = (const char *)getauxval(AT_EXECFN);
	while (name[0] == '.' && name[1] == '/')
		for (name += 2; name[0] == '/'; name++) {
		}
	return (name[0] == '/' || put_directory(room)) && put_text(room, name, strlen(name));
}

/* All room that was never used; take_room() takes a part. */
static struct room free_room(void)
{
	return (struct room){ atomic_load_explicit(&table->text_used, memory_order_relaxed),
			      table->text_capacity };
}

/* Sizes are multiples of ROOM_STEP, so that most paths fit a room that another path has left. */
static void take_room(struct room *room, uint32_t used)
{
	uint32_t end = room->at + (used + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;

	room->end = end < room->end ? end : room->end;
	RECORDER_ASSERT(room->at + used <= room->end && room->end <= table->text_capacity);
	atomic_store_explicit(&table->text_used, room->end, memory_order_release);
}

/* Writes the path into the entry's room in the text area, or into a new room. Under the lock. */
static void place_path(struct module *module, struct room *own, const struct sighting *seen)
{
	const char *name = seen->name ? seen->name : "";
	struct room rest = *own;

	if (!put_path(&rest, module->role, name)) {
		struct room fresh = free_room();

		rest = fresh;
		if (!put_path(&rest, module->role, name)) {
			atomic_fetch_add_explicit(&table->refused, 1, memory_order_relaxed);
			return;
		}
		take_room(&fresh, rest.at - fresh.at);
		*own = fresh;
	}
	module->path = own->at;
	module->path_size = rest.at - own->at;
}

/* Until the end `closed` is a stamp before all others, so the reader finds no pc in the entry. */
static void fill_module(struct module *module, struct room *path, const struct sighting *seen)
{
	struct module filled = {
		.start = seen->start,
		.end = seen->end,
		.bias = seen->bias,
		.opened = stamp_now(),
		.closed = 1,
		.role = (uint8_t)find_role(seen),
		.order = find_order(seen),
	};

	read_build_id(&filled, seen);
	place_path(&filled, path, seen);
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
		objects[count].path = (struct room){ 0 };
	return count;
}

static void fill_object(struct object *object, const struct sighting *seen, uintptr_t pc,
			const struct cfi_section *section)
{
	uint32_t life = atomic_load_explicit(&object->life, memory_order_relaxed);

	RECORDER_ASSERT(seen->start <= pc && pc < seen->end);
	object->start = seen->start;
	object->end = seen->end;
	object->inside = pc;
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

	*section = frame_section(seen);
	mask = os_lock(&table_lock);
	if (!find_known(seen)) {
		i = find_entry();
		if (i < OBJECTS_MAX && i < table->capacity) {
			fill_module(&table->modules[i], &objects[i].path, seen);
			fill_object(&objects[i], seen, pc, section);
			publish_entry(i);
		} else {
			atomic_fetch_add_explicit(&table->refused, 1, memory_order_relaxed);
		}
	}
	os_unlock(&table_lock, mask);
}

/* Whether `object` is where it was; `now`: an object seen now, or NULL to ask the loader. */
static bool is_there(const struct object *object, const struct sighting *now)
{
	struct sighting seen;

	if (now)
		return is_same(object, now) || now->start >= object->end || now->end <= object->start;
	return find_sighting(object->inside, &seen) && is_same(object, &seen);
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
		any = true;
	}
	return any;
}

bool modules_find(uintptr_t pc, struct cfi_section *section)
{
	struct sighting seen;
	struct object *known = find_object ? NULL : find_covering(pc);

	if (!known) {
		if (!find_sighting(pc, &seen))
			return false;
		/* The object's code is on the stack, so it is not unloaded meanwhile. */
		seen.name_hash = hash_of(seen.name ? seen.name : "");
		known = find_known(&seen);
	}
	if (known) {
		*section = known->section;
		return true;
	}
	complete_sighting(&seen);
	/* The C library unloads some objects by itself (gconv, nss): noticed here, when another takes their place. */
	if (close_gone(stamp_now(), &seen))
		modules_code_changed();
	enter_object(&seen, pc, section);
	return true;
}

void modules_closing_begin(void)
{
	atomic_fetch_add_explicit(&modules_state, 1, memory_order_seq_cst);
}

/* Another thread may have opened an object where one is gone; modules_find() tells these apart by name. */
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

static void enter_executable(void)
{
	struct cfi_section section;

	modules_find(getauxval(AT_BASE) ? getauxval(AT_ENTRY) : getauxval(AT_PHDR), &section);
}

void modules_init(struct module_table *empty, modules_find_function *find, uint64_t (*stamp)(void))
{
	table = empty;
	find_object = find;
	stamp_now = stamp;
	enter_executable();
}

void modules_after_fork(struct module_table *empty)
{
	uint64_t state = atomic_load_explicit(&modules_state, memory_order_relaxed);

	/* The owner of the lock, and threads inside dlclose(), may not exist in the child. */
	atomic_store_explicit(&table_lock, false, memory_order_relaxed);
	atomic_store_explicit(&object_count, 0, memory_order_relaxed);
	atomic_store_explicit(&modules_state, (state & ~(uint64_t)MODULES_CLOSING) + STATE_CLOSED,
			      memory_order_release);
	table = empty;
	enter_executable();
}
