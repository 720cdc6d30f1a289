/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "canvas.h"
#include "install_paths.h"

#define MODULE "canvas_png.so"

static const struct canvas_host host = { .write = out_write, .fail = out_fail, .rgb = canvas_rgb };
static canvas_maker *make;

const char *canvas_png_load(void)
{
	static const char *const places[] = { MODULE, MSREC_TO_PARTS "/" MODULE };
	char *path = install_path_find(places, sizeof(places) / sizeof(*places), R_OK);
	void *library;

	if (!path)
		return MODULE " is neither beside this program nor where it was installed";
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	free(path);
	if (library)
		make = (canvas_maker *)dlsym(library, "canvas_png_make");
	return make ? NULL : dlerror();
}

struct canvas *canvas_png(struct out *out, int width, int height)
{
	return make(out, width, height, &host);
}
