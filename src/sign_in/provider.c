/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/provider.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "http/client/client.h"
#include "json/json.h"

#define TIMEOUT_MS 10000
#define ANSWER_MAX ((size_t)1 << 20)
#define WELL_KNOWN "/.well-known/openid-configuration"

void provider_init(struct oidc_provider *p, const struct config *config)
{
	*p = (struct oidc_provider){.config = config};
	(void)pthread_mutex_init(&p->lock, NULL);
}

void provider_done(struct oidc_provider *p)
{
	free(p->document);
	free(p->keys);
	(void)pthread_mutex_destroy(&p->lock);
}

/* "https://host:port" and "/path". */
static bool split_url(struct arena *a, const char *url, const char **ret_base,
                      const char **ret_path)
{
	const char *slashes = strstr(url, "://"), *path;

	if (!slashes || !slashes[3])
		return false;
	path = strchr(slashes + 3, '/');
	*ret_base = path ? arena_format(a, "%.*s", (int)(path - url), url) : url;
	*ret_path = path ? path : "/";
	return true;
}

/* Whether the document may name this address: https, or what the issuer itself is reached by. */
static bool url_is_safe(const struct config *config, struct arena *a, const char *url)
{
	const char *base, *path, *own, *own_path;

	return split_url(a, url, &base, &path) &&
	       split_url(a, config->oidc_issuer, &own, &own_path) &&
	       (strncmp(url, "https://", 8) == 0 || strcmp(base, own) == 0);
}

struct provider_call {
	const char *method, *url;
	const char *authorization; /* value of the header, or NULL */
	struct span form;          /* of POST */
	struct buf body;
};

static bool add_piece(void *context, struct span piece)
{
	struct provider_call *call = context;

	buf_add_span(&call->body, piece);
	return !call->body.overflowed;
}

static int fail_provider(const char *url, struct error *err)
{
	(void)FAIL_CONTEXT(err, "the provider of single sign-on, '%.200s'", url);
	err->code = ERROR_UNAVAILABLE;
	return -1;
}

static int run_call(struct http_client *client, struct arena *a, const char *path,
                    struct provider_call *call, struct error *err)
{
	const struct http_call request = {
	        .method = call->method,
	        .path = path,
	        .content_type = "application/x-www-form-urlencoded",
	        .accept = "application/json",
	        .body = call->form,
	        .timeout_ms = TIMEOUT_MS,
	        .keeps_errors = true,
	        .on_body = add_piece,
	        .context = call,
	};
	const struct json_value *said = NULL;
	struct http_answer answer;
	struct error ignored;
	const char *why;

	if (http_client_call(client, &request, &answer, err) < 0)
		return -1;
	if (json_load(a, buf_span(&answer.body), &said, &ignored) < 0)
		said = NULL;
	buf_done(&answer.body);
	if (answer.status >= 200 && answer.status < 300)
		return 0;
	why = json_get_text(said, "error", "");
	return FAIL(err, ERROR_UNAVAILABLE, "it answered %d %.100s", answer.status, why);
}

static int call_provider(struct arena *a, struct provider_call *call, const char **ret_text,
                         const struct json_value **ret, struct error *err)
{
	struct http_client_options options = {.user_agent = "atoll",
	                                      .authorization = call->authorization};
	struct http_client *client;
	const char *path;
	int result;

	call->body = BUF(ANSWER_MAX);
	if (!split_url(a, call->url, &options.base_url, &path))
		return FAIL(err, ERROR_UNAVAILABLE, "'%.200s' is not a URL", call->url);
	if (http_client_open(&options, &client, err) < 0)
		return fail_provider(call->url, err);
	result = run_call(client, a, path, call, err);
	http_client_close(client);
	if (result >= 0) {
		*ret_text = arena_copy(a, buf_span(&call->body));
		result = json_load(a, span_of(*ret_text), ret, err);
	}
	buf_done(&call->body);
	return result < 0 ? fail_provider(call->url, err) : 0;
}

static int check_document(const struct config *config, struct arena *a,
                          const struct json_value *document, struct error *err)
{
	static const char *const needed[] = {"authorization_endpoint", "token_endpoint",
	                                     "jwks_uri"};

	if (strcmp(json_get_text(document, "issuer", ""), config->oidc_issuer) != 0)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "the document of '%s' is for the issuer '%.200s'", config->oidc_issuer,
		            json_get_text(document, "issuer", ""));
	for (size_t i = 0; i < COUNT_OF(needed); i++)
		if (!url_is_safe(config, a, json_get_text(document, needed[i], "")))
			return FAIL(err, ERROR_UNAVAILABLE,
			            "the document of '%s' has no safe '%s': https is needed",
			            config->oidc_issuer, needed[i]);
	return 0;
}

static int fetch_document(struct oidc_provider *p, struct arena *a, struct error *err)
{
	struct provider_call call = {
	        .method = "GET",
	        .url = arena_format(a, "%s" WELL_KNOWN, p->config->oidc_issuer),
	};
	size_t size = strlen(p->config->oidc_issuer);
	const struct json_value *document;
	const char *text;

	if (size && p->config->oidc_issuer[size - 1] == '/')
		call.url =
		        arena_format(a, "%.*s" WELL_KNOWN, (int)size - 1, p->config->oidc_issuer);
	if (call_provider(a, &call, &text, &document, err) < 0 ||
	    check_document(p->config, a, document, err) < 0)
		return -1;
	free(p->document);
	p->document = memory_text(text);
	p->document_at = clock_monotonic_ms();
	return 0;
}

