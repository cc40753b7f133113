/* SPDX-License-Identifier: Apache-2.0 */
/* grant/state.h — private: what the files of this folder share. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"
#include "grant/grant.h"

struct credential_set;
struct provider;

struct grants {
	struct grants_options options;
	pthread_t thread, trust_thread, window_thread;
	bool has_thread, has_trust_thread, has_window_thread;
	pthread_mutex_t mutex; /* guards the rest; one round at a time */
	pthread_cond_t wake;
	bool is_stopping, is_settled;
	struct map sent; /* ids of sandboxes with a set -> unsigned: the round that sent it */
	unsigned round;
	struct map prepared; /* prepare.c: id -> int64_t: created_at of the installed authority */
	/* used by the thread of rounds only */
	struct map audited; /* audited.c: "SANDBOX CREDENTIAL RULE" -> struct audited_use */
	struct map used; /* uses.c: "SANDBOX CREDENTIAL" -> uintptr_t: the hour of the last event */
	/* used by the trust thread only */
	struct map trusted; /* id -> struct trust_state (rounds.c) */
	/* used by the thread of windows only */
	struct map silent; /* id -> struct silence */
};

/* grant.c: sends the set of a sandbox with rules to the proxy. Under the mutex. */
void grant_send_set(struct grants *g, const struct sandbox_record *r);
/* resolve.c: the set of a sandbox with rules. */
MUST_CHECK int grant_resolve(struct grants *g, struct arena *a, const struct sandbox_record *r,
                             struct credential_set *ret, struct error *err);
/* source.c: what a name in a template of a rule stands for. */
struct grant_name {
	const char *project_id, *user_id, *text;
	const char *host; /* of the rule */
};
MUST_CHECK int grant_find(struct grants *g, struct arena *a, const struct grant_name *name,
                          struct credential_record *ret, struct error *err);
/* variables.c: those that the sandbox lacks. Updates *r. */
MUST_CHECK int grant_add_variables(struct grants *g, struct arena *a, const struct fleet_ref *ref,
                                   struct sandbox_record *r, struct error *err);
/* audited.c: uses of a credential in a sandbox, for the audit. */
#define GRANT_AUDITED_MAX 10000
struct grant_audit {
	const struct sandbox_record *sandbox;
	const char *kind, *name; /* "credentials" or "secrets" */
	const char *rule, *host;
	uint64_t requests;
};
void grant_audit_use(struct grants *g, struct arena *arena, const struct grant_audit *a);
/* Each round; is_last: nothing waits afterwards. */
void grant_audit_round(struct grants *g, bool is_last);
void grant_audit_done(struct grants *g);
/* uses.c: writes when credentials were used last, at most once a minute for each. */
void grant_note_uses(struct grants *g);
/* grant.c: waits for the next second; false: the grants are being closed. */
bool grant_wait_for_round(struct grants *g);
/* rounds.c: the thread that installs the authority in sandboxes that have started. */
void *grant_run_trust(void *grants);
void grant_forget_trust(struct grants *g);
/* windows.c: the thread that ends windows whose consent has ended. */
void *grant_run_windows(void *grants);
/* trust.c: writes the authority's files into a started sandbox. */
MUST_CHECK int grant_install_trust(struct provider *p, const char *id, const char *certificate,
                                   int64_t deadline, struct error *err);
/* prepare.c: whether starts of sandboxes wait until their programs trust the authority. */
void grant_prepare_starts(struct grants *g, bool is_on);
/* prepare.c: created_at of the authority that a start has installed since the last call; 0: none.
 */
int64_t grant_take_prepared(struct grants *g, const char *id);
