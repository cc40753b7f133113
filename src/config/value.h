/* SPDX-License-Identifier: Apache-2.0 */
/* config/value.h — one option's text to its member and back. */
#pragma once

#include "base/bytes.h"
struct config;
struct config_option;

/* Errors say what is expected; the caller adds the place in front. */
MUST_CHECK int value_set(struct arena *a, const struct config_option *option, const char *text,
                         struct config *config, struct error *err);
/* Appends the value as value_set takes it. */
void value_write(struct buf *out, const struct config_option *option, const struct config *config);
/* Appends a text as YAML has it. */
void value_write_quoted(struct buf *out, const char *text);
/* Appends the bounds or the words of an option ("1 … 256"); nothing when it has none. */
void value_write_bounds(struct buf *out, const struct config_option *option);
