/* SPDX-License-Identifier: MIT */
#include "lineinfo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "aranges.h"
#include "debugimage.h"
#include "dwarfbytes.h"
#include "ranges.h"

/* Each DIE may name the same long range list: the sum is bounded, not only each list. */
#define RANGES_MAX (8U << 20)

#define SCOPE_NONE UINT32_MAX
#define UNIT_NONE UINT32_MAX

struct scope {
	Dwarf_Die die;   /* DW_TAG_subprogram or DW_TAG_inlined_subroutine */
	uint32_t parent; /* of an inlined one: the scope that it was inlined into */
};

struct unit {
	struct ranges own;   /* of a unit that was found by a hint */
	Dwarf_Die lines_die; /* has the line table */
	Dwarf_Die tree_die;  /* has the functions: the same one, or that of the .dwo file */
	bool loaded;
	const char *folder; /* where it was compiled; NULL: not recorded */
	Dwarf_Lines *lines;
	size_t n_lines;
	Dwarf_Files *files;
	size_t n_files;
	struct ranges line_map;  /* value: index in `lines` */
	struct ranges scope_map; /* value: index in `scopes` */
	struct scope *scopes;
	uint32_t n_scopes;
	uint32_t scopes_capacity;
};

/* A unit that .debug_aranges tells of. */
struct hint {
	uint64_t offset;
	uint32_t unit; /* UNIT_NONE: not yet asked about, or to no avail */
	bool asked;
};

struct lineinfo {
	Dwfl_Module *module;
	struct debugimage *image; /* NULL: libdw has unpacked it all */
	Dwarf *dwarf;
	uint64_t shift;         /* DWARF address minus link-time address */
	GElf_Shdr text;         /* the section .text; has no size where there is none */
	struct ranges hint_map; /* value: index in `hints` */
	struct hint *hints;
	bool listed;            /* hints are no longer needed: all units are known */
	struct ranges unit_map; /* value: index in `units` */
	struct unit *units;
	uint32_t n_units;
	uint32_t units_capacity;
	size_t ranges_left;
	bool damaged; /* something could not be read, or is too much */
};

struct walk {
	struct lineinfo *lineinfo;
	struct unit *unit;
	size_t dies_left;
};

/* A range at 0 is what linkers leave of functions that they threw away. */
static bool die_ranges(struct lineinfo *lineinfo, Dwarf_Die *die, struct ranges *ranges, uint32_t value,
		       bool *any)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t offset = 0;

	*any = false;
	while (lineinfo->ranges_left && (offset = dwarf_ranges(die, offset, &base, &lo, &hi)) > 0) {
		lineinfo->ranges_left--;
		if (lo == 0 || lo >= hi)
			continue;
		*any = true;
		if (!ranges_add(ranges, lo, hi, value))
			return false;
	}
	lineinfo->damaged |= offset != 0 || !lineinfo->ranges_left;
	return true;
}

static bool unit_reserve(struct lineinfo *lineinfo)
{
	uint32_t capacity = lineinfo->units_capacity * 2 + 16;
	struct unit *units;

	if (lineinfo->n_units < lineinfo->units_capacity)
		return true;
	units = realloc(lineinfo->units, capacity * sizeof(*units));
	if (!units)
		return false;
	lineinfo->units = units;
	lineinfo->units_capacity = capacity;
	return true;
}

/* Adds a unit to the list; `split`, if it has a CU, has its functions. */
static struct unit *unit_add(struct lineinfo *lineinfo, const Dwarf_Die *die, const Dwarf_Die *split)
{
	struct unit *unit = &lineinfo->units[lineinfo->n_units++];

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

		whole = die_ranges(lineinfo, &die, &lineinfo->unit_map, lineinfo->n_units, &any);
		if (any)
			unit_add(lineinfo, &die, &split);
	}
	lineinfo->damaged |= more < 0;
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

/* Unpacks what the unit is made of, if it is packed. False: it needs more than is known. */
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
	if (!die_ranges(lineinfo, &die, &unit->own, 0, &any) || !ranges_seal(&unit->own))
		ranges_finish(&unit->own);
}

/* UNIT_NONE: there is no hint, or the unit itself says otherwise. */
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

/* The last section whose name begins like this; NULL: there is none. */
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

