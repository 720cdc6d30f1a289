/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include <stdlib.h>

void marks_init(struct marks *marks, const struct settings *settings)
{
	*marks = (struct marks){ .peak_wanted = settings->exact_peak };
}

void marks_finish(struct marks *marks)
{
	free(marks->peak.live);
}

struct snapshot *marks_pending(struct marks *marks)
{
	return marks->peak_pending ? &marks->peak : NULL;
}

void marks_fill(struct marks *marks, struct snapshot *mark, struct live *live)
{
	free(mark->live);
	mark->live = live;
	marks->peak_pending = false;
}
