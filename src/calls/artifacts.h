/* SPDX-License-Identifier: Apache-2.0 */
/* calls/artifacts.h — the files that a command made or changed in its workspace, told with its
 * result:
 * {"path","size","media_type"}. Private to this folder.
 *
 * After its end the agent is asked for the regular files whose status changed since its start: one
 * walk, no state before. What something else changes meanwhile is told too. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "http/relay.h"
#include "wire/agent_files.h"

#define ARTIFACTS_MAX 100
/* Of all of them as JSON, with room: a byte of a path is six at worst. */
#define ARTIFACTS_SIZE_MAX ((size_t)ARTIFACTS_MAX * (6 * 4096 + 128))

struct artifacts {
	char *root, *user; /* NULL: nobody wants to know */
	bool asked;
	unsigned count;
};
void artifacts_init(struct artifacts *a, const char *root, const char *user);
void artifacts_done(struct artifacts *a);
/* Asks the agent; AGENT_FILE up to AGENT_DONE, or AGENT_FAILED, follow. */
MUST_CHECK int artifacts_ask(struct artifacts *a, struct relay *relay, uint64_t started_unix_ms,
                             struct error *err);
/* One more item of a JSON list. */
void artifacts_write(struct artifacts *a, const struct agent_file *file, struct buf *out);
