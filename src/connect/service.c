/* SPDX-License-Identifier: Apache-2.0 */
#include "connect/service.h"

#include <string.h>

#include "config/config.h"
#include "http/client/outbound.h"

#define METADATA_MAX ((size_t)256 * 1024)
#define TIMEOUT_MS 10000

static const char *const auths[] = {"basic", "post", NULL};
static const char *const bodies[] = {"form", "json", NULL};
static const char *const revokes[] = {"standard", "github", "bearer", NULL};
static const char *const pkces[] = {"on", "off", NULL};
#define ADDRESS(member)                                                                            \
	JSON_TEXT_MEMBER(connect_service, member, .max = OUTBOUND_URL_MAX, .flags = JSON_OMIT_EMPTY)
static const struct json_member connect_service_shape_members[] = {
        ADDRESS(issuer),
        ADDRESS(authorize),
        ADDRESS(token),
        ADDRESS(device),
        ADDRESS(revoke),
        JSON_TEXT_MEMBER(connect_service, extra, .max = 512, .flags = JSON_OMIT_EMPTY,
                         .about = "parameters that its page wants beside those of the standard"),
        JSON_TEXT_MEMBER(connect_service, scope_separator, .max = 1, .flags = JSON_OMIT_EMPTY),
        JSON_CHOICE_MEMBER(connect_service, client_auth, .choices = auths),
        JSON_CHOICE_MEMBER(connect_service, body, .choices = bodies),
        JSON_CHOICE_MEMBER(connect_service, revoke_style, .choices = revokes),
        JSON_CHOICE_MEMBER(connect_service, pkce, .choices = pkces),
        JSON_TEXT_LIST_MEMBER(connect_service, scopes, .max = 64),
};
JSON_SHAPE(connect_service_shape, "OAuthService", connect_service,
           "The addresses of an OAuth service, and how it differs from the standards");

const char *service_host(struct arena *a, const char *url)
{
	const char *slashes = strstr(url, "://");
	const char *host = slashes ? slashes + 3 : url;
	char *text = arena_copy(a, (struct span){host, strcspn(host, ":/?#")});

	for (char *c = text; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return text;
}

static int check_address(const struct config *config, const char *name, const char *url,
                         struct error *err)
{
	if (!url)
		return 0;
	if (!config->webhook_allow_private && strncmp(url, "https://", 8) != 0)
		return FAIL(err, ERROR_INVALID, "%s: '%.200s' is not https", name, url);
	if (outbound_url_check(url, config->webhook_allow_private, err) < 0)
		return FAIL_CONTEXT(err, "%s", name);
	return 0;
}

int service_check(const struct config *config, const struct connect_service *service,
                  struct error *err)
{
	if (!service->token)
		return FAIL(err, ERROR_INVALID, "the service names no address that gives tokens");
	if (check_address(config, "authorize", service->authorize, err) < 0 ||
	    check_address(config, "token", service->token, err) < 0 ||
	    check_address(config, "device", service->device, err) < 0)
		return -1;
	return check_address(config, "revoke", service->revoke, err);
}

static int fetch_document(const struct config *config, struct arena *a, const char *url,
                          const struct json_value **ret, struct error *err)
{
	AUTO(buf_done) struct buf answer = BUF(METADATA_MAX);
	const struct outbound_get get = {.url = url,
	                                 .timeout_ms = TIMEOUT_MS,
	                                 .allow_private = config->webhook_allow_private,
	                                 .answer = &answer};
	int status;

	if (outbound_get(&get, &status, err) < 0)
		return FAIL_CONTEXT(err, "'%.200s'", url);
	if (status != 200 || answer.overflowed)
		return FAIL(err, ERROR_UNAVAILABLE, "'%.200s' answered %d", url, status);
	return json_load(a, span_of(arena_copy(a, buf_span(&answer))), ret, err);
}

static bool takes_basic(const struct json_value *document)
{
	const struct json_value *methods =
	        json_get(document, "token_endpoint_auth_methods_supported");

	for (size_t i = 0; i < json_count(methods); i++)
		if (strcmp(json_text(json_item_at(methods, i), ""), "client_secret_basic") == 0)
			return true;
	return json_count(methods) == 0;
}

int service_discover(const struct config *config, struct arena *a, const char *issuer,
                     struct connect_service *ret, struct error *err)
{
	static const char *const places[] = {"/.well-known/openid-configuration",
	                                     "/.well-known/oauth-authorization-server"};
	const struct json_value *document = NULL;
	size_t size = strlen(issuer);

	if (check_address(config, "issuer", issuer, err) < 0)
		return -1;
	size -= size > 0 && issuer[size - 1] == '/';
	for (size_t i = 0; i < COUNT_OF(places) && !document; i++)
		if (fetch_document(config, a,
		                   arena_format(a, "%.*s%s", (int)size, issuer, places[i]),
		                   &document, err) < 0)
			document = NULL;
	if (!document)
		return -1;
	error_clear(err);
	if (strcmp(json_get_text(document, "issuer", ""), issuer) != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the metadata of '%.200s' are of '%.200s'",
		            issuer, json_get_text(document, "issuer", ""));
	*ret = (struct connect_service){
	        .issuer = issuer,
	        .authorize = json_get_text(document, "authorization_endpoint", NULL),
	        .token = json_get_text(document, "token_endpoint", NULL),
	        .device = json_get_text(document, "device_authorization_endpoint", NULL),
	        .revoke = json_get_text(document, "revocation_endpoint", NULL),
	        .client_auth = takes_basic(document) ? SERVICE_BASIC : SERVICE_POST,
	};
	return 0;
}
