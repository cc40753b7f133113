/* SPDX-License-Identifier: Apache-2.0 */
/* denied/denied.h — /run/atoll/denied.jsonl of a sandbox: the connections that its network rules
 * refused, for programs inside, one JSON object a line.
 *
 * After the decision log has written refusals of a sandbox to the store, a task of the agents' lane
 * reads the newest ones and asks the sandbox's agent to replace the file. So the file is whole at
 * each moment and has a limit, and a restarted server needs no state. A task counts against its
 * sandbox's share, because the agent may be hostile or slow; a sandbox has one task at a time. The
 * file is information for the sandbox: its root user can change it, and nothing reads it back. */
#pragma once

#include "base/error.h"

struct arena;
struct buf;
struct decision_list;
struct decision_log;
struct denied;
struct fleet;
struct store;
struct worker_pool;

/* Below /run, a file system of the sandbox in memory. */
#define DENIED_ROOT "/run"
#define DENIED_PATH "atoll/denied.jsonl"
#define DENIED_LINES_MAX 200
#define DENIED_BYTES_MAX ((size_t)256 * 1024)

struct denied_options {
	struct store *store;
	struct fleet *fleet;
	struct worker_pool *workers;
	struct decision_log *decisions;
};
struct denied *denied_open(const struct denied_options *options);
/* Returns when no task runs or waits. Call it before the workers stop. NULL is fine. */
void denied_close(struct denied *d);

/* Adds a line for each row: host or address, port, protocol, code, rule, count, a message, and
 * under `ask` the tool call that asks a person for access, or null where asking does not help. */
void denied_add_lines(struct buf *out, const struct decision_list *rows);
