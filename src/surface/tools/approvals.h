/* SPDX-License-Identifier: Apache-2.0 */
/* surface/tools/approvals.h — approvals in answers, for the routes of this folder. Private. */
#pragma once

#include "http/server/http.h"

struct approval_filter;
struct approval_record;
struct json_shape;

extern const struct json_shape approval_shape, approval_list_shape, approval_decision_shape;
struct approval_decision_body {
	const char *note;
};
MUST_CHECK int approvals_reply(struct request *rq, struct reply *reply,
                               const struct approval_filter *filter, struct error *err);
MUST_CHECK int approval_reply(struct request *rq, struct reply *reply,
                              const struct approval_record *r, struct error *err);
