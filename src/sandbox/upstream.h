/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/upstream.h — the HTTP proxy through which connections of sandboxes leave: the option
 * network_proxy, and the login of network_proxy_login_file. Pure. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/egress.h"

#define UPSTREAM_LOGIN_MAX 512 /* bytes of "USER:PASSWORD" */

struct upstream_proxy {
	char host[SANDBOX_HOST_NAME_MAX + 1]; /* "" when the option has an address */
	uint32_t address;                     /* IPv4, host byte order; 0 when it has a name */
	uint16_t port;                        /* 0: there is no proxy */
};
/* Parses "http://HOST:PORT"; "" is no proxy. The error does not repeat the text, which may have a
 * password where none belongs. */
MUST_CHECK int upstream_proxy_parse(const char *text, struct upstream_proxy *ret,
                                    struct error *err);
/* Finds "USER:PASSWORD" in the text of a login file: its only line. The error does not repeat it.
 * Borrows the text. */
MUST_CHECK int upstream_login_parse(struct span text, struct span *ret, struct error *err);
