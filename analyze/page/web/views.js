// SPDX-License-Identifier: MIT
// The views, in the order of their tabs: {id, title, view(model, state) → {element, update()}}. `has(model)`, where
// there is one, says whether the trace has something to show there.
import { flame } from "./flame.js";

export const views = [{ id: "flame", title: "Flame graph", view: flame }];
