/* SPDX-License-Identifier: MIT */
#include "debugimage.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <dwarf.h>
#include <gelf.h>
#include <zlib.h>
#include <zstd.h>

#include "dwarfbytes.h"

#define INFO ".debug_info"
#define LINE ".debug_line"
#define ABBREV ".debug_abbrev"
#define ADDR ".debug_addr"

/* The sections of the image. Names and lines need no others (locations, macros, indices). */
static const char *const wanted[] = { INFO,
				      LINE,
				      ABBREV,
				      ".debug_str",
				      ".debug_line_str",
				      ".debug_str_offsets",
				      ADDR,
				      ".debug_ranges",
				      ".debug_rnglists",
				      ".debug_aranges" };
#define N_WANTED (sizeof(wanted) / sizeof(wanted[0]))
#define HEADERS (N_WANTED + 2) /* an empty one, and that of the names */

/* With any of these sections, an address or a name may come from elsewhere. */
static const char *const foreign[] = { ".gnu_debugaltlink", ".debug_sup", ".debug_types", ".debug_info.dwo" };

/* ELFCOMPRESS_ZSTD, which old headers lack. */
#define PACKED_BY_ZSTD 2

/* Bytes that a byte of packed data stands for at most: the limit of deflate; zstd files in use stay below it. */
#define PACKED_MOST 1032u

/* Bytes, at most, of a unit's header, and of the length of a line table. */
#define HEAD_MOST 40u

/* Bytes that are unpacked at once, at least. */
#define STEP ((size_t)4 << 10)

struct section {
	const char *name;
	const uint8_t *packed;
	size_t n_packed;
	uint8_t *data; /* in the image */
	size_t n, reached;
	z_stream stream;
	bool compressed, zstd, begun, damaged;
};

struct debugimage {
	struct section sections[N_WANTED];
	uint8_t *base; /* mapped */
	size_t size;
	Elf *elf;
	Dwarf *dwarf;
	uint64_t walked;     /* offset of the first unit whose header was not read yet */
	uint64_t last_table; /* highest offset of the abbreviations of the units before that */
};

static struct section *section_of(struct debugimage *image, const char *name)
{
	for (size_t i = 0; i < N_WANTED; i++) {
		if (strcmp(wanted[i], name) == 0)
			return &image->sections[i];
	}
	return NULL;
}

/* Unpacks up to `upto`. False: there is not so much, or it is damaged. */
static bool unpack_more(struct section *s, size_t upto)
{
	if (!s->begun) {
		s->stream.next_in = (uint8_t *)s->packed;
		s->stream.avail_in = (uInt)s->n_packed;
		if (inflateInit(&s->stream) != Z_OK)
			return false;
		s->begun = true;
	}
	while (s->reached < upto) {
		const size_t left = upto - s->reached;
		const uInt part = left < INT_MAX ? (uInt)left : INT_MAX;
		int result;

		s->stream.next_out = s->data + s->reached;
		s->stream.avail_out = part;
		result = inflate(&s->stream, Z_NO_FLUSH);
		s->reached += part - s->stream.avail_out;
		if (s->stream.avail_out && s->reached < upto)
			return false;
		if (result != Z_OK && result != Z_STREAM_END)
			return false;
	}
	return true;
}

/* Unpacks a whole section. False: it is damaged. */
static bool unpack_zstd(struct section *s)
{
	if (!s->damaged && ZSTD_decompress(s->data, s->n, s->packed, s->n_packed) == s->n)
		s->reached = s->n;
	s->damaged = s->reached < s->n;
	return !s->damaged;
}

/* Unpacks the first `n` bytes at least. False: there are not so many, or they are damaged. */
static bool section_reach(struct section *s, size_t n)
{
	const size_t upto = n < s->n - s->n % STEP ? (n + STEP - 1) / STEP * STEP : s->n;

	if (n > s->n)
		return false;
	if (n > s->reached && !s->compressed) {
		memcpy(s->data + s->reached, s->packed + s->reached, upto - s->reached);
		s->reached = upto;
	}
	assert(s->reached <= s->n);
	return n <= s->reached || (s->zstd ? unpack_zstd(s) : unpack_more(s, upto));
}

