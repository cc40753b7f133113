/* SPDX-License-Identifier: Apache-2.0 */
/* config/url.h — URLs of this server and of other servers, in parts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* "http://10.0.0.5:7777/prefix": the server as agents reach it. Agents resolve no names. */
struct config_callback {
	char address[46]; /* numeric */
	uint16_t port;
	char host[64];  /* of the Host header */
	char path[256]; /* "" or "/prefix" */
};
MUST_CHECK int config_callback_parse(const char *url, struct config_callback *ret,
                                     struct error *err);

/* "http://10.0.0.2:7777" or "https://[fd00::2]:443": a server that this one forwards requests to.
 */
struct config_peer {
	bool is_https;
	char host[256]; /* a name, or an address without brackets */
	uint16_t port;
};
MUST_CHECK int config_peer_parse(const char *url, struct config_peer *ret, struct error *err);
