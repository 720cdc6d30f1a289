/* SPDX-License-Identifier: MIT */
#include "mstrace.h"

const char *mst_strerror(int error)
{
	switch (error) {
	case 0:
		return "no error";
	case MST_ERR_IO:
		return "input/output error";
	case MST_ERR_NOMEM:
		return "out of memory";
	case MST_ERR_NOT_A_TRACE:
		return "not a heap trace";
	case MST_ERR_VERSION:
		return "a trace version that this program doesn't know";
	case MST_ERR_DAMAGED:
		return "damaged";
	case MST_ERR_TRUNCATED:
		return "truncated";
	case MST_ERR_LIMIT:
		return "beyond a limit of the format";
	case MST_ERR_ARGUMENT:
		return "an id that was never defined";
	case MST_ERR_IDENTITY:
		return "which block each free gives back was not recorded (msrec --identity=yes)";
	case MST_ERR_EMPTY:
		return "empty, not a heap trace";
	default:
		return "unknown error";
	}
}
