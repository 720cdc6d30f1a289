/* SPDX-License-Identifier: MIT */
#include "lineinfo.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "aranges.h"
#include "array.h"
#include "debugimage.h"
#include "dwarf_frames.h"
#include "dwarf_unit.h"
#include "dwarfbytes.h"
#include "ranges.h"

#define RANGES_MAX (8U << 20)

#define UNIT_NONE UINT32_MAX

/* A unit in .debug_aranges. */
struct hint {
	uint64_t offset;
	uint32_t unit; /* index in `units`; UNIT_NONE: not followed yet, or in vain */
	bool asked;    /* was followed */
};

struct lineinfo {
	Dwfl_Module *module;
	struct debugimage *image; /* NULL: libdw has unpacked everything */
	Dwarf *dwarf;
	uint64_t shift;         /* DWARF address minus link-time address */
	GElf_Shdr text;         /* the section .text; has no size where there is none */
	struct ranges hint_map; /* value: index in `hints` */
	struct hint *hints;
	bool listed;            /* all units are in `unit_map`: hints are no longer needed */
	struct ranges unit_map; /* value: index in `units` */
	struct unit *units;
	uint32_t n_units;
	uint32_t units_capacity;
	struct dwarf_limits limits;
};

static bool unit_reserve(struct lineinfo *lineinfo)
{
	return array_reserve(&lineinfo->units, lineinfo->n_units, &lineinfo->units_capacity,
			     sizeof(*lineinfo->units));
}

/* Adds a unit, after unit_reserve(). Its functions are below `split`, if that has a CU. */
static struct unit *unit_add(struct lineinfo *lineinfo, const Dwarf_Die *die, const Dwarf_Die *split)
{
	struct unit *unit = &lineinfo->units[lineinfo->n_units++];

	assert(lineinfo->n_units <= lineinfo->units_capacity);
	memset(unit, 0, sizeof(*unit));
	unit->lines_die = *die;
	unit->tree_die = split->cu ? *split : *die;
	return unit;
}

static void units_load(struct lineinfo *lineinfo)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	bool whole = true;
	int more = 0;

	while (whole && unit_reserve(lineinfo) &&
	       (more = dwarf_get_units(lineinfo->dwarf, cu, &cu, NULL, NULL, &die, &split)) == 0) {
		bool any;

		whole = die_ranges(&lineinfo->limits, &die, &lineinfo->unit_map, lineinfo->n_units, &any);
		if (any)
			unit_add(lineinfo, &die, &split);
	}
	lineinfo->limits.damaged |= more < 0;
}

/* The first entry of the unit that begins at `offset`. False: none begins there. */
static bool first_die(Dwarf *dwarf, uint64_t offset, Dwarf_Die *die)
{
	Dwarf_Off next;
	Dwarf_Die first;
	size_t header;

	return dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL) == 0 &&
	       dwarf_offdie(dwarf, offset + header, die) && dwarf_diecu(die, &first, NULL, NULL) &&
	       dwarf_dieoffset(&first) == offset + header;
}

/* Unpacks what the unit needs, if it is packed. False: the image cannot serve it. */
static bool unit_reach(struct lineinfo *lineinfo, uint64_t offset, Dwarf_Die *die)
{
	Dwarf_Attribute lines;
	Dwarf_Word table;

	if (lineinfo->image && !debugimage_reach(lineinfo->image, offset))
		return false;
	if (!first_die(lineinfo->dwarf, offset, die))
		return false;
	if (!lineinfo->image || !dwarf_attr(die, DW_AT_stmt_list, &lines))
		return true;
	return dwarf_formudata(&lines, &table) == 0 && debugimage_reach_lines(lineinfo->image, table);
}

static void hint_follow(struct lineinfo *lineinfo, struct hint *hint)
{
	Dwarf_Die die, split;
	Dwarf_Half version;
	struct unit *unit;
	bool any;

	hint->asked = true;
	if (!unit_reserve(lineinfo) || !unit_reach(lineinfo, hint->offset, &die) ||
	    dwarf_cu_info(die.cu, &version, NULL, NULL, &split, NULL, NULL, NULL) != 0)
		return;
	hint->unit = lineinfo->n_units;
	unit = unit_add(lineinfo, &die, &split);
	if (!die_ranges(&lineinfo->limits, &die, &unit->own, 0, &any) || !ranges_seal(&unit->own))
		ranges_finish(&unit->own);
}

