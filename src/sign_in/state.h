/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/state.h — private: what the files of this folder share. */
#pragma once

#include <stdatomic.h>

#include "sign_in/gate.h"
#include "sign_in/provider.h"
#include "sign_in/sign_in.h"

struct attempt_counts {
	atomic_uint_fast64_t made, refused, limited, forged;
};
struct sign_in {
	const struct config *config;
	struct store *store;
	struct password_gate *gate;
	struct oidc_provider provider;
	struct attempt_counts counts;
};

/* sign_in.c: counts an attempt of the address ("" = not known) and for the account (NULL: none).
 * ERROR_LIMIT when there were too many. */
MUST_CHECK int attempt_begin(struct sign_in *s, struct arena *a, const char *address,
                             const char *account, struct error *err);
/* The attempt was right: it no longer counts, nor do failures for the account from this address. */
void attempt_succeed(struct sign_in *s, struct arena *a, const char *address, const char *account);
int sign_in_refuse(struct error *err);
/* Counts the end of an attempt and returns `result`, 0 or -1 with `err`. */
int attempt_note(struct sign_in *s, int result, const struct error *err);

/* login.c: a login of a user who has proved to be that user. */
MUST_CHECK int login_begin_user(struct sign_in *s, struct arena *a,
                                const struct sign_in_client *client, const struct user_record *user,
                                struct sign_in_made *ret, struct error *err);

/* links.c: the user that the link makes, or lets join. */
MUST_CHECK int link_accept_setup(struct sign_in *s, struct arena *a,
                                 const struct sign_in_offer *offer, struct user_record *ret,
                                 struct error *err);
MUST_CHECK int link_accept_invitation(struct sign_in *s, struct arena *a,
                                      const struct sign_in_client *client,
                                      const struct sign_in_offer *offer, struct user_record *ret,
                                      struct error *err);
