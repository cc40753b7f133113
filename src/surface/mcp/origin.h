/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/origin.h — against web pages that let their name point at this machine (DNS
 * rebinding). Private to this folder; pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct mcp_origin {
	const char *host, *origin; /* headers; NULL = absent */
	const char *listen;        /* of the server: "127.0.0.1:7777" */
	const char *hosts;         /* further names, with commas; "*" = any */
	bool is_unix;              /* over a socket file, which no browser speaks to */
};
/* A server of this machine alone is asked for by a name of it; a page may call only the server that
 * it came from, or one that knows its name. */
MUST_CHECK int mcp_origin_check(const struct mcp_origin *o, struct error *err);
