/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/broker_lock.h — the lock that all brokers on this host share.
 *
 * Several brokers, each with its own data folder, share the host's cgroup trees and nft table. Each
 * holds a shared lock while it lives. The broker that ends and finds no other lock is the last one,
 * and removes what is shared. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Makes the file `path` if it is missing; its folder exists. Waits while the last broker removes
 * what is shared. */
MUST_CHECK int broker_lock_enter(const char *path, int *ret_fd, struct error *err);
/* True: no other broker runs, and none starts until the caller closes the descriptor or shares the
 * lock again. False: the lock may be lost, and the caller does the same. */
bool broker_lock_is_last(int fd);
void broker_lock_share(int fd);
