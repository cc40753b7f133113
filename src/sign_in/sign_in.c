/* SPDX-License-Identifier: Apache-2.0 */
/* The state of signing in, the limits of attempts, and what a user may do where. */
#include "sign_in/sign_in.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "sign_in/state.h"

struct sign_in *sign_in_new(const struct config *config, struct store *store)
{
	struct sign_in *s = memory_new(sizeof(*s));

	s->config = config;
	s->store = store;
	s->gate = password_gate_new();
	provider_init(&s->provider, config);
	return s;
}

void sign_in_free(struct sign_in *s)
{
	if (!s)
		return;
	password_gate_free(s->gate);
	provider_done(&s->provider);
	free(s);
}

struct sign_in_counts sign_in_counts_get(struct sign_in *s)
{
	return (struct sign_in_counts){
	        .made = atomic_load(&s->counts.made),
	        .refused = atomic_load(&s->counts.refused),
	        .limited = atomic_load(&s->counts.limited),
	        .forged = atomic_load(&s->counts.forged),
	};
}

void sign_in_count_forged(struct sign_in *s)
{
	if (s)
		atomic_fetch_add(&s->counts.forged, 1);
}

int attempt_note(struct sign_in *s, int result, const struct error *err)
{
	if (result == 0)
		atomic_fetch_add(&s->counts.made, 1);
	else if (err->code == ERROR_LIMIT)
		atomic_fetch_add(&s->counts.limited, 1);
	else
		atomic_fetch_add(&s->counts.refused, 1);
	return result;
}

int sign_in_refuse(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "the e-mail address or the password is not right");
	return FAIL_HINT(err, "an admin of the server makes a link for a new password: "
	                      "atoll user link EMAIL");
}

/* A client has a whole network of IPv6 addresses. */
static const char *id_of_address(struct arena *a, const char *address)
{
	struct in6_addr long_one;
	char text[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET6, address, &long_one) != 1)
		return arena_format(a, "address %s", address);
	memset(long_one.s6_addr + 8, 0, 8);
	return arena_format(a, "address %s/64", inet_ntop(AF_INET6, &long_one, text, sizeof(text)));
}

static const char *id_of_account(struct arena *a, const char *account)
{
	return arena_format(a, "account %s", account);
}

/* A stranger who guesses must not make the owner wait, who signs in from another address. */
static const char *id_of_place(struct arena *a, const char *address, const char *account)
{
	return arena_format(a, "account %s from %s", account, id_of_address(a, address));
}

int attempt_begin(struct sign_in *s, struct arena *a, const char *address, const char *account,
                  struct error *err)
{
	struct attempt_limit limit = {.window_ms = SIGN_IN_WINDOW_MS, .now = clock_unix_ms()};

	if (address[0]) {
		limit.id = id_of_address(a, address);
		limit.max = SIGN_IN_PER_ADDRESS_MAX;
		if (store_attempt_count(s->store, &limit, err) < 0)
			return -1;
	}
	if (!account)
		return 0;
	limit.id = id_of_place(a, address, account);
	limit.max = SIGN_IN_PER_PLACE_MAX;
	if (store_attempt_count(s->store, &limit, err) < 0)
		return -1;
	limit.id = id_of_account(a, account);
	limit.max = SIGN_IN_PER_ACCOUNT_MAX;
	return store_attempt_count(s->store, &limit, err);
}

void attempt_succeed(struct sign_in *s, struct arena *a, const char *address, const char *account)
{
	struct error err;

	if (address[0] &&
	    store_attempt_forgive(s->store, id_of_address(a, address), false, &err) < 0)
		log_warning("an attempt to sign in stays counted", FAILURE(&err));
	if (!account)
		return;
	if (store_attempt_forgive(s->store, id_of_place(a, address, account), true, &err) < 0 ||
	    store_attempt_forgive(s->store, id_of_account(a, account), false, &err) < 0)
		log_warning("an attempt to sign in stays counted", FAILURE(&err));
}

unsigned sign_in_scopes(const struct user_record *user, const struct membership *m)
{
	enum account_role role;
	struct error ignored;

	if (user->is_admin)
		return SCOPE_ALL;
	return account_role_parse(m->role, &role, &ignored) < 0 ? SCOPE_NONE
	                                                        : account_role_scopes(role);
}

int sign_in_refuse_without_project(struct error *err)
{
	(void)FAIL(err, ERROR_FORBIDDEN, "you are a member of no project");
	return FAIL_HINT(err, "an admin of a project can invite you");
}

int sign_in_choose_project(struct sign_in *s, struct arena *a, const struct user_record *user,
                           const char *wanted, struct sign_in_place *ret, struct error *err)
{
	const struct membership_lookup lookup = {
	        .email = user->email, .is_admin = user->is_admin, .project_id = wanted, .limit = 1};
	struct membership_list found;

	if (store_memberships(s->store, a, &lookup, &found, err) < 0)
		return -1;
	if (found.count == 0)
		return wanted ? FAIL_MISSING(err, "project", wanted)
		              : sign_in_refuse_without_project(err);
	*ret = (struct sign_in_place){found.items[0].project_id,
	                              sign_in_scopes(user, &found.items[0])};
	return 0;
}

struct new_password {
	const char *hash;
	int64_t now;
};

static int edit_password(struct user_record *r, const void *context, UNUSED struct error *err)
{
	const struct new_password *new = context;

	r->password = new->hash;
	r->updated_at = new->now;
	return 0;
}

static int check_old(struct sign_in *s, struct arena *a, const struct sign_in_password *change,
                     const struct user_record *user, struct error *err)
{
	bool matches;

	if (!change->old)
		return 0;
	if (attempt_begin(s, a, change->address, user->email, err) < 0 ||
	    password_gate_check(s->gate, user->password, change->old, &matches, err) < 0)
		return -1;
	if (!matches)
		return FAIL(err, ERROR_FORBIDDEN, "old: this is not the user's password");
	attempt_succeed(s, a, change->address, user->email);
	return 0;
}

int sign_in_set_password(struct sign_in *s, struct arena *a, const struct sign_in_password *change,
                         struct error *err)
{
	char hash[PASSWORD_HASH_SIZE];
	const struct new_password new = {hash, clock_unix_ms()};
	const struct user_edit edit = {.id = change->user_id,
	                               .edit = edit_password,
	                               .context = &new,
	                               .ends_logins_but = change->kept};
	struct user_record user;

	if (store_user_find(s->store, a, change->user_id, &user, err) < 0 ||
	    password_check(change->new, user.email, err) < 0 ||
	    check_old(s, a, change, &user, err) < 0 ||
	    password_gate_hash(s->gate, change->new, hash, err) < 0)
		return -1;
	return store_user_edit(s->store, a, &edit, &user, err);
}
