/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/protocol.h — MCP as JSON-RPC messages, in both of its eras.
 *
 * Up to 2025-11-25 a client begins with "initialize" and names a session from then on (legacy
 * era). From 2026-07-28 each request is complete and names its version in _meta (modern era). A
 * request's own members tell its era. */
#pragma once

#include <stdbool.h>

#include "json/json.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest legacy version */
/* The supported versions of each era, NULL-terminated. */
extern const char *const mcp_legacy_versions[], *const mcp_modern_versions[];
/* Both eras in one list, newest first: server/discover and a refusal say the same. */
void mcp_add_versions(struct buf *out, const char *name);

enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_NO_SESSION = -32001,
	MCP_NO_RESOURCE = -32002,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* Member of a call's _meta: the origin of the conversation's message, for background jobs. */
#define MCP_ORIGIN "atoll/origin"
#define MCP_ORIGIN_MAX 4096

/* A JSON-RPC error and its HTTP status. */
struct mcp_fault {
	int code, status;
	char text[256];
	const char *requested; /* MCP_UNSUPPORTED_VERSION: the version asked for */
	const char *missing;   /* MCP_MISSING_CAPABILITY: its name */
};
/* Always -1. */
int mcp_refuse(struct mcp_fault *fault, int code, int status, const char *format, ...) PRINTF(4, 5);

/* Headers that the protocol knows; NULL = absent. */
struct mcp_headers {
	const char *version, *method, *name;
	bool absent; /* a bridge from stdio has no headers: only the body counts */
};
struct mcp_message {
	struct span id; /* JSON text; size 0 = a notification */
	const char *method;
	const struct json_value *params; /* an object, or NULL */
	const char *version;
	const struct json_value *capabilities; /* modern: of the client; else NULL */
	const char *log_level; /* modern: that the client wants during this request; or NULL */
	bool is_modern;
};
/* Parses a message from a client. A response of the client has no method. ret->id is set, if
 * possible, also on failure, for the error. */
MUST_CHECK int mcp_parse(struct arena *a, struct span body, const struct mcp_headers *headers,
                         struct mcp_message *ret, struct mcp_fault *fault);

/* Writes an id, which is a text or a number of at most MCP_ID_MAX bytes; nothing for other values.
 */
#define MCP_ID_MAX 256
void mcp_print_id(struct buf *out, const struct json_value *id);
/* {"jsonrpc":"2.0","id":…,"error":{…}} */
void mcp_write_fault(struct buf *out, struct span id, const struct mcp_fault *fault);
/* Begins an answer to the request with this id, as JSON; empty: null. The caller adds the result
 * or the error, and ends the object. */
void mcp_begin_answer(struct buf *out, struct span id);
