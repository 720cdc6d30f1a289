/* SPDX-License-Identifier: MIT */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "array.h"

#define ANSWER_MS 10000   /* msrec drains its rings before it answers */
#define LOOK_MS 50        /* between looks at the end of a file */
#define LEAST_ASK_MS 400u /* msrec writes a chunk for each request */

uint64_t follow_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- What msrec says ---- */

struct lines {
	char *text; /* NUL-terminated, if there is one */
	size_t n, room;
	bool failed;
};

static void add_lines(const struct control_reply *reply, void *context)
{
	struct lines *lines = context;
	if (lines->failed || !array_reserve(&lines->text, lines->n + reply->bytes, &lines->room, 1)) {
		lines->failed = true;
		return;
	}
	memcpy(lines->text + lines->n, reply->text, reply->bytes);
	lines->n += reply->bytes;
	lines->text[lines->n] = '\0';
}

char *follow_list(void)
{
	struct lines lines = { 0 };
	struct control_question *question = calloc(1, sizeof(*question));
	if (!question)
		return NULL;
	question->request = (struct control_request){ .op = CONTROL_STATUS, .pid = CONTROL_ALL };
	question->answer_ms = ANSWER_MS;
	question->each = add_lines;
	question->context = &lines;
	control_client_ask(question);
	free(question);
	if (lines.failed)
		free(lines.text);
	return lines.failed ? NULL : lines.text ? lines.text : strdup("");
}

bool follow_next_line(char **lines, struct follow_line *line)
{
	char *text = *lines, *end = strchr(text, '\n');
	char *state = strchr(text, ' '), *path = state ? strchr(state + 1, ' ') : NULL;
	if (!end || !path || path > end)
		return false;
	*end = *state = *path = '\0';
	*lines = end + 1;
	*line = (struct follow_line){ .pid = atoi(text), .state = state + 1, .path = path + 1 };
	return true;
}

/* Asks for the recording of a process: what is held back is in its file then. NULL: `answer` has why, or no memory. */
static struct control_question *ask(int32_t pid, struct follow_answer *answer)
{
	struct control_question *question = calloc(1, sizeof(*question));
	if (!question) {
		answer->why = mst_strerror(MST_ERR_NOMEM);
		return NULL;
	}
	question->request = (struct control_request){ .op = CONTROL_STATUS, .pid = pid };
	question->answer_ms = ANSWER_MS;
	if (control_client_ask(question))
		return question;
	answer->why = control_client_explain(question, answer->text, sizeof(answer->text));
	free(question);
	return NULL;
}

bool follow_find(int32_t pid, struct follow_answer *answer)
{
	*answer = (struct follow_answer){ 0 };
	struct control_question *question = ask(pid, answer);
	if (!question)
		return false;
	const struct control_reply *reply = &question->reply;
	char *text = strndup(reply->text, reply->bytes), *rest = text;
	struct follow_line line, other;
	if (!text)
		answer->why = mst_strerror(MST_ERR_NOMEM);
	else if (!follow_next_line(&rest, &line))
		answer->why = "its recording has no file yet";
	else if (follow_next_line(&rest, &other))
		answer->why = "several processes are recorded there ('msrec status' lists them)";
	else if (!(answer->path = strdup(line.path)))
		answer->why = mst_strerror(MST_ERR_NOMEM);
	else
		answer->pid = line.pid;
	free(text);
	free(question);
	return answer->path;
}

/* Finds the socket of the recording whose file this is, if the recording can be reached from here. */
static void find_control(struct follow *f)
{
	struct follow_answer answer = { 0 };
	const int32_t pid = (int32_t)mst_reader_info(f->trace.reader)->pid;
	struct control_question *question = pid > 0 ? ask(pid, &answer) : NULL;
	char *text = question ? strndup(question->reply.text, question->reply.bytes) : NULL, *rest = text;
	struct follow_line line;
	struct stat ours, theirs;
	while (text && follow_next_line(&rest, &line)) {
		if (line.pid == pid && fstat(f->trace.fd, &ours) == 0 && stat(line.path, &theirs) == 0 &&
		    ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) {
			memcpy(f->control, question->name, sizeof(f->control));
			f->pid = pid;
		}
	}
	free(text);
	free(question);
}

/* ---- Reading on ---- */

void follow_ask(struct follow *f)
{
	const struct control_request request = { .magic = CONTROL_MAGIC,
						 .op = CONTROL_STATUS,
						 .pid = f->pid };
	const uint64_t now = follow_now_ms();
	if (!*f->control || now - f->asked < LEAST_ASK_MS)
		return;
	f->asked = now;
	control_client_tell(f->control, &request);
}

static bool await(struct follow *f, int ms)
{
	if (f->idle)
		return f->idle(f->context, ms);
	poll(NULL, 0, ms);
	return true;
}

/* A pipe ends when its writer has. */
static bool more_of_pipe(struct follow *f)
{
	struct pollfd input = { .fd = f->trace.fd, .events = POLLIN };
	const int ready = poll(&input, 1, 0);
	if (ready == 0) {
		f->was_last = false;
		return await(f, LOOK_MS);
	}
	/* Readable, and read() gave nothing: the end, unless bytes came in between. */
	const bool again = input.revents & POLLIN && !f->was_last;
	f->was_last = true;
	f->growing = again;
	return again;
}

/* Reader's callback: there are no more bytes at present. */
static bool more(void *context)
{
	struct follow *f = context;
	if (f->is_pipe)
		return more_of_pipe(f);
	f->growing = tool_is_growing(&f->trace);
	if (!f->waits)
		return false;
	if (!f->growing) {
		/* The last bytes may have come after the read that found none. */
		const bool again = !f->was_last;
		f->was_last = true;
		return again;
	}
	f->was_last = false;
	return await(f, LOOK_MS);
}

/* ---- Opening ---- */

static bool open_input(struct follow *f, const struct tool *tool, const char *path)
{
	struct stat st;
	const bool is_stdin = strcmp(path, "-") == 0;
	const int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	const char *name = is_stdin ? "standard input" : path;
	if (fd < 0 || fstat(fd, &st) != 0) {
		tool_error(tool, "%s: %s", path, strerror(errno));
		return false;
	}
	f->is_pipe = !S_ISREG(st.st_mode);
	f->flags = f->is_pipe && f->waits ? fcntl(fd, F_GETFL) : -1;
	if (f->flags >= 0)
		fcntl(fd, F_SETFL, f->flags | O_NONBLOCK);
	f->growing = f->is_pipe && f->waits;
	return tool_open_growing(tool, &f->trace, name, fd, f->waits || !f->is_pipe ? more : NULL, f);
}

bool follow_open(struct follow *f, const struct tool *tool, const char *path)
{
	if (!open_input(f, tool, path))
		return false;
	if (!f->is_pipe && (f->growing = tool_is_growing(&f->trace)))
		find_control(f);
	f->asked = follow_now_ms();
	return true;
}

void follow_close(struct follow *f)
{
	if (f->flags >= 0 && f->trace.fd >= 0)
		fcntl(f->trace.fd, F_SETFL, f->flags);
	tool_close(&f->trace);
}
