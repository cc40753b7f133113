/* SPDX-License-Identifier: Apache-2.0 */
/* calls/artifacts.h — lists the files that a command made or changed in its workspace:
 * {"path","size","media_type"}.
 *
 * After the command the agent lists the regular files whose status changed since the command
 * started. Nothing is recorded before the command, so the list includes changes by other commands.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct agent_file;
struct relay;

#define ARTIFACTS_MAX 100
/* Upper bound of the list as JSON: a byte of a path takes at most six. */
#define ARTIFACTS_SIZE_MAX ((size_t)ARTIFACTS_MAX * (6 * 4096 + 128))

struct artifacts {
	char *root, *user; /* NULL: no list is wanted */
	bool asked;
	unsigned count;
};
void artifacts_init(struct artifacts *a, const char *root, const char *user);
void artifacts_done(struct artifacts *a);
/* Sends the request to the agent. It answers with AGENT_FILEs and AGENT_DONE, or AGENT_FAILED. */
MUST_CHECK int artifacts_ask(struct artifacts *a, struct relay *relay, uint64_t started_unix_ms,
                             struct error *err);
/* Appends an item of the JSON list. */
void artifacts_write(struct artifacts *a, const struct agent_file *file, struct buf *out);
