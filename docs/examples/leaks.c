/* leaks TRACE: where the blocks came from that were never freed, the three places with the most bytes. */
#include <fcntl.h>
#include <inttypes.h>
#include <mst_names.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t *live; /* blocks by kind */
static uint32_t n_live;

/* A chunk's tokens say how many blocks came and went; its records need not be decoded. */
static void count_blocks(const struct mst_chunk *chunk, uint32_t n_kinds)
{
	if (n_kinds > n_live && !(live = realloc(live, n_kinds * sizeof(*live))))
		exit(2);
	while (n_live < n_kinds)
		live[n_live++] = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];

		if (token->role == MST_ALLOC)
			live[token->kind] += token->count;
		else if (token->role == MST_FREE || token->role == MST_OUT)
			live[token->kind] -= token->count;
	}
}

static void print_stack(struct mst_reader *reader, struct mst_names *names, uint32_t stack)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);

	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
		const struct mst_names_call *calls;
		const uint32_t n_calls = mst_names_frame(names, stacks[stack].frame, &calls);

		for (uint32_t i = 0; i < n_calls; i++)
			printf("    %s (%s:%" PRIu32 ")%s\n", calls[i].function ? calls[i].function : "?",
			       calls[i].file ? calls[i].file : "?", calls[i].line,
			       calls[i].inlined ? " inlined" : "");
	}
}

int main(int argc, char **argv)
{
	const struct mst_names_options options = { .cache = false };
	const struct mst_chunk *chunk;
	const struct mst_kind *kinds;
	struct mst_reader *reader;
	struct mst_names *names;
	uint32_t n_kinds, most;
	int got = mst_reader_create(&reader, open(argc > 1 ? argv[1] : "trace.zst", O_RDONLY));

	if (got < 0 || (got = mst_names_create(&names, reader, &options)) < 0)
		return fprintf(stderr, "%s\n", mst_strerror(got)), 2;
	while ((got = mst_reader_peek(reader, &chunk)) == 1) {
		mst_reader_kinds(reader, &n_kinds);
		count_blocks(chunk, n_kinds);
	}
	kinds = mst_reader_kinds(reader, &n_kinds);
	for (int i = 0; i < 3 && n_live; i++) {
		most = 0;
		for (uint32_t kind = 1; kind < n_live; kind++)
			if (live[kind] * kinds[kind].size > live[most] * kinds[most].size)
				most = kind;
		if (live[most] * kinds[most].size == 0)
			break;
		printf("%" PRIu64 " bytes in %" PRIu64 " blocks:\n", live[most] * kinds[most].size,
		       live[most]);
		print_stack(reader, names, kinds[most].stack);
		live[most] = 0;
	}
	mst_names_destroy(names);
	mst_reader_destroy(reader);
	free(live);
	return got < 0;
}
