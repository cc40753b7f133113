/* SPDX-License-Identifier: Apache-2.0 */
#include "connect/call.h"

#include <sodium.h>
#include <string.h>

#include "config/config.h"
#include "http/client/client.h"
#include "http/client/outbound.h"
#include "json/write.h"
#include "sandbox/credential.h"

#define TIMEOUT_MS 10000
#define BODY_MAX ((size_t)64 * 1024)
#define SECOND_MS INT64_C(1000)
#define LIFE_MAX_S (INT64_C(10) * 366 * 86400)

static const char *make_basic(struct arena *a, const struct oauth_client *client)
{
	AUTO(buf_done) struct buf pair = BUF(BODY_MAX);
	size_t room;
	char *text;

	http_escape(&pair, client->id);
	buf_add_byte(&pair, ':');
	http_escape(&pair, client->secret);
	room = sodium_base64_encoded_len(pair.size, sodium_base64_VARIANT_ORIGINAL);
	text = arena_alloc(a, room);
	sodium_bin2base64(text, room, (const unsigned char *)pair.data, pair.size,
	                  sodium_base64_VARIANT_ORIGINAL);
	return arena_format(a, "Authorization: Basic %s", text);
}

static void add_field(struct buf *out, int body, const char *name, const char *value)
{
	if (!value)
		return;
	if (body == SERVICE_JSON) {
		json_add_text(out, name, value);
		return;
	}
	buf_addf(out, "%s%s=", out->size ? "&" : "", name);
	http_escape(out, value);
}

static void write_fields(struct buf *out, const struct oauth_caller *c,
                         const struct oauth_field *fields, bool in_body)
{
	int body = c->service->body;

	if (body == SERVICE_JSON)
		json_begin_object(out, NULL);
	for (; fields->name; fields++)
		add_field(out, body, fields->name, fields->value);
	if (in_body) {
		add_field(out, body, "client_id", c->client.id);
		add_field(out, body, "client_secret", text_or_null(c->client.secret));
	}
	if (body == SERVICE_JSON)
		json_end_object(out);
}

static void read_answer(struct arena *a, struct span text, struct oauth_answer *ret)
{
	struct error ignored;

	if (json_load(a, span_of(arena_copy(a, text)), &ret->body, &ignored) < 0)
		ret->body = NULL;
	ret->code = json_get_text(ret->body, "error", NULL);
	if (!ret->code && ret->status >= 400)
		ret->code = "invalid_answer";
}

static int send_post(const struct oauth_caller *c, const struct outbound_post *post,
                     struct oauth_answer *ret, struct error *err)
{
	AUTO(buf_done) struct buf answer = BUF(BODY_MAX);
	struct outbound_post whole = *post;

	whole.timeout_ms = TIMEOUT_MS;
	whole.allow_private = c->config->webhook_allow_private;
	whole.answer = &answer;
	*ret = (struct oauth_answer){.status = 0};
	if (outbound_post(&whole, &ret->status, err) < 0)
		return FAIL_CONTEXT(err, "the service at '%.200s'", post->url);
	read_answer(c->arena, buf_span(&answer), ret);
	return 0;
}