/* Finds what is packed, and its size. False: the image cannot have it. */
static bool section_init(struct section *s, const char *name, Elf_Scn *scn, const GElf_Shdr *header)
{
	const Elf_Data *raw = elf_rawdata(scn, NULL);
	GElf_Chdr packed;

	if (!raw || !raw->d_buf || s->name)
		return false;
	s->name = name;
	s->packed = raw->d_buf;
	s->n_packed = s->n = raw->d_size;
	s->compressed = (header->sh_flags & SHF_COMPRESSED) != 0;
	if (!s->compressed)
		return true;
	if (!gelf_getchdr(scn, &packed) || raw->d_size < sizeof(Elf64_Chdr) ||
	    (packed.ch_type != ELFCOMPRESS_ZLIB && packed.ch_type != PACKED_BY_ZSTD))
		return false;
	s->zstd = packed.ch_type == PACKED_BY_ZSTD;
	s->packed += sizeof(Elf64_Chdr);
	s->n_packed -= sizeof(Elf64_Chdr);
	s->n = packed.ch_size;
	return s->n_packed < UINT_MAX && s->n / PACKED_MOST <= s->n_packed;
}

static bool in_list(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], name) == 0)
			return true;
	}
	return false;
}

/* True: a section of relocations, but not the loader's. */
static bool is_unlinked(const GElf_Shdr *header)
{
	return (header->sh_type == SHT_REL || header->sh_type == SHT_RELA) && !(header->sh_flags & SHF_ALLOC);
}

/* Finds the sections. False: the image cannot serve the file, or nothing is compressed. */
static bool find_sections(struct debugimage *image, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || is_unlinked(&header) ||
		    in_list(foreign, sizeof(foreign) / sizeof(foreign[0]), name) ||
		    strncmp(name, ".zdebug_", 8) == 0)
			return false;
		for (size_t i = 0; i < N_WANTED; i++) {
			if (strcmp(wanted[i], name) == 0 &&
			    !section_init(&image->sections[i], wanted[i], scn, &header))
				return false;
		}
	}
	return section_of(image, INFO)->compressed && section_of(image, ABBREV)->name &&
	       section_of(image, LINE)->name;
}

static size_t aligned(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

#define NAME_OF_NAMES ".shstrtab"

/* Room for the names of all sections. */
static size_t names_size(void)
{
	size_t n = 1 + sizeof(NAME_OF_NAMES);

	for (size_t i = 0; i < N_WANTED; i++)
		n += strlen(wanted[i]) + 1;
	return aligned(n);
}

/* Maps the image: the header, the sections, their names, their headers. False: no memory. */
static bool map_image(struct debugimage *image)
{
	image->size = aligned(sizeof(Elf64_Ehdr));
	for (size_t i = 0; i < N_WANTED; i++) {
		if (__builtin_add_overflow(image->size, aligned(image->sections[i].n), &image->size))
			return false;
	}
	if (__builtin_add_overflow(image->size, names_size() + HEADERS * sizeof(Elf64_Shdr), &image->size))
		return false;
	image->base = mmap(NULL, image->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image->base == MAP_FAILED) {
		image->base = NULL;
		return false;
	}
	return true;
}

static void write_header(struct debugimage *image, const GElf_Ehdr *file, const Elf64_Shdr *headers,
			 size_t last)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image->base;

	*header = (Elf64_Ehdr){ .e_type = file->e_type,
				.e_machine = file->e_machine,
				.e_version = EV_CURRENT,
				.e_ehsize = sizeof(*header),
				.e_shentsize = sizeof(*headers),
				.e_shnum = (Elf64_Half)(last + 1),
				.e_shstrndx = (Elf64_Half)last };
	memcpy(header->e_ident, file->e_ident, EI_NIDENT);
	header->e_shoff = (Elf64_Off)((const uint8_t *)headers - image->base);
}

