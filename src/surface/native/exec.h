/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/exec.h — bodies of commands and blocks of code, for the routes of sandboxes and of
 * leases. */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

struct api_target;
struct code_body;
struct exec_body;
struct json_shape;
extern const struct json_shape exec_request, code_request, exec_query;

/* Finds mistakes that can be seen without a sandbox. From then on the request is metered for the
 * body's conversation. */
MUST_CHECK int exec_check(const struct request *rq, const struct exec_body *b, struct error *err);
/* rq->query has the shape exec_query. Takes over the target's hold if the reply needs it. */
MUST_CHECK int exec_run(struct request *rq, struct api_target *t, const struct exec_body *b,
                        struct reply *reply, struct error *err);
/* The same for a block of code. */
MUST_CHECK int code_check(const struct request *rq, const struct code_body *b, struct error *err);
MUST_CHECK int code_run(struct request *rq, struct api_target *t, const struct code_body *b,
                        struct reply *reply, struct error *err);
