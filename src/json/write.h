/* SPDX-License-Identifier: Apache-2.0 */
/* json/write.h — writes JSON piece by piece: commas, quotes and escapes are not the caller's work.
 *
 * Use a shape (json.h) for a value that is a struct; use these functions for the rest:
 *
 *     json_begin_object(out, NULL);
 *     json_add_text(out, "path", path);
 *     json_begin_list(out, "ports");
 *     json_add_whole(out, NULL, 80);
 *     json_end_list(out);
 *     json_end_object(out);              {"path":"/a","ports":[80]}
 *
 * `name` is the name of a member of an object; NULL for an item of a list and for the outermost
 * value. There is no state: a comma is written when the last byte of `out` ends a value. So a
 * caller may mix these with its own bytes, and an outermost value begins a buffer or comes after a
 * blank, a line break or other punctuation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct json_list;
struct json_map;
struct json_shape;
struct json_value;

void json_begin_object(struct buf *out, const char *name);
void json_end_object(struct buf *out);
void json_begin_list(struct buf *out, const char *name);
void json_end_list(struct buf *out);

/* NULL is written as null. */
void json_add_text(struct buf *out, const char *name, const char *text);
/* Invalid UTF-8 and NUL become U+FFFD. */
void json_add_span(struct buf *out, const char *name, struct span text);
/* As base64 with padding. */
void json_add_bytes(struct buf *out, const char *name, struct span bytes);
void json_add_whole(struct buf *out, const char *name, int64_t whole);
/* As json_write_number does. */
void json_add_number(struct buf *out, const char *name, double number);
void json_add_bool(struct buf *out, const char *name, bool truth);
void json_add_null(struct buf *out, const char *name);
/* RFC 3339 text; null for 0. */
void json_add_time(struct buf *out, const char *name, int64_t unix_ms);
/* The same for a time of which 0 is a value: 1970-01-01T00:00:00.000Z. */
void json_add_epoch_time(struct buf *out, const char *name, int64_t unix_ms);
/* Appends JSON text as it is, without blanks after it; null when it is empty. */
void json_add_raw(struct buf *out, const char *name, struct span json);
/* NULL is written as null. */
void json_add_value(struct buf *out, const char *name, const struct json_value *value);

/* A list of texts; NULL-terminated, and NULL is an empty list. */
void json_add_texts(struct buf *out, const char *name, const char *const *texts);
/* An object of texts. */
void json_add_map(struct buf *out, const char *name, const struct json_map *map);
/* An object by its shape. */
void json_add_struct(struct buf *out, const char *name, const struct json_shape *shape,
                     const void *in);
/* A list of objects by their shape. */
void json_add_structs(struct buf *out, const char *name, const struct json_shape *shape,
                      const struct json_list *list);

/* The same as texts in the arena, for a column of the store or a parameter. */
const char *json_format_texts(struct arena *a, const char *const *texts);
const char *json_format_map(struct arena *a, const struct json_map *map);

/* Only the comma, if any, and "name": for a value that another function writes. */
void json_add_name(struct buf *out, const char *name);
