/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/mask.h — finds values in a stream of bytes and overwrites them with '*'. Pure.
 *
 * A value is found as it is, escaped for JSON or a URL, as hexadecimal digits, and in base64 at any
 * offset. Masked text has the length of the value, so that neither a Content-Length nor the frames
 * of a WebSocket change. Masking is the second line of defence: no mask knows every encoding. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define MASK_VALUE_MIN 8 /* shorter values are words that answers have by chance */

struct mask;
/* Copies the values. */
struct mask *mask_new(const char *const *values, size_t count);
void mask_free(struct mask *mask); /* wipes the copies; NULL is fine */

/* Overwrites every whole value in these bytes. */
void mask_bytes(const struct mask *mask, char *data, size_t size);
/* How many bytes at the end of a stream a value that is not whole yet could reach back: these are
 * kept until more comes. Does not depend on the bytes, so that its effect tells nothing. */
size_t mask_reach(const struct mask *mask);
/* How many bytes at the end begin a value, if these are at least MASK_BEGUN_MIN, else 0; at most
 * mask_reach. For a stream that pauses: nearly every byte begins some value, and a message that
 * waits for its last byte never comes. The caller keeps fewer bytes that it has sent before the
 * next ones, so that the rest of a value is found. */
#define MASK_BEGUN_MIN ((size_t)4)
size_t mask_begun(const struct mask *mask, struct span data);
