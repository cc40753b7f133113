/* SPDX-License-Identifier: Apache-2.0 */
/* http/range.h — a part of what a request is about, by its header Range: one of so many bytes, from
 * an offset on. Other forms are ignored, as RFC 9110 allows: then the answer is the whole. */
#pragma once

#include "http/http.h"

/* "bytes=0-99" or "bytes=100-", whose size is 0; false for anything else, and for NULL. */
bool range_parse(const char *text, uint64_t *ret_offset, uint64_t *ret_size);
/* Fails with ERROR_RANGE: it begins behind the end of `what`, which has `whole` bytes. The answer
 * is 416, and says so in its Content-Range. */
MUST_CHECK int range_fail(const struct request *rq, const char *what, uint64_t whole,
                          struct error *err);
