/* SPDX-License-Identifier: MIT */
/*
 * Loaded and unloaded by unwind_exact. Built several times with other FRAME_BYTES, so that the
 * same call in the same place has another frame size.
 */
#ifndef FRAME_BYTES
#define FRAME_BYTES 64
#endif

void plugin_run(void (*call)(void));

void plugin_run(void (*call)(void))
{
	volatile char frame[FRAME_BYTES];

	frame[0] = 1;
	call();
	frame[0]++;
}
