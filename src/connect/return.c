/* SPDX-License-Identifier: Apache-2.0 */
/* The browser comes back from the service's page. */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "connect/state.h"

#define STATE_TEXT_MAX 256

static bool is_equal_text(const char *a, const char *b)
{
	size_t size = strlen(a);

	return size == strlen(b) && sodium_memcmp(a, b, size) == 0;
}

static int check_answer(const struct connect_return *answer, const struct connect_record *r,
                        const struct connect_parts *p, struct error *err)
{
	if (r->state != CONNECT_PENDING || r->method != CONNECT_CODE)
		return FAIL(err, ERROR_CONFLICT, "this login has ended already");
	if (r->expires_at <= clock_unix_ms())
		return FAIL(err, ERROR_TIMEOUT, "this login took too long; begin again");
	if (p->secret.browser &&
	    (!answer->browser || !is_equal_text(answer->browser, p->secret.browser)))
		return FAIL(err, ERROR_FORBIDDEN, "this login was begun in another browser");
	if (answer->issuer && p->service.issuer && strcmp(answer->issuer, p->service.issuer) != 0)
		return FAIL(err, ERROR_FORBIDDEN, "this answer is another service's");
	return 0;
}

static void note_failure(const struct connect_context *c, struct connect_record *r,
                         const char *problem)
{
	struct error ignored = {0};

	r->state = CONNECT_FAILED;
	r->problem = arena_format(c->arena, "%.200s", problem);
	r->state_hash = "";
	r->updated_at = clock_unix_ms();
	if (store_connect_update(c->store, r, &ignored) < 0)
		return;
}

/* A code is sent once, whatever becomes of the answer. */
static int exchange_code(const struct connect_context *c, const char *code,
                         struct connect_record *r, struct connect_parts *p, struct error *err)
{
	const struct oauth_caller caller = connect_caller(c, p);
	const struct oauth_field fields[] = {
	        {"grant_type", "authorization_code"},
	        {"code", code},
	        {"redirect_uri", p->secret.redirect_uri},
	        {"code_verifier", p->service.pkce == PKCE_ON ? p->secret.verifier : NULL},
	        {NULL, NULL},
	};
	struct oauth_tokens tokens;
	const char *refusal;

	r->state = CONNECT_EXCHANGING;
	r->updated_at = clock_unix_ms();
	if (store_connect_update(c->store, r, err) < 0)
		return -1;
	if (oauth_ask_tokens(&caller, fields, &tokens, &refusal, err) < 0)
		return -1;
	return connect_keep_tokens(c, r, p, &tokens, err);
}

int connect_finish(const struct connect_context *c, const struct connect_return *answer,
                   struct connect_record *ret, struct error *err)
{
	struct connect_parts p;

	if (!answer->state || !answer->state[0] || strlen(answer->state) > STATE_TEXT_MAX)
		return FAIL(err, ERROR_INVALID, "state: is missing");
	if (store_connect_find_by_state(c->store, c->arena,
	                                connect_hash_state(c->arena, answer->state), ret,
	                                err) < 0 ||
	    connect_read_parts(c->arena, ret, &p, err) < 0 ||
	    check_answer(answer, ret, &p, err) < 0)
		return -1;
	if (answer->error || !answer->code || !answer->code[0]) {
		(void)FAIL(err, ERROR_FORBIDDEN, "the service refused: %.100s",
		           answer->error ? answer->error : "it gave no code");
		note_failure(c, ret, err->text);
		return -1;
	}
	if (exchange_code(c, answer->code, ret, &p, err) == 0)
		return 0;
	if (ret->state == CONNECT_EXCHANGING)
		note_failure(c, ret, err->text);
	return -1;
}
