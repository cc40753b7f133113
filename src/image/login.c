/* SPDX-License-Identifier: Apache-2.0 */
/* Logins at registries, in the form that skopeo and docker read (containers-auth.json). */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "image/reference.h"
#include "json/json.h"
#include "json/write.h"

#define USERNAME_MAX 256
#define PASSWORD_MAX ((size_t)16 * 1024)

static bool has_control(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return true;
	return false;
}

/* A Google key, used as a password, is a document of several lines. */
int image_login_check(const struct image_login *login, struct error *err)
{
	if (!login->username || !*login->username || strlen(login->username) > USERNAME_MAX ||
	    strchr(login->username, ':') || has_control(login->username))
		return FAIL(err, ERROR_INVALID,
		            "username: 1 to %d bytes without a colon or control characters",
		            USERNAME_MAX);
	if (!login->password || !*login->password || strlen(login->password) > PASSWORD_MAX)
		return FAIL(err, ERROR_INVALID, "password: 1 to %zu bytes", PASSWORD_MAX);
	return 0;
}

void image_login_write(const struct image_login *login, const char *reference, struct buf *out)
{
	AUTO(buf_done) struct buf pair = BUF(IMAGE_LOGIN_MAX);

	buf_addf(&pair, "%s:%s", login->username, login->password);
	json_begin_object(out, NULL);
	json_begin_object(out, "auths");
	json_write_text(out, reference_host(reference));
	buf_add_byte(out, ':');
	json_begin_object(out, NULL);
	json_add_bytes(out, "auth", buf_span(&pair));
	for (int i = 0; i < 3; i++)
		json_end_object(out);
	sodium_memzero(pair.data, pair.size);
}

/* docker's own registry has an address of the first version in its files. */
static const struct json_value *find_entry(struct arena *a, const struct json_value *root,
                                           const char *reference)
{
	const struct json_value *all = json_get(root, "auths");
	const char *host = arena_copy(a, reference_host(reference));
	const struct json_value *entry = json_get(all, host);

	if (!entry && strcmp(host, "docker.io") == 0)
		entry = json_get(all, "https://index.docker.io/v1/");
	return entry;
}

/* "USER:PASSWORD" in base64 */
static int read_pair(struct arena *a, const char *text, struct image_login *ret, struct error *err)
{
	size_t size = strlen(text), got = 0;
	char *pair = ARENA_ARRAY(a, char, size + 1), *colon;

	if (sodium_base642bin((unsigned char *)pair, size, text, size, NULL, &got, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) < 0)
		return FAIL(err, ERROR_INVALID, "a login is not in base64");
	pair[got] = '\0';
	colon = strchr(pair, ':');
	if (!colon || strlen(pair) != got)
		return FAIL(err, ERROR_INVALID, "a login is not USER:PASSWORD");
	*colon = '\0';
	*ret = (struct image_login){pair, colon + 1};
	return 0;
}

int image_login_read(struct arena *a, struct span text, const char *reference,
                     struct image_login *ret, struct error *err)
{
	const struct json_value *root, *entry;
	struct image_login login;

	if (json_load(a, text, &root, err) < 0)
		return FAIL_CONTEXT(err, "logins of registries");
	entry = find_entry(a, root, reference);
	if (!entry)
		return FAIL(err, ERROR_NOT_FOUND, "no login for this registry");
	login = (struct image_login){json_get_text(entry, "username", NULL),
	                             json_get_text(entry, "password", NULL)};
	if (!login.username && read_pair(a, json_get_text(entry, "auth", ""), &login, err) < 0)
		return -1;
	if (image_login_check(&login, err) < 0)
		return FAIL_CONTEXT(err, "login for the registry");
	*ret = login;
	return 0;
}

static void write_base64(struct span bytes, int variant, struct buf *out)
{
	size_t size = sodium_base64_ENCODED_LEN(bytes.size, variant);
	char *text = memory_array(size, 1);

	(void)sodium_bin2base64(text, size, (const unsigned char *)bytes.data, bytes.size, variant);
	buf_add_text(out, text);
	sodium_memzero(text, size);
	free(text);
}

void image_login_write_basic(const struct image_login *login, struct buf *out)
{
	AUTO(buf_done) struct buf pair = BUF(IMAGE_LOGIN_MAX);

	buf_addf(&pair, "%s:%s", login->username, login->password);
	buf_add_text(out, "Basic ");
	write_base64(buf_span(&pair), sodium_base64_VARIANT_ORIGINAL, out);
	sodium_memzero(pair.data, pair.size);
}

void image_login_write_docker(const struct image_login *login, const char *reference,
                              struct buf *out)
{
	AUTO(buf_done) struct buf document = BUF(IMAGE_LOGIN_MAX), host = BUF(512);

	buf_add_span(&host, reference_host(reference));
	json_begin_object(&document, NULL);
	json_add_text(&document, "username", login->username);
	json_add_text(&document, "password", login->password);
	json_add_text(&document, "serveraddress", buf_text(&host));
	json_end_object(&document);
	write_base64(buf_span(&document), sodium_base64_VARIANT_URLSAFE, out);
	sodium_memzero(document.data, document.size);
}
