/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/protocol.h — MCP as JSON-RPC messages, in both of its eras. Private to this folder.
 *
 * Up to 2025-11-25 a client begins with "initialize" and names a session from then on; from
 * 2026-07-28 each request stands alone and says in _meta what it speaks. Which of them a request
 * is of, its own words tell. */
#pragma once

#include <stdbool.h>

#include "json/json.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest of the old ones */
/* The old ones that are spoken as they are asked for, and then the modern ones; with NULLs. */
extern const char *const mcp_legacy_versions[], *const mcp_modern_versions[];

enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_NO_SESSION = -32001,
	MCP_NO_RESOURCE = -32002,
	MCP_HEADER_MISMATCH = -32020,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* What a call's _meta may have of ours: where the turn came from, as of background jobs. */
#define MCP_ORIGIN "atoll/origin"
#define MCP_ORIGIN_MAX 4096

/* A refusal: what the message says and the HTTP status that goes with it. */
struct mcp_fault {
	int code, status;
	char text[256];
	const char *requested; /* MCP_UNSUPPORTED_VERSION: the version asked for */
};
/* Always -1. */
int mcp_refuse(struct mcp_fault *fault, int code, int status, const char *format, ...) PRINTF(4, 5);

/* Headers that the protocol knows; NULL = absent. */
struct mcp_headers {
	const char *version, *method, *name;
	bool absent; /* of a bridge from stdio, which has none: the body alone speaks */
};
struct mcp_message {
	struct span id; /* JSON text; size 0 = a notification */
	const char *method;
	const struct json_value *params; /* an object, or NULL */
	const char *version;
	bool is_modern;
};
/* A message from a client; a response of his, of which there is nothing to say, has no method.
 * ret->id is set as far as it can be told, for the refusal. */
MUST_CHECK int mcp_parse(struct arena *a, struct span body, const struct mcp_headers *headers,
                         struct mcp_message *ret, struct mcp_fault *fault);

/* A text or a number of at most so many bytes, as JSON; nothing for what is neither. */
#define MCP_ID_MAX 256
void mcp_print_id(struct buf *out, const struct json_value *id);
/* {"jsonrpc":"2.0","id":…,"error":{…}} */
void mcp_write_fault(struct buf *out, struct span id, const struct mcp_fault *fault);
