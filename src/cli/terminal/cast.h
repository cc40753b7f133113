/* SPDX-License-Identifier: Apache-2.0 */
/* cli/terminal/cast.h — parses a terminal recording, asciicast version 2, line by line. */
#pragma once

#include "base/bytes.h"

struct cast_event {
	int64_t at_us;
	struct span bytes; /* of output, in the arena; NULL for other kinds */
};
/* Parses the first line. */
MUST_CHECK int cast_parse_head(struct arena *a, struct span line, int64_t *ret_columns,
                               int64_t *ret_rows, struct error *err);
MUST_CHECK int cast_parse_event(struct arena *a, struct span line, struct cast_event *ret,
                                struct error *err);
