/* SPDX-License-Identifier: Apache-2.0 */
/* Logins at registries, in the form that skopeo and docker read (containers-auth.json). */
#include <sodium.h>
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
