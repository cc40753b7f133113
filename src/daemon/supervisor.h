/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor.h — keeps the broker and the api process alive. Private to this folder. */
#pragma once

#include "config/config.h"
#include "fleet/pairing.h"

/* Until SIGTERM or SIGINT, or until the api process has ended by itself. */
MUST_CHECK int supervisor_run(struct arena *a, const struct config *config, enum fleet_claim claim,
                              struct error *err);
