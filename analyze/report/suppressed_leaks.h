/* SPDX-License-Identifier: MIT */
/*
 * Leaks that no program can mend: what the C library and the dynamic loader keep until the end. A stack is hidden if its
 * innermost frame lies in such a library and has such a function; patterns of fnmatch(3).
 */
/* clang-format off */
SUPPRESS("ld-linux*", "*")
SUPPRESS("ld-2.*", "*")
SUPPRESS("ld-musl*", "*")
SUPPRESS("libc.so*", "_IO_file_doallocate") /* buffers of streams */
SUPPRESS("libc.so*", "_IO_wfile_doallocate")
SUPPRESS("libc.so*", "_nl_*")               /* locales */
SUPPRESS("libc.so*", "__gconv_*")
SUPPRESS("libc.so*", "tz*")                 /* time zones */
SUPPRESS("libc.so*", "__tz*")
SUPPRESS("libc.so*", "*nss_*")              /* name services */
SUPPRESS("libc.so*", "_dl_*")
SUPPRESS("libc-2.*", "_IO_file_doallocate")
SUPPRESS("libc-2.*", "_nl_*")
SUPPRESS("libc-2.*", "__gconv_*")
SUPPRESS("libc-2.*", "tz*")
SUPPRESS("libc-2.*", "*nss_*")
SUPPRESS("libc-2.*", "_dl_*")
