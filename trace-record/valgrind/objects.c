/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects.h"

#include <elf.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "ring.h"

#define HEADERS_MOST 4096u /* bytes of an ELF header and the program headers */
#define NOTES_MOST 65536u

/* The open modules of this process, by their entries in the table. */
static struct {
	Addr start, end;
	Addr code, code_end;
} known[SHM_MODULES];

static const Elf64_Phdr *headers_of(const Elf64_Ehdr *elf)
{
	return (const Elf64_Phdr *)((Addr)elf + elf->e_phoff);
}

static Bool is_elf(Addr at)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)at;

	return VG_(am_is_valid_for_client)(at, HEADERS_MOST, VKI_PROT_READ) &&
	       VG_(memcmp)(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_phentsize == sizeof(Elf64_Phdr) &&
	       elf->e_phoff <= HEADERS_MOST &&
	       elf->e_phnum <= (HEADERS_MOST - elf->e_phoff) / sizeof(Elf64_Phdr);
}

/* Where the file that is mapped at `pc` begins: the nearest mapping of its first page at or below. 0: none. */
static Addr find_header(Addr pc, const NSegment *segment)
{
	static Addr starts[16384];
	const Int n = VG_(am_get_segment_starts)(SkFileC, starts, sizeof(starts) / sizeof(*starts));

	for (Int i = n - 1; i >= 0; i--) {
		const NSegment *other = starts[i] <= pc ? VG_(am_find_nsegment)(starts[i]) : NULL;

		if (other && other->dev == segment->dev && other->ino == segment->ino && other->offset == 0)
			return is_elf(starts[i]) ? starts[i] : 0;
	}
	return 0;
}

/* The range of the loaded segments that have all the flags; empty (*high = 0) if there are none. */
static void measure_segments(const Elf64_Ehdr *elf, Elf64_Word flags, Addr *low, Addr *high)
{
	const Elf64_Phdr *headers = headers_of(elf);

	*low = ~(Addr)0;
	*high = 0;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & flags) != flags)
			continue;
		if ((headers[i].p_vaddr & ~(Addr)4095) < *low)
			*low = headers[i].p_vaddr & ~(Addr)4095;
		if (headers[i].p_vaddr + headers[i].p_memsz > *high)
			*high = headers[i].p_vaddr + headers[i].p_memsz;
	}
}

/* Sets the range of all loaded segments, and the bias from their link-time addresses. */
static void measure(struct module *m, const Elf64_Ehdr *elf)
{
	Addr low, high;

	measure_segments(elf, 0, &low, &high);
	m->bias = (Addr)elf - low;
	m->start = (Addr)elf;
	m->end = m->bias + high;
}

/* Adds the module to those that pcs are looked for in. */
static void know(uint32_t n, const struct module *m, const Elf64_Ehdr *elf)
{
	Addr low, high;

	known[n].start = m->start;
	known[n].end = m->end;
	measure_segments(elf, PF_X, &low, &high);
	known[n].code = high ? m->bias + low : 0;
	known[n].code_end = high ? m->bias + high : 0;
}

/* Takes the build id from the loaded notes. */
static void identify(struct module *m, Addr notes, SizeT size)
{
	Elf64_Nhdr note;

	if (size > NOTES_MOST || !VG_(am_is_valid_for_client)(notes, size, VKI_PROT_READ))
		return;
	for (SizeT at = 0; at + sizeof(note) <= size;) {
		const SizeT name = at + sizeof(note);
		SizeT content;

		VG_(memcpy)(&note, (const void *)(notes + at), sizeof(note));
		content = name + ((SizeT)note.n_namesz + 3) / 4 * 4;
		if (content > size || note.n_descsz > size - content)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    VG_(memcmp)((const void *)(notes + name), "GNU", 4) == 0 &&
		    note.n_descsz <= MODULE_BUILD_ID_MAX) {
			VG_(memcpy)(m->build_id, (const void *)(notes + content), note.n_descsz);
			m->build_id_size = (uint8_t)note.n_descsz;
			return;
		}
		at = content + ((SizeT)note.n_descsz + 3) / 4 * 4;
	}
}

