/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/random.h"
#include "connect/preset.h"
#include "connect/state.h"
#include "http/client/client.h"
#include "http/client/outbound.h"
#include "store/credentials.h"
#include "store/secrets.h"

#define PENDING_MS (INT64_C(15) * 60000)
#define DEVICE_MAX_MS (INT64_C(60) * 60000)
#define DEVICE_INTERVAL_MS 5000
#define DEVICE_INTERVAL_MAX_MS 60000
#define RANDOM_SIZE 32
#define CHALLENGE_SIZE 64
#define URL_SIZE_MAX ((size_t)8 * 1024)

static const char *make_random(struct arena *a)
{
	unsigned char bytes[RANDOM_SIZE];
	char *text = arena_alloc(a, 2 * RANDOM_SIZE + 1);

	random_bytes(bytes, sizeof(bytes));
	sodium_bin2hex(text, 2 * RANDOM_SIZE + 1, bytes, sizeof(bytes));
	return text;
}

const char *connect_hash_state(struct arena *a, const char *state)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *text = arena_alloc(a, 2 * sizeof(hash) + 1);

	crypto_hash_sha256(hash, (const unsigned char *)state, strlen(state));
	sodium_bin2hex(text, 2 * sizeof(hash) + 1, hash, sizeof(hash));
	return text;
}

/* Only the names of the issuer's addresses change for a service of one's own. */
static int decide_service(const struct connect_context *c, const struct connect_request *request,
                          struct connect_service *ret, const char *const **ret_hosts,
                          struct error *err)
{
	struct connect_preset preset = {.name = NULL};
	struct connect_service found;

	if (request->preset && connect_preset_find(c->arena, request->preset, &preset, err) < 0)
		return -1;
	*ret = preset.oauth;
	*ret_hosts = request->hosts ? request->hosts : (const char *const *)preset.hosts;
	if (request->issuer) {
		if (service_discover(c->config, c->arena, request->issuer, &found, err) < 0)
			return FAIL_CONTEXT(err, "issuer");
		found.scopes = preset.oauth.scopes;
		found.extra = preset.oauth.extra;
		*ret = found;
	} else if (!request->preset) {
		return FAIL(err, ERROR_INVALID, "preset or issuer: one of them is needed");
	} else if (!ret->token) {
		(void)FAIL(err, ERROR_UNSUPPORTED, "'%.64s' has no OAuth server", request->preset);
		return FAIL_HINT(err, "store a token of it: POST /v1/credentials");
	}
	return service_check(c->config, ret, err);
}

/* The client's id and secret go only to hosts that the client's credential names. */
static int find_client(const struct connect_context *c, const struct connect_request *request,
                       const struct connect_service *service, struct connect_secret *ret,
                       struct error *err)
{
	const struct credential_ref ref = {request->project_id, request->caller, request->client};
	const char *const urls[] = {service->token, service->device, service->revoke};
	const struct json_value *fields;
	struct credential_record r;
	const char *host;

	if (store_credential_find(c->store, c->arena, &ref, &r, err) < 0)
		return FAIL_CONTEXT(err, "client");
	if (r.kind != CREDENTIAL_CLIENT)
		return FAIL(err, ERROR_INVALID,
		            "client: the credential '%.64s' is of the kind '%s', not 'client'",
		            r.name, credential_kinds[r.kind]);
	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		host = urls[i] ? service_host(c->arena, urls[i]) : NULL;
		if (host && !credential_hosts_cover(r.hosts, span_of(host))) {
			(void)FAIL(err, ERROR_FORBIDDEN,
			           "client: the hosts of the credential '%.64s' lack '%.200s'",
			           r.name, host);
			return FAIL_HINT(err, "add the host to it, with its fields");
		}
	}
	if (store_secret_check(r.fields_json, err) < 0 ||
	    json_load(c->arena, span_of(r.fields_json), &fields, err) < 0)
		return -1;
	ret->client_id = json_get_text(fields, "client_id", "");
	ret->client_secret = json_get_text(fields, "client_secret", NULL);
	return 0;
}

