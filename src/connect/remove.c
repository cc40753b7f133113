/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "connect/state.h"
#include "store/credentials.h"
#include "store/secrets.h"

/* The present access token; NULL: there is none. */
static int find_access_token(const struct connect_context *c, const struct connect_record *r,
                             const char **ret, struct error *err)
{
	const struct credential_ref ref = {r->project_id, r->owner_id, r->credential_id};
	const struct json_value *fields;
	struct credential_record credential;

	*ret = NULL;
	if (!r->credential_id[0])
		return 0;
	if (store_credential_find(c->store, c->arena, &ref, &credential, err) < 0 ||
	    store_secret_check(credential.fields_json, err) < 0 ||
	    json_load(c->arena, span_of(credential.fields_json), &fields, err) < 0)
		return -1;
	*ret = json_get_text(fields, "token", NULL);
	return 0;
}

static int revoke_tokens(const struct connect_context *c, const struct connect_record *r,
                         struct error *err)
{
	struct connect_parts p;
	const char *access;

	if (connect_read_parts(c->arena, r, &p, err) < 0 ||
	    find_access_token(c, r, &access, err) < 0)
		return -1;
	const struct oauth_caller caller = connect_caller(c, &p);

	if (p.secret.refresh_token && p.service.revoke_style == REVOKE_STANDARD &&
	    oauth_revoke(&caller, p.secret.refresh_token, err) < 0)
		return -1;
	return access ? oauth_revoke(&caller, access, err) : 0;
}

int connect_remove(const struct connect_context *c, const struct connect_record *r, bool is_forced,
                   struct error *err)
{
	if (revoke_tokens(c, r, err) < 0) {
		if (!is_forced) {
			(void)FAIL_CONTEXT(err, "revoke");
			return FAIL_HINT(err, "with force=true the connect is removed anyway");
		}
		error_clear(err);
	}
	return store_connect_remove(c->store, r, err);
}