/* Lays the image out. False: no memory. */
static bool lay_out(struct debugimage *image, const GElf_Ehdr *file)
{
	size_t at = aligned(sizeof(Elf64_Ehdr)), n_names = 1, n = 0;
	Elf64_Shdr *headers;
	char *names;

	if (!map_image(image))
		return false;
	headers = (Elf64_Shdr *)(image->base + image->size - HEADERS * sizeof(*headers));
	names = (char *)headers - names_size();
	for (size_t i = 0; i < N_WANTED; i++) {
		struct section *s = &image->sections[i];

		if (!s->name)
			continue;
		headers[++n] = (Elf64_Shdr){ .sh_name = (Elf64_Word)n_names,
					     .sh_type = SHT_PROGBITS,
					     .sh_offset = at,
					     .sh_size = s->n,
					     .sh_addralign = 1 };
		s->data = image->base + at;
		at += aligned(s->n);
		n_names += (size_t)(stpcpy(names + n_names, s->name) - names - n_names) + 1;
	}
	headers[++n] = (Elf64_Shdr){ .sh_name = (Elf64_Word)n_names,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = (Elf64_Off)((uint8_t *)names - image->base),
				     .sh_size = n_names + sizeof(NAME_OF_NAMES),
				     .sh_addralign = 1 };
	strcpy(names + n_names, NAME_OF_NAMES);
	assert(n < HEADERS && n_names + sizeof(NAME_OF_NAMES) <= names_size());
	assert(image->base + at <= (uint8_t *)names);
	write_header(image, file, headers, n);
	return true;
}

/* ---- abbreviations ---- */

/* What is unpacked by now from an offset on. */
static struct dwarfbytes bytes_from(const struct section *s, uint64_t offset)
{
	const size_t left = offset < s->reached ? s->reached - offset : 0;

	return (struct dwarfbytes){ .at = s->data + (left ? offset : 0), .left = left };
}

static bool names_other_units(uint64_t form)
{
	return form == DW_FORM_ref_addr || form == DW_FORM_ref_sig8 || form == DW_FORM_ref_sup4 ||
	       form == DW_FORM_ref_sup8 || form == DW_FORM_GNU_ref_alt || form == DW_FORM_indirect;
}

/* What abbreviations say about the units that use them. */
struct table {
	bool others; /* may name other units */
	bool split;  /* may have their functions in files of their own */
};

/* Reads the abbreviations at `bytes`. */
static struct table read_table(struct dwarfbytes *bytes)
{
	struct table table = { 0 };

	while (dwarfbytes_leb(bytes) != 0) {
		uint64_t name, form;

		dwarfbytes_leb(bytes);
		dwarfbytes_u8(bytes);
		do {
			name = dwarfbytes_leb(bytes);
			form = dwarfbytes_leb(bytes);
			table.others |= names_other_units(form);
			table.split |= name == DW_AT_dwo_name || name == DW_AT_GNU_dwo_name;
			if (form == DW_FORM_implicit_const)
				dwarfbytes_leb(bytes);
		} while ((name || form) && !bytes->short_of);
	}
	return table;
}

/* Split units have .debug_addr; but so may any unit of DWARF 5. */
static bool may_be_split(struct debugimage *image)
{
	struct section *abbrev = section_of(image, ABBREV);
	struct dwarfbytes bytes;

	if (!section_of(image, ADDR)->name)
		return false;
	if (!section_reach(abbrev, abbrev->n))
		return true;
	bytes = bytes_from(abbrev, 0);
	while (bytes.left && !bytes.short_of)
		if (read_table(&bytes).split)
			return true;
	return bytes.short_of;
}

/* ---- the image ---- */

struct debugimage *debugimage_create(Elf *elf)
{
	struct debugimage *image = calloc(1, sizeof(*image));
	bool fine;
	GElf_Ehdr file;

	if (!image)
		return NULL;
	fine = dwarfbytes_are_native(elf) && gelf_getehdr(elf, &file) && find_sections(image, elf) &&
	       lay_out(image, &file);
	for (size_t i = 0; fine && i < N_WANTED; i++) {
		struct section *s = &image->sections[i];

		if (s->name && strcmp(s->name, INFO) != 0 && strcmp(s->name, LINE) != 0 &&
		    strcmp(s->name, ABBREV) != 0)
			fine = section_reach(s, s->n);
	}
	if (fine && !may_be_split(image))
		image->elf = elf_memory((char *)image->base, image->size);
	if (image->elf)
		image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (image->dwarf)
		return image;
	debugimage_destroy(image);
	return NULL;
}

