/* SPDX-License-Identifier: Apache-2.0 */
/* tool/record.h — private: the activity of a tool call. */
#pragma once

#include "base/bytes.h"

struct activity_note;
struct tool;
struct tool_call;
struct tool_result;

struct activity_note *tool_begin_note(const struct tool *tool, const struct tool_call *call,
                                      struct span input);
/* `result`: NULL when the call has failed with `err`. */
void tool_end_note(const struct tool *tool, struct activity_note *n,
                   const struct tool_result *result, const struct error *err);
