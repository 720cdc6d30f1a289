/* SPDX-License-Identifier: MIT */
/*
 * A failing operator new throws through the frame of the function that stands before it. The C++ runtime, as it unwinds,
 * calls the frame's personality routine (Itanium C++ ABI, 2.5.2; throws_through.c has it): it records the failed call, and the
 * thread leaves the operator. The frame has no other clean-up, so there is no landing pad.
 */
#ifndef PRELOAD_THROWS_THROUGH_H
#define PRELOAD_THROWS_THROUGH_H

/* In the function. Encoding 0x9b: pc-relative to a pointer in the library's own data. */
#define THROWS_THROUGH() __asm__ volatile(".cfi_personality 0x9b, msrec_new_personality_ref")

#endif
