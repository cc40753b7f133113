/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that renew tokens and wait for devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"
#include "connect/state.h"
#include "store/credentials.h"

#define THREADS 2 /* a service that hangs holds one for ten seconds */
#define LOOK_MS 1000
#define CLAIM_MS 60000
#define RETRY_MS 60000
#define SLOWER_MS 5000
#define PURGE_EVERY_MS 60000
#define KEPT_MS (INT64_C(24) * 3600 * 1000)

struct connects {
	const struct config *config;
	struct store *store;
	pthread_t threads[THREADS];
	unsigned thread_count;
	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t wake;
	bool is_stopping;
	int64_t purged_at;
};

/* The user has to log in again: the credential says so, too. */
static int end_connect(const struct connect_context *c, struct connect_record *r,
                       const char *problem, struct error *err)
{
	const struct credential_ref ref = {r->project_id, r->owner_id, r->credential_id};
	struct credential_record credential;

	r->state = r->credential_id[0] ? CONNECT_NEEDS_LOGIN : CONNECT_FAILED;
	r->problem = arena_format(c->arena, "%.200s", problem);
	r->due_at = r->claimed_until = 0;
	r->updated_at = clock_unix_ms();
	log_info("a connect has ended", TEXT("connect", r->id), TEXT("problem", r->problem));
	if (!r->credential_id[0])
		return store_connect_update(c->store, r, err);
	if (store_credential_find(c->store, c->arena, &ref, &credential, err) < 0)
		return -1;
	credential.needs_login = true;
	credential.updated_at = r->updated_at;
	return store_connect_finish(c->store, r, &credential, err);
}

static int look_later(const struct connect_context *c, struct connect_record *r, int64_t wait_ms,
                      struct error *err)
{
	r->due_at = clock_unix_ms() + wait_ms;
	r->claimed_until = 0;
	return store_connect_update(c->store, r, err);
}

static bool is_code(const char *code, const char *wanted)
{
	return code && strcmp(code, wanted) == 0;
}

static int wait_for_device(const struct connect_context *c, struct connect_record *r,
                           struct connect_parts *p, struct error *err)
{
	const struct oauth_caller caller = connect_caller(c, p);
	const struct oauth_field fields[] = {
	        {"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
	        {"device_code", p->secret.device_code},
	        {NULL, NULL},
	};
	struct oauth_tokens tokens;
	const char *code;

	if (r->expires_at <= clock_unix_ms())
		return end_connect(c, r, "the code has expired", err);
	if (oauth_ask_tokens(&caller, fields, &tokens, &code, err) == 0)
		return connect_keep_tokens(c, r, p, &tokens, err);
	if (is_code(code, "slow_down"))
		r->interval_ms += SLOWER_MS;
	else if (code && !is_code(code, "authorization_pending"))
		return end_connect(c, r, code, err);
	error_clear(err);
	return look_later(c, r, r->interval_ms, err);
}

static int renew_tokens(const struct connect_context *c, struct connect_record *r,
                        struct connect_parts *p, struct error *err)
{
	const struct oauth_caller caller = connect_caller(c, p);
	const struct oauth_field by_refresh[] = {
	        {"grant_type", "refresh_token"},
	        {"refresh_token", p->secret.refresh_token},
	        {NULL, NULL},
	};
	const struct oauth_field by_client[] = {
	        {"grant_type", "client_credentials"},
	        {"scope", text_or_null(r->scopes)},
	        {NULL, NULL},
	};
	struct oauth_tokens tokens;
	const char *code;

	if (oauth_ask_tokens(&caller, r->method == CONNECT_CLIENT ? by_client : by_refresh, &tokens,
	                     &code, err) == 0) {
		fault_point("api", "connect-renewed");
		return connect_keep_tokens(c, r, p, &tokens, err);
	}
	log_warning("tokens of a connect were not renewed", TEXT("connect", r->id), FAILURE(err));
	/* Other refusals and silence may end; these do not. */
	if (is_code(code, "invalid_grant") || is_code(code, "invalid_client") ||
	    is_code(code, "unauthorized_client") || is_code(code, "bad_refresh_token"))
		return end_connect(c, r, code, err);
	error_clear(err);
	return look_later(c, r, RETRY_MS, err);
}

int connect_look(const struct connect_context *c, struct connect_record *r, struct error *err)
{
	struct connect_parts p;

	/* The claim comes first: services accept many refresh tokens only once. A server that dies
	 * after its call leaves a token that was used, which is tried once more and then refused.
	 */
	r->claimed_until = clock_unix_ms() + CLAIM_MS;
	if (store_connect_update(c->store, r, err) < 0)
		return -1;
	fault_point("api", "connect-claimed");
	if (connect_read_parts(c->arena, r, &p, err) < 0)
		return -1;
	return r->state == CONNECT_PENDING ? wait_for_device(c, r, &p, err)
	                                   : renew_tokens(c, r, &p, err);
}

static void look_at_due(struct connects *s)
{
	AUTO(arena_done) struct arena arena = {0}, own = {0};
	const struct connect_context c = {s->config, s->store, &own};
	struct connect_list due;
	struct error err = {0};

	if (store_connect_due(s->store, &arena, clock_unix_ms(), &due, &err) < 0) {
		log_warning("connects were not read", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < due.count; i++) {
		error_clear(&err);
		/* Another server or thread may have claimed it meanwhile. */
		if (connect_look(&c, &due.items[i], &err) < 0 && err.code != ERROR_CONFLICT)
			log_warning("a connect was not looked at", TEXT("connect", due.items[i].id),
			            FAILURE(&err));
		arena_reset(&own);
	}
}

static void purge_old(struct connects *s)
{
	int64_t now = clock_monotonic_ms();
	struct error err = {0};
	bool is_due;

	pthread_mutex_lock(&s->mutex);
	is_due = s->purged_at == 0 || now - s->purged_at > PURGE_EVERY_MS;
	if (is_due)
		s->purged_at = now;
	pthread_mutex_unlock(&s->mutex);
	if (is_due && store_connect_purge(s->store, clock_unix_ms() - KEPT_MS, &err) < 0)
		log_warning("old connects stay", FAILURE(&err));
}

static bool wait_for_round(struct connects *s)
{
	int64_t deadline = deadline_after(LOOK_MS);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);

	while (!s->is_stopping && deadline_poll_ms(deadline) > 0)
		thread_wait(&s->wake, &s->mutex, deadline);
	return !s->is_stopping;
}

static void *run_rounds(void *context)
{
	struct connects *s = context;

	(void)prctl(PR_SET_NAME, "connects");
	while (wait_for_round(s)) {
		look_at_due(s);
		purge_old(s);
	}
	return NULL;
}

int connects_open(const struct config *config, struct store *store, struct connects **ret,
                  struct error *err)
{
	struct connects *s = memory_new(sizeof(*s));
	int code;

	*s = (struct connects){.config = config, .store = store};
	(void)pthread_mutex_init(&s->mutex, NULL);
	thread_condition_init(&s->wake);
	for (; s->thread_count < THREADS; s->thread_count++) {
		code = thread_start(&s->threads[s->thread_count], NULL, run_rounds, s);
		if (code != 0) {
			connects_close(s);
			errno = code;
			return FAIL_ERRNO(err, "start a thread for connects");
		}
	}
	*ret = s;
	return 0;
}

void connects_close(struct connects *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->mutex);
	s->is_stopping = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	for (unsigned i = 0; i < s->thread_count; i++)
		(void)pthread_join(s->threads[i], NULL);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->mutex);
	free(s);
}
