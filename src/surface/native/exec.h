/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/exec.h — the body of an exec and of a block of code, for every path that takes
 * one. Private to this folder.
 */
#pragma once

#include "edge/caller.h"

struct exec_body;
struct code_body;
extern const struct json_shape exec_request, code_request, exec_query;

/* Refuses what can be seen to be wrong without a sandbox. */
MUST_CHECK int exec_check(const struct exec_body *b, struct error *err);
/* Runs it; rq->query is of exec_query. May take the target's hold. */
MUST_CHECK int exec_run(struct request *rq, struct api_target *t, const struct exec_body *b,
                        struct reply *reply, struct error *err);
/* The same of a block of code. */
MUST_CHECK int code_check(struct arena *a, const struct code_body *b, struct error *err);
MUST_CHECK int code_run(struct request *rq, struct api_target *t, const struct code_body *b,
                        struct reply *reply, struct error *err);
