/* SPDX-License-Identifier: MIT */
#include "page_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "answer_formats.h"
#include "base64.h"
#include "file.h"
#include "install_paths.h"
#include "texts.h"

#define PAGE_LARGEST 3000000u /* bytes of a page, if it can be */

enum { TEMPLATE_LARGEST = 4 << 20, META_LARGEST = 64 << 10 };

char *page_template(const char **why)
{
	static const char *const places[] = { "page/web/page.html", MSREC_TO_DATA "/page.html" };
	char *path = install_path_find(places, sizeof(places) / sizeof(*places), R_OK);
	char *text = path ? file_text(path, TEMPLATE_LARGEST) : NULL;
	free(path);
	*why = "this build has no page (it needs esbuild and node-d3: meson configure -Dpage=enabled)";
	const char *meta = text ? strstr(text, "@META@") : NULL;
	if (meta && strstr(meta, "@DATA@"))
		return text;
	free(text);
	return NULL;
}

size_t page_room(const char *template)
{
	const size_t size = strlen(template), most = PAGE_LARGEST > size ? PAGE_LARGEST - size : 0;
	return most / 4 * 3 - META_LARGEST;
}

/* ---- JSON ---- */

/* Writes JSON to a file without a name and gives its text, *size bytes, to be freed. NULL with errno. */
static char *json_text(page_writer *write, void *data, size_t *size)
{
	char *text = NULL;
	struct stat st;
	const int fd = file_unnamed();
	struct out *out = fd < 0 ? NULL : out_create(fd);
	if (!out) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	write(out, data);
	const int error = out_finish(out);
	errno = error;
	if (!error && fstat(fd, &st) == 0 && (text = malloc((size_t)st.st_size + 1))) {
		*size = (size_t)st.st_size;
		if (!file_read_at(fd, 0, text, *size)) {
			free(text);
			text = NULL;
		}
	}
	close(fd);
	return text;
}

/* Names of 10^5 characters are cut; a page is limited. */
static bool shorten(struct answer *answer)
{
	for (struct answer_section *s = answer->sections; s; s = s->next) {
		for (struct answer_fact *f = s->facts; f; f = f->next) {
			if (f->value.is == ANSWER_IS_TEXT &&
			    !(f->value.text = texts_cut(f->value.text, &answer->pool)))
				return false;
		}
		for (struct answer_note *n = s->notes; n; n = n->next) {
			if (!(n->text = texts_cut(n->text, &answer->pool)))
				return false;
		}
		for (struct answer_table *t = s->tables; t; t = t->next) {
			for (size_t i = 0; i < t->n_values; i++) {
				struct answer_value *v = &t->values[i];
				if (v->is == ANSWER_IS_TEXT && !(v->text = texts_cut(v->text, &answer->pool)))
					return false;
			}
		}
	}
	return true;
}

static void write_answer(struct out *out, void *data)
{
	answer_write_json(out, data, 0);
}

char *page_answer(struct answer *answer, size_t *size)
{
	errno = ENOMEM;
	return !answer_failed(answer) && shorten(answer) ? json_text(write_answer, answer, size) : NULL;
}

/* ---- The page ---- */

/* JSON inside of an element of HTML: no tag or comment can begin in it. */
static void write_escaped(struct out *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr("<>&", text[i]) && text[i])
			out_printf(out, "\\u%04x", (unsigned)text[i]);
		else
			out_write(out, text + i, 1);
	}
}

bool page_fill(struct out *out, const char *template, page_writer *write, void *meta, const uint8_t *data,
	       size_t size)
{
	const char *meta_at = strstr(template, "@META@"), *data_at = strstr(meta_at, "@DATA@");
	size_t n_meta;
	char *text = json_text(write, meta, &n_meta);
	if (!text)
		return false;
	out_write(out, template, (size_t)(meta_at - template));
	write_escaped(out, text, n_meta);
	out_write(out, meta_at + strlen("@META@"), (size_t)(data_at - meta_at) - strlen("@META@"));
	base64_write(out, data, size);
	out_text(out, data_at + strlen("@DATA@"));
	free(text);
	return true;
}
