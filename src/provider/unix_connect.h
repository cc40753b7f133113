/* SPDX-License-Identifier: Apache-2.0 */
/* provider/unix_connect.h — a connection to a unix socket that was opened as a path (O_PATH).
 *
 * A socket's address holds 107 bytes and the data folder may lie anywhere; a descriptor has no such
 * limit, and it was opened by the caller's rules about symbolic links. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* `type`: SOCK_STREAM or SOCK_SEQPACKET. ERROR_UNAVAILABLE when nobody listens. The connection
 * blocks. */
MUST_CHECK int unix_connect(int path_fd, int type, int64_t deadline, int *ret_fd,
                            struct error *err);
