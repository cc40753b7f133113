/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/head.h — parses the head of a request or an answer and refuses every ambiguous head.
 *
 * llhttp parses; the stricter rules are ours: a proxy in front of the server may accept more than
 * the server, and such differences allow request smuggling. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "http/message/fault.h"

#define HEAD_FIELDS_MAX 100
#define HEAD_TARGET_MAX 8192

struct head_field {
	const char *name, *value;
};

/* Headers that the server itself uses; each may occur only once. */
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
	const char *method; /* "GET" */
	struct span target;
	int status; /* of an answer; an answer has no method and no target */
	bool is_http10, keep_alive, upgrade, chunked, expects_continue;
	int64_t content_length; /* -1 when absent */
	const char *known[HEAD_KNOWN_COUNT];
	struct head_field fields[HEAD_FIELDS_MAX];
	unsigned field_count;
};

/* Searches for the end of the head; *ret_size stays 0 until it arrives. *scanned, initially 0,
 * remembers how far earlier calls searched. */
enum http_fault head_find_end(struct span data, size_t *scanned, size_t *ret_size);
/* Checks the size of a head; size 0: the end has not arrived yet. */
enum http_fault head_check_size(struct span data, size_t size, size_t size_max);

/* Parses a whole head. Writes NULs into `text`, which must outlive `ret`. */
enum http_fault head_parse(char *text, size_t size, struct http_head *ret);

/* Parses the head of an answer under the same rules. The status is within 100 to 599. */
enum http_fault head_parse_answer(char *text, size_t size, struct http_head *ret);

/* The header's value, NULL when absent; ignores case. */
const char *head_find(const struct http_head *head, const char *name);
/* Whether the name is one of the NULL-terminated `names`, in any case; false for NULL. */
bool head_name_is_of(const char *name, const char *const *names);
