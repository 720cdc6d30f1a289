/* SPDX-License-Identifier: MIT */
#include "scripts.h"

#include <stdatomic.h>
#include <stddef.h>

#include "elfsym.h"
#include "jumps.h"
#include "modules.h"
#include "os.h"
#include "recorder_assert.h"
#include "script_codes.h"
#include "sighting.h"

#define PARTS 64u /* a power of two */

/* Where the interpreter may prove to be another one than its version says, again and again. */
#define TRIES 1000u

/* Where a version has what. Offsets in bytes, of the types that CPython calls so. */
struct layout {
	uint32_t version;
	uint8_t thread_record;                           /* PyThreadState.cframe, or .current_frame */
	uint8_t record_frame, record_outer;              /* _PyCFrame.current_frame, .previous */
	uint8_t record_bytes;                            /* 0: there is no record */
	uint8_t frame_code, frame_previous, frame_instr; /* _PyInterpreterFrame */
	uint8_t frame_owner;
	uint8_t frame_first;                                 /* .is_entry, or .owner */
	uint8_t first_flag;                                  /* its value, and ... */
	bool first_is_code;                                  /* ... whether the first frame is code */
	uint8_t code_line, code_file, code_name, code_lines; /* PyCodeObject */
	uint8_t code_traceable, code_units;
	uint8_t ascii, other; /* str: the text, of ASCII alone or not */
};

static const struct layout layouts[] = {
	{ 0x30b, 56, 8, 16, 24, 32, 48, 56, 69, 68, 1, true, 72, 112, 128, 136, 168, 184, 48, 72 },
	{ 0x30c, 56, 0, 8, 16, 0, 8, 56, 70, 70, 3, false, 68, 112, 128, 136, 176, 192, 40, 56 },
	{ 0x30d, 72, 0, 0, 0, 0, 8, 56, 70, 70, 3, false, 68, 112, 128, 136, 184, 200, 40, 56 },
};

/* What 3.13 says of itself at the beginning of _PyRuntime: words, and what they are with these offsets. */
#define RUNTIME_WORDS 44
#define RUNTIME_COOKIE UINT64_C(0x7970677562656478) /* "xdebugpy" */
#define RUNTIME_THREADED 2

static const struct runtime_word {
	uint8_t word, value;
} runtime_words[] = {
	{ 23, 72 },  /* thread_state.current_frame */
	{ 29, 8 },   /* interpreter_frame.previous */
	{ 30, 0 },   /* .executable */
	{ 31, 56 },  /* .instr_ptr */
	{ 33, 70 },  /* .owner */
	{ 35, 112 }, /* code_object.filename */
	{ 37, 128 }, /* .qualname */
	{ 38, 136 }, /* .linetable */
	{ 39, 68 },  /* .firstlineno */
	{ 43, 200 }, /* .co_code_adaptive */
};

/* Objects' heads, and what the types of all versions have in common. */
#define OBJECT_TYPE 8
#define OBJECT_SIZE 16 /* of variable size: in items; of a str: code points */
#define BYTES_DATA 32
#define TEXT_STATE 32
#define TYPE_BASIC_SIZE 32
#define TYPE_ITEM_SIZE 40
#define TYPE_DEALLOC 48
#define UNIT 2u              /* bytes of a unit of code */
#define OWNED_BY_GENERATOR 1 /* _PyInterpreterFrame.owner */
#define FRAME_BYTES 72u      /* of _PyInterpreterFrame without its variables */
#define CHAIN_MOST (1u << 20)

/* What the C library has of a thread is this near its thread pointer: glibc's struct pthread, with the first keys' values. */
#define THREAD_BYTES 0x900u

/* What the interpreter's object exports. */
struct symbols {
	uintptr_t eval, version;
	uintptr_t code_type, text_type, bytes_type;
	uintptr_t thread_state; /* a function: the state of the thread that runs Python code */
	uintptr_t own_state;    /* a function: the calling thread's state */
	uintptr_t runtime;
};

/* A piece of code that is a part of the eval function, or is not. */
struct part {
	_Atomic uintptr_t start; /* bit 0: it is */
};

static struct {
	struct symbols symbols;
	const struct layout *layout;
	uintptr_t start, end;       /* of the object */
	_Atomic uintptr_t main_end; /* of the eval function's main part; 0: not known */
	struct part parts[PARTS];   /* others, by address */
	_Atomic uintptr_t distance; /* from the record to the CFA; 0: not known */
	_Atomic uintptr_t slot;     /* from the thread pointer to the thread's state; known with it */
	_Atomic uint32_t tries;
} python;

