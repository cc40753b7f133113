/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/parser.h — runs llhttp over a whole head. A separate file, because llhttp.h and
 * http/server/http.h both define HTTP_GET. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "http/message/fault.h"

#define PARSER_FIELDS_MAX 100

struct parsed_head {
	struct span target; /* of a request */
	struct {
		struct span name, value;
	} fields[PARSER_FIELDS_MAX];
	unsigned count;
	int status; /* of an answer */
	bool is_http10, keep_alive, upgrade;
};
enum parser_kind { PARSER_REQUEST, PARSER_ANSWER };
/* Returns FAULT_NONE, or why llhttp refuses the head. The result borrows from `text`. */
MUST_CHECK enum http_fault parser_run(enum parser_kind kind, struct span text,
                                      struct parsed_head *ret);
