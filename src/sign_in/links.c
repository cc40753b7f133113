/* SPDX-License-Identifier: Apache-2.0 */
/* One-time links: the first user's, and invitations. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "config/config.h"
#include "sign_in/state.h"
#include "store/invitations.h"
#include "store/projects.h"

#define FIRST_PROJECT "default"
#define NAME_MAX_BYTES 100

static int refuse_link(struct error *err)
{
	(void)FAIL(err, ERROR_NOT_FOUND, "this link is not valid");
	return FAIL_HINT(err, "copy the whole link; it works once");
}

static int find_link(struct sign_in *s, struct arena *a, const char *text,
                     enum invitation_kind kind, struct invitation_record *ret, struct error *err)
{
	struct sign_in_token token;

	if (!sign_in_token_parse(span_trim(span_of(text)), &token))
		return refuse_link(err);
	if (store_invitation_find(s->store, a, token.hash, clock_unix_ms(), ret, err) < 0)
		return -1;
	return ret->kind == kind ? 0 : refuse_link(err);
}

/* A new user with this password. Texts are in the arena. */
static int fill_user(struct sign_in *s, struct arena *a, const struct sign_in_offer *offer,
                     const char *email, struct user_record *ret, struct error *err)
{
	struct id id = id_new();
	char hash[PASSWORD_HASH_SIZE];
	int64_t now = clock_unix_ms();

	if (password_check(offer->password, email, err) < 0 ||
	    password_gate_hash(s->gate, offer->password, hash, err) < 0)
		return -1;
	*ret = (struct user_record){
	        .id = arena_text(a, id.text),
	        .email = arena_text(a, email),
	        .name = arena_format(a, "%.*s", NAME_MAX_BYTES, offer->name ? offer->name : ""),
	        .password = arena_text(a, hash),
	        .issuer = "",
	        .subject = "",
	        .created_at = now,
	        .updated_at = now,
	};
	return 0;
}

/* "" when the server has no such project any more. */
static int find_first_project(struct sign_in *s, struct arena *a, const char **ret,
                              struct error *err)
{
	struct project_record project;

	*ret = "";
	if (store_project_find(s->store, a, FIRST_PROJECT, &project, err) == 0)
		*ret = project.id;
	else if (err->code != ERROR_NOT_FOUND)
		return -1;
	return 0;
}

int link_accept_setup(struct sign_in *s, struct arena *a, const struct sign_in_offer *offer,
                      struct user_record *ret, struct error *err)
{
	char email[ACCOUNT_USER_MAX + 1];
	struct invitation_record invitation;
	struct invitation_acceptance accept = {
	        .invitation = &invitation, .user = ret, .is_new = true, .now = clock_unix_ms()};

	if (find_link(s, a, offer->setup_token, INVITATION_SETUP, &invitation, err) < 0 ||
	    account_email_parse(offer->email, email, err) < 0 ||
	    find_first_project(s, a, &accept.project_id, err) < 0 ||
	    fill_user(s, a, offer, email, ret, err) < 0)
		return -1;
	ret->is_admin = true;
	if (store_invitation_accept(s->store, &accept, err) < 0)
		return -1;
	log_info("audit: the first user was made", TEXT("user", ret->email));
	return 0;
}

/* A link that a person follows. */
struct following {
	const struct sign_in_client *client;
	const struct sign_in_offer *offer;
	struct invitation_acceptance *accept;
	struct user_record *user;
};

/* The owner of the address joins with the password that the user has: a link must not replace it.
 */
static int check_existing(struct sign_in *s, struct arena *a, const struct following *f,
                          struct error *err)
{
	const struct user_record *user = f->user;
	bool matches;

	if (attempt_begin(s, a, f->client->address, user->email, err) < 0 ||
	    password_gate_check(s->gate, user->password, f->offer->password, &matches, err) < 0)
		return -1;
	if (!matches) {
		(void)FAIL(err, ERROR_UNAUTHENTICATED, "'%s' has another password, or none",
		           user->email);
		return FAIL_HINT(err, "the address belongs to a user: give that user's password");
	}
	attempt_succeed(s, a, f->client->address, user->email);
	return 0;
}

/* A link from an admin of the server sets the user's password. */
static int replace_password(struct sign_in *s, struct arena *a, const struct sign_in_offer *offer,
                            struct user_record *user, struct error *err)
{
	struct user_record made;

