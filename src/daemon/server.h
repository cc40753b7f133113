/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/server.h — the api process: wires store, provider, fleet, workers, loop and HTTP
 * server. */
#pragma once

#include "daemon/options.h"
#include "provider/provider.h"
#include "fleet/server/fleet.h"

/* Runs until SIGTERM, or until it was unused for config->idle_exit_ms. */
MUST_CHECK int server_run(struct arena *a, const struct daemon_options *o,
                          const struct config *config, struct error *err);

/* setup_link.c: while no user exists, logs the one-time link that makes the first. `listen`:
 * "http://HOST:PORT", where this server listens. */
struct config;
struct store;
void setup_link_tell(const struct config *config, struct store *store, const char *listen);
