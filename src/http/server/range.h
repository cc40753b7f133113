/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/range.h — parses the Range header: a single range of bytes. Other forms are ignored,
 * as RFC 9110 allows; then the answer is the whole object. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct request;

/* Parses "bytes=0-99" or "bytes=100-" (size 0); false for other texts and NULL. */
bool range_parse(const char *text, uint64_t *ret_offset, uint64_t *ret_size);
/* Fails with ERROR_RANGE: the range begins after the end of `what`, which has `whole` bytes. The
 * answer is 416 with the size in Content-Range. */
MUST_CHECK int range_fail(const struct request *rq, const char *what, uint64_t whole,
                          struct error *err);
