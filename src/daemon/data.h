/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/data.h — the data folder: everything that must exist before the server starts.
 *
 *   DATA/admin.key         the first key; mode 0600, owned by the user who started the server
 *   DATA/node.id           the name of this server among those that share a database
 *   DATA/store, keys, tmp  owned by the api process
 *   DATA/run               sockets; local clients connect to run/api.sock
 *   everything else        owned by the broker */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "daemon/identity.h"

struct data_folder {
	int fd, run_fd;
	int lock_fd; /* locked while the server runs: one server per folder */
};
/* `owner`: of the api process's folders; NULL = the user of this process. */
MUST_CHECK int data_open(const char *path, const struct identity *owner, struct data_folder *ret,
                         struct error *err);
/* Whether the path still leads to the open folder. */
bool data_is_in_place(const struct data_folder *d, const char *path);
/* Reads DATA/node.id of a folder that has been opened before. */
MUST_CHECK int data_node_read(const char *path, struct id *ret, struct error *err);
/* The path by which this process reaches the folder: `path`, unless a folder above it is closed to
 * the process, such as a home of mode 0700. Then it is the current folder, which the supervisor
 * set. */
const char *data_reach(const char *path);
void data_close(struct data_folder *d); /* may be called again */
/* Opens DATA/admin.key for reading; creates it with a new key if it is missing. */
MUST_CHECK int data_key_open(const struct data_folder *d, int *ret_fd, struct error *err);
