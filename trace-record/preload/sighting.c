/* SPDX-License-Identifier: MIT */
#include "sighting.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "libc/libc_objects.h"
#include "os.h"

static modules_find_function *find_object;

void sighting_init(modules_find_function *find)
{
	find_object = find;
}

/* ---- program headers ---- */

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

void sighting_complete(struct sighting *seen)
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

/* ---- the loader ---- */

uint64_t sighting_hash(const char *name)
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

/* One call of libc_each_object(). */
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
	sighting_complete(&seen);
	if (iteration->pc < seen.start || iteration->pc >= seen.end)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			seen.frames = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	seen.name_hash = sighting_hash(seen.name);
	*iteration->seen = seen;
	return 1;
}

bool sighting_find(uintptr_t pc, struct sighting *seen)
{
	struct iteration iteration = { pc, 0, seen };

	if (find_object)
		return find_by_loader(pc, seen);
	return libc_each_object(visit_object, &iteration) == 1;
}

/* ---- what an object's file says ---- */

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

struct cfi_section sighting_frames(const struct sighting *seen)
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

void sighting_read_build_id(const struct sighting *seen, struct module *module)
{
	for (unsigned i = 0; i < seen->header_count && module->build_id_size == 0; i++) {
		const ElfW(Phdr) *header = &seen->headers[i];
		uintptr_t start = seen->bias + header->p_vaddr;

		if (header->p_type == PT_NOTE && start >= seen->start && start < seen->end &&
		    header->p_memsz <= seen->end - start && os_readable(start))
			read_notes(module, start, header->p_memsz);
	}
}

/* Of a program that the loader was told to run: the first object, which dl_iterate_phdr() gives no name. */
static bool is_first(const struct sighting *seen)
{
	return seen->map ? !seen->map->l_prev : seen->name && seen->name[0] == '\0';
}

enum module_role sighting_role(const struct sighting *seen)
{
	uintptr_t loader = getauxval(AT_BASE), entry = getauxval(AT_ENTRY);

	if (seen->start == getauxval(AT_SYSINFO_EHDR))
		return MODULE_VDSO;
	if (loader != 0 && seen->start == loader)
		return MODULE_INTERPRETER;
	if (loader != 0 ? entry >= seen->start && entry < seen->end : is_first(seen))
		return MODULE_EXECUTABLE;
	if ((seen->start <= (uintptr_t)&find_object && seen->end > (uintptr_t)&find_object) ||
	    os_is_own(seen->start))
		return MODULE_RECORDER;
	return MODULE_LIBRARY;
}
