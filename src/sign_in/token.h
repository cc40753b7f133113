/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/token.h — the random texts of logins and one-time links. Only their SHA-256 is stored.
 * Pure, but for random bytes. */
#pragma once

#include <stdbool.h>

#include "account/account.h"
#include "base/bytes.h"

#define SIGN_IN_TOKEN_SIZE 40
struct sign_in_token {
	char text[SIGN_IN_TOKEN_SIZE + 1]; /* 200 random bits */
	unsigned char hash[ACCOUNT_HASH_SIZE];
};
void sign_in_token_make(struct sign_in_token *ret);
/* Fills the hash from a caller's text; false for a text that cannot be a token. */
bool sign_in_token_parse(struct span text, struct sign_in_token *ret);

/* A text that the token determines and that tells nothing about it. Another purpose gives another
 * text. */
#define SIGN_IN_DERIVED_SIZE 64
void sign_in_derive(const struct sign_in_token *token, const char *purpose,
                    char ret[SIGN_IN_DERIVED_SIZE + 1]);

/* The text that a page must send with each write of the login. It is derived from the token, so it
 * needs no storage, changes with the login and tells nothing about the token. */
#define SIGN_IN_CSRF_SIZE SIGN_IN_DERIVED_SIZE
void sign_in_csrf(const struct sign_in_token *token, char ret[SIGN_IN_CSRF_SIZE + 1]);
/* Compares in constant time. */
bool sign_in_csrf_matches(const struct sign_in_token *token, struct span text);
/* Identifies a login in a project, for a cache. */
void sign_in_hash_in_project(const unsigned char login[ACCOUNT_HASH_SIZE], const char *project,
                             unsigned char ret[ACCOUNT_HASH_SIZE]);
