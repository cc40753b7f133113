/* SPDX-License-Identifier: Apache-2.0 */
/* cli/local.h — the server that runs for this user on this machine, started when it is needed.
 * Private to this folder.
 *
 * Its data folder holds everything: the socket run/api.sock, the key admin.key, the log
 * log/atolld.log and the lock run/start.lock, under which one of several CLIs starts it. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct local_server {
	const char *data_dir, *socket, *log, *key;
};
/* ATOLL_DATA, else config_data_dir_default(). */
MUST_CHECK int local_data_dir(struct arena *a, const char **ret, struct error *err);
/* Where everything is; `key` is read by local_server_start. */
MUST_CHECK int local_server_find(struct arena *a, struct local_server *ret, struct error *err);
bool local_server_answers(const struct local_server *server);
/* Starts it unless it answers, tells so on stderr when that takes a while, and reads the key. */
MUST_CHECK int local_server_start(struct arena *a, struct local_server *server, struct error *err);
/* Whether a process holds the data folder, wherever it listens. */
bool local_server_runs(struct arena *a, const char *data_dir);
/* The end of the log on stderr: why it did not start. */
void local_server_show_log(struct arena *a, const struct local_server *server);
/* The program `name` beside this one. */
MUST_CHECK int sibling_program(struct arena *a, const char *name, const char **ret,
                               struct error *err);
