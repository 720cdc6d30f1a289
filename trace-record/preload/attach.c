/* SPDX-License-Identifier: MIT */
/*
 * Begins recording in a program that runs. msrec has loaded this library, calls msrec_attach() in one of the program's
 * threads, and lets entries lead to the pieces when that has returned. It makes sure that meanwhile no entry leads here, and
 * no thread executes the recorder's code. So the state of an earlier recording can be replaced without a lock. A thread that
 * comes back from malloc itself finds recording off.
 */
#include "attached.h"

#include <string.h>

#include "code_memory.h"
#include "elfsym.h"
#include "entries.h"
#include "entry_code.h"
#include "export.h"
#include "linked.h"
#include "modules.h"
#include "next_malloc.h"
#include "os.h"
#include "process_begin.h"
#include "scripts.h"

EXPORT struct attached msrec_attached;
EXPORT int msrec_attach(const struct attach_request *request);

static void note_entry(const struct entry *e, uintptr_t piece)
{
	struct attached_entry *to = &msrec_attached.entries[msrec_attached.n];

	*to = (struct attached_entry){ .address = e->address, .piece = piece, .n_displaced = e->n_displaced };
	memcpy(to->original, e->displaced, sizeof(to->original));
	if (entry_code_jump(to->jump, e->address, piece))
		msrec_attached.n++;
}

/*
 * Memory for the pieces of each object, near it: that of an earlier recording, which no thread is in, or other. This comes
 * before the family, which takes all room below the libraries.
 */
static bool reserve(const struct attach_request *request)
{
	if (request->n_objects > ATTACHED_OBJECTS)
		return false;
	for (uint32_t i = 0; i < request->n_objects; i++) {
		const struct attach_object *o = &request->objects[i];
		struct attached_pieces *const pieces = &msrec_attached.pieces[i];
		const uint64_t bytes = ((uint64_t)o->n * ENTRY_PIECE + PAGE - 1) / PAGE * PAGE;

		if (pieces->end - pieces->start == bytes && pieces->near == o->start)
			continue;
		*pieces = (struct attached_pieces){ .start = code_map_near(o->start, o->end, bytes),
						    .near = o->start };
		if (!pieces->start)
			return false;
		pieces->end = pieces->start + bytes;
		os_own(pieces->start, bytes);
	}
	msrec_attached.n_pieces = request->n_objects;
	return true;
}

static bool prepare(const struct entry_plan *plan, const struct attach_request *request)
{
	if (plan->n == 0 || plan->n > ENTRY_MOST)
		return false;
	msrec_attached.n = 0;
	for (uint32_t i = 0; i < request->n_objects; i++) {
		const struct attach_object *o = &request->objects[i];
		const uintptr_t pieces = msrec_attached.pieces[i].start;

		if (!entries_prepare(plan, o->first, o->n, pieces,
				     &(struct entry_object){ .start = o->start, .end = o->end },
				     linked_shape))
			return false;
		for (uint32_t k = 0; k < o->n; k++)
			note_entry(&plan->entries[o->first + k], pieces + k * ENTRY_PIECE);
	}
	return msrec_attached.n == plan->n;
}

EXPORT int msrec_attach(const struct attach_request *request)
{
	if (process_is_recorded())
		return ATTACH_BUSY;
	if (!next.find_object)
		next.find_object = (modules_find_function *)elfsym_any("_dl_find_object");
	process_forget();
	msrec_attached.magic = 0;
	if (!reserve(request))
		return ATTACH_NO_ENTRIES;
	if (!process_map_family(request->path))
		return ATTACH_NO_FAMILY;
	if (!prepare(&the_process.family->entries, request))
		return ATTACH_NO_ENTRIES;
	msrec_attached.pointer = (uintptr_t)&scripts_replaced;
	msrec_attached.magic = ATTACHED_MAGIC;
	if (!process_begin())
		return ATTACH_NO_FAMILY;
	atomic_store(&process_off, false);
	return ATTACH_DONE;
}
