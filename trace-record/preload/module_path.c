/* SPDX-License-Identifier: MIT */
#include "module_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "os.h"
#include "recorder_assert.h"

#define ROOM_STEP 64u

/* These functions write at room->at and advance it. False: there is no room. */
static bool put_text(struct module_table *table, struct module_room *room, const char *text, size_t size)
{
	if (size > room->end - room->at)
		return false;
	memcpy(module_table_text(table) + room->at, text, size);
	room->at += (uint32_t)size;
	return true;
}

static bool put_link(struct module_table *table, struct module_room *room, const char *link)
{
	const uint32_t most = room->end - room->at;
	long size = most == 0 ? 0
			      : os_call6(SYS_readlinkat, AT_FDCWD, (long)link,
					 (long)(module_table_text(table) + room->at), (long)most, 0, 0);

	room->at += size > 0 ? (uint32_t)size : 0;
	return size != (long)most; /* else the link may be cut off */
}

/* The directory of a relative name: the current one, unless the program has changed it since it loaded the object. */
static bool put_directory(struct module_table *table, struct module_room *room)
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

static bool put_path(struct module_table *table, struct module_room *room, enum module_role role,
		     const char *name)
{
	if (role == MODULE_VDSO)
		return put_text(table, room, "[vdso]", 6);
	if (role == MODULE_EXECUTABLE && getauxval(AT_BASE))
		return put_link(table, room, "/proc/self/exe");
	/* The loader was executed as the program; it sets AT_EXECFN to what it has loaded. */
	if (role == MODULE_EXECUTABLE && getauxval(AT_EXECFN))
		name = (const char *)getauxval(AT_EXECFN);
	while (name[0] == '.' && name[1] == '/')
		for (name += 2; name[0] == '/'; name++) {
		}
	return (name[0] == '/' || put_directory(table, room)) && put_text(table, room, name, strlen(name));
}

/* All room that was never used; take_room() takes a part. */
static struct module_room free_room(const struct module_table *table)
{
	return (struct module_room){ atomic_load_explicit(&table->text_used, memory_order_relaxed),
				     table->text_capacity };
}

/* Sizes are multiples of ROOM_STEP, so that most paths fit a room that another path has left. */
static void take_room(struct module_table *table, struct module_room *room, uint32_t used)
{
	uint32_t end = room->at + (used + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;

	room->end = end < room->end ? end : room->end;
	RECORDER_ASSERT(room->at + used <= room->end && room->end <= table->text_capacity);
	atomic_store_explicit(&table->text_used, room->end, memory_order_release);
}

void module_path_place(struct module_table *table, struct module *module, struct module_room *own,
		       const char *name)
{
	struct module_room rest = *own;

	if (!put_path(table, &rest, module->role, name)) {
		struct module_room fresh = free_room(table);

		rest = fresh;
		if (!put_path(table, &rest, module->role, name)) {
			atomic_fetch_add_explicit(&table->refused, 1, memory_order_relaxed);
			return;
		}
		take_room(table, &fresh, rest.at - fresh.at);
		*own = fresh;
	}
	module->path = own->at;
	module->path_size = rest.at - own->at;
}
