/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/listen.h — listening sockets that outlive the api process. Private to this folder. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* "127.0.0.1:7777", "[::1]:0" or "unix:/path". An address that is taken is waited for, 2 s at most:
 * a restart comes sooner than the end of what a kill -9 hit. */
MUST_CHECK int listen_open(const char *address, int *ret_fd, struct error *err);
/* A unix socket called `name` in the folder; replaces one that was left there. */
MUST_CHECK int listen_open_unix(int folder, const char *name, int *ret_fd, struct error *err);
/* Appends "127.0.0.1:7777" with the scheme before it, or "unix". */
void listen_describe(int fd, const char *scheme, struct buf *out);
