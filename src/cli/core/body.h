/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/body.h — the body of a call: an object whose absent members are left out. json/write.h
 * writes the other members. */
#pragma once

#include "base/bytes.h"

void body_begin(struct buf *body);
/* NULL or an empty list adds nothing. */
void body_add_text(struct buf *body, const char *name, const char *value);
void body_add_texts(struct buf *body, const char *name, const char *const *values);
/* Adds JSON text from the user; refuses invalid JSON. */
MUST_CHECK int body_add_json(struct buf *body, const char *name, const char *value,
                             struct error *err);
/* Adds a setting from "KEY=VALUE". "KEY=@FILE" reads the value from a file and "KEY=-" from the
 * standard input, so that no list of processes shows it; both without the end of the line. */
MUST_CHECK int body_add_setting(struct buf *body, const char *text, struct error *err);
/* Closes the object and returns its text, which the buffer owns. */
const char *body_end(struct buf *body);
