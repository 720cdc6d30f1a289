/* SPDX-License-Identifier: MIT */
/*
 * script2trace SCRIPT TRACE: writes the trace that a text script describes. One command a line,
 * fields separated by blanks; blocks and stacks are small numbers of the script's own choice.
 *
 *   records N            at most N records a chunk (before everything else)
 *   keyframes N          key frames at least N records apart (before everything else)
 *   counted              calls have instruction counts (before everything else)
 *   stacks               stack depths are recorded (before everything else)
 *   pages                page events are recorded (before everything else)
 *   anonymous            frees don't say of which block (before everything else)
 *   alone                there is no thread but 0 (before everything else)
 *   sampled N            of a sample with this mean (before everything else)
 *   process PID NS       the process, and the time on the clock on the wall at which it began (before everything else)
 *   usable N             the allocator rounds sizes up to a multiple of N, at least N
 *   module PATH          the executable, of which `m` frames are
 *   stack S FRAME...     stack S, innermost frame first: m0x1234 in the module, 0x1234 in none
 *   time NS              when the following calls are made
 *   instructions N       how many instructions had been executed at them
 *   step N BYTES         a change of the stack pointer, when N had been executed; below 0: the stack shrank
 *   thread N             the thread that makes them, below 64; 0 at the beginning
 *   alloc B OP S SIZE    block B comes; OP is a name as in op.h without its prefix, in lower case
 *   free B
 *   resize B S SIZE      realloc to a size above 0
 *   free_by B OP S       block B goes by another call than free
 *   call OP S SIZE       a failed call, or a marker
 *   mark NAME            the thread marks this point; a name without blanks
 *   failed_resize B S SIZE
 *   free_again B         free of an address whose last block, B, is gone
 *   null_frees N
 *   memory RSS [PSS SWAPPED MINOR MAJOR]  a sample of the process's memory at this time
 *   peak_resident BYTES  the most bytes that were resident
 *   flush
 *   end NS               when the program ended (0)
 *
 * Any other line ends the program with a message and status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mst_writer.h"

#define MAX_BLOCKS 65536
#define MAX_STACKS 65536
#define THREADS 64

static struct mst_writer *writer;
static unsigned line_number;
static uint64_t time_ns, end_ns, usable_step; /* usable_step 0: usable sizes are not recorded */
static uint32_t thread, n_threads = THREADS;
static uint32_t module_id = MST_NONE;
static uint32_t stacks[MAX_STACKS];
static struct block {
	uint32_t kind;
	uint64_t index;
	uint64_t cap;
} blocks[MAX_BLOCKS];

static void fail(const char *why)
{
	fprintf(stderr, "script2trace: line %u: %s\n", line_number, why);
	exit(1);
}

static void check(int error)
{
	if (error)
		fail(mst_strerror(error));
}

/* ---- fields of a line ---- */

static const char *take_word(void)
{
	const char *word = strtok(NULL, " \n");

	if (!word)
		fail("a field is missing");
	return word;
}

static uint64_t parse_number(const char *text)
{
	char *end;
	const uint64_t n = strtoull(text, &end, 0);

	if (end == text || *end)
		fail("not a number");
	return n;
}

static uint64_t take_number(void)
{
	return parse_number(take_word());
}

static uint64_t take_below(uint64_t limit)
{
	const uint64_t n = take_number();

	if (n >= limit)
		fail("a number is too large");
	return n;
}

static struct block *take_block(void)
{
	return &blocks[take_below(MAX_BLOCKS)];
}

static uint32_t take_stack(void)
{
	return stacks[take_below(MAX_STACKS)];
}

static uint8_t take_op(void)
{
	const char *word = take_word();

	for (unsigned op = 0; op < MST_OP_COUNT; op++) {
		if (strcmp(mst_op_name(op), word) == 0)
			return (uint8_t)op;
	}
	fail("no such operation");
	return 0;
}

static uint32_t make_kind(uint8_t op, uint32_t stack, uint64_t size, uint64_t cap)
{
	const struct mst_kind kind = { .op = op, .stack = stack, .size = size, .cap = cap };
	uint32_t id;

	check(mst_writer_kind(writer, &kind, &id));
	return id;
}

/* A kind that gives a block. */
static uint32_t make_block_kind(uint8_t op, uint32_t stack, uint64_t size, uint64_t cap)
{
	const uint64_t steps = usable_step && size ? (size - 1) / usable_step + 1 : 1;
	const struct mst_kind kind = {
		.op = op,
		.flags = usable_step ? MST_KIND_USABLE : 0,
		.stack = stack,
		.size = size,
		.cap = cap,
		.usable = steps * usable_step,
	};
	uint32_t id;

	check(mst_writer_kind(writer, &kind, &id));
	return id;
}

