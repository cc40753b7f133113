/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/text_out.h — texts for people: sizes, ages.
 *
 * Texts from a server or a sandbox pass through text_out_safe before a terminal shows them: control
 * characters become '?'. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "json/json.h"

const char *text_out_safe(struct arena *a, const char *text);
/* "1.5 GiB", "12 KiB", "7 B". */
const char *text_out_bytes(struct arena *a, double bytes);
/* "12s", "3m 5s", "2h 10m", "4d 1h". */
const char *text_out_duration(struct arena *a, int64_t ms);

/* Prints "atoll: SUBJECT…" with the error's whole text, and its hint, to stderr. */
void text_out_error(struct arena *a, const char *subject, const struct error *err);
/* Prints the value as indented JSON and a newline. */
void print_json(const struct json_value *value);
