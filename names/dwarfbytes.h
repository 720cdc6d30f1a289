/* SPDX-License-Identifier: MIT */
/* Values of DWARF sections, read one after the other. At the end of the section values are 0, and `short_of` is set. */
#ifndef NAMES_DWARFBYTES_H
#define NAMES_DWARFBYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gelf.h>

/* True: the file is linked, of 64 bits and in this machine's byte order, as the functions below require. */
static inline bool dwarfbytes_are_native(Elf *elf)
{
	const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == order && header.e_type != ET_REL;
}

struct dwarfbytes {
	const uint8_t *at;
	size_t left;
	bool wide; /* offsets have 8 bytes */
	bool short_of;
};

static inline void dwarfbytes_take(struct dwarfbytes *bytes, void *to, size_t n)
{
	if (n > bytes->left) {
		memset(to, 0, n);
		bytes->left = 0;
		bytes->short_of = true;
		return;
	}
	memcpy(to, bytes->at, n);
	bytes->at += n;
	bytes->left -= n;
}

static inline uint8_t dwarfbytes_u8(struct dwarfbytes *bytes)
{
	uint8_t v;

	dwarfbytes_take(bytes, &v, sizeof(v));
	return v;
}

static inline uint16_t dwarfbytes_u16(struct dwarfbytes *bytes)
{
	uint16_t v;

	dwarfbytes_take(bytes, &v, sizeof(v));
	return v;
}

static inline uint32_t dwarfbytes_u32(struct dwarfbytes *bytes)
{
	uint32_t v;

	dwarfbytes_take(bytes, &v, sizeof(v));
	return v;
}

static inline uint64_t dwarfbytes_u64(struct dwarfbytes *bytes)
{
	uint64_t v;

	dwarfbytes_take(bytes, &v, sizeof(v));
	return v;
}

/* A place in another section. */
static inline uint64_t dwarfbytes_offset(struct dwarfbytes *bytes)
{
	return bytes->wide ? dwarfbytes_u64(bytes) : dwarfbytes_u32(bytes);
}

/* The length that begins a unit or set; says how wide its offsets are. */
static inline uint64_t dwarfbytes_length(struct dwarfbytes *bytes)
{
	const uint32_t length = dwarfbytes_u32(bytes);

	bytes->wide = length == UINT32_MAX;
	return bytes->wide ? dwarfbytes_u64(bytes) : length;
}

/* A LEB128 number; of signed ones the value makes no sense. Bits beyond 64 are lost. */
static inline uint64_t dwarfbytes_leb(struct dwarfbytes *bytes)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = dwarfbytes_u8(bytes);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

#endif
