/* SPDX-License-Identifier: MIT */
/* The formats that are read, in the order of --from=help, for import.h and import.c to define FORMAT(name). */
/* clang-format off */
FORMAT(heaptrack)
FORMAT(massif)
FORMAT(memusage)
FORMAT(mtrace)
/* clang-format on */
