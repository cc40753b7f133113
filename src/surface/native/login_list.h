/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/login_list.h — private: lists of sessions in browsers; session.c has them. */
#pragma once

#include "http/server/http.h"

struct json_shape;
extern const struct json_shape login_list_shape;
/* Replies with the logins of a user or key. */
MUST_CHECK int login_list_reply(struct request *rq, struct reply *reply, const char *owner_id,
                                struct error *err);
