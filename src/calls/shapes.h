/* SPDX-License-Identifier: Apache-2.0 */
/* calls/shapes.h — shapes of replies that are written as a stream, for the reference; and the item
 * that they share. */
#pragma once

#include "json/json.h"

#define RESULT_ARTIFACTS_MAX 100 /* of gateway_result_shape; those that are not stored */
extern const struct json_shape result_shape, gateway_result_shape;
extern const struct json_shape file_entry_shape, file_list_shape, file_content_shape;
extern const struct json_shape count_shape;
/* An item of `artifacts` of a result, for a file that is not stored. */
void result_add_artifact(struct buf *out, const char *path, int64_t size);
