/* SPDX-License-Identifier: MIT */
/* A check for CI servers: JUnit's XML and GitHub's workflow commands. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "out.h"

/* ---- JUnit ---- */

/* Text and attributes of XML 1.0, which has no control characters. Bytes beyond ASCII become '?'. */
static void write_xml(struct out *out, const char *text)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;
		if (c == '&')
			out_text(out, "&amp;");
		else if (c == '<')
			out_text(out, "&lt;");
		else if (c == '>')
			out_text(out, "&gt;");
		else if (c == '"')
			out_text(out, "&quot;");
		else if (c < ' ' || c >= 0x7f)
			out_text(out, "?");
		else
			out_write(out, text, 1);
	}
}

static void write_attribute(struct out *out, const char *name, const char *text)
{
	out_printf(out, " %s=\"", name);
	write_xml(out, text);
	out_text(out, "\"");
}

/* A text of the caller's, which is freed; NULL: no memory. */
static void write_freed(struct out *out, char *text)
{
	if (!text)
		out_fail(out, ENOMEM);
	write_xml(out, text ? text : "");
	free(text);
}

/* What is wrong with one limit, and the stacks to blame. */
static void write_wrong(struct out *out, const struct gate_row *row, bool si)
{
	write_freed(out, gate_describe(row, si));
	out_text(out, "\n");
	for (unsigned i = 0; i < row->n_blame; i++) {
		out_text(out, "  ");
		write_freed(out, gate_describe_blame(row, &row->blame[i], si));
		out_text(out, "\n");
	}
}

/* One failure, or error, of all rows of a run that are wrong. Its message is the first one's. */
static void write_failure(struct out *out, const struct gate *c, size_t first, bool si)
{
	const struct gate_run *run = gate_run_of(c, &c->rows[first]);
	const enum gate_status status = gate_run_status(run);
	const char *element = status == GATE_EXCEEDED ? "failure" : "error";
	const size_t end =
		first + run->counts[GATE_WITHIN] + run->counts[GATE_EXCEEDED] + run->counts[GATE_UNVERIFIED];
	size_t worst = first;
	while (c->rows[worst].status != status)
		worst++;
	out_printf(out, "\n\t\t\t<%s message=\"", element);
	write_freed(out, gate_describe(&c->rows[worst], si));
	out_text(out, "\">");
	for (size_t i = first; i < end; i++) {
		if (c->rows[i].status != GATE_WITHIN)
			write_wrong(out, &c->rows[i], si);
	}
	out_printf(out, "</%s>\n\t\t", element);
}

/* The class is the program, the name its whole command. */
static void write_case(struct out *out, const struct gate *c, size_t first, bool si)
{
	const struct gate_run *run = gate_run_of(c, &c->rows[first]);
	char *program = strndup(run->name, strcspn(run->name, " "));
	out_text(out, "\t\t<testcase classname=\"");
	write_freed(out, program);
	out_text(out, "\"");
	write_attribute(out, "name", run->name);
	out_printf(out, " time=\"%.3f\"", (double)run->duration_ns / 1e9);
	if (gate_run_status(run) == GATE_WITHIN) {
		out_text(out, "/>\n");
	} else {
		out_text(out, ">");
		write_failure(out, c, first, si);
		out_text(out, "</testcase>\n");
	}
}

void gate_write_junit(struct out *out, const struct gate *c, bool si)
{
	size_t runs[GATE_STATUSES] = { 0 };
	double seconds = 0;
	for (size_t i = 0; i < c->n_runs; i++) {
		runs[gate_run_status(&c->runs[i])]++;
		seconds += (double)c->runs[i].duration_ns / 1e9;
	}
	out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	out_printf(
		out,
		"\t<testsuite name=\"msreport\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n",
		c->n_runs, runs[GATE_EXCEEDED], runs[GATE_UNVERIFIED], seconds);
	for (size_t i = 0; i < c->n; i++) {
		if (i == 0 || c->rows[i].run != c->rows[i - 1].run)
			write_case(out, c, i, si);
	}
	out_text(out, "\t</testsuite>\n</testsuites>\n");
}

/* ---- GitHub ---- */

/* Of a message; in a property also what separates properties. */
static void write_command(struct out *out, const char *text, bool property)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;
		if (c < ' ' || c == '%' || (property && (c == ':' || c == ',')))
			out_printf(out, "%%%02X", c);
		else
			out_write(out, text, 1);
	}
}

static const char *below(const char *path, const char *folder)
{
	const size_t n = folder ? strlen(folder) : 0;
	return n && strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* At the first line to blame. */
static void write_error(struct out *out, const struct gate *c, const struct gate_row *row, const char *why,
			bool si, const char *folder)
{
	const struct origin *o = row->n_blame ? &row->blame[0].origin : NULL;
	out_text(out, "::error ");
	if (o && o->file) {
		out_text(out, "file=");
		write_command(out, below(o->file, folder), true);
		if (o->line)
			out_printf(out, ",line=%d", o->line);
		out_text(out, ",");
	}
	out_text(out, "title=");
	write_command(out, gate_run_of(c, row)->name, true);
	out_text(out, "::");
	write_command(out, why, false);
	for (unsigned i = 0; i < row->n_blame; i++) {
		char *text = gate_describe_blame(row, &row->blame[i], si);
		if (!text)
			out_fail(out, ENOMEM);
		out_text(out, "%0A");
		write_command(out, text ? text : "", false);
		free(text);
	}
	out_text(out, "\n");
}

void gate_write_github(struct out *out, const struct gate *c, bool si, const char *folder)
{
	for (size_t i = 0; i < c->n; i++) {
		char *why = c->rows[i].status == GATE_WITHIN ? NULL : gate_describe(&c->rows[i], si);
		if (why)
			write_error(out, c, &c->rows[i], why, si, folder);
		else if (c->rows[i].status != GATE_WITHIN)
			out_fail(out, ENOMEM);
		free(why);
	}
	out_printf(out, "::notice title=msreport::%zu limits within, %zu exceeded, %zu not verified\n",
		   c->counts[GATE_WITHIN], c->counts[GATE_EXCEEDED], c->counts[GATE_UNVERIFIED]);
}
