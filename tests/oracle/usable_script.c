/* SPDX-License-Identifier: MIT */
#include "usable_script.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char script[16 << 20];
static char out[1 << 16];
static size_t n_out;

static void out_flush(void)
{
	for (size_t done = 0; done < n_out;) {
		ssize_t n = write(STDOUT_FILENO, out + done, n_out - done);

		if (n <= 0)
			_exit(2);
		done += (size_t)n;
	}
	n_out = 0;
}

static void out_text(const char *text, size_t n)
{
	if (n > sizeof(out) - n_out)
		out_flush();
	if (n > sizeof(out))
		_exit(2);
	memcpy(out + n_out, text, n);
	n_out += n;
}

static void out_number(uint64_t n)
{
	char text[24];
	size_t i = sizeof(text);

	do
		text[--i] = (char)('0' + n % 10);
	while (n /= 10);
	out_text(text + i, sizeof(text) - i);
}

static bool script_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, script + size, sizeof(script) - 1 - size)) > 0)
		size += (size_t)n;
	script[size] = '\0';
	close(fd);
	return n == 0 && size < sizeof(script) - 1;
}

/* The next number of the line; a missing one is an error. */
static uint64_t number(const char **at)
{
	uint64_t n = 0;

	if (**at != ' ')
		_exit(2);
	for (++*at; **at >= '0' && **at <= '9'; ++*at)
		n = 10 * n + (uint64_t)(**at - '0');
	return n;
}

static bool operation(char op, unsigned slot, const char **at, uint64_t *usable)
{
	uint64_t align = op == 'a' ? number(at) : 16;
	uint64_t size = number(at);

	if (op == 'r')
		return heap_resize(slot, size, usable);
	return heap_alloc(slot, size, align, op == 'c', usable);
}

/* The first line of a script may say where the heap begins. */
static const char *script_begin(void)
{
	const char *at = script;
	uint64_t first = 0;

	if (*at == 'b') {
		at++;
		first = number(&at);
		if (*at++ != '\n')
			_exit(2);
	}
	if (!heap_begin(first))
		_exit(2);
	return at;
}

static void script_run(void)
{
	const char *at = script_begin();

	while (*at) {
		char op = *at++;
		uint64_t slot = number(&at), usable;

		if (slot >= SLOTS || !strchr("macrfp", op))
			_exit(2);
		if (op == 'f') {
			heap_free((unsigned)slot);
		} else if (op == 'p') {
			out_number(heap_address((unsigned)slot));
			out_text("\n", 1);
		} else {
			if (operation(op, (unsigned)slot, &at, &usable))
				out_number(usable);
			else
				out_text("-", 1);
			out_text("\n", 1);
		}
		if (*at++ != '\n')
			_exit(2);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			if (!script_read(argv[i]))
				_exit(2);
			out_text("= ", 2);
			out_text(argv[i], strlen(argv[i]));
			out_text("\n", 1);
			script_run();
			out_flush();
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			return 1;
	}
	return 0;
}
