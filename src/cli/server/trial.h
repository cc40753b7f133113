/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/trial.h — a server for one question, on a new data folder beside the real one, and its
 * end. Private to this folder.
 *
 * A child in a session of its own keeps the server. When its socket to us closes, by trial_close or
 * because this process has ended in whatever way, it ends the server and removes the folder. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/local.h"
#include "config/config.h"

struct trial_server {
	struct local_server server; /* no key: /readyz needs none */
	pid_t keeper;
	int keeper_fd;
};
/* Takes from the configuration what decides whether a sandbox can be made. Returns when the server
 * listens. */
MUST_CHECK int trial_open(struct arena *a, const char *data_dir, const struct config *config,
                          struct trial_server *ret, struct error *err);
/* Waits until server and folder are gone. */
MUST_CHECK int trial_close(struct trial_server *trial, struct error *err);
