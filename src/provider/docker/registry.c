/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "http/client/client.h"
#include "http/client/outbound.h"
#include "image/image.h"
#include "json/json.h"

#define CALL_MS 30000
#define MANIFEST_MAX ((size_t)4 << 20)
#define TOKEN_MAX ((size_t)64 * 1024)
#define LAYERS_MAX 512
#define DOCKER_HUB "docker.io"
#define DOCKER_HUB_HOST "registry-1.docker.io"
#if defined(__aarch64__)
#define ARCHITECTURE "arm64"
#elif defined(__x86_64__)
#define ARCHITECTURE "amd64"
#endif

static const char accept[] = "Accept: application/vnd.oci.image.index.v1+json, "
                             "application/vnd.oci.image.manifest.v1+json, "
                             "application/vnd.docker.distribution.manifest.list.v2+json, "
                             "application/vnd.docker.distribution.manifest.v2+json";

/* One image at one registry. */
struct registry_asking {
	const struct registry_question *question;
	struct arena *arena;
	const char *url;   /* ends in "/manifests/" */
	const char *token; /* the value of Authorization; NULL = none yet */
};

static int get_url(const struct registry_asking *s, const char *url, struct outbound_get *get,
                   int *ret_status, struct error *err)
{
	int left_ms = deadline_poll_ms(s->question->deadline);

	if (left_ms == 0)
		return FAIL(err, ERROR_TIMEOUT, "registry: no time is left");
	get->url = url;
	get->timeout_ms = left_ms > 0 && left_ms < CALL_MS ? left_ms : CALL_MS;
	get->allow_private = s->question->allows_private;
	if (outbound_get(get, ret_status, err) == 0)
		return 0;
	if (err->code == ERROR_FORBIDDEN)
		return FAIL_HINT(err, "the option registry_allow_private lets images be pulled "
		                      "from there");
	return -1;
}

/* The value of NAME="…" in a challenge. */
static const char *read_parameter(struct arena *a, const char *challenge, const char *name)
{
	const char *key = arena_format(a, "%s=\"", name);
	const char *at = strstr(challenge, key);

	if (!at)
		return "";
	at += strlen(key);
	return arena_format(a, "%.*s", (int)strcspn(at, "\""), at);
}

static int fail_login(const struct registry_asking *s, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND,
	            s->question->login ? "the registry refuses the login"
	                               : "the registry wants a login");
}

/* A login leaves this machine over TLS only. */
static int check_realm(const struct registry_asking *s, const char *url, struct error *err)
{
	const struct image_reference r = image_reference_read(s->arena, s->question->reference);

	if (!s->question->login || r.is_loopback || strncmp(url, "https://", 8) == 0)
		return 0;
	return FAIL(err, ERROR_FORBIDDEN,
	            "the registry wants the login at '%.200s', which is not https", url);
}

/* Bearer realm="https://…",service="…",scope="…": the realm gives a token to everyone, or to the
 * login. */
static int take_token(struct registry_asking *s, const char *challenge, struct error *err)
{
	AUTO(buf_done) struct buf answer = BUF(TOKEN_MAX), url = BUF(OUTBOUND_URL_MAX);
	const char *lines[] = {NULL, NULL};
	struct outbound_get get = {.answer = &answer, .headers = lines};
	const struct json_value *root;
	int status;

	if (s->question->login)
		lines[0] = arena_format(s->arena, "Authorization: %s", s->question->login);
	if (strncasecmp(challenge, "basic ", 6) == 0 && s->question->login) {
		s->token = lines[0];
		return 0;
	}
	if (strncasecmp(challenge, "bearer ", 7) != 0)
		return fail_login(s, err);
	buf_add_text(&url, read_parameter(s->arena, challenge, "realm"));
	buf_add_text(&url, strchr(buf_text(&url), '?') ? "&service=" : "?service=");
	http_escape(&url, read_parameter(s->arena, challenge, "service"));
	buf_add_text(&url, "&scope=");
	http_escape(&url, read_parameter(s->arena, challenge, "scope"));
	if (url.overflowed)
		return FAIL(err, ERROR_UNAVAILABLE, "the registry's challenge is too long");
	if (check_realm(s, buf_text(&url), err) < 0 ||
	    get_url(s, buf_text(&url), &get, &status, err) < 0)
		return -1;
	if (status != 200 || answer.overflowed)
		return fail_login(s, err);
	if (json_load(s->arena, buf_span(&answer), &root, err) < 0)
		return FAIL_CONTEXT(err, "token of the registry");
	const char *token = json_get_text(root, "token", json_get_text(root, "access_token", ""));
	if (!*token)
		return fail_login(s, err);
	s->token = arena_format(s->arena, "Authorization: Bearer %s", token);
	return 0;
}