/* Under the lock: one caller fetches, the others wait for it. */
static int ensure_document(struct oidc_provider *p, struct arena *a, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	if (p->document && now - p->document_at < PROVIDER_KEEP_MS)
		return 0;
	if (p->failed_at && now - p->failed_at < PROVIDER_FAILED_MS) {
		*err = p->failure;
		return -1;
	}
	if (fetch_document(p, a, err) == 0)
		return 0;
	p->failed_at = clock_monotonic_ms();
	p->failure = *err;
	return -1;
}

int provider_document(struct oidc_provider *p, struct arena *a, const struct json_value **ret,
                      struct error *err)
{
	int result;

	(void)pthread_mutex_lock(&p->lock);
	result = ensure_document(p, a, err);
	if (result == 0)
		result = json_load(a, span_of(arena_text(a, p->document)), ret, err);
	(void)pthread_mutex_unlock(&p->lock);
	return result;
}

static int ensure_keys(struct oidc_provider *p, struct arena *a, const char *url, bool anew,
                       struct error *err)
{
	struct provider_call call = {.method = "GET", .url = url};
	int64_t age = clock_monotonic_ms() - p->keys_at;
	const struct json_value *keys;
	const char *text;

	if (p->keys && age < (anew ? PROVIDER_KEYS_EVERY_MS : PROVIDER_KEEP_MS))
		return 0;
	if (call_provider(a, &call, &text, &keys, err) < 0)
		return -1;
	free(p->keys);
	p->keys = memory_text(text);
	p->keys_at = clock_monotonic_ms();
	return 0;
}

int provider_keys(struct oidc_provider *p, struct arena *a, bool anew,
                  const struct json_value **ret, struct error *err)
{
	const struct json_value *document;
	int result;

	if (provider_document(p, a, &document, err) < 0)
		return -1;
	(void)pthread_mutex_lock(&p->lock);
	result = ensure_keys(p, a, json_get_text(document, "jwks_uri", ""), anew, err);
	if (result == 0)
		result = json_load(a, span_of(arena_text(a, p->keys)), ret, err);
	(void)pthread_mutex_unlock(&p->lock);
	return result;
}

static void add_field(struct buf *form, const char *name, const char *value)
{
	buf_addf(form, "%s%s=", form->size ? "&" : "", name);
	http_escape(form, value);
}

/* Whether the provider takes the secret in a header: the rule, unless its document says else. */
static bool takes_basic(const struct json_value *document)
{
	const struct json_value *methods =
	        json_get(document, "token_endpoint_auth_methods_supported");

	for (size_t i = 0; i < json_count(methods); i++)
		if (strcmp(json_text(json_item_at(methods, i), ""), "client_secret_basic") == 0)
			return true;
	return json_count(methods) == 0;
}

static const char *make_basic(struct arena *a, const struct config *config)
{
	AUTO(buf_done) struct buf pair = BUF((size_t)8 * 1024);
	size_t room;
	char *text;

	http_escape(&pair, config->oidc_client_id);
	buf_add_byte(&pair, ':');
	http_escape(&pair, config->oidc_client_secret);
	room = sodium_base64_encoded_len(pair.size, sodium_base64_VARIANT_ORIGINAL);
	text = arena_alloc(a, room);
	sodium_bin2base64(text, room, (const unsigned char *)pair.data, pair.size,
	                  sodium_base64_VARIANT_ORIGINAL);
	return arena_format(a, "Basic %s", text);
}

int provider_redeem(struct oidc_provider *p, struct arena *a, const struct provider_code *code,
                    const struct json_value **ret, struct error *err)
{
	AUTO(buf_done) struct buf form = BUF((size_t)64 * 1024);
	const struct json_value *document;
	struct provider_call call = {.method = "POST"};
	const char *text;

	if (provider_document(p, a, &document, err) < 0)
		return -1;
	add_field(&form, "grant_type", "authorization_code");
	add_field(&form, "code", code->code);
	add_field(&form, "redirect_uri", code->redirect_uri);
	add_field(&form, "code_verifier", code->verifier);
	if (p->config->oidc_client_secret[0] && takes_basic(document)) {
		call.authorization = make_basic(a, p->config);
	} else {
		add_field(&form, "client_id", p->config->oidc_client_id);
		if (p->config->oidc_client_secret[0])
			add_field(&form, "client_secret", p->config->oidc_client_secret);
	}
	call.url = json_get_text(document, "token_endpoint", "");
	call.form = buf_span(&form);
	return call_provider(a, &call, &text, ret, err);
}

int provider_user(struct oidc_provider *p, struct arena *a, const char *access_token,
                  const struct json_value **ret, struct error *err)
{
	const struct json_value *document;
	struct provider_call call = {.method = "GET"};
	const char *text;

	if (provider_document(p, a, &document, err) < 0)
		return -1;
	*ret = NULL;
	call.url = json_get_text(document, "userinfo_endpoint", "");
	if (!access_token[0] || !url_is_safe(p->config, a, call.url))
		return 0;
	call.authorization = arena_format(a, "Bearer %s", access_token);
	return call_provider(a, &call, &text, ret, err);
}
