/* SPDX-License-Identifier: Apache-2.0 */
/* tool/window.h — the terminal window that a tool works in. */
#pragma once

#include "grant/grant.h"
#include "terminal/secrets.h"
#include "terminal/terminal.h"
#include "tool/tool.h"

#define TOOL_WINDOW "main" /* for a call that names none */

static inline struct terminal_at tool_window_at(const struct tool_call *call, const char *window)
{
	return (struct terminal_at){
	        .terminals = call->terminals,
	        .hold = call->hold,
	        .window = window ? window : TOOL_WINDOW,
	        .deadline = call->deadline,
	        .cancel = call->cancel,
	        .on_progress = call->on_progress,
	        .progress_context = call->progress_context,
	        .who = call->key_id,
	};
}

/* window_secrets.c: what a new window of the call's conversation gets, in *ret. The call and `ret`
 * outlive the opening. */
struct tool_window_secrets {
	const struct tool_call *call;
	struct grant_place place;
	struct grant_environment environment;
	struct terminal_secrets secrets;
};
MUST_CHECK int tool_prepare_window(const struct tool_call *call, struct tool_window_secrets *keep,
                                   struct terminal_open *ret, struct error *err);
void tool_window_secrets_done(struct tool_window_secrets *keep); /* overwrites the values */
/* The same for a call that opens no window; `keep` outlives it. */
struct terminal_secrets tool_guard_window(const struct tool_call *call,
                                          struct tool_window_secrets *keep);
/* Refuses a window that has credentials of another conversation. */
MUST_CHECK int tool_enter_window(const struct tool_call *call, const char *window,
                                 struct error *err);
