/* SPDX-License-Identifier: Apache-2.0 */
/* provider/command_ends.h — commands that a limit ended and whose event is not written yet.
 *
 * The reader of an agent's message records the end; the loop thread must not write to the store.
 * The fleet's tick takes the ends and writes one event for each. For one sandbox and cause at most
 * one end is taken in COMMAND_ENDS_REST_MS; further ones are only counted, so that a loop of
 * failing commands floods neither the store nor webhooks.
 *
 * One table per process, of at most COMMAND_ENDS_MAX sandboxes; further ends are dropped. Any
 * thread. For a command that no limit ended, command_ends_note is one comparison. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

struct agent_process;

#define COMMAND_ENDS_MAX 4096
#define COMMAND_ENDS_REST_MS 60000

struct command_end {
	char id[ID_SIZE + 1]; /* of the sandbox */
	const char *cause;    /* a word of wire/agent_cause.h; lives for ever */
	uint64_t process;     /* the last one */
	int64_t exit_code;
	uint64_t count; /* since the last one taken; >= 1 */
};
/* Records the end of a command that a limit ended. Ignores everything else, and ends older than
 * COMMAND_ENDS_REST_MS: those were reported before. */
void command_ends_note(const char *id, const struct agent_process *p);
/* Takes the next end that is due at `now_ms` (monotonic); false when none is. */
bool command_ends_take(int64_t now_ms, struct command_end *ret);
