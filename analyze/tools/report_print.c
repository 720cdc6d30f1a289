/* SPDX-License-Identifier: MIT */
#include "report_print.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "answer_formats.h"
#include "number.h"
#include "output_set.h"
#include "pager.h"

enum { USUAL_JSON = 4000 }; /* bytes of a section */
enum { LEAST_WIDTH = 40, MOST_WIDTH = 1000, USUAL_WIDTH = 80 };

static unsigned screen_width(void)
{
	struct winsize size;
	uint64_t n;
	const char *columns = getenv("COLUMNS");
	if (columns && number_natural(columns, MOST_WIDTH, &n) && n)
		return n < LEAST_WIDTH ? LEAST_WIDTH : (unsigned)n;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
	return USUAL_WIDTH;
}

static struct answer_style find_style(const struct report_command *command, bool terminal)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	setlocale(LC_CTYPE, "");
	const struct answer_style style = {
		.width = screen_width(),
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.colour = terminal && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0),
		.si = command->query.si,
	};
	setlocale(LC_CTYPE, "C");
	return style;
}

/* `most`: of JSON. */
static void write_answer(struct out *out, const struct answer *answer, enum report_format format,
			 const struct answer_style *style, uint64_t most)
{
	switch (format) {
	case REPORT_TEXT:
		answer_write_text(out, answer, style);
		break;
	case REPORT_JSON:
		answer_write_json(out, answer, most);
		break;
	case REPORT_MARKDOWN:
		answer_write_markdown(out, answer, style);
		break;
	case REPORT_CSV:
	case REPORT_JUNIT:
	case REPORT_GITHUB:
		answer_write_csv(out, answer);
		break;
	}
}

/* Of limits and of changes none is left out. */
static uint64_t json_bytes(const struct report_command *command)
{
	return command->query.top || command->n_checks || command->n_olds ? 0 : USUAL_JSON;
}

bool report_print(const struct report_command *command, const struct answer *answer)
{
	const char *name = command->output ? command->output : "-";
	const bool terminal =
		strcmp(name, "-") == 0 && isatty(STDOUT_FILENO) && command->format == REPORT_TEXT;
	const struct answer_style style = find_style(command, terminal);
	struct output_file file;
	struct pager pager = { 0 };
	if (terminal)
		pager_begin(&pager);
	bool fine = output_begin(&file, &command->tool, name, OUTPUT_FILE_RESULT, PACK_NONE);
	if (fine) {
		write_answer(file.out, answer, command->format, &style, json_bytes(command));
		/* A reader who has seen enough closes the pager. */
		fine = output_end(&file, &command->tool, name, true) || pager.pid;
	}
	pager_end(&pager);
	return fine;
}
