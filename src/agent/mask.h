/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mask.h — overwrites secret values in a stream of output with '*'.
 *
 * A value is found where the stream has it unchanged, also over any number of reads. Bytes at the
 * end that begin a value are kept back until more come, from the fourth on: at most three bytes of
 * a value pass, and a prompt is not held up by its last letter. Masked text keeps its length, so
 * that offsets stay right. An encoded value is not found. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define MASK_BEGUN_MIN ((size_t)4)

struct secret_mask;
/* The values of "KEY=value", copied; NULL-terminated. NULL: there are none. */
struct secret_mask *secret_mask_new(const char *const *secrets);
void secret_mask_free(struct secret_mask *m); /* wipes the copies; NULL is fine */
/* Takes bytes and adds what may be shown to `out`. */
void secret_mask_add(struct secret_mask *m, struct span bytes, struct buf *out);
/* The stream has ended: what is kept back is shown as '*'. */
void secret_mask_end(struct secret_mask *m, struct buf *out);
/* How many bytes are kept back. */
size_t secret_mask_kept(const struct secret_mask *m);
