/* SPDX-License-Identifier: Apache-2.0 */
/* Makes logins and finds them. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "config/config.h"
#include "sign_in/state.h"

#define USER_AGENT_MAX 256

struct begun {
	enum login_kind kind;
	const char *owner_id, *project_id, *name;
	int64_t until; /* the login ends then at the latest; 0 = no such time */
};

static int insert_login(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                        const struct begun *begun, struct sign_in_made *ret, struct error *err)
{
	struct id id = id_new();
	int64_t now = clock_unix_ms(), end = now + s->config->sign_in_lifetime_ms;
	struct sign_in_made made;

	sign_in_token_make(&made.token);
	made.login = (struct login_record){
	        .id = arena_text(a, id.text),
	        .kind = begun->kind,
	        .owner_id = begun->owner_id,
	        .project_id = begun->project_id,
	        .address = client->address,
	        .user_agent = arena_format(a, "%.*s", USER_AGENT_MAX, client->user_agent),
	        .created_at = now,
	        .last_used_at = now,
	        .expires_at = begun->until && begun->until < end ? begun->until : end,
	};
	memcpy(made.login.hash, made.token.hash, sizeof(made.login.hash));
	if (store_login_insert(s->store, &made.login,
	                       client->replaces ? client->replaces->hash : NULL, err) < 0)
		return -1;
	log_info("signed in", TEXT("kind", login_kind_name(begun->kind)), TEXT("who", begun->name),
	         TEXT("login", made.login.id), TEXT("address", client->address));
	made.who = begun->kind == LOGIN_USER ? begun->name : "";
	*ret = made;
	return 0;
}

static int check_user(const struct user_record *user, struct error *err)
{
	if (!user->disabled_at)
		return 0;
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "the user '%s' is disabled", user->email);
	return FAIL_HINT(err, "ask an admin of the server");
}

static int mark_used(struct user_record *r, const void *context, UNUSED struct error *err)
{
	r->last_used_at = *(const int64_t *)context;
	return 0;
}

int login_begin_user(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                     const struct user_record *user, struct sign_in_made *ret, struct error *err)
{
	const struct begun begun = {LOGIN_USER, user->id, "", user->email, 0};
	int64_t now = clock_unix_ms();
	const struct user_edit edit = {.id = user->id, .edit = mark_used, .context = &now};
	struct user_record ignored;

	if (check_user(user, err) < 0 || store_user_edit(s->store, a, &edit, &ignored, err) < 0)
		return -1;
	return insert_login(s, a, client, &begun, ret, err);
}

/* A user of an older version may be stored in upper case beside another in lower case. An address
 * that no user has leaves `ret` as it is. */
