/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/oidc.h"

#include <sodium.h>
#include <string.h>

#include "account/password.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "config/config.h"
#include "http/client/client.h"
#include "json/json.h"
#include "sign_in/claims.h"
#include "sign_in/groups.h"
#include "sign_in/provider.h"
#include "sign_in/state.h"

#define CHALLENGE_SIZE 64

bool oidc_is_on(const struct config *config)
{
	return config->oidc_issuer[0] && config->oidc_client_id[0];
}

static int require_provider(const struct sign_in *s, struct error *err)
{
	if (oidc_is_on(s->config))
		return 0;
	(void)FAIL(err, ERROR_NOT_FOUND, "this server has no single sign-on");
	return FAIL_HINT(err, "set the options oidc_issuer and oidc_client_id");
}

/* What is derived from the browser's text. */
struct derived {
	char state[SIGN_IN_DERIVED_SIZE + 1], nonce[SIGN_IN_DERIVED_SIZE + 1],
	        verifier[SIGN_IN_DERIVED_SIZE + 1];
};

static void derive_texts(const struct sign_in_token *browser, struct derived *ret)
{
	sign_in_derive(browser, "oidc state", ret->state);
	sign_in_derive(browser, "oidc nonce", ret->nonce);
	sign_in_derive(browser, "oidc verifier", ret->verifier);
}