int oauth_ask(const struct oauth_caller *c, const char *url, const struct oauth_field *fields,
              struct oauth_answer *ret, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	bool has_secret = c->client.secret && c->client.secret[0];
	bool is_basic = has_secret && c->service->client_auth == SERVICE_BASIC;
	const char *headers[] = {"Accept: application/json",
	                         c->service->body == SERVICE_JSON
	                                 ? "Content-Type: application/json"
	                                 : "Content-Type: application/x-www-form-urlencoded",
	                         is_basic ? make_basic(c->arena, &c->client) : NULL, NULL};
	struct outbound_post post = {.url = url, .headers = headers};

	write_fields(&body, c, fields, !is_basic);
	if (body.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the call to the service is too long");
	post.body = buf_span(&body);
	return send_post(c, &post, ret, err);
}

static int fail_refused(const struct oauth_caller *c, const struct oauth_answer *answer,
                        struct error *err)
{
	const char *detail = json_get_text(answer->body, "error_description", "");

	return FAIL(err, ERROR_UNAVAILABLE, "the service at '%.100s' refused: %.60s%s%.200s",
	            service_host(c->arena, c->service->token), answer->code, *detail ? ": " : "",
	            detail);
}

/* Slack answers with 200 and "ok": false, and puts the token of a user into a member. */
static const char *find_access_token(const struct oauth_answer *answer)
{
	const char *token = json_get_text(answer->body, "access_token", NULL);

	return token ? token
	             : json_get_text(json_get(answer->body, "authed_user"), "access_token", NULL);
}

static int read_tokens(const struct oauth_caller *c, const struct oauth_answer *answer,
                       struct oauth_tokens *ret, struct error *err)
{
	const char *access = find_access_token(answer);
	const struct credential_field field = {"token", access};
	int64_t life = json_get_whole(answer->body, "expires_in", 0);

	if (!access)
		return FAIL(err, ERROR_UNAVAILABLE, "the service at '%.100s' gave no access token",
		            service_host(c->arena, c->service->token));
	if (credential_fields_check(CREDENTIAL_OAUTH, &field, 1, err) < 0)
		return FAIL_CONTEXT(err, "the service's access token");
	*ret = (struct oauth_tokens){
	        .access = access,
	        .refresh = json_get_text(answer->body, "refresh_token", NULL),
	        .scope = json_get_text(answer->body, "scope", NULL),
	        .expires_in_ms = life > 0 && life < LIFE_MAX_S ? life * SECOND_MS : 0,
	};
	return 0;
}

int oauth_ask_tokens(const struct oauth_caller *c, const struct oauth_field *fields,
                     struct oauth_tokens *ret, const char **ret_code, struct error *err)
{
	struct oauth_answer answer;

	*ret_code = NULL;
	if (oauth_ask(c, c->service->token, fields, &answer, err) < 0)
		return -1;
	*ret_code = answer.code;
	if (answer.code)
		return fail_refused(c, &answer, err);
	return read_tokens(c, &answer, ret, err);
}

/* DELETE /applications/CLIENT/token, by the client. */
static int revoke_at_github(const struct oauth_caller *c, const char *token,
                            struct oauth_answer *ret, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX), url = BUF(OUTBOUND_URL_MAX);
	const char *mark = strstr(c->service->revoke, "{client_id}");
	const char *headers[] = {"Accept: application/json", "Content-Type: application/json",
	                         make_basic(c->arena, &c->client), NULL};
	struct outbound_post post = {.method = "DELETE", .headers = headers};

	if (mark) {
		buf_addf(&url, "%.*s", (int)(mark - c->service->revoke), c->service->revoke);
		http_escape(&url, c->client.id);
		mark += strlen("{client_id}");
	}
	buf_add_text(&url, mark ? mark : c->service->revoke);
	json_begin_object(&body, NULL);
	json_add_text(&body, "access_token", token);
	json_end_object(&body);
	post.url = buf_text(&url);
	post.body = buf_span(&body);
	return send_post(c, &post, ret, err);
}

static int revoke_by_itself(const struct oauth_caller *c, const char *token,
                            struct oauth_answer *ret, struct error *err)
{
	const char *headers[] = {arena_format(c->arena, "Authorization: Bearer %s", token), NULL};
	struct outbound_post post = {.url = c->service->revoke, .headers = headers};

	return send_post(c, &post, ret, err);
}

int oauth_revoke(const struct oauth_caller *c, const char *token, struct error *err)
{
	const struct oauth_field fields[] = {{"token", token}, {NULL, NULL}};
	struct oauth_answer answer;
	int result;

	if (!c->service->revoke)
		return 0;
	if (c->service->revoke_style == REVOKE_GITHUB)
		result = revoke_at_github(c, token, &answer, err);
	else if (c->service->revoke_style == REVOKE_BEARER)
		result = revoke_by_itself(c, token, &answer, err);
	else
		result = oauth_ask(c, c->service->revoke, fields, &answer, err);
	/* A token that the service does not know is as good as revoked. */
	if (result < 0 || !answer.code || answer.status == 404)
		return result;
	return fail_refused(c, &answer, err);
}
