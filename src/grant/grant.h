/* SPDX-License-Identifier: Apache-2.0 */
/* grant/grant.h — which credentials a sandbox may use at this moment: its rules
 * (credential/rule.h), the credentials that they name, and what persons consented to.
 *
 * The result goes to the credential proxy as one set for each sandbox. A rule whose credential
 * cannot be used refuses its requests and says why. A thread makes all sets of this server again
 * each second, so a change by another server, an end of a consent and a renewed token hold within
 * that time; grants_refresh does the same at once. A second thread installs the certificate
 * authority in sandboxes that have started: it waits for them, and they may be hostile. A start
 * installs it before the first command, and gives up after 3 s. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "credential/sender.h"

struct arena;
struct audit_log;
struct config;
struct credential_record;
struct credential_rules;
struct decision_log;
struct fleet;
struct fleet_create;
struct fleet_ref;
struct grants;
struct sandbox_record;
struct store;

struct grants_options {
	struct store *store;
	struct fleet *fleet;
	struct credential_sender *sender;
	struct decision_log *decisions; /* tells uses; may be NULL */
	struct audit_log *audit;        /* has a row of uses; may be NULL */
	const char *node;               /* this server */
};
MUST_CHECK int grants_open(const struct grants_options *options, struct grants **ret,
                           struct error *err);
void grants_close(struct grants *g); /* NULL is fine */
/* Makes all sets of this server again, and returns when the proxy uses them. Any thread. */
MUST_CHECK int grants_refresh(struct grants *g, struct error *err);

/* What the proxy holds, as of about a second ago. NULL: all 0. */
struct credential_usage grants_usage(const struct grants *g);

/* Names in templates of rules that are no credential's: "${credential.secret_NAME.value}" is a
 * secret of the project's vault (store/vault.h), whose value goes to its hosts, or, without any, to
 * the rule's; "${credential.literal_OWNER.v0}" is a value that a request had (grant_keep). */
#define GRANT_SECRET "secret_"
#define GRANT_SECRET_FIELD "value"
#define GRANT_LITERAL "literal_"

/* Checks rules for a sandbox: its network rules have to allow their hosts, and the credentials have
 * to exist and to have the hosts. `owner_id`: the user whose credentials they may name, beside
 * those of the project. *ret_rules is the text to store, and *ret_egress the network rules with
 * marks for the hosts that are decrypted. Without rules: "" and no marks. */
struct grant_wish {
	const char *project_id, *owner_id;
	const char *sandbox_owner; /* whose credentials the sandbox uses; NULL: owner_id */
	const char *egress;
	struct credential_rules *rules;
};
MUST_CHECK int grant_check(struct grants *g, struct arena *a, const struct grant_wish *wish,
                           const char **ret_rules, const char **ret_egress, struct error *err);
/* Keeps values that a request had, encrypted, for one host: *ret has a template for each of them.
 * Once no sandbox's rules name them, they are deleted, an hour later at the earliest. */
#define GRANT_KEEP_MAX 8
struct grant_literals {
	const char *project_id, *host;
	const char *const *values;
	size_t count; /* 1..GRANT_KEEP_MAX */
};
MUST_CHECK int grant_keep(struct grants *g, struct arena *a, const struct grant_literals *wish,
                          const char **ret, struct error *err);
/* Adds rules that were checked to a create: with them the variables by which programs find the
 * sandbox's authority. */
void grant_prepare_create(struct arena *a, const char *rules, struct fleet_create *request);
/* Replaces network rules and rules of a sandbox, and returns when both hold. */
struct grant_change {
	const char *
	        caller; /* the user; only the sandbox's own user may name that user's credentials */
	const char *egress;
	struct credential_rules *rules;
	/* Only rules with this source are replaced; all others stay, before `rules`, also where
	 * `egress` lets nothing through to their hosts. NULL: all are replaced. */
	const char *source;
};
MUST_CHECK int grant_set(struct grants *g, struct arena *a, const struct fleet_ref *ref,
                         const struct grant_change *change, struct sandbox_record *ret,
                         struct error *err);

/* Whether this credential can be used in a sandbox now; else *ret_why says why not, as the end of a
 * sentence. */
MUST_CHECK int grant_is_usable(struct grants *g, struct arena *a, const char *sandbox_id,
                               const struct credential_record *credential, const char **ret_why,
                               struct error *err);

/* Values of credentials in terminal windows. A window that a call of a conversation opens gets the
 * variables of the credentials that this conversation may use, if the same key asked for the
 * consent. A third thread ends windows within about a second after their consent. */
#define GRANT_VARIABLES_MAX 8
struct grant_place {
	const struct sandbox_record *sandbox;
	const char *conversation_id; /* NULL or "" = none: no variables */
	const char *key_id;
};
struct grant_environment {
	const char *env[GRANT_VARIABLES_MAX + 1]; /* "KEY=value", NULL-terminated */
	size_t count;
	const char *consents[GRANT_VARIABLES_MAX], *credentials[GRANT_VARIABLES_MAX]; /* ids */
	size_t consent_count;
};
MUST_CHECK int grant_environment_find(struct grants *g, struct arena *a,
                                      const struct grant_place *place,
                                      struct grant_environment *ret, struct error *err);
bool grant_environment_has(const struct grant_environment *e, const char *credential_id);
/* Writes down that the window gets these, before it does. Fails when a consent has ended since. */
MUST_CHECK int grant_keep_window(struct grants *g, const struct grant_place *place,
                                 const struct grant_environment *e, const char *window,
                                 struct error *err);
/* Fails when the window of this name has values of another conversation, or of another key's. */
MUST_CHECK int grant_enter_window(struct grants *g, struct arena *a,
                                  const struct grant_place *place, const char *window,
                                  struct error *err);
/* For a window that is known to have values: fails also when it is not known whose they are, or
 * when their consent has ended. */
MUST_CHECK int grant_enter_secret_window(struct grants *g, struct arena *a,
                                         const struct grant_place *place, const char *window,
                                         struct error *err);
