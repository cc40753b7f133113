/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/user_name.h — private: names of users in requests. An address is compared in lower
 * case, as users.h stores it. */
#pragma once

#include "base/error.h"

struct request;

/* The name in the arena, as account_user_parse writes it. */
MUST_CHECK int user_name_parse(struct request *rq, const char *text, const char **ret,
                               struct error *err);
/* The same for the parameter "user" of the path, but a stored name of exactly this spelling comes
 * first. Queries the store. A text that is no name stays as it is: it is not
 * found. */
const char *user_name_of_path(struct request *rq);
