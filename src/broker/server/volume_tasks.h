/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/volume_tasks.h — BROKER_VOLUME: work on volumes, in children. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct broker;
struct request_context;

/* The reply comes later unless the call fails. */
MUST_CHECK int volume_start(const struct request_context *c, const void *message,
                            struct error *err);
/* Whether a volume is being attached to this sandbox, or detached from it. */
bool volume_tasks_include(const struct broker *b, const char *sandbox_id);
