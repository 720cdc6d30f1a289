/* SPDX-License-Identifier: MIT */
#include "libc/libc_objects.h"

int libc_each_object(libc_object_visitor *visit, void *data)
{
	return dl_iterate_phdr(visit, data);
}