_Atomic bool scripts_present;

struct attached_pointer scripts_replaced;

static struct script_table *shared;

static inline uintptr_t load(uintptr_t at)
{
	return *(const uintptr_t *)at; // NOLINT(performance-no-int-to-ptr)
}

static inline void store(uintptr_t at, uintptr_t value)
{
	*(uintptr_t *)at = value; // NOLINT(performance-no-int-to-ptr)
}

static inline uint8_t load_byte(uintptr_t at)
{
	return *(const uint8_t *)at; // NOLINT(performance-no-int-to-ptr)
}

static inline int32_t load_int(uintptr_t at)
{
	return *(const int32_t *)at; // NOLINT(performance-no-int-to-ptr)
}

/* Whether all of [at, at + bytes) can be read, at least 8 bytes. */
static bool can_read(uintptr_t at, uintptr_t bytes)
{
	if (at % 8 != 0 || at + bytes < at)
		return false;
	for (uintptr_t page = at; page < at + bytes; page = (page & ~(PAGE - 1)) + PAGE)
		if (!os_readable(page))
			return false;
	return true;
}

/* ---- the interpreter ---- */

static void set_state(enum script_state state)
{
	atomic_store(&shared->state, state);
}

static void refuse(void)
{
	set_state(SCRIPTS_REFUSED);
	atomic_store(&scripts_present, false);
}

static uintptr_t symbol_in(const struct sighting *seen, const char *name)
{
	return elfsym_in(seen->bias, seen->headers, seen->header_count, name);
}

static const struct layout *layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* Behind this the object's address may be another code object's. It holds its texts until then. */
static void dealloc_code(void *code)
{
	void (*const dealloc)(void *) = (void (*)(void *))scripts_replaced.original; // NOLINT

	dealloc(code);
	script_codes_drop((uintptr_t)code);
}

/* From now on it is known which code objects go. What went before, if the pointer was put back meanwhile, is not. */
static void replace_dealloc(void)
{
	const uintptr_t at = python.symbols.code_type + TYPE_DEALLOC;

	if (load(at) == (uintptr_t)dealloc_code)
		return;
	script_codes_drop_all();
	scripts_replaced = (struct attached_pointer){ at, (uintptr_t)dealloc_code, load(at) };
	store(at, (uintptr_t)dealloc_code);
}

/* Whether the thread's state says what runs, instead of records in the eval function's frames. */
static inline bool is_by_thread(void)
{
	return python.layout->record_bytes == 0;
}

/* Whether 3.13 has been built with the offsets of the table, and runs Python code under a lock. */
static bool runtime_is_as_known(void)
{
	const uintptr_t at = python.symbols.runtime;

	if (!at || !can_read(at, RUNTIME_WORDS * sizeof(uint64_t)) || load(at) != RUNTIME_COOKIE)
		return false;
	if (load(at + RUNTIME_THREADED * sizeof(uint64_t)) != 0) {
		atomic_store(&shared->threaded, 1);
		return false;
	}
	for (size_t i = 0; i < sizeof(runtime_words) / sizeof(*runtime_words); i++)
		if (load(at + runtime_words[i].word * sizeof(uint64_t)) != runtime_words[i].value)
			return false;
	return true;
}

/* Whether what the version needs is there. */
static bool has_symbols(const struct symbols *symbols)
{
	if (!symbols->code_type || !symbols->text_type || !symbols->bytes_type)
		return false;
	return is_by_thread() ? symbols->own_state && runtime_is_as_known() : symbols->thread_state != 0;
}

/* Says of the interpreter what is known. False: it is not followed. */
static bool enter_interpreter(void)
{
	const struct symbols *const symbols = &python.symbols;
	const uint32_t version = symbols->version ? (uint32_t)load(symbols->version) >> 16 : 0;

	python.layout = layout_of(version);
	atomic_store(&shared->version, version);
	if (!python.layout || !has_symbols(symbols))
		return false;
	if (!atomic_load(&python.distance)) {
		set_state(SCRIPTS_SEEN);
		return true;
	}
	if (!script_codes_begin(shared))
		return false;
	replace_dealloc();
	set_state(SCRIPTS_SHOWN);
	return true;
}

