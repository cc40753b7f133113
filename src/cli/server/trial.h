/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/trial.h — a temporary server on a new data folder beside the real one.
 *
 * A child process in its own session holds the server. When its socket to this process closes, by
 * trial_close or by any end of this process, it ends the server and removes the folder. */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"
#include "cli/core/local.h"
#include "config/config.h"

struct trial_server {
	struct local_server server; /* no key: /readyz needs none */
	pid_t keeper;
	int keeper_fd;
};
/* Starts the server with the options of `config` that decide whether sandboxes can be made. Returns
 * when it listens. */
MUST_CHECK int trial_open(struct arena *a, const char *data_dir, const struct config *config,
                          struct trial_server *ret, struct error *err);
/* Waits until the server has ended and the folder is removed. */
MUST_CHECK int trial_close(struct trial_server *trial, struct error *err);