/* ---- commands ---- */

static void do_module(void)
{
	const struct mst_module module = {
		.path = take_word(),
		.role = MST_MODULE_EXECUTABLE,
		.end = UINT64_C(1) << 32,
	};

	check(mst_writer_module(writer, &module, &module_id));
}

static void do_stack(void)
{
	const char *words[4096];
	uint32_t *const stack = &stacks[take_below(MAX_STACKS)];
	size_t n = 0;

	while (n < sizeof(words) / sizeof(*words) && (words[n] = strtok(NULL, " \n")))
		n++;
	*stack = MST_ROOT_STACK;
	while (n-- > 0) {
		const bool in_module = *words[n] == 'm';
		const struct mst_frame frame = {
			.module = in_module ? module_id : MST_NONE,
			.address = parse_number(words[n] + in_module),
		};
		struct mst_stack s = { .parent = *stack };

		check(mst_writer_frame(writer, &frame, &s.frame));
		check(mst_writer_stack(writer, &s, stack));
	}
}

static void do_time(void)
{
	mst_writer_at(writer, time_ns = take_number(), thread);
}

static void do_instructions(void)
{
	mst_writer_instructions(writer, take_number());
}

static void do_step(void)
{
	const uint64_t instructions = take_number();

	check(mst_writer_sp_change(writer, take_number(), instructions));
}

static void do_thread(void)
{
	mst_writer_at(writer, time_ns, thread = (uint32_t)take_below(n_threads));
}

static void do_usable(void)
{
	usable_step = take_number();
}

static void do_alloc(void)
{
	struct block *block = take_block();
	const uint8_t op = take_op();
	const uint32_t stack = take_stack();

	block->cap = take_number();
	block->kind = make_block_kind(op, stack, block->cap, block->cap);
	check(mst_writer_alloc(writer, block->kind, &block->index));
}

static void do_free(void)
{
	const struct block *block = take_block();

	check(mst_writer_free(writer, block->kind, block->index));
}

static void do_resize(void)
{
	struct block *block = take_block();
	const uint32_t stack = take_stack();
	const uint64_t size = take_number();
	const uint8_t op = size > block->cap ? MST_OP_REALLOC_MOVED : MST_OP_REALLOC_IN_PLACE;
	uint32_t kind;

	if (size > block->cap)
		block->cap = size;
	kind = make_block_kind(op, stack, size, block->cap);
	check(mst_writer_resize(writer, block->kind, block->index, kind, &block->index));
	block->kind = kind;
}

static void do_free_by(void)
{
	const struct block *block = take_block();
	const uint8_t op = take_op();

	check(mst_writer_free_by(writer, block->kind, block->index, make_kind(op, take_stack(), 0, 0)));
}

static void do_call(void)
{
	const uint8_t op = take_op();
	const uint32_t stack = take_stack();
	const uint64_t size = take_number();

	check(mst_writer_call(writer, make_kind(op, stack, size, size)));
}

static void do_page(void)
{
	const uint8_t op = take_op();
	const uint32_t stack = take_stack();
	const uint64_t size = take_number();

	check(mst_writer_page(writer, make_kind(op, stack, size, size), take_number()));
}

static void do_failed_resize(void)
{
	const struct block *block = take_block();
	const uint32_t stack = take_stack();
	const uint64_t size = take_number();

	check(mst_writer_failed_resize(writer, block->kind, block->index,
				       make_kind(MST_OP_REALLOC_MOVED, stack, size, size)));
}

static void do_free_again(void)
{
	const struct block *block = take_block();
	uint32_t marker;

	check(mst_writer_kind(writer, &(struct mst_kind){ .op = MST_OP_FREED_BEFORE }, &marker));
	check(mst_writer_failed_resize(writer, block->kind, block->index, marker));
	check(mst_writer_free(writer, MST_UNKNOWN_KIND, UINT64_MAX));
}

static void do_mark(void)
{
	check(mst_writer_mark(writer, time_ns, thread, take_word()));
}

static void do_null_frees(void)
{
	mst_writer_null_frees(writer, take_number());
}

static void do_memory(void)
{
	struct mst_memory_sample sample = { .resident = take_number() };
	const char *word = strtok(NULL, " \n");

	if (word) {
		sample.detailed = true;
		sample.proportional = parse_number(word);
		sample.swapped = take_number();
		sample.minor_faults = take_number();
		sample.major_faults = take_number();
	}
	check(mst_writer_memory(writer, time_ns, &sample));
}

