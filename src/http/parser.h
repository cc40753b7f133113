/* SPDX-License-Identifier: Apache-2.0 */
/* http/parser.h — llhttp, run over one whole head. Apart, because llhttp.h and http.h both name
 * their methods HTTP_GET. */
#pragma once

#include <stdbool.h>

#include "base/attribute.h"
#include "base/span.h"

#define PARSER_FIELDS_MAX 100

struct parsed_head {
	struct span target;
	struct {
		struct span name, value;
	} fields[PARSER_FIELDS_MAX];
	unsigned count;
	bool too_many; /* why it failed */
	bool is_http10, keep_alive, upgrade;
};
/* 0, or -1 when llhttp refuses the head. Everything is borrowed from `text`. */
MUST_CHECK int parser_run(struct span text, struct parsed_head *ret);
