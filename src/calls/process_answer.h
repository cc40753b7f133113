/* SPDX-License-Identifier: Apache-2.0 */
/* calls/process_answer.h — a command of a sandbox as the native API answers it:
 * {"process":1,"state":"running",…}. */
#pragma once

#include "json/json.h"

struct agent_process;

extern const struct json_shape process_shape;
void process_write(struct buf *out, const struct agent_process *p);
