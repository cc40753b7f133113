/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/data.h — the data folder: what must be there before anything runs. Private to this folder.
 *
 *   DATA/admin.key       the first key; 0600, of whoever started the server
 *   DATA/node.id         what this server is called among those that share a database
 *   DATA/store, keys, tmp  the api process's own
 *   DATA/run             sockets; run/api.sock is where local clients connect
 *   all else             the broker's */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "daemon/identity.h"

struct data_folder {
	int fd, run_fd;
	int lock_fd; /* held as long as the server lives: one server per folder */
};
/* `owner`: of what belongs to the api process; NULL = whoever runs this. */
MUST_CHECK int data_open(const char *path, const struct identity *owner, struct data_folder *ret,
                         struct error *err);
/* Whether the path still leads to the folder that is open. */
bool data_is_in_place(const struct data_folder *d, const char *path);
/* What DATA/node.id says; the folder has been opened once. */
MUST_CHECK int data_node_read(const char *path, struct id *ret, struct error *err);
/* The way by which this process reaches the folder. It is `path` itself, unless a folder above it
 * is closed to the process, as a home of mode 0700 is; then it is the current folder, which a
 * supervisor has set. */
const char *data_reach(const char *path);
void data_close(struct data_folder *d); /* may be called again */
/* Opens DATA/admin.key for reading; makes it with a new key when it is missing. */
MUST_CHECK int data_key_open(const struct data_folder *d, int *ret_fd, struct error *err);
