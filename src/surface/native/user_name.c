/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/user_name.h"

#include <string.h>

#include "account/password.h"
#include "edge/api.h"
#include "http/server/http.h"
#include "store/addresses.h"

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
	bool is_named;

	if (user_name_parse(rq, text, &name, &ignored) < 0)
		return text;
	/* A name of an older version may be stored in upper case beside the same in lower case. */
	if (strcmp(text, name) != 0 &&
	    store_address_is_named(api_of(rq)->store, text, &is_named, &ignored) == 0 && is_named)
		return text;
	return name;
}
