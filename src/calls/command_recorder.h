/* SPDX-License-Identifier: Apache-2.0 */
/* calls/command_recorder.h — private: records the output of a command (terminal/command_cast.h).
 * All functions are called on the loop's thread, but for command_recorder_new. */
#pragma once

#include "base/bytes.h"
#include "wire/agent.h"

struct api_target;
struct command_recorder;
struct request;

struct command_recording {
	const char *title;
	uint32_t rows, columns;
};
/* Blocks; on the loop's thread it fails, and a worker repeats the call (request_may_block). */
MUST_CHECK int command_recorder_new(struct request *rq, const struct api_target *t,
                                    const struct command_recording *recording,
                                    struct command_recorder **ret, struct error *err);
void command_recorder_started(struct command_recorder *r, const struct agent_process *p);
void command_recorder_add(struct command_recorder *r, struct span bytes);
/* Of a command that has started; lives as long as the recorder. */
const char *command_recorder_id(const struct command_recorder *r);
/* No more output comes. A worker stores the recording of a command that has started; then, or at
 * once, the recorder is freed. NULL is fine. */
void command_recorder_end(struct command_recorder *r);