static const char *join_scopes(struct arena *a, const struct connect_service *service,
                               const char *const *wanted)
{
	AUTO(buf_done) struct buf text = BUF(URL_SIZE_MAX);
	const char *const *scopes = wanted ? wanted : (const char *const *)service->scopes;

	for (size_t i = 0; scopes && scopes[i]; i++)
		buf_addf(&text, "%s%s",
		         i > 0 ? service->scope_separator ? service->scope_separator : " " : "",
		         scopes[i]);
	return arena_copy(a, buf_span(&text));
}

static void add_query(struct buf *url, const char *name, const char *value)
{
	buf_addf(url, "&%s=", name);
	http_escape(url, value);
}

static int make_page_url(const struct connect_context *c, const struct connect_parts *p,
                         const struct connect_request *request, struct connect_begun *ret,
                         struct error *err)
{
	AUTO(buf_done) struct buf url = BUF(URL_SIZE_MAX);
	unsigned char hash[crypto_hash_sha256_BYTES];
	const char *state = make_random(c->arena), *page = p->service.authorize;
	char challenge[CHALLENGE_SIZE];

	if (!page)
		return FAIL(err, ERROR_UNSUPPORTED, "the service has no page for a login");
	buf_addf(&url, "%s%cresponse_type=code", page, strchr(page, '?') ? '&' : '?');
	add_query(&url, "client_id", p->secret.client_id);
	add_query(&url, "redirect_uri", request->redirect_uri);
	if (ret->record.scopes[0])
		add_query(&url, "scope", ret->record.scopes);
	add_query(&url, "state", state);
	if (p->service.pkce == PKCE_ON) {
		crypto_hash_sha256(hash, (const unsigned char *)p->secret.verifier,
		                   strlen(p->secret.verifier));
		sodium_bin2base64(challenge, sizeof(challenge), hash, sizeof(hash),
		                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		add_query(&url, "code_challenge", challenge);
		add_query(&url, "code_challenge_method", "S256");
	}
	if (p->service.extra)
		buf_addf(&url, "&%s", p->service.extra);
	if (url.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the address of the service's page is too long");
	ret->url = arena_copy(c->arena, buf_span(&url));
	ret->record.state_hash = connect_hash_state(c->arena, state);
	return 0;
}

static int64_t clamp_whole(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int ask_for_device(const struct connect_context *c, struct connect_parts *p,
                          struct connect_begun *ret, struct error *err)
{
	const struct oauth_caller caller = connect_caller(c, p);
	const struct oauth_field fields[] = {
	        {"scope", text_or_null(ret->record.scopes)},
	        {NULL, NULL},
	};
	struct oauth_answer answer;

	if (!p->service.device)
		return FAIL(err, ERROR_UNSUPPORTED, "the service has no logins of devices");
	if (oauth_ask(&caller, p->service.device, fields, &answer, err) < 0)
		return -1;
	p->secret.device_code = json_get_text(answer.body, "device_code", NULL);
	ret->user_code = json_get_text(answer.body, "user_code", NULL);
	ret->verification = json_get_text(answer.body, "verification_uri", NULL);
	ret->verification_whole = json_get_text(answer.body, "verification_uri_complete", NULL);
	if (answer.code || !p->secret.device_code || !ret->user_code || !ret->verification)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "the service refused a login of a device: %.60s",
		            answer.code ? answer.code : "its answer lacks a code");
	ret->record.interval_ms = clamp_whole(
	        json_get_whole(answer.body, "interval", DEVICE_INTERVAL_MS / 1000) * 1000, 1000,
	        DEVICE_INTERVAL_MAX_MS);
	ret->record.due_at = ret->record.created_at + ret->record.interval_ms;
	ret->record.expires_at = ret->record.created_at +
	                         clamp_whole(json_get_whole(answer.body, "expires_in", 900) * 1000,
	                                     1000, DEVICE_MAX_MS);
	return 0;
}

/* What the method needs before its row is written. */
static int prepare_method(const struct connect_context *c, const struct connect_request *request,
                          struct connect_parts *p, struct connect_begun *ret, struct error *err)
{
	switch (request->method) {
	case CONNECT_CODE:
		p->secret.verifier = make_random(c->arena);
		p->secret.redirect_uri = request->redirect_uri;
		p->secret.browser = request->browser;
		return make_page_url(c, p, request, ret, err);
	case CONNECT_DEVICE:
		return ask_for_device(c, p, ret, err);
	case CONNECT_CLIENT:
	case CONNECT_METHOD_COUNT:
		break;
	}
	return 0;
}

static int finish_client(const struct connect_context *c, struct connect_parts *p,
                         struct connect_record *r, struct error *err)
{
	const struct oauth_caller caller = connect_caller(c, p);
	const struct oauth_field fields[] = {
	        {"grant_type", "client_credentials"},
	        {"scope", text_or_null(r->scopes)},
	        {NULL, NULL},
	};
	struct oauth_tokens tokens;
	struct error ignored = {0};
	const char *code;

	if (oauth_ask_tokens(&caller, fields, &tokens, &code, err) == 0 &&
	    connect_keep_tokens(c, r, p, &tokens, err) == 0)
		return 0;
	/* No browser will come back to it. */
	if (store_connect_remove(c->store, r, &ignored) < 0)
		log_debug("a failed connect stays", FAILURE(&ignored));
	return -1;
}

static int check_wish(const struct connect_context *c, const struct connect_request *request,
                      const char *const *hosts, struct error *err)
{
	const struct credential_ref ref = {request->project_id, request->owner_id, request->name};
	struct credential_record taken;
	const char *ignored;

	if (credential_name_check(request->name, err) < 0 ||
	    credential_hosts_format(c->arena, CREDENTIAL_OAUTH, hosts, &ignored, err) < 0)
		return -1;
	if (store_credential_find(c->store, c->arena, &ref, &taken, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (strcmp(taken.owner_id, request->owner_id) == 0 && taken.kind != CREDENTIAL_OAUTH)
		return FAIL(err, ERROR_CONFLICT, "there is a credential '%.64s' already",
		            request->name);
	return 0;
}

int connect_begin(const struct connect_context *c, const struct connect_request *request,
                  struct connect_begun *ret, struct error *err)
{
	int64_t now = clock_unix_ms();
	struct connect_parts p = {
	        .wish = {.about = request->about, .consent = (int)request->consent}};
	const char *const *hosts;
	struct id id = id_new();

	if (decide_service(c, request, &p.service, &hosts, err) < 0 ||
	    check_wish(c, request, hosts, err) < 0 ||
	    find_client(c, request, &p.service, &p.secret, err) < 0)
		return -1;
	p.wish.hosts = (const char **)(uintptr_t)hosts;
	*ret = (struct connect_begun){
	        .record = {
	                .id = arena_text(c->arena, id.text),
	                .project_id = request->project_id,
	                .owner_id = request->owner_id,
	                .name = request->name,
	                .preset = request->preset ? request->preset : "",
	                .method = request->method,
	                .problem = "",
	                .scopes = join_scopes(c->arena, &p.service, request->scopes),
	                .state_hash = "",
	                .credential_id = "",
	                .expires_at = now + PENDING_MS,
	                .created_at = now,
	                .updated_at = now,
	        }};
	if (prepare_method(c, request, &p, ret, err) < 0)
		return -1;
	ret->record.request_json = connect_write_shape(c->arena, &connect_wish_shape, &p.wish);
	ret->record.service_json =
	        connect_write_shape(c->arena, &connect_service_shape, &p.service);
	ret->record.secret_json = connect_write_shape(c->arena, &connect_secret_shape, &p.secret);
	if (store_connect_insert(c->store, &ret->record, err) < 0)
		return -1;
	return request->method == CONNECT_CLIENT ? finish_client(c, &p, &ret->record, err) : 0;
}
