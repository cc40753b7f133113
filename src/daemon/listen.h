/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/listen.h — listening sockets that outlive the api process. */
#pragma once

#include "base/bytes.h"

/* Listens at "127.0.0.1:7777", "[::1]:0" or "unix:/path". Waits up to 2 s for an address in use: a
 * restart may come before a killed server has released it. */
MUST_CHECK int listen_open(const char *address, int *ret_fd, struct error *err);
/* Listens on a unix socket `name` in the folder; replaces a leftover socket. */
MUST_CHECK int listen_open_unix(int folder, const char *name, int *ret_fd, struct error *err);
/* Appends the scheme and "127.0.0.1:7777", or "unix". */
void listen_describe(int fd, const char *scheme, struct buf *out);
