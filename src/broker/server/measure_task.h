/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/measure_task.h — BROKER_MEASURE: how much of the disk something takes; one task at
 * a time. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "broker/host/task_start.h"

struct request_context;

struct measuring {
	struct broker_task task;
	struct pending_reply reply;
	bool is_running;
	char id[ID_SIZE + 1];
};

/* The reply comes later unless the call fails. */
MUST_CHECK int measure_start(const struct request_context *c, const void *message,
                             struct error *err);