/* Opens it packed, if it can be. */
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
	lineinfo->ranges_left = RANGES_MAX;
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
	for (uint32_t i = 0; i < lineinfo->n_units; i++) {
		ranges_finish(&lineinfo->units[i].own);
		ranges_finish(&lineinfo->units[i].line_map);
		ranges_finish(&lineinfo->units[i].scope_map);
		free(lineinfo->units[i].scopes);
	}
	free(lineinfo->units);
	ranges_finish(&lineinfo->unit_map);
	ranges_finish(&lineinfo->hint_map);
	free(lineinfo->hints);
	debugimage_destroy(lineinfo->image);
	free(lineinfo);
}

/* False after the last row of a sequence, whose address is where the code ends. */
static bool row_read(Dwarf_Lines *lines, size_t i, uint64_t *lo, uint64_t *hi, int *number)
{
	Dwarf_Line *row = dwarf_onesrcline(lines, i);
	bool end;

	return dwarf_lineendsequence(row, &end) == 0 && !end && dwarf_lineaddr(row, lo) == 0 &&
	       dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), hi) == 0 && *lo < *hi &&
	       dwarf_lineno(row, number) == 0;
}

/*
 * libdw sorts the rows by address; a row holds up to the next one, of equal ones the last. Massif
 * joins neighbours that have the same line number, and takes the file of the first for all of them
 * even if it is another one.
 */
static void unit_load_lines(struct lineinfo *lineinfo, struct unit *unit)
{
	uint64_t lo, hi, end = 0;
	int number, last_number = 0;
	uint32_t row = 0;
	Dwarf_Attribute folder, table;
	size_t n;

	unit->folder = dwarf_formstring(dwarf_attr(&unit->lines_die, DW_AT_comp_dir, &folder));
	if (dwarf_getsrcfiles(&unit->lines_die, &unit->files, &unit->n_files) != 0)
		unit->n_files = 0;
	if (dwarf_getsrclines(&unit->lines_die, &unit->lines, &n) != 0) {
		lineinfo->damaged |= dwarf_attr(&unit->lines_die, DW_AT_stmt_list, &table) != NULL;
		return;
	}
	unit->n_lines = n;
	for (size_t i = 0; i + 1 < n && i < RANGES_NONE; i++) {
		if (!row_read(unit->lines, i, &lo, &hi, &number))
			continue;
		if (lo != end || number != last_number)
			row = (uint32_t)i;
		if (!ranges_add(&unit->line_map, lo, hi, row))
			break;
		end = hi;
		last_number = number;
	}
	ranges_seal(&unit->line_map);
}

static bool scope_reserve(struct unit *unit)
{
	uint32_t capacity = unit->scopes_capacity * 2 + 64;
	struct scope *scopes;

	if (unit->n_scopes < unit->scopes_capacity)
		return true;
	scopes = realloc(unit->scopes, capacity * sizeof(*scopes));
	if (!scopes)
		return false;
	unit->scopes = scopes;
	unit->scopes_capacity = capacity;
	return true;
}

/*
 * The new scope's index; SCOPE_NONE if `die` has no code. Out of memory ends the walk; a scope with
 * part of its ranges stays, because the map has its index already.
 */
static uint32_t scope_add(struct walk *walk, Dwarf_Die *die, uint32_t parent)
{
	struct unit *unit = walk->unit;
	bool any;

	if (!scope_reserve(unit)) {
		walk->dies_left = 0;
		return SCOPE_NONE;
	}
	if (!die_ranges(walk->lineinfo, die, &unit->scope_map, unit->n_scopes, &any))
		walk->dies_left = 0;
	if (!any)
		return SCOPE_NONE;
	unit->scopes[unit->n_scopes] = (struct scope){ *die, parent };
	return unit->n_scopes++;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, int depth);

static void walk_die(struct walk *walk, Dwarf_Die *die, uint32_t scope, int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		scope = scope_add(walk, die, SCOPE_NONE);
		if (scope == SCOPE_NONE) /* a declaration or the model of inlined copies */
			return;
		break;
	case DW_TAG_inlined_subroutine: {
		uint32_t inner = scope_add(walk, die, scope);

		if (inner != SCOPE_NONE)
			scope = inner;
		break;
	}
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		/* Massif sees no inlined calls in member functions of a function's own types. */
		if (scope != SCOPE_NONE)
			return;
		break;
	default:
		return;
	}
	walk_children(walk, die, scope, depth + 1);
}