void debugimage_destroy(struct debugimage *image)
{
	if (!image)
		return;
	dwarf_end(image->dwarf);
	elf_end(image->elf);
	for (size_t i = 0; i < N_WANTED; i++) {
		if (image->sections[i].begun)
			inflateEnd(&image->sections[i].stream);
	}
	if (image->base)
		munmap(image->base, image->size);
	free(image);
}

Dwarf *debugimage_dwarf(struct debugimage *image)
{
	return image->dwarf;
}

/* ---- units ---- */

/* Unpacks the abbreviations at `offset`. False: there are none. */
static bool reach_table(struct debugimage *image, uint64_t offset, bool *names_others)
{
	struct section *abbrev = section_of(image, ABBREV);

	for (size_t step = STEP; offset < abbrev->n; step *= 2) {
		const size_t left = abbrev->n - offset;
		struct dwarfbytes bytes;

		if (!section_reach(abbrev, left < step ? abbrev->n : offset + step))
			return false;
		bytes = bytes_from(abbrev, offset);
		*names_others = read_table(&bytes).others;
		if (!bytes.short_of || abbrev->reached == abbrev->n)
			return !bytes.short_of;
	}
	return false;
}

/* Reads a unit's header: the place of its abbreviations, its size. False: it makes no sense. */
static bool read_header(const struct section *info, uint64_t unit, uint64_t *abbrev, uint64_t *size)
{
	struct dwarfbytes bytes = bytes_from(info, unit);
	const uint64_t length = dwarfbytes_length(&bytes);
	const uint16_t version = dwarfbytes_u16(&bytes);

	if (version >= 5) /* the type and the size of addresses come first */
		dwarfbytes_u16(&bytes);
	*abbrev = dwarfbytes_offset(&bytes);
	*size = (bytes.wide ? 12 : 4) + length;
	return !bytes.short_of && version >= 2 && version <= 5 && length && *size > length &&
	       *size <= info->n - unit;
}

/* Reads the headers of the units up to the one at `offset`, as libdw will do. False: no unit begins there. */
static bool walk_to(struct debugimage *image, uint64_t offset)
{
	struct section *info = section_of(image, INFO);
	uint64_t abbrev, size;

	if (!section_reach(info, offset))
		return false;
	while (image->walked <= offset) {
		const uint64_t unit = image->walked, left = unit < info->n ? info->n - unit : 0;

		if (!section_reach(info, left < HEAD_MOST ? info->n : unit + HEAD_MOST) ||
		    !read_header(info, unit, &abbrev, &size))
			return false;
		if (abbrev > image->last_table)
			image->last_table = abbrev;
		image->walked += size;
		if (unit == offset)
			return section_reach(info, image->walked);
	}
	return false;
}

bool debugimage_reach(struct debugimage *image, uint64_t offset)
{
	struct section *info = section_of(image, INFO);
	uint64_t table, size;
	bool others, last;

	return (offset < image->walked || walk_to(image, offset)) &&
	       read_header(info, offset, &table, &size) && section_reach(info, offset + size) &&
	       reach_table(image, image->last_table, &last) && reach_table(image, table, &others) && !others;
}

bool debugimage_reach_lines(struct debugimage *image, uint64_t offset)
{
	struct section *lines = section_of(image, LINE);
	struct dwarfbytes bytes;
	uint64_t length;

	if (offset >= lines->n ||
	    !section_reach(lines, lines->n - offset < HEAD_MOST ? lines->n : offset + HEAD_MOST))
		return false;
	bytes = bytes_from(lines, offset);
	length = dwarfbytes_length(&bytes);
	return !bytes.short_of && length <= bytes.left + (lines->n - lines->reached) &&
	       section_reach(lines, lines->reached - bytes.left + length);
}

bool debugimage_reach_all(struct debugimage *image)
{
	bool fine = true;

	for (size_t i = 0; i < N_WANTED && fine; i++)
		fine = section_reach(&image->sections[i], image->sections[i].n);
	return fine;
}