/* UNIT_NONE: there is no hint, or the unit contradicts it. */
static uint32_t unit_by_hint(struct lineinfo *lineinfo, uint64_t address)
{
	const uint32_t index = ranges_find(&lineinfo->hint_map, address);
	struct hint *hint;

	if (index == RANGES_NONE)
		return UNIT_NONE;
	hint = &lineinfo->hints[index];
	if (!hint->asked)
		hint_follow(lineinfo, hint);
	if (hint->unit == UNIT_NONE || ranges_find(&lineinfo->units[hint->unit].own, address) == RANGES_NONE)
		return UNIT_NONE;
	return hint->unit;
}

/* The last section whose name begins with the n bytes at `wanted`; NULL: there is none. */
static Elf_Scn *find_section(Elf *elf, const char *wanted, size_t n, GElf_Shdr *found)
{
	Elf_Scn *section = NULL, *last = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (name && strncmp(name, wanted, n) == 0) {
			*found = header;
			last = section;
		}
	}
	return last;
}

static bool has_dwarf(Elf *elf)
{
	GElf_Shdr header;

	return find_section(elf, ".debug_", 7, &header) || find_section(elf, ".zdebug_", 8, &header);
}

static void hints_load(struct lineinfo *lineinfo)
{
	Elf *elf = dwarf_getelf(lineinfo->dwarf);
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, ".debug_aranges", sizeof(".debug_aranges"), &header);
	Elf_Data *data = section && !(header.sh_flags & SHF_COMPRESSED) ? elf_getdata(section, NULL) : NULL;
	uint64_t *offsets;
	uint32_t n;

	if (!data || !dwarfbytes_are_native(elf))
		return;
	n = aranges_read(data, &lineinfo->hint_map, &offsets);
	lineinfo->hints = calloc(n + 1, sizeof(*lineinfo->hints));
	if (!lineinfo->hints)
		ranges_finish(&lineinfo->hint_map);
	for (uint32_t i = 0; i < n && lineinfo->hints; i++)
		lineinfo->hints[i] = (struct hint){ .offset = offsets[i], .unit = UNIT_NONE };
	free(offsets);
}

/* Has libdw open the file. False: there is no debug information. */
static bool open_with_libdw(struct lineinfo *lineinfo)
{
	Dwarf_Addr dwarf_bias, main_bias;

	lineinfo->dwarf = dwfl_module_getdwarf(lineinfo->module, &dwarf_bias);
	if (!lineinfo->dwarf || !dwfl_module_getelf(lineinfo->module, &main_bias))
		return false;
	lineinfo->shift = main_bias - dwarf_bias;
	return true;
}

/* Opens the file packed, if the image can serve it. */
static bool open_image(struct lineinfo *lineinfo, Elf *elf, Elf *debug_file, uint64_t shift)
{
	const bool own = has_dwarf(elf);

	if (own || debug_file)
		lineinfo->image = debugimage_create(own ? elf : debug_file);
	if (!lineinfo->image)
		return false;
	lineinfo->dwarf = debugimage_dwarf(lineinfo->image);
	lineinfo->shift = own ? 0 : shift;
	return true;
}

struct lineinfo *lineinfo_open(Dwfl_Module *module, Elf *debug_file, uint64_t shift)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	struct lineinfo *lineinfo = elf ? calloc(1, sizeof(*lineinfo)) : NULL;

	if (!lineinfo)
		return NULL;
	lineinfo->module = module;
	lineinfo->limits.ranges_left = RANGES_MAX;
	if (!open_image(lineinfo, elf, debug_file, shift) && !open_with_libdw(lineinfo)) {
		lineinfo_close(lineinfo);
		return NULL;
	}
	find_section(elf, ".text", sizeof(".text"), &lineinfo->text);
	hints_load(lineinfo);
	return lineinfo;
}