/* A sibling attribute may point anywhere: `dies_left` ends walks in circles. */
static void walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, int depth)
{
	Dwarf_Die die;

	if (depth > LINEINFO_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (walk->dies_left == 0) {
			walk->lineinfo->damaged = true;
			return;
		}
		walk->dies_left--;
		walk_die(walk, &die, scope, depth);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* A DIE has at least one byte, so an honest unit has fewer than its section has bytes. */
static size_t unit_die_limit(struct unit *unit)
{
	Dwarf_Off start = dwarf_dieoffset(&unit->tree_die), next;
	size_t header;

	start -= dwarf_cuoffset(&unit->tree_die);
	if (dwarf_nextcu(dwarf_cu_getdwarf(unit->tree_die.cu), start, &next, &header, NULL, NULL, NULL) !=
		    0 ||
	    next <= start)
		return 0;
	return next - start;
}

static void unit_load(struct lineinfo *lineinfo, struct unit *unit)
{
	struct walk walk = { lineinfo, unit, unit_die_limit(unit) };

	unit->loaded = true;
	unit_load_lines(lineinfo, unit);
	walk_children(&walk, &unit->tree_die, SCOPE_NONE, 0);
	ranges_seal(&unit->scope_map);
}

/*
 * libdw hands out folder and name as one path. The name can have slashes itself (Rust writes
 * `library/core/src/cmp.rs`), so the folder is the longest one of the unit's list that fits.
 */
static void frame_set_path(const struct unit *unit, const char *path, struct lineinfo_frame *frame)
{
	const char *const *dirs;
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t n, length = 0;

	frame->base = path && path[0] != '/' ? unit->folder : NULL;
	frame->path = path;
	frame->file = slash ? slash + 1 : path;
	if (!slash || dwarf_getsrcdirs(unit->files, &dirs, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t found = dirs[i] ? strlen(dirs[i]) : 0;

		if (found > length && strncmp(path, dirs[i], found) == 0 && path[found] == '/')
			length = found;
	}
	if (length)
		frame->file = path + length + 1;
}

static void frame_locate(struct unit *unit, uint64_t address, struct lineinfo_frame *frame)
{
	uint32_t row = ranges_find(&unit->line_map, address);
	Dwarf_Line *line = row == RANGES_NONE ? NULL : dwarf_onesrcline(unit->lines, row);

	if (!line)
		return;
	frame_set_path(unit, dwarf_linesrc(line, NULL, NULL), frame);
	if (dwarf_lineno(line, &frame->line) != 0 || frame->line < 0)
		frame->line = 0;
}

static unsigned die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value <= INT32_MAX ? (unsigned)value : 0;
}

/* Where the inlined function `die` was called. Before DWARF 5, file 0 means none. */
static void frame_locate_call(struct unit *unit, Dwarf_Die *die, struct lineinfo_frame *frame)
{
	unsigned file = die_number(die, DW_AT_call_file);
	Dwarf_Half version = 0;

	dwarf_cu_info(unit->lines_die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	frame->base = frame->path = frame->file = NULL;
	if (file < unit->n_files && (file || version >= 5))
		frame_set_path(unit, dwarf_filesrc(unit->files, file, NULL, NULL), frame);
	frame->line = (int)die_number(die, DW_AT_call_line);
}

/* Whether the name of an inlined function comes from another compilation unit, or from dwz's common file. */
static bool die_is_foreign(const Dwarf_Die *die)
{
	const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute link;
	Dwarf_Die at = *die;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (!dwarf_attr(&at, links[i], &link))
			return false;
		if (dwarf_whatform(&link) == DW_FORM_ref_addr || dwarf_whatform(&link) == DW_FORM_GNU_ref_alt)
			return true;
		if (!dwarf_formref_die(&link, &at))
			return false;
	}
	return false;
}

/* What compilers make themselves (`__tls_init`) may have a name for the linker alone, for which Massif doesn't look. */
static void frame_set_inlined(Dwarf_Die *die, struct lineinfo_frame *frame)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute linkage;

	frame->inlined = name;
	if (!name && (dwarf_attr_integrate(die, DW_AT_linkage_name, &linkage) ||
		      dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &linkage)))
		frame->inlined = dwarf_formstring(&linkage);
	if (die_is_foreign(die))
		frame->massif = "UnknownInlinedFun";
	else if (!name && dwarf_hasattr(die, DW_AT_abstract_origin))
		frame->massif = "AbsOriFnNameNotFound";
}

