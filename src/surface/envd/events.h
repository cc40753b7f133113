/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/events.h — the start, output and end of a process as messages of Connect streams.
 * Pure. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct agent_process;

void events_write_start(struct buf *out, uint32_t pid);
/* `stream`: stdout, stderr or pty. */
void events_write_data(struct buf *out, const char *stream, struct span bytes);
void events_write_end(struct buf *out, const struct agent_process *p);
#define EVENTS_PING "{\"event\":{\"keepalive\":{}}}"
