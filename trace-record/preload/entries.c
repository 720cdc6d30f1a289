/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "code_memory.h"
#include "doorbell.h"
#include "elfsym.h"
#include "entry_code.h"
#include "os.h"

static struct linked functions[ENTRY_MOST];
static struct linked_shape (*find_shape)(unsigned shape); /* NULL: not allowed */
static bool patched;

void entries_allow(struct linked_shape (*shape_of)(unsigned shape))
{
	find_shape = shape_of;
}

/* ---- the program ---- */

static bool is_for_this(const struct entry_plan *plan)
{
	struct stat st;

	return plan->n > 0 && plan->n <= ENTRY_MOST &&
	       os_call6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/exe", (long)&st, 0, 0, 0) == 0 &&
	       st.st_dev == plan->device && st.st_ino == plan->inode;
}

/* The program is the first object. */
static int take_program(struct dl_phdr_info *info, size_t size, void *data)
{
	struct entry_object *program = data;

	(void)size;
	*program = (struct entry_object){ .base = info->dlpi_addr, .start = UINTPTR_MAX };
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		program->start = at < program->start ? at : program->start;
		program->end = at + p->p_memsz > program->end ? at + p->p_memsz : program->end;
	}
	return 1;
}

/* Whether the code in memory is that of the plan. */
static bool is_as_planned(const struct entry_object *object, const struct entry *e)
{
	const uintptr_t at = object->base + e->address;

	return e->n_displaced <= sizeof(e->displaced) && e->n_code <= sizeof(e->code) &&
	       e->n_fixes <= ENTRY_FIXES_MOST && find_shape(e->shape).function && at >= object->start &&
	       at < object->end && object->end - at >= e->n_displaced &&
	       memcmp((const void *)at, e->displaced, e->n_displaced) == 0;
}

/* ---- patching ---- */

static bool put_piece(const struct entry_object *object, const struct entry *e, struct linked *f,
		      uintptr_t at)
{
	const struct linked_shape shape = find_shape(e->shape);
	uint8_t piece[ENTRY_PIECE];

	*f = (struct linked){
		.real = at + ENTRY_REAL_AT,
		.usable = e->usable ? (size_t(*)(void *))(object->base + e->usable) : NULL,
		.op = e->op,
		.any_free = e->any_free,
		.is_operator = e->is_operator,
	};
	return entry_code_piece(piece, at, e, object->base,
				&(struct entry_target){ shape.function, shape.arguments, (uintptr_t)f }) &&
	       code_write(at, piece, sizeof(piece));
}

static bool put_jump(const struct entry_object *object, const struct entry *e, uintptr_t piece)
{
	const uintptr_t at = object->base + e->address;
	uint8_t jump[ENTRY_JUMP_BYTES];

	return entry_code_jump(jump, at, piece) && code_write(at, jump, sizeof(jump));
}

static bool put_pieces(const struct entry_plan *plan, uint32_t first, uint32_t n, uintptr_t pieces,
		       const struct entry_object *object)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &plan->entries[first + i];

		if (!is_as_planned(object, e) ||
		    !put_piece(object, e, &functions[first + i], pieces + i * ENTRY_PIECE))
			return false;
	}
	return true;
}

/* All pieces are there before the first jump is. A jump that cannot be written takes back those before it. */
static bool patch_all(const struct entry_plan *plan, const struct entry_object *object)
{
	const uint64_t bytes = (plan->n * ENTRY_PIECE + PAGE - 1) / PAGE * PAGE;
	const uintptr_t pieces = code_map_near(object->start, object->end, bytes);

	if (!pieces)
		return false;
	os_own(pieces, bytes);
	if (!put_pieces(plan, 0, plan->n, pieces, object))
		return false;
	for (uint32_t i = 0; i < plan->n; i++) {
		if (put_jump(object, &plan->entries[i], pieces + i * ENTRY_PIECE))
			continue;
		while (i-- > 0)
			code_write(object->base + plan->entries[i].address, plan->entries[i].displaced,
				   ENTRY_JUMP_BYTES);
		return false;
	}
	return true;
}

bool entries_prepare(const struct entry_plan *plan, uint32_t first, uint32_t n, uintptr_t pieces,
		     const struct entry_object *object, struct linked_shape (*shape_of)(unsigned shape))
{
	bool done;

	if (n > ENTRY_MOST || first > ENTRY_MOST - n)
		return false;
	find_shape = shape_of;
	done = put_pieces(plan, first, n, pieces, object);
	find_shape = NULL;
	patched |= done;
	return done;
}

/* ---- programs that were executed later ---- */

#define ASK_MS 50u /* one sleep */
#define ASKS 60u

/* Makes the request, as soon as no other process has one. Returns its state; 0: there is no room. */
static uint32_t ask(struct shm_family *family, struct shm_plan_request *request)
{
	const uint32_t pid = os_outer_pid(), asked = SHM_REQUEST(pid, SHM_REQUEST_ASKED);
	uint32_t other = SHM_REQUEST_FREE;

	for (unsigned i = 0; pid && i < ASKS && !shm_owner_gone(&family->collector); i++) {
		if (atomic_compare_exchange_strong(&request->state, &other, asked)) {
			doorbell_ring(family);
			return asked;
		}
		os_wait(&request->state, other, ASK_MS);
		other = SHM_REQUEST_FREE;
	}
	return 0;
}

static bool is_answered(struct shm_family *family, struct shm_plan_request *request, uint32_t asked)
{
	for (unsigned i = 0;
	     i < ASKS && atomic_load(&request->state) == asked && !shm_owner_gone(&family->collector); i++)
		os_wait(&request->state, asked, ASK_MS);
	return SHM_REQUEST_STATE(atomic_load(&request->state)) == SHM_REQUEST_ANSWERED;
}

/* The symbols that the loader knows show whether the program has a malloc of its own. */
static bool patch_executed(struct shm_family *family, const struct entry_object *program)
{
	struct shm_plan_request *const request = &family->plan_request;
	const uint32_t asked = family->trace_children && !elfsym_is_ours("malloc") ? ask(family, request) : 0;
	bool done;

	if (!asked)
		return false;
	done = is_answered(family, request, asked) && is_for_this(&request->plan) &&
	       patch_all(&request->plan, program);
	atomic_store(&request->state, SHM_REQUEST_FREE);
	os_wake_all(&request->state);
	return done;
}

bool entries_patch(struct shm_family *family)
{
	struct entry_object program;

	if (find_shape && !patched && dl_iterate_phdr(take_program, &program) == 1)
		patched = is_for_this(&family->entries) ? patch_all(&family->entries, &program)
							: patch_executed(family, &program);
	find_shape = NULL;
	return patched;
}
