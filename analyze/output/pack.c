/* SPDX-License-Identifier: MIT */
#include "pack.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#define BUFFER_BYTES ((size_t)64 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, in gzip's format */
#define GZIP_LEVEL 3          /* a third of the time of 6, and hardly more bytes */
#define GZIP_MEMORY 8

struct pack {
	enum packing packing;
	pack_sink *sink;
	void *data;
	z_stream gzip;
	bool gzip_begun;
	ZSTD_CStream *zstd;
	unsigned char buffer[BUFFER_BYTES];
};

static bool begin(struct pack *pack)
{
	if (pack->packing == PACK_ZSTD) {
		pack->zstd = ZSTD_createCStream();
		return pack->zstd != NULL;
	}
	pack->gzip_begun = deflateInit2(&pack->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
					Z_DEFAULT_STRATEGY) == Z_OK;
	return pack->gzip_begun;
}

struct pack *pack_create(enum packing packing, pack_sink *sink, void *data)
{
	struct pack *pack = calloc(1, sizeof(*pack));
	if (!pack)
		return NULL;
	assert(packing != PACK_NONE);
	pack->packing = packing;
	pack->sink = sink;
	pack->data = data;
	if (begin(pack))
		return pack;
	pack_destroy(pack);
	return NULL;
}

void pack_destroy(struct pack *pack)
{
	if (!pack)
		return;
	if (pack->gzip_begun)
		deflateEnd(&pack->gzip);
	ZSTD_freeCStream(pack->zstd);
	free(pack);
}

static bool write_gzip(struct pack *pack, const void *bytes, size_t size, int flush)
{
	z_stream *z = &pack->gzip;
	z->next_in = (Bytef *)(uintptr_t)bytes;
	z->avail_in = (uInt)size; /* the callers' pieces are small */
	do {
		z->next_out = pack->buffer;
		z->avail_out = BUFFER_BYTES;
		if (deflate(z, flush) == Z_STREAM_ERROR)
			return false;
		pack->sink(pack->data, pack->buffer, BUFFER_BYTES - z->avail_out);
	} while (z->avail_out == 0);
	return true;
}

static bool write_zstd(struct pack *pack, const void *bytes, size_t size, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	size_t left;
	do {
		ZSTD_outBuffer out = { pack->buffer, BUFFER_BYTES, 0 };
		left = ZSTD_compressStream2(pack->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return false;
		pack->sink(pack->data, pack->buffer, out.pos);
	} while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
	return true;
}

bool pack_write(struct pack *pack, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	while (size) {
		const size_t n = size < BUFFER_BYTES ? size : BUFFER_BYTES;
		if (pack->packing == PACK_ZSTD ? !write_zstd(pack, at, n, ZSTD_e_continue)
					       : !write_gzip(pack, at, n, Z_NO_FLUSH))
			return false;
		at += n;
		size -= n;
	}
	return true;
}

bool pack_end(struct pack *pack)
{
	if (pack->packing == PACK_ZSTD)
		return write_zstd(pack, NULL, 0, ZSTD_e_end);
	return write_gzip(pack, NULL, 0, Z_FINISH);
}

static bool ends_with(const char *name, const char *end)
{
	const size_t n = strlen(name), k = strlen(end);
	return n > k && strcmp(name + n - k, end) == 0;
}

enum packing pack_by_name(const char *name)
{
	if (ends_with(name, ".gz"))
		return PACK_GZIP;
	return ends_with(name, ".zst") ? PACK_ZSTD : PACK_NONE;
}
