/* SPDX-License-Identifier: MIT */
/* The sections of a report, in the order of --help. */
SECTION(overview)
SECTION(peak)
SECTION(leaks)
SECTION(growth)
SECTION(steps)
SECTION(churn)
SECTION(sizes)
SECTION(threads)
SECTION(libraries)
SECTION(functions)
SECTION(lines)
SECTION(rss)
