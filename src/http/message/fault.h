/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/fault.h — requests that the server itself refuses, without a handler: a row for each
 * reason. */
#pragma once

#include "base/bytes.h"

enum http_fault {
	FAULT_NONE,
	FAULT_LINE_END,
	FAULT_REQUEST_LINE,
	FAULT_STATUS_LINE,
	FAULT_VERSION,
	FAULT_HEADER,
	FAULT_HEADER_DOUBLED,
	FAULT_HOST,
	FAULT_HOST_UNKNOWN,
	FAULT_NODE,
	FAULT_LENGTH,
	FAULT_CODING,
	FAULT_TARGET,
	FAULT_PATH,
	FAULT_CHUNK,
	FAULT_HEAD_SIZE,
	FAULT_HEADER_COUNT,
	FAULT_TARGET_SIZE,
	FAULT_EXPECT,
	FAULT_HEAD_SLOW,
	FAULT_BODY_SLOW,
	FAULT_BODY_SIZE,
	FAULT_MEDIA,
	FAULT_ROUTE,
	FAULT_METHOD,
	FAULT_CONNECTIONS,
	FAULT_DRAINING,
	FAULT_COUNT,
};

struct http_fault_kind {
	int status;
	const char *code; /* stable, for machines */
	const char *text;
	const char *hint; /* may be NULL */
};
const struct http_fault_kind *fault_kind_get(enum http_fault fault);

/* Writes {"error":{"code":…,"message":…,"resource":…,"hint":…,"quota":{…},"request_id":…}}. */
struct error_body {
	const char *code, *message;
	const char *resource; /* kind of the object that does not exist; NULL or empty: left out */
	const char *hint;     /* NULL or empty: left out */
	const char *request_id;          /* NULL: left out */
	const struct error_quota *quota; /* NULL or without a name: left out */
};
void error_body_write(struct buf *out, const struct error_body *body);
/* The same for an error; also for programs that serve no requests. */
void http_write_error(struct buf *out, const struct error *err, const char *request_id);
/* The same as a member of the object that is being written: "error":{…}. */
void http_add_error(struct buf *out, const struct error *err);