void lineinfo_close(struct lineinfo *lineinfo)
{
	if (!lineinfo)
		return;
	for (uint32_t i = 0; i < lineinfo->n_units; i++)
		unit_finish(&lineinfo->units[i]);
	free(lineinfo->units);
	ranges_finish(&lineinfo->unit_map);
	ranges_finish(&lineinfo->hint_map);
	free(lineinfo->hints);
	debugimage_destroy(lineinfo->image);
	free(lineinfo);
}

/* Lists all units. */
static void units_list(struct lineinfo *lineinfo)
{
	lineinfo->listed = true;
	if (lineinfo->image && !debugimage_reach_all(lineinfo->image) && !open_with_libdw(lineinfo)) {
		lineinfo->limits.damaged = true;
		return;
	}
	units_load(lineinfo);
	ranges_seal(&lineinfo->unit_map);
}

static struct unit *unit_loaded(struct lineinfo *lineinfo, uint32_t index)
{
	struct unit *unit = &lineinfo->units[index];

	assert(index < lineinfo->n_units);
	unit_load(unit, &lineinfo->limits);
	return unit;
}

/* gcc leaves functions that it made itself out of the unit's ranges, but not out of its rows. */
static struct unit *unit_around(struct lineinfo *lineinfo, uint64_t address)
{
	uint64_t start;
	uint32_t index = ranges_find_between(&lineinfo->unit_map, address, &start);
	struct unit *unit = index == RANGES_NONE ? NULL : unit_loaded(lineinfo, index);

	return unit && !unit_sequence_ends(unit, start) ? unit : NULL;
}

static struct unit *unit_find(struct lineinfo *lineinfo, uint64_t address)
{
	uint32_t index = lineinfo->listed ? UNIT_NONE : unit_by_hint(lineinfo, address);

	if (index == UNIT_NONE) {
		if (!lineinfo->listed)
			units_list(lineinfo);
		index = ranges_find(&lineinfo->unit_map, address);
	}
	return index == RANGES_NONE ? unit_around(lineinfo, address) : unit_loaded(lineinfo, index);
}

size_t lineinfo_frames(struct lineinfo *lineinfo, uint64_t address, struct lineinfo_frame *frames, size_t max)
{
	struct unit *unit = unit_find(lineinfo, address + lineinfo->shift);

	return unit ? unit_frames(unit, address + lineinfo->shift, frames, max) : 0;
}

struct unit *lineinfo_unit(struct lineinfo *lineinfo, uint64_t *address)
{
	*address += lineinfo->shift;
	return unit_find(lineinfo, *address);
}

bool lineinfo_unit_die(struct lineinfo *lineinfo, uint32_t i, Dwarf_Die *die)
{
	if (!lineinfo->listed)
		units_list(lineinfo);
	if (i >= lineinfo->n_units)
		return false;
	*die = lineinfo->units[i].tree_die;
	return true;
}

/* DWARF 5's counterpart of .gnu_debugaltlink: version, whether this is the common file, and its name. */
static const char *supplement(Elf *elf)
{
	const size_t start = sizeof(uint16_t) + 1;
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, ".debug_sup", sizeof(".debug_sup"), &header);
	Elf_Data *data = section && !(header.sh_flags & SHF_COMPRESSED) ? elf_getdata(section, NULL) : NULL;
	const char *bytes = data ? data->d_buf : NULL;

	if (!bytes || data->d_size <= start || bytes[start - 1] ||
	    !memchr(bytes + start, 0, data->d_size - start))
		return NULL;
	return bytes + start;
}

bool lineinfo_is_whole(const struct lineinfo *lineinfo)
{
	/* A damaged file may not even be open: look at that first. */
	return !lineinfo->limits.damaged && !dwarf_getalt(lineinfo->dwarf) && !lineinfo_lacks(lineinfo);
}

const char *lineinfo_lacks(const struct lineinfo *lineinfo)
{
	const char *name;
	const void *build_id;

	if (dwarf_getalt(lineinfo->dwarf))
		return NULL;
	if (dwelf_dwarf_gnu_debugaltlink(lineinfo->dwarf, &name, &build_id) > 0)
		return name;
	return supplement(dwarf_getelf(lineinfo->dwarf));
}

bool lineinfo_outside_text(const struct lineinfo *lineinfo, uint64_t address)
{
	return lineinfo->text.sh_size && address - lineinfo->text.sh_addr >= lineinfo->text.sh_size;
}