static int find_by_address(struct sign_in *s, struct arena *a, const char *typed,
                           const char *lowered, struct user_record *ret, struct error *err)
{
	const char *const tried[] = {typed, lowered};

	for (size_t i = strcmp(typed, lowered) == 0; i < COUNT_OF(tried); i++) {
		if (store_user_find_by_email(s->store, a, tried[i], ret, err) == 0)
			return 0;
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	return 0;
}

static int begin_with_password(struct sign_in *s, struct arena *a,
                               const struct sign_in_client *client,
                               const struct sign_in_offer *offer, struct sign_in_made *ret,
                               struct error *err)
{
	char email[ACCOUNT_USER_MAX + 1];
	struct user_record user = {.password = ""};
	bool matches;

	if (!s->config->sign_in_password)
		return FAIL(err, ERROR_FORBIDDEN, "this server accepts no passwords");
	if (account_email_parse(offer->email, email, err) < 0 ||
	    attempt_begin(s, a, client->address, email, err) < 0)
		return -1;
	if (find_by_address(s, a, offer->email, email, &user, err) < 0)
		return -1;
	if (password_gate_check(s->gate, user.password, offer->password, &matches, err) < 0)
		return -1;
	if (!matches) {
		log_warning("sign-in refused", TEXT("who", email),
		            TEXT("address", client->address));
		return sign_in_refuse(err);
	}
	attempt_succeed(s, a, client->address, email);
	return login_begin_user(s, a, client, &user, ret, err);
}

static int refuse_key(struct error *err)
{
	return FAIL(err, ERROR_UNAUTHENTICATED, "this key is not valid");
}

static int check_key(const struct key_record *r, struct error *err)
{
	if (r->revoked_at || (r->expires_at && r->expires_at <= clock_unix_ms()))
		return FAIL(err, ERROR_UNAUTHENTICATED, "this key %s",
		            r->revoked_at ? "was revoked" : "has expired");
	return 0;
}

static int begin_with_key(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                          const struct sign_in_offer *offer, struct sign_in_made *ret,
                          struct error *err)
{
	struct account_key key;
	struct key_record record;
	struct begun begun = {.kind = LOGIN_KEY};

	if (attempt_begin(s, a, client->address, NULL, err) < 0)
		return -1;
	if (account_key_parse(span_trim(span_of(offer->key)), &key, err) < 0)
		return refuse_key(err);
	if (store_key_find_by_hash(s->store, a, key.hash, &record, err) < 0)
		return err->code == ERROR_NOT_FOUND ? refuse_key(err) : -1;
	if (!account_hash_equals(record.hash, key.hash))
		return refuse_key(err);
	if (check_key(&record, err) < 0)
		return -1;
	attempt_succeed(s, a, client->address, NULL);
	begun.owner_id = record.id;
	begun.project_id = record.project_id;
	begun.name = record.name;
	begun.until = record.expires_at;
	return insert_login(s, a, client, &begun, ret, err);
}

static int begin_with_setup(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                            const struct sign_in_offer *offer, struct sign_in_made *ret,
                            struct error *err)
{
	struct user_record user;

	if (attempt_begin(s, a, client->address, NULL, err) < 0 ||
	    link_accept_setup(s, a, offer, &user, err) < 0)
		return -1;
	attempt_succeed(s, a, client->address, NULL);
	return login_begin_user(s, a, client, &user, ret, err);
}

static int begin_with_invitation(struct sign_in *s, struct arena *a,
                                 const struct sign_in_client *client,
                                 const struct sign_in_offer *offer, struct sign_in_made *ret,
                                 struct error *err)
{
	struct user_record user;

	if (attempt_begin(s, a, client->address, NULL, err) < 0 ||
	    link_accept_invitation(s, a, client, offer, &user, err) < 0)
		return -1;
	attempt_succeed(s, a, client->address, NULL);
	return login_begin_user(s, a, client, &user, ret, err);
}

static int begin_with_offer(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                            const struct sign_in_offer *offer, struct sign_in_made *ret,
                            struct error *err)
{
	if (offer->key && !offer->password)
		return begin_with_key(s, a, client, offer, ret, err);
	if (offer->setup_token && offer->email && offer->password)
		return begin_with_setup(s, a, client, offer, ret, err);
	if (offer->invitation && offer->password)
		return begin_with_invitation(s, a, client, offer, ret, err);
	if (offer->email && offer->password)
		return begin_with_password(s, a, client, offer, ret, err);
	(void)FAIL(err, ERROR_INVALID, "the request offers nothing to sign in with");
	return FAIL_HINT(err, "email and password; key; setup_token, email, name and password; or "
	                      "invitation, name and password");
}

int sign_in_begin(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                  const struct sign_in_offer *offer, struct sign_in_made *ret, struct error *err)
{
	return attempt_note(s, begin_with_offer(s, a, client, offer, ret, err), err);
}

static int refuse_login(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this session has ended");
	return FAIL_HINT(err, "sign in again");
}

/* What the login's owner is now. */
static int find_owner(struct sign_in *s, struct arena *a, struct sign_in_found *found,
                      struct error *err)
{
	const struct login_record *login = &found->login;
	int result;

	if (login->kind == LOGIN_USER)
		result = store_user_find(s->store, a, login->owner_id, &found->user, err);
	else
		result = store_key_find(s->store, a, login->project_id, login->owner_id,
		                        &found->key, err);
	if (result < 0)
		return err->code == ERROR_NOT_FOUND ? refuse_login(err) : -1;
	if (login->kind == LOGIN_USER)
		return check_user(&found->user, err);
	found->key.scopes = account_key_scopes((unsigned)found->key.scopes, found->key.user_id,
	                                       found->key.role);
	return check_key(&found->key, err);
}

int sign_in_look_login(struct sign_in *s, struct arena *a,
                       const unsigned char hash[ACCOUNT_HASH_SIZE], struct sign_in_found *ret,
                       struct error *err)
{
	int64_t now = clock_unix_ms();
	struct sign_in_found found = {.login.id = ""};

	if (store_login_find(s->store, a, hash, &found.login, err) < 0)
		return err->code == ERROR_NOT_FOUND ? refuse_login(err) : -1;
	if (!account_hash_equals(found.login.hash, hash) || found.login.expires_at <= now ||
	    found.login.last_used_at + s->config->sign_in_idle_ms <= now)
		return refuse_login(err);
	if (find_owner(s, a, &found, err) < 0)
		return -1;
	*ret = found;
	return 0;
}

int sign_in_find_login(struct sign_in *s, struct arena *a,
                       const unsigned char hash[ACCOUNT_HASH_SIZE], struct sign_in_found *ret,
                       struct error *err)
{
	if (sign_in_look_login(s, a, hash, ret, err) < 0)
		return -1;
	store_login_touch(s->store, ret->login.id, clock_unix_ms());
	return 0;
}
