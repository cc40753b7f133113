/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/volume_tasks.h — BROKER_VOLUME: work on volumes, in children. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct broker;
struct broker_volume;
struct pending_reply;

/* The reply comes later unless the call fails. */
MUST_CHECK int volume_start(struct broker *b, const struct pending_reply *reply,
                            const struct broker_volume *request, struct error *err);
/* Whether a volume is being attached to this sandbox, or detached from it. */
bool volume_tasks_include(const struct broker *b, const char *sandbox_id);