static void do_peak_resident(void)
{
	check(mst_writer_peak_resident(writer, take_number()));
}

static void do_flush(void)
{
	check(mst_writer_flush(writer));
}

static void do_end(void)
{
	end_ns = take_number();
}

static void run_line(char *line)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} commands[] = {
		{ "instructions", do_instructions },
		{ "step", do_step },
		{ "thread", do_thread },
		{ "usable", do_usable },
		{ "module", do_module },
		{ "stack", do_stack },
		{ "time", do_time },
		{ "alloc", do_alloc },
		{ "free", do_free },
		{ "resize", do_resize },
		{ "free_by", do_free_by },
		{ "call", do_call },
		{ "failed_resize", do_failed_resize },
		{ "free_again", do_free_again },
		{ "mark", do_mark },
		{ "null_frees", do_null_frees },
		{ "memory", do_memory },
		{ "peak_resident", do_peak_resident },
		{ "flush", do_flush },
		{ "page", do_page },
		{ "end", do_end },
	};
	const char *word = strtok(line, " \n");

	if (!word)
		return;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, word) == 0) {
			commands[i].run();
			return;
		}
	}
	fail("no such command");
}

/* ---- the whole ---- */

/* Settings, which stand before all other commands. */
struct features {
	uint32_t records, keyframes;
	bool counted, stacks, pages, anonymous;
	uint64_t sample;
	uint64_t pid, start_ns;
};

static void begin(int fd, const struct features *features)
{
	static const char *const argv[] = { "script" };
	const struct mst_file_info info = {
		.pid = (uint32_t)features->pid,
		.start_ns = features->start_ns,
		.machine = 62,
		.page_size = 4096,
		.recorder = "script2trace",
		.exe = "/nowhere/script",
		.cwd = "/",
		.argc = 1,
		.argv = argv,
		.instructions = features->counted,
		.stacks = features->stacks,
		.pages = features->pages,
		.sample_bytes = features->sample,
	};
	const struct mst_writer_options options = { .identity = !features->anonymous,
						    .chunk_records = features->records,
						    .keyframe_records = features->keyframes };
	uint32_t id;

	check(mst_writer_create(&writer, fd, &info, &options));
	for (uint32_t tid = 1; tid <= n_threads; tid++)
		check(mst_writer_thread(writer, &(struct mst_thread){ .tid = tid }, &id));
}

/* False: another command. */
static bool take_feature(struct features *features, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "records ", 8) == 0)
		features->records = (uint32_t)parse_number(line + 8);
	else if (strncmp(line, "keyframes ", 10) == 0)
		features->keyframes = (uint32_t)parse_number(line + 10);
	else if (strncmp(line, "sampled ", 8) == 0)
		features->sample = parse_number(line + 8);
	else if (sscanf(line, "process %" SCNu64 " %" SCNu64, &features->pid, &features->start_ns) == 2)
		return true;
	else if (strcmp(line, "counted") == 0)
		features->counted = true;
	else if (strcmp(line, "stacks") == 0)
		features->stacks = true;
	else if (strcmp(line, "pages") == 0)
		features->pages = true;
	else if (strcmp(line, "alone") == 0)
		n_threads = 1;
	else if (strcmp(line, "anonymous") == 0)
		features->anonymous = true;
	else
		return false;
	return true;
}

static void run_script(FILE *script, int fd)
{
	static char line[1 << 20];
	struct features features = { .pid = 1 };

	while (fgets(line, sizeof(line), script)) {
		line_number++;
		if (!writer && take_feature(&features, line))
			continue;
		if (!writer)
			begin(fd, &features);
		run_line(line);
	}
	if (!writer)
		begin(fd, &features);
}

int main(int argc, char **argv)
{
	struct mst_end end = { .reason = MST_END_EXIT };
	FILE *script = argc == 3 ? fopen(argv[1], "r") : NULL;
	const int fd = script ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0) {
		fprintf(stderr, "script2trace: %s\n",
			argc == 3 ? strerror(errno) : "usage: script2trace SCRIPT TRACE");
		return 1;
	}
	for (size_t i = 0; i < MAX_BLOCKS; i++)
		blocks[i].index = UINT64_MAX; /* unknown until it comes */
	run_script(script, fd);
	end.time_ns = end_ns;
	end.events = mst_writer_events(writer);
	check(mst_writer_finish(writer, &end));
	mst_writer_destroy(writer);
	fclose(script);
	return close(fd) == 0 ? 0 : 1;
}
