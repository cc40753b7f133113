/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/origin.h — protects against web pages whose name points at this machine (DNS
 * rebinding). Pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct mcp_origin {
	const char *host, *origin; /* headers; NULL = absent */
	const char *listen;        /* of the server: "127.0.0.1:7777" */
	const char *hosts;         /* further names, separated by commas; "*" = any */
	bool is_unix;              /* over a unix socket, which browsers cannot use */
};
/* A server that listens on this machine only accepts only local names. A page may call only the
 * server that it came from, or a server that lists the page's host. */
MUST_CHECK int mcp_origin_check(const struct mcp_origin *o, struct error *err);