/* Whether the dynamic section has the linker's flag of position-independent executables. */
static Bool is_marked_as_program(const Elf64_Dyn *entries, SizeT size)
{
	if (!VG_(am_is_valid_for_client)((Addr)entries, size, VKI_PROT_READ))
		return False;
	for (SizeT i = 0; i < size / sizeof(*entries) && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_FLAGS_1)
			return (entries[i].d_un.d_val & DF_1_PIE) != 0;
	}
	return False;
}

/* Not by the executable's name: if the program is an interpreter, that is the script's. */
static Bool is_program(const struct module *m, const Elf64_Ehdr *elf)
{
	const Elf64_Phdr *headers = headers_of(elf);
	Bool is = elf->e_type == ET_EXEC;

	for (unsigned i = 0; i < elf->e_phnum && !is; i++)
		is = headers[i].p_type == PT_DYNAMIC &&
		     is_marked_as_program((const Elf64_Dyn *)(m->bias + headers[i].p_vaddr),
					  headers[i].p_memsz);
	return is;
}

static uint8_t role_of(const struct module *m, const Elf64_Ehdr *elf, const HChar *path)
{
	if (is_program(m, elf))
		return MODULE_EXECUTABLE;
	return VG_(strncmp)(VG_(basename)(path), "ld-", 3) == 0 ? MODULE_INTERPRETER : MODULE_LIBRARY;
}

static void name_module(struct module_table *table, struct module *m, const HChar *path)
{
	const uint32_t used = atomic_load(&table->text_used);
	const SizeT size = VG_(strlen)(path);

	if (size > SHM_MODULE_TEXT - used) {
		atomic_store(&table->refused, 1);
		return;
	}
	VG_(memcpy)(module_table_text(table) + used, path, size);
	m->path = used;
	m->path_size = (uint32_t)size;
	atomic_store(&table->text_used, used + (uint32_t)size);
}

static void add(Addr header, const HChar *path)
{
	struct module_table *table = shm_modules(ring.segment);
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)header;
	const uint32_t n = atomic_load(&table->count);
	struct module *m = &table->modules[n];

	if (n == SHM_MODULES) {
		atomic_store(&table->refused, 1);
		return;
	}
	measure(m, elf);
	m->opened = ring_stamp();
	m->order = n;
	m->role = role_of(m, elf, path);
	name_module(table, m, path);
	for (unsigned i = 0; i < elf->e_phnum && !m->build_id_size; i++) {
		if (headers_of(elf)[i].p_type == PT_NOTE)
			identify(m, m->bias + headers_of(elf)[i].p_vaddr, headers_of(elf)[i].p_memsz);
	}
	know(n, m, elf);
	atomic_store_explicit(&table->count, n + 1, memory_order_release);
}

static uint32_t n_known(void)
{
	return ring.on ? atomic_load(&shm_modules(ring.segment)->count) : 0;
}

void objects_meet(Addr pc)
{
	const uint32_t n = n_known();
	const NSegment *segment;
	const HChar *path;
	Addr header;

	for (uint32_t i = 0; i < n; i++) {
		if (pc >= known[i].start && pc < known[i].end)
			return;
	}
	segment = ring.on ? VG_(am_find_nsegment)(pc) : NULL;
	if (!segment || segment->kind != SkFileC)
		return;
	header = find_header(pc, segment);
	path = VG_(am_get_filename)(segment);
	if (header && path)
		add(header, path);
}

Bool objects_leave(Addr start, SizeT size)
{
	const uint32_t n = n_known();
	Bool left = False;

	for (uint32_t i = 0; i < n; i++) {
		if (start >= known[i].code_end || known[i].code >= start + size)
			continue;
		atomic_store(&shm_modules(ring.segment)->modules[i].closed, ring_stamp());
		ring_stamp_next();
		VG_(memset)(&known[i], 0, sizeof(known[i]));
		left = True;
	}
	return left;
}

void objects_forget(void)
{
	VG_(memset)(known, 0, sizeof(known));
}
