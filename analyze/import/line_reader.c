/* SPDX-License-Identifier: MIT */
#include "line_reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "pack.h"

#define INPUT_BYTES ((size_t)128 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, in gzip's format */
#define ZSTD_WINDOW_LOG 27    /* 128 MiB, what zstd itself takes without being asked */

struct line_reader {
	int fd;
	enum packing packing;
	bool begun, ended; /* the input */
	bool inside;       /* of a compressed stream, whose rest must follow */
	z_stream gzip;
	bool gzip_begun;
	ZSTD_DStream *zstd;
	unsigned char *input;
	size_t n_input, at_input;
	char *text; /* unpacked */
	size_t n_text, at_text, room;
};

struct line_reader *line_reader_create(int fd)
{
	struct line_reader *u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->fd = fd;
	u->room = 2 * INPUT_BYTES;
	u->input = malloc(INPUT_BYTES);
	u->text = malloc(u->room);
	if (u->input && u->text)
		return u;
	line_reader_destroy(u);
	return NULL;
}

void line_reader_destroy(struct line_reader *u)
{
	if (!u)
		return;
	if (u->gzip_begun)
		inflateEnd(&u->gzip);
	ZSTD_freeDStream(u->zstd);
	free(u->input);
	free(u->text);
	free(u);
}

/* ---- Bytes ---- */

/* Refills the input once all of it is consumed. False: errno has the error. */
static bool fill_input(struct line_reader *u)
{
	ssize_t n;
	if (u->at_input < u->n_input || u->ended)
		return true;
	do
		n = read(u->fd, u->input, INPUT_BYTES);
	while (n < 0 && errno == EINTR);
	u->at_input = 0;
	u->n_input = n > 0 ? (size_t)n : 0;
	u->ended = n <= 0;
	return n >= 0;
}

static enum line_reader_result begin(struct line_reader *u)
{
	static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	if (!fill_input(u))
		return LINE_READER_IO;
	u->begun = true;
	if (u->n_input >= sizeof(gzip) && memcmp(u->input, gzip, sizeof(gzip)) == 0) {
		u->packing = PACK_GZIP;
		u->gzip_begun = inflateInit2(&u->gzip, GZIP_WINDOW) == Z_OK;
		return u->gzip_begun ? LINE_READER_LINE : LINE_READER_NOMEM;
	}
	if (u->n_input < sizeof(zstd) || memcmp(u->input, zstd, sizeof(zstd)) != 0)
		return LINE_READER_LINE;
	u->packing = PACK_ZSTD;
	u->zstd = ZSTD_createDStream();
	if (!u->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		return LINE_READER_NOMEM;
	return LINE_READER_LINE;
}

/* Inflates to the text, which has room. False: the data are damaged. */
static bool inflate_some(struct line_reader *u)
{
	z_stream *z = &u->gzip;
	assert(u->n_text < u->room);
	z->next_in = u->input + u->at_input;
	z->avail_in = (uInt)(u->n_input - u->at_input);
	z->next_out = (Bytef *)u->text + u->n_text;
	z->avail_out = (uInt)(u->room - u->n_text);
	u->inside = true;
	const int status = inflate(z, Z_NO_FLUSH);
	u->at_input = u->n_input - z->avail_in;
	u->n_text = u->room - z->avail_out;
	if (status == Z_STREAM_END) {
		u->inside = false;
		return inflateReset(z) == Z_OK; /* another gzip member may follow */
	}
	return status == Z_OK || status == Z_BUF_ERROR;
}

static bool decompress_some(struct line_reader *u)
{
	ZSTD_inBuffer in = { u->input, u->n_input, u->at_input };
	ZSTD_outBuffer out = { u->text, u->room, u->n_text };
	const size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
	u->at_input = in.pos;
	u->n_text = out.pos;
	u->inside = left != 0;
	return !ZSTD_isError(left);
}

static void copy_some(struct line_reader *u)
{
	size_t n = u->n_input - u->at_input;
	if (n > u->room - u->n_text)
		n = u->room - u->n_text;
	memcpy(u->text + u->n_text, u->input + u->at_input, n);
	u->n_text += n;
	u->at_input += n;
}

/* Adds at least one byte to the text unless the input has ended. */
static enum line_reader_result fill_text(struct line_reader *u)
{
	const size_t before = u->n_text;
	enum line_reader_result result = u->begun ? LINE_READER_LINE : begin(u);
	while (result == LINE_READER_LINE && u->n_text == before) {
		bool fine = true;
		if (!fill_input(u))
			return LINE_READER_IO;
		if (u->at_input == u->n_input)
			return u->inside ? LINE_READER_CUT : LINE_READER_END;
		if (u->packing == PACK_GZIP)
			fine = inflate_some(u);
		else if (u->packing == PACK_ZSTD)
			fine = decompress_some(u);
		else
			copy_some(u);
		if (!fine)
			return LINE_READER_CUT;
	}
	return result;
}

/* ---- Lines ---- */

/* Drops the consumed lines and makes room behind the rest of the text. */
static enum line_reader_result make_room(struct line_reader *u)
{
	assert(u->at_text <= u->n_text && u->n_text <= u->room);
	memmove(u->text, u->text + u->at_text, u->n_text - u->at_text);
	u->n_text -= u->at_text;
	u->at_text = 0;
	if (u->n_text < u->room / 2)
		return LINE_READER_LINE;
	if (u->n_text > UNPACK_LINE_MOST)
		return LINE_READER_TOO_LONG;
	char *grown = realloc(u->text, u->room * 2);
	if (!grown)
		return LINE_READER_NOMEM;
	u->text = grown;
	u->room *= 2;
	return LINE_READER_LINE;
}

enum line_reader_result line_reader_line(struct line_reader *u, char **line, size_t *n)
{
	size_t searched = u->at_text;
	for (;;) {
		char *end = memchr(u->text + searched, '\n', u->n_text - searched);
		if (end) {
			*line = u->text + u->at_text;
			*n = (size_t)(end - *line);
			*end = '\0';
			u->at_text = (size_t)(end - u->text) + 1;
			return *n > UNPACK_LINE_MOST ? LINE_READER_TOO_LONG : LINE_READER_LINE;
		}
		searched = u->n_text - u->at_text;
		enum line_reader_result result = make_room(u);
		if (result == LINE_READER_LINE)
			result = fill_text(u);
		/* A last line without '\n' may be cut. */
		if (result == LINE_READER_END && u->n_text > u->at_text)
			return LINE_READER_CUT;
		if (result != LINE_READER_LINE)
			return result;
	}
}

size_t line_reader_head(int fd, char *head, size_t size)
{
	struct line_reader *u = line_reader_create(fd);
	if (!u)
		return 0;
	while (u->n_text < size && fill_text(u) == LINE_READER_LINE)
		;
	const size_t n = u->n_text < size ? u->n_text : size;
	memcpy(head, u->text, n);
	line_reader_destroy(u);
	return n;
}
