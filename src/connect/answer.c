/* SPDX-License-Identifier: Apache-2.0 */
/* From the tokens of a service to a credential. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "connect/state.h"
#include "json/write.h"
#include "store/credentials.h"
#include "store/secrets.h"

#define STATE_MAX ((size_t)128 * 1024)

static const struct json_member connect_wish_shape_members[] = {
        JSON_TEXT_MEMBER(connect_wish, about),
        JSON_TEXT_LIST_MEMBER(connect_wish, hosts, .max = CREDENTIAL_HOSTS_MAX),
        JSON_CHOICE_MEMBER(connect_wish, consent, .choices = credential_consents),
};
JSON_SHAPE(connect_wish_shape, "ConnectWish", connect_wish, "The credential to make");
#define SECRET(member) JSON_TEXT_MEMBER(connect_secret, member, .flags = JSON_OMIT_EMPTY)
static const struct json_member connect_secret_shape_members[] = {
        SECRET(client_id), SECRET(client_secret), SECRET(verifier),      SECRET(redirect_uri),
        SECRET(browser),   SECRET(device_code),   SECRET(refresh_token),
};
JSON_SHAPE(connect_secret_shape, "ConnectSecret", connect_secret, "What no answer has");

int connect_read_parts(struct arena *a, const struct connect_record *r, struct connect_parts *ret,
                       struct error *err)
{
	if (store_secret_check(r->secret_json, err) < 0 ||
	    json_parse(a, span_of(r->service_json), &connect_service_shape, &ret->service, err) <
	            0 ||
	    json_parse(a, span_of(r->request_json), &connect_wish_shape, &ret->wish, err) < 0 ||
	    json_parse(a, span_of(r->secret_json), &connect_secret_shape, &ret->secret, err) < 0)
		return FAIL_CONTEXT(err, "connect '%s'", r->id);
	return 0;
}

const char *connect_write_shape(struct arena *a, const struct json_shape *shape, const void *in)
{
	AUTO(buf_done) struct buf out = BUF(STATE_MAX);

	json_write(&out, shape, in);
	return arena_copy(a, buf_span(&out));
}

struct oauth_caller connect_caller(const struct connect_context *c, const struct connect_parts *p)
{
	return (struct oauth_caller){
	        .config = c->config,
	        .arena = c->arena,
	        .service = &p->service,
	        .client = {p->secret.client_id, p->secret.client_secret},
	};
}

/* The owner's credential with this name, which a new login replaces. */
static int find_or_make_credential(const struct connect_context *c, const struct connect_record *r,
                                   struct credential_record *ret, struct error *err)
{
	const struct credential_ref ref = {r->project_id, r->owner_id, r->name};
	int64_t now = clock_unix_ms();
	struct id id = id_new();

	if (store_credential_find(c->store, c->arena, &ref, ret, err) == 0 &&
	    strcmp(ret->owner_id, r->owner_id) == 0)
		return ret->kind == CREDENTIAL_OAUTH
		               ? 0
		               : FAIL(err, ERROR_CONFLICT,
		                      "there is a credential '%.64s' already, of another kind",
		                      r->name);
	if (err->code != ERROR_NONE && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	*ret = (struct credential_record){
	        .id = arena_text(c->arena, id.text),
	        .project_id = r->project_id,
	        .owner_id = r->owner_id,
	        .name = r->name,
	        .kind = CREDENTIAL_OAUTH,
	        .environment = "",
	        .created_at = now,
	};
	return 0;
}

static int fill_credential(const struct connect_context *c, const struct connect_record *r,
                           const struct connect_parts *p, const struct oauth_tokens *tokens,
                           struct credential_record *credential, struct error *err)
{
	struct json_pair pair = {"token", tokens->access};
	const struct json_map fields = {&pair, 1, true};
	char fingerprint[CREDENTIAL_FINGERPRINT_SIZE + 1];
	bool is_login = r->state != CONNECT_DONE;

	credential->fields_json = json_format_map(c->arena, &fields);
	credential->field_names = pair.key;
	credential->needs_login = false;
	credential->updated_at = clock_unix_ms();
	credential->expires_at =
	        tokens->expires_in_ms ? credential->updated_at + tokens->expires_in_ms : 0;
	if (is_login) {
		credential->preset = r->preset;
		credential->about = p->wish.about;
		credential->consent = (enum credential_consent)p->wish.consent;
		credential->version++;
		if (credential_hosts_format(c->arena, CREDENTIAL_OAUTH,
		                            (const char *const *)p->wish.hosts, &credential->hosts,
		                            err) < 0)
			return -1;
	}
	if (store_credential_fingerprint(c->store, r->project_id, credential->fields_json,
	                                 fingerprint, err) < 0)
		return -1;
	credential->fingerprint = arena_text(c->arena, fingerprint);
	return 0;
}

/* When tokens are renewed: before their end, or in the middle of a short life. */
static int64_t find_renewal_at(const struct connect_record *r, const struct connect_parts *p,
                               const struct oauth_tokens *tokens, int64_t now)
{
	int64_t life = tokens->expires_in_ms;

	if (life == 0 || (r->method != CONNECT_CLIENT && !text_or_null(p->secret.refresh_token)))
		return 0;
	return now + (life > 2 * RENEW_BEFORE_MS ? life - RENEW_BEFORE_MS : life / 2);
}

int connect_keep_tokens(const struct connect_context *c, struct connect_record *r,
                        struct connect_parts *p, const struct oauth_tokens *tokens,
                        struct error *err)
{
	struct credential_record credential;

	if (find_or_make_credential(c, r, &credential, err) < 0 ||
	    fill_credential(c, r, p, tokens, &credential, err) < 0)
		return -1;
	p->secret.verifier = p->secret.browser = p->secret.device_code = NULL;
	if (tokens->refresh)
		p->secret.refresh_token = tokens->refresh;
	r->secret_json = connect_write_shape(c->arena, &connect_secret_shape, &p->secret);
	r->state = CONNECT_DONE;
	r->problem = r->state_hash = "";
	r->credential_id = credential.id;
	r->updated_at = clock_unix_ms();
	r->claimed_until = 0;
	r->due_at = find_renewal_at(r, p, tokens, r->updated_at);
	if (tokens->scope)
		r->scopes = tokens->scope;
	return store_connect_finish(c->store, r, &credential, err);
}
