/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/server.h — the api process: store, provider, fleet, workers, loop and HTTP server wired
 * together. Private to this folder. */
#pragma once

#include "daemon/options.h"

/* Until SIGTERM, or until nobody used it for config->idle_exit_ms. */
MUST_CHECK int server_run(struct arena *a, const struct daemon_options *o,
                          const struct config *config, struct error *err);
