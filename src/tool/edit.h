/* SPDX-License-Identifier: Apache-2.0 */
/* tool/edit.h — replaces a text in a file's content. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct text_edit {
	struct span old_text, new_text;
	bool all;
};
struct text_edit_result {
	int64_t count; /* replacements */
	int64_t line;  /* of the first replacement */
};
/* Appends the edited content. If all lines of the content end in CRLF, the line feeds of both texts
 * become CRLF. ERROR_CONFLICT for a text that is missing, or that occurs several times without
 * `all`. */
MUST_CHECK int edit_apply(struct span content, const struct text_edit *edit, struct buf *out,
                          struct text_edit_result *ret, struct error *err);
