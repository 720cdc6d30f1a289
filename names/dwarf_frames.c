/* SPDX-License-Identifier: MIT */
#include "dwarf_frames.h"

#include <assert.h>
#include <string.h>

#include <dwarf.h>

/*
 * libdw returns folder and name as one path. The name can have slashes itself (Rust writes `library/core/src/cmp.rs`),
 * so the folder is the longest one of the unit's list that fits.
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

/* Sets the line where the inlined function `die` is called. Before DWARF 5, file 0 means none. */
static void frame_locate_call(struct unit *unit, Dwarf_Die *die, struct lineinfo_frame *frame)
{
	unsigned file = die_number(die, DW_AT_call_file);
	Dwarf_Half version = 0;

	dwarf_cu_info(unit->lines_die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	frame->base = frame->path = frame->file = NULL;
	frame->fileless = file == 0 || file >= unit->n_files;
	if (file < unit->n_files && (file || version >= 5))
		frame_set_path(unit, dwarf_filesrc(unit->files, file, NULL, NULL), frame);
	frame->line = (int)die_number(die, DW_AT_call_line);
}

#define UNKNOWN_INLINED "UnknownInlinedFun"
#define LINKS_MAX 16 /* as libdw */

/*
 * What Massif up to 3.25 calls an inlined function; NULL: by its name. It follows an origin and specifications, but never
 * into another compilation unit or dwz's common file.
 */
static const char *name_in_unit(const Dwarf_Die *inlined)
{
	unsigned link = DW_AT_abstract_origin;
	Dwarf_Attribute reference;
	Dwarf_Die die = *inlined;

	for (int links = 0; links < LINKS_MAX && dwarf_attr(&die, link, &reference); links++) {
		const unsigned form = dwarf_whatform(&reference);

		if (form == DW_FORM_ref_addr || form == DW_FORM_GNU_ref_alt ||
		    !dwarf_formref_die(&reference, &die))
			return UNKNOWN_INLINED;
		if (dwarf_hasattr(&die, DW_AT_name))
			return NULL;
		link = DW_AT_specification;
	}
	return link == DW_AT_specification ? "AbsOriFnNameNotFound" : UNKNOWN_INLINED;
}

/* What Massif calls it since 3.26, which follows three references to anywhere, if they are to functions. */
static const char *name_anywhere(const Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die = *inlined;
	bool artificial = false;
	int links = 0;

	while (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) ||
	       dwarf_attr(&die, DW_AT_specification, &attribute)) {
		if (links++ == 3 || !dwarf_formref_die(&attribute, &die) ||
		    dwarf_tag(&die) != DW_TAG_subprogram)
			return UNKNOWN_INLINED;
		if (dwarf_hasattr(&die, DW_AT_name))
			return NULL;
	}
	if (links && dwarf_attr(&die, DW_AT_artificial, &attribute))
		dwarf_formflag(&attribute, &artificial);
	return artificial ? "<artificial>" : UNKNOWN_INLINED;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute linkage;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &linkage) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &linkage))
		return dwarf_formstring(&linkage);
	return NULL;
}

/* Functions that compilers make (`__tls_init`) may have only a linkage name, which Massif ignores. */
static void frame_set_inlined(Dwarf_Die *die, struct lineinfo_frame *frame)
{
	frame->inlined = dwarf_diename(die);
	frame->linkage = linkage_name(die);
	frame->massif = name_in_unit(die);
	frame->massif_3_27 = name_anywhere(die);
}

/* True: indices into .debug_addr or .debug_rnglists say where a function lies. */
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

/* The name of the .dwo file that has the unit's functions, if it was not found; else NULL. */
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

/* Notes what keeps versions of Massif (symbols.c) from the inlined calls at a place in the innermost of `scopes`. */
static void note_unknown(struct unit *unit, uint32_t scope, struct lineinfo_frame *frame)
{
	Dwarf_Half version = 0;

	frame->split = unit->lines_die.cu != unit->tree_die.cu;
	if (scope != RANGES_NONE) {
		frame->hidden = unit->scopes[scope].hidden;
		frame->indexed = die_is_indexed(&unit->scopes[scope].die);
	}
	if (frame->split)
		dwarf_cu_info(unit->lines_die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	frame->lineless = version >= 5;
}

size_t unit_frames(struct unit *unit, uint64_t address, struct lineinfo_frame *frames, size_t max)
{
	struct lineinfo_frame frame = { .line = 0 };
	uint32_t scope, innermost;
	size_t n = 0;

	assert(unit->loaded && max > 0);
	frame_locate(unit, address, &frame);
	scope = innermost = ranges_find(&unit->scope_map, address);
	while (scope != RANGES_NONE && n + 1 < max) {
		struct scope *inlined = &unit->scopes[scope];

		assert(scope < unit->n_scopes && (inlined->parent == RANGES_NONE || inlined->parent < scope));
		if (dwarf_tag(&inlined->die) != DW_TAG_inlined_subroutine)
			break;
		frame_set_inlined(&inlined->die, &frame);
		frames[n++] = frame;
		frame.inlined = frame.linkage = frame.massif = frame.massif_3_27 = NULL;
		frame_locate_call(unit, &inlined->die, &frame);
		scope = inlined->parent;
	}
	frames[n++] = frame;
	note_unknown(unit, innermost, &frames[0]);
	frames[0].lacks = lacking_split(unit);
	return n;
}
