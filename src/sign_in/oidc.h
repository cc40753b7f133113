/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/oidc.h — signing in with OpenID Connect: authorization code with PKCE.
 *
 * The browser holds a random text in a cookie; state, nonce and the PKCE verifier are derived from
 * it. So an answer is accepted in the browser that asked for it only, by any server, and nothing is
 * stored meanwhile. Blocks: it calls the provider. Any thread. */
#pragma once

#include <stdbool.h>

#include "sign_in/sign_in.h"

bool oidc_is_on(const struct config *config);

/* What the option oidc_roles gives to the provider's groups: "GROUP=ROLE@PROJECT,…"; the project
 * "*" with the role admin makes an admin of the server. */
#define OIDC_EVERYWHERE "*"

struct oidc_question {
	const struct sign_in_token *browser;
	const char *redirect_uri;
};
/* The address of the provider's page. */
MUST_CHECK int oidc_begin(struct sign_in *s, struct arena *a, const struct oidc_question *question,
                          const char **ret_location, struct error *err);

struct oidc_answer {
	const struct sign_in_client *client;
	struct oidc_question question;
	/* From the query of the callback; NULL: absent. */
	const char *code, *state, *issuer, *error;
};
/* Makes a login for the person that the provider vouches for. Finds the user by the provider's
 * subject, then by the verified e-mail address; makes a user when a group gives a role. Roles in
 * projects of oidc_roles become what the groups say. */
MUST_CHECK int oidc_finish(struct sign_in *s, struct arena *a, const struct oidc_answer *answer,
                           struct sign_in_made *ret, struct error *err);
