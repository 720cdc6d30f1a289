/* SPDX-License-Identifier: MIT */
/*
 * signal [alt]: a handler that allocates, entered by raise(), on the normal or an alternate stack.
 *
 * Known answer: five blocks of 200 bytes from the handler, five of 300 after it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void *volatile keep;
static char alternate[65536];

static void make(size_t n)
{
	keep = malloc(n);
}

static void handler(int number)
{
	(void)number;
	make(200);
}

int main(int argc, char **argv)
{
	int alt = argc > 1 && !strcmp(argv[1], "alt");
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = alt ? SA_ONSTACK : 0;
	if (alt && sigaltstack(&stack, NULL))
		return 1;
	if (sigaction(SIGUSR1, &action, NULL))
		return 1;
	for (int i = 0; i < 5; i++) {
		raise(SIGUSR1);
		make(300);
	}
	return 0;
}