static void write_challenge(const char *verifier, char ret[CHALLENGE_SIZE])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)verifier, strlen(verifier));
	sodium_bin2base64(ret, CHALLENGE_SIZE, hash, sizeof(hash),
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int oidc_begin(struct sign_in *s, struct arena *a, const struct oidc_question *question,
               const char **ret_location, struct error *err)
{
	AUTO(buf_done) struct buf url = BUF((size_t)16 * 1024);
	const struct json_value *document;
	char challenge[CHALLENGE_SIZE];
	const char *page;
	struct derived d;

	if (require_provider(s, err) < 0 || provider_document(&s->provider, a, &document, err) < 0)
		return -1;
	derive_texts(question->browser, &d);
	write_challenge(d.verifier, challenge);
	page = json_get_text(document, "authorization_endpoint", "");
	buf_addf(&url, "%s%sresponse_type=code&code_challenge_method=S256&client_id=", page,
	         strchr(page, '?') ? "&" : "?");
	http_escape(&url, s->config->oidc_client_id);
	buf_add_text(&url, "&redirect_uri=");
	http_escape(&url, question->redirect_uri);
	buf_add_text(&url, "&scope=");
	http_escape(&url, s->config->oidc_scopes);
	buf_addf(&url, "&state=%s&nonce=%s&code_challenge=%s", d.state, d.nonce, challenge);
	if (url.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the address of the provider is too long");
	*ret_location = arena_copy(a, buf_span(&url));
	return 0;
}

static int check_answer(const struct sign_in *s, const struct oidc_answer *answer,
                        const struct derived *d, struct error *err)
{
	if (!answer->state || strlen(answer->state) != SIGN_IN_DERIVED_SIZE ||
	    sodium_memcmp(answer->state, d->state, SIGN_IN_DERIVED_SIZE) != 0) {
		(void)FAIL(err, ERROR_FORBIDDEN, "this answer is to another browser's sign-in");
		return FAIL_HINT(err, "begin again");
	}
	if (answer->issuer && strcmp(answer->issuer, s->config->oidc_issuer) != 0)
		return FAIL(err, ERROR_FORBIDDEN, "this answer is another provider's");
	if (answer->error)
		return FAIL(err, ERROR_UNAUTHENTICATED, "the provider refused: %.100s",
		            answer->error);
	if (!answer->code || !answer->code[0])
		return FAIL(err, ERROR_INVALID, "code: is missing");
	return 0;
}

/* The ID token's claims. A set of keys that lacks the token's is fetched anew, once. */
static int read_id_token(struct sign_in *s, struct arena *a, const char *token,
                         const struct derived *d, const struct json_value **ret, struct error *err)
{
	struct claims_wanted wanted = {.issuer = s->config->oidc_issuer,
	                               .client_id = s->config->oidc_client_id,
	                               .nonce = d->nonce,
	                               .now = clock_unix_ms() / 1000};
	bool unknown_key = false;

	if (provider_keys(&s->provider, a, false, &wanted.keys, err) < 0)
		return -1;
	if (claims_read(a, span_of(token), &wanted, ret, &unknown_key, err) == 0)
		return 0;
	if (!unknown_key || provider_keys(&s->provider, a, true, &wanted.keys, err) < 0)
		return -1;
	return claims_read(a, span_of(token), &wanted, ret, &unknown_key, err);
}

/* A person as the provider describes it. */
struct person {
	const char *subject, *email, *name;
	bool email_is_verified;
	const struct json_value *groups;
};

static bool claim_is_true(const struct json_value *value)
{
	/* Some providers send a text. */
	return json_bool(value, false) || strcmp(json_text(value, ""), "true") == 0;
}

static void fill_person(const struct config *config, const struct json_value *claims,
                        struct person *ret)
{
	const struct json_value *groups = json_get(claims, config->oidc_groups_claim);

	if (!ret->email && json_get_text(claims, "email", NULL)) {
		ret->email = json_get_text(claims, "email", NULL);
		ret->email_is_verified = claim_is_true(json_get(claims, "email_verified"));
	}
	if (!ret->name)
		ret->name = json_get_text(claims, "name", NULL);
	if (!ret->groups)
		ret->groups = groups;
}

/* The token may lack what the provider tells on request. */
static int find_person(struct sign_in *s, struct arena *a, const struct json_value *tokens,
                       const struct derived *d, struct person *ret, struct error *err)
{
	const struct json_value *claims, *more;

	*ret = (struct person){.email = NULL};
	if (read_id_token(s, a, json_get_text(tokens, "id_token", ""), d, &claims, err) < 0)
		return -1;
	ret->subject = json_get_text(claims, "sub", "");
	fill_person(s->config, claims, ret);
	if (ret->email && ret->name && (ret->groups || !s->config->oidc_roles[0]))
		return 0;
	if (provider_user(&s->provider, a, json_get_text(tokens, "access_token", ""), &more, err) <
	    0)
		return -1;
	if (more && strcmp(json_get_text(more, "sub", ""), ret->subject) != 0)
		return FAIL(err, ERROR_UNAUTHENTICATED, "the provider describes another person");
	fill_person(s->config, more, ret);
	return 0;
}

struct person_identity {
	const char *issuer, *subject;
	const struct group_roles *roles;
	bool is_first; /* the user had no identity */
	int64_t now;
};

/* Whoever had the link of an invitation may have set the user's password: the owner of the address
 * is known only now. An admin of the server was made otherwise. */
static int edit_identity(struct user_record *r, const void *context, UNUSED struct error *err)
{
	const struct person_identity *identity = context;

	if (identity->is_first && !r->is_admin)
		r->password = "";
	r->issuer = identity->issuer;
	r->subject = identity->subject;
	r->updated_at = identity->now;
	return 0;
}

static int edit_admin(struct user_record *r, const void *context, UNUSED struct error *err)
{
	const struct person_identity *identity = context;

	r->is_admin = identity->roles->is_admin;
	r->updated_at = identity->now;
	return 0;
}

static int add_identity(struct sign_in *s, struct arena *a, struct person_identity *identity,
                        struct user_record *user, struct error *err)
{
	const struct user_edit edit = {
	        .id = user->id, .edit = edit_identity, .context = identity, .ends_logins_but = ""};

	if (user->subject[0])
		return FAIL(err, ERROR_FORBIDDEN,
		            "the address '%s' belongs to another identity of the provider",
		            user->email);
	identity->is_first = true;
	log_info("audit: a user was tied to an identity", TEXT("user", user->email),
	         TEXT("issuer", identity->issuer));
	return store_user_edit(s->store, a, &edit, user, err);
}

static int make_user(struct sign_in *s, struct arena *a, const struct person *person,
                     const struct person_identity *identity, struct user_record *ret,
                     struct error *err)
{
	struct id id = id_new();

	if (!identity->roles->gives_any) {
		(void)FAIL(err, ERROR_FORBIDDEN, "no group of '%s' has a role here", ret->email);
		return FAIL_HINT(err, "an admin can invite you, or map a group with oidc_roles");
	}
	ret->id = arena_text(a, id.text);
	ret->name = arena_format(a, "%.100s", person->name ? person->name : "");
	ret->password = "";
	ret->issuer = identity->issuer;
	ret->subject = identity->subject;
	ret->created_at = ret->updated_at = identity->now;
	log_info("audit: the provider's person became a user", TEXT("user", ret->email));
	return store_user_insert(s->store, ret, err);
}

static int find_or_make_user(struct sign_in *s, struct arena *a, const struct person *person,
                             struct person_identity *identity, struct user_record *ret,
                             struct error *err)
{
	char email[ACCOUNT_USER_MAX + 1];

	if (store_user_find_by_subject(s->store, a, identity->issuer, identity->subject, ret,
	                               err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	if (!person->email || !person->email_is_verified)
		return FAIL(err, ERROR_FORBIDDEN,
		            "the provider does not vouch for an e-mail address");
	if (account_email_parse(person->email, email, err) < 0)
		return -1;
	if (store_user_find_by_email(s->store, a, email, ret, err) == 0)
		return add_identity(s, a, identity, ret, err);
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	*ret = (struct user_record){.email = arena_text(a, email)};
	return make_user(s, a, person, identity, ret, err);
}

/* What the store refuses (the last admin of the server) stays. */
static void apply_admin(struct sign_in *s, struct arena *a, const struct person_identity *identity,
                        struct user_record *user)
{
	const struct user_edit edit = {.id = user->id, .edit = edit_admin, .context = identity};
	struct error err;

	if (!identity->roles->decides_admin || user->is_admin == identity->roles->is_admin)
		return;
	if (store_user_edit(s->store, a, &edit, user, &err) < 0)
		log_warning("whether a user is an admin of the server stays as it was",
		            TEXT("user", user->email), FAILURE(&err));
}

static int sign_in_person(struct sign_in *s, struct arena *a, const struct sign_in_client *client,
                          const struct person *person, struct sign_in_made *ret, struct error *err)
{
	struct group_roles *roles = ARENA_NEW(a, struct group_roles);
	struct person_identity identity = {.issuer = s->config->oidc_issuer,
	                                   .subject = person->subject,
	                                   .roles = roles,
	                                   .now = clock_unix_ms()};
	struct user_record user;

	group_roles_read(a, s->config->oidc_roles, person->groups, roles);
	if (find_or_make_user(s, a, person, &identity, &user, err) < 0)
		return -1;
	if (!user.disabled_at) {
		group_roles_apply(s->store, a, &user, roles);
		apply_admin(s, a, &identity, &user);
	}
	return login_begin_user(s, a, client, &user, ret, err);
}

static int finish_sign_in(struct sign_in *s, struct arena *a, const struct oidc_answer *answer,
                          struct sign_in_made *ret, struct error *err)
{
	struct provider_code code = {.code = answer->code,
	                             .redirect_uri = answer->question.redirect_uri};
	const struct json_value *tokens;
	struct person person;
	struct derived d;

	derive_texts(answer->question.browser, &d);
	code.verifier = d.verifier;
	if (require_provider(s, err) < 0 || check_answer(s, answer, &d, err) < 0 ||
	    attempt_begin(s, a, answer->client->address, NULL, err) < 0 ||
	    provider_redeem(&s->provider, a, &code, &tokens, err) < 0 ||
	    find_person(s, a, tokens, &d, &person, err) < 0 ||
	    sign_in_person(s, a, answer->client, &person, ret, err) < 0)
		return -1;
	attempt_succeed(s, a, answer->client->address, NULL);
	return 0;
}

int oidc_finish(struct sign_in *s, struct arena *a, const struct oidc_answer *answer,
                struct sign_in_made *ret, struct error *err)
{
	return attempt_note(s, finish_sign_in(s, a, answer, ret, err), err);
}