static int read_status(int status, struct error *err)
{
	if (status == 200)
		return 0;
	if (status == 401 || status == 403 || status == 404)
		return FAIL(err, ERROR_NOT_FOUND,
		            "the registry has no such image, or shows it after a login only");
	return FAIL(err, ERROR_UNAVAILABLE, "the registry answers with status %d", status);
}

/* `what`: a tag or a digest. */
static int get_manifest(struct registry_asking *s, const char *what, const struct json_value **ret,
                        char ret_digest[REGISTRY_DIGEST_SIZE], struct error *err)
{
	const char *url = arena_format(s->arena, "%s%s", s->url, what);
	char challenge[2048], digest[128];
	const struct outbound_header headers[] = {
	        {"WWW-Authenticate", challenge, sizeof(challenge)},
	        {"Docker-Content-Digest", digest, sizeof(digest)},
	        {NULL, NULL, 0}};

	for (unsigned tries = 0;; tries++) {
		AUTO(buf_done) struct buf answer = BUF(MANIFEST_MAX);
		const char *const lines[] = {accept, s->token, NULL};
		struct outbound_get get = {
		        .headers = lines, .answer = &answer, .answer_headers = headers};
		int status;

		if (get_url(s, url, &get, &status, err) < 0)
			return -1;
		if (status == 401 && tries == 0 && !s->token) {
			if (take_token(s, challenge, err) < 0)
				return -1;
			continue;
		}
		if (read_status(status, err) < 0)
			return -1;
		if (answer.overflowed)
			return FAIL(err, ERROR_TOO_LARGE, "a manifest has at most %zu bytes",
			            MANIFEST_MAX);
		if (json_load(s->arena, buf_span(&answer), ret, err) < 0)
			return FAIL_CONTEXT(err, "manifest of the registry");
		if (!text_is_sha256(text_is_sha256(what) ? what : digest))
			return FAIL(err, ERROR_UNAVAILABLE,
			            "the registry does not tell the digest of the image");
		memcpy(ret_digest, text_is_sha256(what) ? what : digest, REGISTRY_DIGEST_SIZE);
		return 0;
	}
}

/* NULL: the list has none for this machine. */
static const char *find_manifest(const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *item = json_item_at(list, i);
		const struct json_value *platform = json_get(item, "platform");
		const char *digest = json_get_text(item, "digest", "");

		if (text_is_sha256(digest) &&
		    strcmp(json_get_text(platform, "os", ""), "linux") == 0 &&
		    strcmp(json_get_text(platform, "architecture", ""), ARCHITECTURE) == 0)
			return digest;
	}
	return NULL;
}

static int add_layers(const struct json_value *manifest, int64_t *ret, struct error *err)
{
	const struct json_value *layers = json_get(manifest, "layers");
	int64_t bytes = 0;

	if (!layers || json_count(layers) > LAYERS_MAX)
		return FAIL(err, ERROR_UNSUPPORTED, "its manifest has no list of at most %d layers",
		            LAYERS_MAX);
	for (size_t i = 0; i < json_count(layers); i++) {
		int64_t size = json_get_whole(json_item_at(layers, i), "size", 0);

		if (size < 0 || size > INT64_MAX / LAYERS_MAX)
			return FAIL(err, ERROR_UNAVAILABLE, "its manifest has an impossible size");
		bytes += size;
	}
	*ret = bytes;
	return 0;
}

static int ask_registry(struct registry_asking *s, const char *what, struct registry_image *ret,
                        struct error *err)
{
	const struct json_value *manifest;

	if (get_manifest(s, what, &manifest, ret->digest, err) < 0)
		return -1;
	memcpy(ret->manifest, ret->digest, sizeof(ret->manifest));
	if (json_get(manifest, "manifests")) {
		const char *digest = find_manifest(json_get(manifest, "manifests"));

		if (!digest)
			return FAIL(err, ERROR_NOT_FOUND,
			            "the registry has no image for linux/" ARCHITECTURE);
		if (get_manifest(s, digest, &manifest, ret->manifest, err) < 0)
			return -1;
	}
	return add_layers(manifest, &ret->packed_bytes, err);
}

int registry_find(const struct registry_question *question, struct registry_image *ret,
                  struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct image_reference r = image_reference_read(&arena, question->reference);
	struct registry_image found = {.packed_bytes = 0};
	struct registry_asking s = {.question = question, .arena = &arena};

	s.url = arena_format(&arena, "%s://%s/v2/%s/manifests/", r.is_loopback ? "http" : "https",
	                     strcmp(r.host, DOCKER_HUB) == 0 ? DOCKER_HUB_HOST : r.host, r.path);
	(void)snprintf(found.name, sizeof(found.name), "%s/%s", r.host, r.path);
	if (ask_registry(&s, *r.digest ? r.digest : r.tag, &found, err) < 0)
		return FAIL_CONTEXT(err, "image '%.200s'", question->reference);
	*ret = found;
	return 0;
}
