/* SPDX-License-Identifier: Apache-2.0 */
/* account/password.h — passwords and e-mail addresses of users.
 *
 * A hash is argon2id's text, with its parameters in it. Computing one takes PASSWORD_MEMORY_BYTES
 * and a tenth of a second or more: callers limit how many run at once (sign_in/gate.h). */
#pragma once

#include <stdbool.h>

#include "account/account.h"

#define PASSWORD_MIN 10
#define PASSWORD_MAX 256 /* bytes */
#define PASSWORD_HASH_SIZE 128
#define PASSWORD_MEMORY_BYTES (64 << 20)

/* Refuses a password that is too short, too long or easy to guess. */
MUST_CHECK int password_check(const char *password, const char *email, struct error *err);
/* ERROR_UNAVAILABLE without memory. */
MUST_CHECK int password_hash(const char *password, char ret[PASSWORD_HASH_SIZE], struct error *err);
/* Whether the hash is of this password. A text that is no hash matches nothing. */
bool password_matches(const char *hash, const char *password);
/* A hash with the parameters of a new one that matches no password: for accounts that have none. */
#define PASSWORD_HASH_OF_NOBODY                                                                    \
	"$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"                                   \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

/* Writes the address in lower case. It needs one @ between a name and a host, whose
 * labels begin and end with a letter or digit, and the characters of
 * account_user_check. */
MUST_CHECK int account_email_parse(const char *text, char ret[ACCOUNT_USER_MAX + 1],
                                   struct error *err);
/* A user's id, which stays as it is, or an e-mail address, in lower case. */
MUST_CHECK int account_user_parse(const char *text, char ret[ACCOUNT_USER_MAX + 1],
                                  struct error *err);
