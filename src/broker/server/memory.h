/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/memory.h — BROKER_MEMORY: why the memory of a sandbox cannot be written to disk
 * here.
 *
 * A task tries it once, when it is first asked. The result holds until the broker ends. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "broker/host/task_start.h"

#define MEMORY_REPLIES_MAX 16

struct request_context;

struct memory_probe {
	struct broker_task task;
	bool is_running, is_known;
	struct error found; /* ERROR_NONE: it works */
	struct pending_reply waiting[MEMORY_REPLIES_MAX];
	unsigned waiting_count;
};

/* The reply may come later. */
MUST_CHECK int memory_ask(const struct request_context *c, const void *request, struct error *err);
