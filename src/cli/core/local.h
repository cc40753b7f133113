/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/local.h — the local server of this user and machine, started on demand.
 *
 * Its data folder holds the socket run/api.sock, the key admin.key, the log log/atolld.log, and the
 * lock run/start.lock, which lets only one CLI start it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"

struct local_server {
	const char *data_dir, *socket, *log, *key;
};
/* ATOLL_DATA, or config_data_dir_default(). */
MUST_CHECK int local_data_dir(struct arena *a, const char **ret, struct error *err);
/* Fills the paths; local_server_start fills `key`. */
MUST_CHECK int local_server_find(struct arena *a, struct local_server *ret, struct error *err);
bool local_server_answers(const struct local_server *server);
/* Starts the server unless it answers, prints a message if that takes long, and reads the key. */
MUST_CHECK int local_server_start(struct arena *a, struct local_server *server, struct error *err);
/* Whether a process holds the data folder's lock, wherever it listens. */
bool local_server_runs(struct arena *a, const char *data_dir);
/* Prints the end of the log to stderr, which says why the server did not start. */
void local_server_show_log(struct arena *a, const struct local_server *server);
/* Like mkdir -p. */
MUST_CHECK int make_folders(const char *path, mode_t mode, struct error *err);
/* atolld, in the folder of this program. The hint of the error suits an installation without it. */
MUST_CHECK int server_program_find(struct arena *a, const char **ret, struct error *err);