/* Before the loader has relocated the object, its types are not complete: they are looked at when Python code runs. */
static void see_object(const struct sighting *seen)
{
	const uintptr_t eval =
		seen->headers && !scripts_are_present() ? symbol_in(seen, "_PyEval_EvalFrameDefault") : 0;

	if (!eval)
		return;
	python.symbols = (struct symbols){
		.eval = eval,
		.version = symbol_in(seen, "Py_Version"),
		.code_type = symbol_in(seen, "PyCode_Type"),
		.text_type = symbol_in(seen, "PyUnicode_Type"),
		.bytes_type = symbol_in(seen, "PyBytes_Type"),
		.thread_state = symbol_in(seen, "_PyThreadState_UncheckedGet"),
		.own_state = symbol_in(seen, "PyGILState_GetThisThreadState"),
		.runtime = symbol_in(seen, "_PyRuntime"),
	};
	python.start = seen->start;
	python.end = seen->end;
	if (enter_interpreter())
		atomic_store(&scripts_present, true);
	else
		refuse();
}

void scripts_forget(void)
{
	atomic_store(&scripts_present, false);
	atomic_store(&python.main_end, 0);
	atomic_store(&python.distance, 0);
	atomic_store(&python.tries, 0);
	for (uint32_t i = 0; i < PARTS; i++)
		atomic_store(&python.parts[i].start, 0);
	script_codes_drop_all();
}

static void lose_object(uintptr_t start, uintptr_t end)
{
	if (!scripts_are_present() || python.symbols.eval < start || python.symbols.eval >= end)
		return;
	scripts_forget();
	scripts_replaced.at = 0;
}

void scripts_begin(struct script_table *table, bool wanted)
{
	shared = table;
	if (wanted)
		modules_watch(see_object, lose_object);
	else
		modules_watch(NULL, NULL);
}

void scripts_after_fork(struct script_table *table, bool wanted)
{
	script_codes_after_fork();
	scripts_begin(table, wanted);
	if (scripts_are_present() && !wanted)
		atomic_store(&scripts_present, false);
	else if (scripts_are_present() && !enter_interpreter())
		refuse();
}

/* ---- the eval function ---- */

/* Where the main part ends: its start is exported. 0: not known. */
static uintptr_t main_end(void)
{
	const uintptr_t eval = python.symbols.eval;
	uintptr_t end = atomic_load_explicit(&python.main_end, memory_order_relaxed);
	struct cfi_section section;
	struct cfi_function function;

	if (!end && modules_find(eval, &section) && cfi_find(&section, eval, &function) &&
	    function.start == eval) {
		end = function.end;
		atomic_store_explicit(&python.main_end, end, memory_order_relaxed);
	}
	return end;
}

/* Another part begins with the frame that the main one has made, and that one jumps there. */
static bool is_part(const struct cfi_function *function, struct cfi_work *work)
{
	return cfi_find_row(function, function->start, work) &&
	       (work->row.cfa_register != CFI_SP || work->row.cfa != CFI_FIRST_CFA) &&
	       jumps_into(python.symbols.eval, main_end(), function->start, function->end);
}

bool scripts_runs(const struct cfi_function *function, struct cfi_work *work)
{
	struct part *const part = &python.parts[function->start / 16 % PARTS];
	const uintptr_t known = atomic_load_explicit(&part->start, memory_order_relaxed);
	bool yes;

	if (!scripts_are_present() || function->start < python.start || function->end > python.end)
		return false;
	if (function->start == python.symbols.eval)
		return true;
	if ((known & ~(uintptr_t)1) == function->start)
		return known & 1;
	if (!main_end() || function->start % 2 != 0)
		return false;
	yes = is_part(function, work);
	atomic_store_explicit(&part->start, function->start | yes, memory_order_relaxed);
	return yes;
}

/* ---- code objects ---- */

static bool is_of_type(uintptr_t object, uintptr_t type)
{
	return can_read(object, OBJECT_SIZE + 8) && load(object + OBJECT_TYPE) == type;
}

/* The text of a str. Bits 2 to 4 of the state are the width; 5: the text follows the head; 6: it is ASCII. */
static bool text_of(uintptr_t object, struct script_text *text)
{
	const struct layout *const layout = python.layout;
	uint32_t state;

	if (!is_of_type(object, python.symbols.text_type) || !can_read(object, layout->other))
		return false;
	state = (uint32_t)load_int(object + TEXT_STATE);
	text->width = state >> 2 & 7;
	text->n = load(object + OBJECT_SIZE);
	text->points = (const void *)(object + (state >> 6 & 1 ? layout->ascii : layout->other)); // NOLINT
	if (!(state >> 5 & 1) || (text->width != 1 && text->width != 2 && text->width != 4))
		return false;
	if (text->n > SCRIPT_TEXT_MOST)
		text->n = SCRIPT_TEXT_MOST;
	return can_read((uintptr_t)text->points & ~(uintptr_t)7, text->n * text->width + 16);
}

