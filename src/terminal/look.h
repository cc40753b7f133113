/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/look.h — a window's screen, up to its last byte of output. Private to this folder. */
#pragma once

#include "terminal/screens.h"
#include "terminal/terminals.h"

struct window_look {
	struct terminals *terminals;
	struct terminal_window window;
	struct screen_key key;
	struct screen *screen;
};
MUST_CHECK int look_open(struct window_look *look, const struct terminal_at *at, struct arena *a,
                         struct error *err);
/* Output that is not on the screen yet; what was lost before it makes a new screen. */
void look_feed(struct window_look *look, const struct agent_output *o);
void look_done(struct window_look *look);
