// SPDX-License-Identifier: MIT
// The views, in the order of their tabs: {id, title, view(model, state) → {element, update(), opened()}}. `opened`,
// where there is one, is called when the view comes into the page; `has(model)`, where there is one, says whether the
// trace has something to show there.
import { churn, leaks } from "./answers.js";
import { changeLens } from "./change_lens.js";
import { functions, matching, stacks } from "./change_tables.js";
import { errors } from "./errors.js";
import { flame } from "./flame.js";
import { reallocs } from "./reallocs.js";
import { savings } from "./savings.js";
import { sizes } from "./sizes.js";
import { hasSources, source } from "./source.js";
import { hasSpace, space } from "./space.js";
import { hasSpans, spans } from "./spans.js";
import { tables } from "./tables.js";
import { threads } from "./threads.js";
import { hasTypes, types } from "./types.js";

export const views = [
	{ id: "flame", title: "Flame graph", view: flame },
	{ id: "table", title: "Tables", view: tables },
	{ id: "leaks", title: "Leaks", view: leaks },
	{ id: "churn", title: "Churn", view: churn },
	{ id: "reallocs", title: "Reallocs", view: reallocs },
	{ id: "savings", title: "Savings", view: savings },
	{ id: "sizes", title: "Sizes", view: sizes },
	{ id: "types", title: "Types", view: types, has: hasTypes },
	{ id: "spans", title: "Spans", view: spans, has: hasSpans },
	{ id: "threads", title: "Threads", view: threads },
	{ id: "errors", title: "Errors", view: errors },
	{ id: "space", title: "Address space", view: space, has: hasSpace },
	{ id: "source", title: "Source", view: source, has: hasSources },
];

// Those of a comparison.
export const changeViews = [
	{ id: "flame", title: "Flame graph", view: (model, state) => flame(model, state, changeLens(model)) },
	{ id: "stacks", title: "Stacks", view: stacks },
	{ id: "functions", title: "Functions", view: functions },
	{ id: "matching", title: "Matching", view: matching },
];
