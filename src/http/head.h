/* SPDX-License-Identifier: Apache-2.0 */
/* http/head.h — the head of a request or an answer: bytes to fields, refusing all that two parsers
 * could read in two
 * ways. llhttp parses; the rules on top are ours, because a proxy before us may be more forgiving
 * than we are, and what it forgives becomes a smuggled request. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "http/fault.h"
#include "http/http.h"

#define HEAD_FIELDS_MAX 100
#define HEAD_TARGET_MAX 8192

struct head_field {
	const char *name, *value;
};

/* Headers that the server itself looks at; each may occur once. */
enum head_known {
	HEAD_HOST,
	HEAD_CONTENT_LENGTH,
	HEAD_TRANSFER_ENCODING,
	HEAD_CONTENT_TYPE,
	HEAD_EXPECT,
	HEAD_UPGRADE,
	HEAD_REQUEST_ID,
	HEAD_AUTHORIZATION,
	HEAD_WEBSOCKET_KEY,
	HEAD_WEBSOCKET_VERSION,
	HEAD_KNOWN_COUNT,
};

struct http_head {
	enum http_method method; /* HTTP_ANY for one that has no name in http.h */
	const char *method_name;
	struct span target;
	int status; /* of an answer, which has no method and no target */
	bool is_http10, keep_alive, upgrade, chunked, expects_continue;
	int64_t content_length; /* -1 when there is none */
	const char *known[HEAD_KNOWN_COUNT];
	struct head_field fields[HEAD_FIELDS_MAX];
	unsigned field_count;
};

/* Looks for the end of the head. *ret_size stays 0 while it is not there yet; *scanned, first 0,
 * remembers how far earlier calls have looked. */
enum http_fault head_find_end(struct span data, size_t *scanned, size_t *ret_size);
/* Of a head of `size` bytes, or of data that holds none yet (0). */
enum http_fault head_check_size(struct span data, size_t size, size_t size_max);

/* Parses a whole head. `text` is changed (values get their NUL) and must outlive `ret`. */
enum http_fault head_parse(char *text, size_t size, struct http_head *ret);

/* The same for the head of an answer; no less strict. The status is one of 100 to 599. */
enum http_fault head_parse_answer(char *text, size_t size, struct http_head *ret);

/* NULL when absent; names compare without case. */
const char *head_find(const struct http_head *head, const char *name);