	if (fill_user(s, a, offer, user->email, &made, err) < 0)
		return -1;
	user->password = made.password;
	user->updated_at = made.updated_at;
	if (offer->name)
		user->name = made.name;
	return 0;
}

/* Fills f->user: the invited user exists, or is new. */
static int find_invited(struct sign_in *s, struct arena *a, const struct following *f,
                        struct error *err)
{
	const struct invitation_record *invitation = f->accept->invitation;

	if (store_user_find_by_email(s->store, a, invitation->email, f->user, err) == 0) {
		f->accept->sets_password = !invitation->project_id[0];
		return f->accept->sets_password ? replace_password(s, a, f->offer, f->user, err)
		                                : check_existing(s, a, f, err);
	}
	if (err->code != ERROR_NOT_FOUND ||
	    fill_user(s, a, f->offer, invitation->email, f->user, err) < 0)
		return -1;
	f->accept->is_new = true;
	f->user->is_admin = invitation->is_admin;
	return 0;
}

int link_accept_invitation(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                           const struct sign_in_offer *offer, struct user_record *ret,
                           struct error *err)
{
	struct invitation_record invitation;
	struct invitation_acceptance accept = {
	        .invitation = &invitation, .user = ret, .now = clock_unix_ms()};
	const struct following following = {client, offer, &accept, ret};

	if (find_link(s, a, offer->invitation, INVITATION_JOIN, &invitation, err) < 0 ||
	    find_invited(s, a, &following, err) < 0 ||
	    store_invitation_accept(s->store, &accept, err) < 0)
		return -1;
	log_info("audit: an invitation was accepted", TEXT("user", ret->email),
	         TEXT("project", invitation.project_id), TEXT("role", invitation.role));
	return 0;
}

int sign_in_add_user(struct sign_in *s, struct arena *a, const struct user_record *wanted,
                     const char *password, struct user_record *ret, struct error *err)
{
	char email[ACCOUNT_USER_MAX + 1], hash[PASSWORD_HASH_SIZE] = "";
	struct id id = id_new();

	if (account_email_parse(wanted->email, email, err) < 0 ||
	    (password && (password_check(password, email, err) < 0 ||
	                  password_gate_hash(s->gate, password, hash, err) < 0)))
		return -1;
	*ret = *wanted;
	ret->id = arena_text(a, id.text);
	ret->email = arena_text(a, email);
	ret->password = arena_text(a, hash);
	ret->issuer = ret->subject = "";
	ret->created_at = ret->updated_at = clock_unix_ms();
	return store_user_insert(s->store, ret, err);
}

int sign_in_make_setup(struct store *store, struct sign_in_token *ret, int64_t *ret_expires_at,
                       struct error *err)
{
	struct id id = id_new();
	struct sign_in_token token;
	struct invitation_record r = {
	        .id = id.text,
	        .kind = INVITATION_SETUP,
	        .is_admin = true,
	        .created_at = clock_unix_ms(),
	};

	r.expires_at = r.created_at + SIGN_IN_SETUP_MS;
	sign_in_token_make(&token);
	memcpy(r.hash, token.hash, sizeof(r.hash));
	if (store_invitation_insert(store, &r, err) < 0)
		return -1;
	*ret = token;
	*ret_expires_at = r.expires_at;
	return 0;
}

int sign_in_invite(struct sign_in *s, struct arena *a, struct invitation_record *r,
                   struct sign_in_token *ret, struct error *err)
{
	struct id id = id_new();

	sign_in_token_make(ret);
	r->id = arena_text(a, id.text);
	r->kind = INVITATION_JOIN;
	memcpy(r->hash, ret->hash, sizeof(r->hash));
	r->created_at = clock_unix_ms();
	r->expires_at = r->created_at + s->config->invitation_keep_ms;
	return store_invitation_insert(s->store, r, err);
}

static const char *make_link(struct arena *a, const char *address, const char *page,
                             const struct sign_in_token *token)
{
	return arena_format(a, "%s/console/%s#%s", address, page, token->text);
}

const char *sign_in_setup_link(struct arena *a, const char *address,
                               const struct sign_in_token *token)
{
	return make_link(a, address, "setup", token);
}

const char *sign_in_join_link(struct arena *a, const char *address,
                              const struct sign_in_token *token)
{
	return make_link(a, address, "join", token);
}
