/* SPDX-License-Identifier: MIT */
#include "libc/libc_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "os.h"

#define OBJECTS_MOST 4096u

/* The program's headers are where the kernel says, unless the loader was executed as the program. Others follow the ELF header. */
static bool find_headers(const struct link_map *map, struct dl_phdr_info *object)
{
	const ElfW(Ehdr) *const elf = (const ElfW(Ehdr) *)map->l_addr; // NOLINT(performance-no-int-to-ptr)

	if (!map->l_prev && getauxval(AT_BASE)) {
		object->dlpi_phdr =
			(const ElfW(Phdr) *)getauxval(AT_PHDR); // NOLINT(performance-no-int-to-ptr)
		object->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
		return object->dlpi_phdr != NULL;
	}
	if (map->l_addr % PAGE != 0 || !os_readable(map->l_addr) ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
	    elf->e_phoff > PAGE || elf->e_phnum > (PAGE - elf->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	object->dlpi_phdr =
		(const ElfW(Phdr) *)(map->l_addr + elf->e_phoff); // NOLINT(performance-no-int-to-ptr)
	object->dlpi_phnum = elf->e_phnum;
	return true;
}

/*
 * The list of objects only grows, but that of a dlopen() that fails goes back: each link is probed. musl's handle of the
 * program is the list's head, a link map.
 */
int libc_each_object(libc_object_visitor *visit, void *data)
{
	const struct link_map *map = dlopen(NULL, RTLD_LAZY);
	int result = 0;

	for (unsigned i = 0; i < OBJECTS_MOST && result == 0 && map; i++, map = map->l_next) {
		struct dl_phdr_info object = { 0 };

		if (!os_readable((uintptr_t)map) || !os_readable((uintptr_t)&map->l_prev))
			break;
		object.dlpi_addr = map->l_addr;
		object.dlpi_name = map->l_name;
		if (find_headers(map, &object))
			result = visit(&object, sizeof(object), data);
	}
	return result;
}