/* Whether where a function lies is said by indices into .debug_addr or .debug_rnglists. */
static bool die_is_indexed(Dwarf_Die *die)
{
	Dwarf_Attribute place;
	unsigned form;

	if (!dwarf_attr(die, DW_AT_low_pc, &place) && !dwarf_attr(die, DW_AT_ranges, &place))
		return false;
	form = dwarf_whatform(&place);
	return form == DW_FORM_rnglistx || form == DW_FORM_addrx ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

/* The name of the .dwo file that has all of a unit's functions, if it was not found. */
static const char *lacking_split(const struct unit *unit)
{
	const unsigned names[] = { DW_AT_dwo_name, DW_AT_GNU_dwo_name };
	Dwarf_Die die = unit->lines_die;
	Dwarf_Attribute attribute;

	if (unit->tree_die.cu != die.cu || dwarf_haschildren(&die))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (dwarf_attr(&die, names[i], &attribute))
			return dwarf_formstring(&attribute);
	}
	return NULL;
}

/* Massif 3.19 opens no .dwo files, and knows neither indices nor the units that DWARF 5 leaves for such files. */
static void note_unknown(struct unit *unit, uint32_t scope, struct lineinfo_frame *frame)
{
	const bool split = unit->lines_die.cu != unit->tree_die.cu;
	Dwarf_Half version = 0;

	frame->split = split;
	frame->uninlined = split || (scope != RANGES_NONE && die_is_indexed(&unit->scopes[scope].die));
	if (split)
		dwarf_cu_info(unit->lines_die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	frame->lineless = version >= 5;
}

/* Makes all units known. */
static void units_list(struct lineinfo *lineinfo)
{
	lineinfo->listed = true;
	if (lineinfo->image && !debugimage_reach_all(lineinfo->image) && !open_with_libdw(lineinfo)) {
		lineinfo->damaged = true;
		return;
	}
	units_load(lineinfo);
	ranges_seal(&lineinfo->unit_map);
}

/* Whether a sequence of rows ends at `address`. Of equal addresses libdw has that row first. */
static bool sequence_ends(const struct unit *unit, uint64_t address)
{
	size_t lo = 0, hi = unit->n_lines;
	Dwarf_Line *row;
	uint64_t at;
	bool end;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &at) == 0 && at < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	row = lo < unit->n_lines ? dwarf_onesrcline(unit->lines, lo) : NULL;
	return !row || dwarf_lineaddr(row, &at) != 0 || dwarf_lineendsequence(row, &end) != 0 ||
	       (at == address && end);
}

static struct unit *unit_loaded(struct lineinfo *lineinfo, uint32_t index)
{
	struct unit *unit = &lineinfo->units[index];

	if (!unit->loaded)
		unit_load(lineinfo, unit);
	return unit;
}

/* gcc leaves functions that it made itself out of a unit's ranges, not out of its rows. */
static struct unit *unit_around(struct lineinfo *lineinfo, uint64_t address)
{
	uint64_t start;
	uint32_t index = ranges_find_between(&lineinfo->unit_map, address, &start);
	struct unit *unit = index == RANGES_NONE ? NULL : unit_loaded(lineinfo, index);

	return unit && !sequence_ends(unit, start) ? unit : NULL;
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
	struct lineinfo_frame frame = { .line = 0 };
	uint32_t scope, innermost;
	size_t n = 0;

	if (!unit)
		return 0;
	frame_locate(unit, address + lineinfo->shift, &frame);
	scope = innermost = ranges_find(&unit->scope_map, address + lineinfo->shift);
	while (scope != RANGES_NONE && n + 1 < max) {
		struct scope *inlined = &unit->scopes[scope];

		if (dwarf_tag(&inlined->die) != DW_TAG_inlined_subroutine)
			break;
		frame_set_inlined(&inlined->die, &frame);
		frames[n++] = frame;
		frame.inlined = frame.massif = NULL;
		frame_locate_call(unit, &inlined->die, &frame);
		scope = inlined->parent;
	}
	frames[n++] = frame;
	note_unknown(unit, innermost, &frames[0]);
	frames[0].lacks = lacking_split(unit);
	return n;
}

/* What DWARF 5 has in the place of .gnu_debugaltlink: version, whether this is the common file, and its name. */
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
	/* What is damaged may not even be open. */
	return !lineinfo->damaged && !dwarf_getalt(lineinfo->dwarf) && !lineinfo_lacks(lineinfo);
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
