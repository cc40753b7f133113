/* SPDX-License-Identifier: Apache-2.0 */
/* provider/unix_connect.h — a connection to a unix socket that was opened as a path (O_PATH).
 *
 * A socket address holds 107 bytes, and the path of the data folder may be longer. A descriptor has
 * no such limit, and the caller has opened it by its own rules about symbolic links. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* `type`: SOCK_STREAM or SOCK_SEQPACKET. ERROR_UNAVAILABLE without a listener. The connection
 * is blocking. */
MUST_CHECK int unix_connect(int path_fd, int type, int64_t deadline, int *ret_fd,
                            struct error *err);