/* Enters a code object that was not seen before; NULL: it is none, or being freed, or there is no room. */
static __attribute__((noinline)) struct script_code *enter_code(uintptr_t code)
{
	const struct layout *const layout = python.layout;
	struct script_text file, name;

	if (!is_of_type(code, python.symbols.code_type) || !can_read(code, layout->code_units) ||
	    load(code) == 0)
		return NULL;
	if (!text_of(load(code + layout->code_file), &file) ||
	    !text_of(load(code + layout->code_name), &name) ||
	    !is_of_type(load(code + layout->code_lines), python.symbols.bytes_type))
		return NULL;
	return script_codes_add(code, &file, &name);
}

/* ---- lines ---- */

/* A signed number in a table of lines: six bits a byte, the lowest first, the sign last. */
static int32_t line_delta(uintptr_t *at, uintptr_t end)
{
	uint32_t value = 0;
	unsigned shift = 0;
	uint8_t byte = 64;

	for (; byte & 64 && *at < end && shift < 30; shift += 6) {
		byte = load_byte((*at)++);
		value |= (uint32_t)(byte & 63) << shift;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/*
 * The line of unit `unit` of a code object, -1: of its beginning; 0: it has none. Each entry of the table begins with a
 * byte of 128 or more: a kind (4 bits) and how many units it is about, minus one.
 */
static int32_t line_of(uintptr_t code, intptr_t unit)
{
	const struct layout *const layout = python.layout;
	const uintptr_t table = load(code + layout->code_lines);
	const uintptr_t end = table + BYTES_DATA + load(table + OBJECT_SIZE);
	int32_t line = load_int(code + layout->code_line);
	uintptr_t at = table + BYTES_DATA;

	while (unit >= 0 && at < end) {
		const uint8_t first = load_byte(at++);
		const unsigned kind = first >> 3 & 15;

		if (kind == 13 || kind == 14)
			line += line_delta(&at, end);
		else if (kind >= 10 && kind <= 12)
			line += (int32_t)kind - 10;
		unit -= (first & 7) + 1;
		if (unit < 0)
			return kind == 15 ? 0 : line;
		while (at < end && load_byte(at) < 128)
			at++;
	}
	return line;
}

/* ---- frames ---- */

/* What a Python frame is shown as, and by which code object; NULL: not known. */
static struct script_code *place_of(struct walker *walker, uintptr_t frame, uintptr_t instr, uint64_t *place)
{
	const struct layout *const layout = python.layout;
	struct script_line *const known = &walker->lines[instr / UNIT % SCRIPT_LINES];
	const uintptr_t code = load(frame + layout->frame_code);
	const intptr_t unit = (intptr_t)(instr - code - layout->code_units) / (intptr_t)UNIT;
	struct script_code *found;
	int32_t line;

	if (known->instr == instr && known->code &&
	    atomic_load_explicit(&known->code->life, memory_order_relaxed) == known->life) {
		*place = known->place;
		return known->code;
	}
	found = script_codes_find(code);
	if (!found)
		found = enter_code(code);
	if (!found || unit < -1 || unit >= (intptr_t)load(code + OBJECT_SIZE))
		return NULL;
	line = line_of(code, unit);
	*place = script_place(found->function, line > 0 ? (uint32_t)line : 0);
	*known = (struct script_line){ instr, found, atomic_load(&found->life), *place };
	return found;
}

static inline bool may_be_frame(uintptr_t frame)
{
	return frame % 8 == 0 && frame - WALK_PC_MIN < WALK_PC_MAX - WALK_PC_MIN;
}

/*
 * Whether the interpreter leaves the frame out of its own stacks: the function makes its cells, or its generator, and no line of
 * it has run. That is also so of the interpreter's own pieces of code.
 */
static bool is_incomplete(uintptr_t frame, uintptr_t instr)
{
	const struct layout *const layout = python.layout;
	const uintptr_t code = load(frame + layout->frame_code);
	const intptr_t first = load_int(code + layout->code_traceable);

	return load_byte(frame + layout->frame_owner) != OWNED_BY_GENERATOR &&
	       (intptr_t)(instr - code - layout->code_units) < first * (intptr_t)UNIT;
}

/* Whether `frame` is marked as the first one that the eval function's frame runs. In some versions its caller then is no code. */
static bool is_marked_first(uintptr_t frame, uintptr_t caller)
{
	const struct layout *const layout = python.layout;
	const uintptr_t marked = layout->first_is_code ? frame : caller;

	return !may_be_frame(caller) || load_byte(marked + layout->frame_first) == layout->first_flag;
}

static void note(struct script_frame *found, uintptr_t at, uintptr_t value)
{
	RECORDER_ASSERT(found->n < SCRIPT_READS);
	found->reads[found->n++] = (struct link){ at, value };
}

/*
 * Whether a generator's frame is the first one. In 3.11 the mark may be left over from when it was: an exception that is thrown
 * into a coroutine goes through it, inwards to the one that it awaits, while the frame that has called it is still what the
 * eval function's frame runs. The first one's caller is what the next such frame outwards runs.
 */
static bool is_first_still(uintptr_t record, uintptr_t caller, struct script_frame *found)
{
	const uintptr_t at = record + python.layout->record_outer;
	const uintptr_t outer = load(at), runs = load(outer + python.layout->record_frame);

	note(found, at, outer);
	note(found, outer + python.layout->record_frame, runs);
	return runs == caller;
}

void scripts_look(struct walker *walker, uintptr_t record, uintptr_t frame, struct script_frame *found)
{
	const struct layout *const layout = python.layout;
	const uintptr_t instr = load(frame + layout->frame_instr);
	const uintptr_t caller = load(frame + layout->frame_previous);
	const struct script_code *code;
	bool first;

	*found = (struct script_frame){ .left_out = true };
	code = place_of(walker, frame, instr, &found->place);
	if (!code)
		return;
	found->known = true;
	found->left_out = is_incomplete(frame, instr);
	note(found, (uintptr_t)&code->life, atomic_load_explicit(&code->life, memory_order_relaxed));
	note(found, frame + layout->frame_instr, instr);
	note(found, frame + layout->frame_previous, caller);
	first = is_marked_first(frame, caller);
	if (first && may_be_frame(caller) && layout->first_is_code &&
	    load_byte(frame + layout->frame_owner) == OWNED_BY_GENERATOR)
		first = is_first_still(record, caller, found);
	found->caller = first ? 0 : caller;
}

/* ---- the first look ---- */

/* Whether code objects are what the version has, and all that is read of the running frame is there. */
static bool is_as_known(uintptr_t frame)
{
	const struct layout *const layout = python.layout;
	const uintptr_t type = python.symbols.code_type;

	return load(type + TYPE_BASIC_SIZE) == layout->code_units && load(type + TYPE_ITEM_SIZE) == UNIT &&
	       may_be_frame(frame) && can_read(frame, (uintptr_t)layout->frame_first + 8) &&
	       is_of_type(load(frame + layout->frame_code), type);
}

/* What runs is known from now on: records are that far from the CFA. */
static bool follow(uintptr_t distance)
{
	if (!script_codes_begin(shared)) {
		refuse();
		return false;
	}
	replace_dealloc();
	atomic_store(&python.distance, distance);
	set_state(SCRIPTS_SHOWN);
	return true;
}

/* Finds where the eval function's frames have their records: in that of the running thread, which alone is in this stack. */
static bool find_record(const struct walk *w, uintptr_t cfa)
{
	const struct layout *const layout = python.layout;
	uintptr_t (*const thread_state)(void) = (uintptr_t(*)(void))python.symbols.thread_state; // NOLINT
	const uintptr_t thread = thread_state();
	uintptr_t record;

	if (!thread || !can_read(thread, (uintptr_t)layout->thread_record + 8))
		return false;
	record = load(thread + layout->thread_record);
	if (record < w->sp || record % 8 != 0 || record + layout->record_bytes > cfa)
		return false;
	if (!is_as_known(load(record + layout->record_frame))) {
		refuse();
		return false;
	}
	return follow(cfa - record);
}

/* ---- what runs, by the thread's state ---- */

/* The frame on the C stack that the callers of a frame, or itself, lead to; 0: there is none. */
static uintptr_t made_frame(uintptr_t frame)
{
	const struct layout *const layout = python.layout;

	for (uint32_t hops = 0; hops < CHAIN_MOST && may_be_frame(frame); hops++) {
		if (load_byte(frame + layout->frame_first) == layout->first_flag)
			return frame;
		frame = load(frame + layout->frame_previous);
	}
	return 0;
}

/* The one word that the C library has of the thread with that value, from the thread pointer on; 0: not one. */
static uintptr_t find_slot(uintptr_t value)
{
	const uintptr_t tp = cpu_thread_pointer();
	uintptr_t found = 0;

	for (uintptr_t at = 8; at < THREAD_BYTES; at += 8) {
		if (!can_read(tp + at, 8))
			break;
		if (load(tp + at) == value && found)
			return 0;
		if (load(tp + at) == value)
			found = at;
	}
	return found;
}

/* Finds where the eval function's frames have the frame that is made on the C stack: the thread's state leads to it. */
static bool find_made_frame(const struct walk *w, uintptr_t cfa)
{
	const struct layout *const layout = python.layout;
	uintptr_t (*const own_state)(void) = (uintptr_t(*)(void))python.symbols.own_state; // NOLINT
	const uintptr_t thread = own_state();
	uintptr_t frame, made, slot;

	if (!thread || !can_read(thread, (uintptr_t)layout->thread_record + 8))
		return false;
	frame = load(thread + layout->thread_record);
	if (!may_be_frame(frame) || !can_read(frame, FRAME_BYTES) ||
	    load_byte(frame + layout->frame_first) == layout->first_flag)
		return false;
	if (!is_as_known(frame)) {
		refuse();
		return false;
	}
	made = made_frame(frame);
	if (made < w->sp || made + FRAME_BYTES > cfa)
		return false;
	slot = find_slot(thread);
	if (!slot) {
		refuse();
		return false;
	}
	atomic_store(&python.slot, slot);
	return follow(cfa - made);
}

uintptr_t scripts_own_state(void)
{
	return cpu_thread_pointer() + atomic_load_explicit(&python.slot, memory_order_relaxed);
}

/* scripts_enter() where frames have no record but the one that is made on the C stack. */
static bool enter_by_thread(struct walk *w, uintptr_t made, struct script_entry *found)
{
	const struct layout *const layout = python.layout;
	struct link *const reads = found->reads;

	if (w->runners_lost)
		return false;
	found->record = 0;
	found->linked = true;
	found->n = 1;
	reads[0] = w->next;
	if (!w->next.at) {
		const uintptr_t slot = scripts_own_state(), thread = load(slot);

		w->runners_lost = !may_be_frame(thread);
		if (w->runners_lost)
			return false;
		reads[0] = (struct link){ slot, thread };
		reads[1] =
			(struct link){ thread + layout->thread_record, load(thread + layout->thread_record) };
		found->n = 2;
	}
	found->innermost = reads[found->n - 1].value;
	w->next = (struct link){ made + layout->frame_previous, load(made + layout->frame_previous) };
	return found->innermost != made && made_frame(found->innermost) == made;
}

/* What a C frame of the eval function runs is looked at for the first time. */
static __attribute__((noinline)) bool find_distance(const struct walk *w, uintptr_t cfa)
{
	if (atomic_fetch_add(&python.tries, 1) == TRIES)
		refuse();
	return is_by_thread() ? find_made_frame(w, cfa) : find_record(w, cfa);
}

bool scripts_enter(struct walk *w, uintptr_t cfa, struct script_entry *found)
{
	const struct layout *const layout = python.layout;
	const bool interrupted = w->interrupted;
	uintptr_t distance = atomic_load_explicit(&python.distance, memory_order_acquire);
	uintptr_t frame;

	/* What a signal has interrupted may be half of a change. */
	w->interrupted = false;
	w->runners_lost |= interrupted;
	if (interrupted || !scripts_are_present())
		return false;
	if (!distance) {
		if (!find_distance(w, cfa))
			return false;
		distance = atomic_load(&python.distance);
	}
	if (is_by_thread())
		return enter_by_thread(w, cfa - distance, found);
	found->record = cfa - distance;
	found->reads[0].at = found->record + layout->record_frame;
	found->reads[0].value = frame = load(found->reads[0].at);
	found->n = 1;
	found->linked = false;
	found->innermost = frame;
	return may_be_frame(frame) &&
	       (layout->first_is_code || load_byte(frame + layout->frame_first) != layout->first_flag);
}
