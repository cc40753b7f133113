/* SPDX-License-Identifier: Apache-2.0 */
/* tool/window.h — the terminal window that a tool works in. */
#pragma once

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
