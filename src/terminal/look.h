/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/look.h — a window with its screen, up to the last byte of output. */
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
/* Feeds new output to the screen; lost output before it makes a new screen. */
void look_feed(struct window_look *look, const struct agent_output *o);
void look_done(struct window_look *look);
