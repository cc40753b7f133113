/* SPDX-License-Identifier: Apache-2.0 */
/* tool/call.h — the paths, waits and approvals of a call. */
#pragma once

#include <stdint.h>

#include "base/attribute.h"
#include "base/span.h"

struct agent_path;
struct tool;
struct tool_call;
struct tool_result;

/* Resolves a path of the workspace for the agent; NULL is the workspace itself. */
MUST_CHECK int tool_resolve_path(const struct tool_call *call, const char *path,
                                 struct agent_path *ret, struct error *err);

/* How long a call waits. `asked` 0: `otherwise`, but at most timeout_max_ms. ERROR_INVALID when
 * `asked` is longer than timeout_max_ms. */
MUST_CHECK int tool_wait_ms(const struct tool_call *call, int64_t asked, int64_t otherwise,
                            int64_t *ret, struct error *err);

/* Waits for the approval of a call. Sets ret->pending when there is no decision in time. */
MUST_CHECK int tool_await_approval(const struct tool *tool, const struct tool_call *call,
                                   struct span input, struct tool_result *ret, struct error *err);

/* "https://host:port": as the caller reaches this server, else this server's own address. */
const char *tool_server_address(const struct tool_call *call);
