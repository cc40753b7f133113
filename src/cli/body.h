/* SPDX-License-Identifier: Apache-2.0 */
/* cli/body.h — writes the body of a call: a JSON object, member by member. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attribute.h"
#include "base/buf.h"
#include "base/error.h"

void body_begin(struct buf *body);
/* NULL or an empty list adds nothing. */
void body_add_text(struct buf *body, const char *name, const char *value);
void body_add_texts(struct buf *body, const char *name, const char *const *values);
void body_add_whole(struct buf *body, const char *name, int64_t value);
/* Adds JSON text from the user; refuses invalid JSON. */
MUST_CHECK int body_add_json(struct buf *body, const char *name, const char *value,
                             struct error *err);
void body_add_bool(struct buf *body, const char *name, bool value);
/* Closes the object and returns its text, which the buffer owns. */
const char *body_end(struct buf *body);
