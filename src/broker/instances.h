/* SPDX-License-Identifier: Apache-2.0 */
/* broker/instances.h — several brokers, each with a data folder of its own, share this host's
 * cgroup trees and nft table. Each holds a lock while it lives; whoever finds nobody else's when it
 * ends is the last, and removes what is shared. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Waits for one that is just removing things. `path` is made if missing; its folder is there. */
MUST_CHECK int instances_enter(const char *path, int *ret_fd, struct error *err);
/* True: nobody else is there, and nobody comes until the caller closes the descriptor. */
bool instances_is_last(int fd);
