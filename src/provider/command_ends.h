/* SPDX-License-Identifier: Apache-2.0 */
/* provider/command_ends.h — commands that a limit ended, until their event is written.
 *
 * The reader of an agent's message notes the end; it may be the loop thread, which must not write
 * to the store. The fleet's tick takes the ends and writes one event for each. Of one sandbox and
 * one cause at most one end is given out in COMMAND_ENDS_REST_MS; those between are counted, so
 * that a loop of failing commands fills neither the store nor anybody's webhook.
 *
 * One table of this process, of at most COMMAND_ENDS_MAX sandboxes: past that an end is dropped.
 * Any thread may call. For a command that no limit ended, command_ends_note is a comparison. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "wire/agent.h"

#define COMMAND_ENDS_MAX 4096
#define COMMAND_ENDS_REST_MS 60000

struct command_end {
	char id[ID_SIZE + 1]; /* of the sandbox */
	const char *cause;    /* a word of wire/agent_cause.h; lives for ever */
	uint64_t process;     /* the last one */
	int64_t exit_code;
	uint64_t count; /* since the last that was given out; >= 1 */
};
/* Of what is not the end of a command, or not by a limit, nothing is kept; nor of an end that is
 * older than COMMAND_ENDS_REST_MS: somebody has asked again for what was told. */
void command_ends_note(const char *id, const struct agent_process *p);
/* The next one that is due at `now_ms` (monotonic); false when there is none. */
bool command_ends_take(int64_t now_ms, struct command_end *ret);
size_t command_ends_count(void); /* of sandboxes in the table */
