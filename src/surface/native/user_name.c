/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/user_name.h"

#include "account/password.h"
#include "http/server/http.h"

int user_name_parse(struct request *rq, const char *text, const char **ret, struct error *err)
{
	char name[ACCOUNT_USER_MAX + 1];

	if (account_user_parse(text, name, err) < 0)
		return -1;
	*ret = arena_text(rq->arena, name);
	return 0;
}

const char *user_name_of_path(struct request *rq)
{
	const char *text = request_param(rq, "user"), *name;
	struct error ignored;

	return user_name_parse(rq, text, &name, &ignored) < 0 ? text : name;
}
