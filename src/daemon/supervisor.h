/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor.h — starts the broker and the api process again when they die. */
#pragma once

#include "fleet/server/pair.h"

struct config;

/* Runs until SIGTERM or SIGINT, or until the api process exits by itself. */
MUST_CHECK int supervisor_run(struct arena *a, const struct config *config, enum fleet_claim claim,
                              struct error *err);
