/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/measure_task.h — BROKER_MEASURE: how much of the disk something takes; one child at
 * a time. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "broker/host/child.h"
#include "broker/host/pending_reply.h"
#include "wire/broker_measure.h"

struct broker;

struct measuring {
	struct broker_child child;
	struct pending_reply reply;
	bool is_running;
	enum broker_measured_kind kind;
	char id[ID_SIZE + 1];
	int report_fd;
};

/* The reply comes later unless the call fails. */
MUST_CHECK int measure_start(struct broker *b, const struct pending_reply *reply,
                             const struct broker_measure *request, struct error *err);
