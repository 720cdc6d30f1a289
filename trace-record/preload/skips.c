/* SPDX-License-Identifier: MIT */
#include "skips.h"

#include <string.h>

#include "doorbell.h"

void skips_report(struct shm_family *family, enum shm_skip_reason reason, const char *path)
{
	for (unsigned i = 0; i < SHM_SKIPS; i++) {
		struct shm_skip *skip = &family->skips[i];
		uint32_t state = SHM_SKIP_FREE;

		if (!atomic_compare_exchange_strong(&skip->state, &state, SHM_SKIP_CLAIMED))
			continue;
		skip->reason = reason;
		memccpy(skip->path, path, 0, SHM_SKIP_PATH);
		skip->path[SHM_SKIP_PATH - 1] = 0;
		atomic_store(&skip->state, SHM_SKIP_READY);
		doorbell_ring(family);
		return;
	}
	atomic_fetch_add(&family->unsaid, 1);
}
