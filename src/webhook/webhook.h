/* SPDX-License-Identifier: Apache-2.0 */
/* webhook/webhook.h — sends events to other servers: signed, and retried for about a day. Failed
 * deliveries stay in the store.
 *
 * One thread reads new events, writes a delivery for each webhook that wants an event, and hands
 * due deliveries to a few workers. The workers are used for webhooks only, so a receiver that hangs
 * does not delay other work. Each webhook has one delivery under way, the oldest that is due, so
 * the events arrive in order unless a delivery fails. All state is in the store: after a crash, at
 * most the attempt under way is repeated. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct config;
struct store;
struct webhooks;
struct webhooks_options {
	const struct config *config;
	struct store *store;
	const char *node; /* this server; its texts outlive the webhooks */
};
MUST_CHECK int webhooks_open(const struct webhooks_options *options, struct webhooks **ret,
                             struct error *err);
/* Ends running attempts, within about a second. NULL is fine. */
void webhooks_close(struct webhooks *w);
/* Call it after a change of a webhook or a delivery. Any thread; NULL is fine. */
void webhooks_wake(struct webhooks *w);

struct webhook_record;
struct webhook_test {
	int status; /* of the answer; 0: none came */
	int64_t took_ms;
	char error[ERROR_TEXT_MAX]; /* "" = the status is 2xx */
};
/* Sends an event of the kind "webhook.test" once, signed as others are, also to a disabled webhook.
 * Stores nothing. Blocks for up to ten seconds; any thread. ERROR_UNAVAILABLE while the server
 * stops. */
MUST_CHECK int webhook_send_test(struct webhooks *w, const struct webhook_record *r,
                                 struct webhook_test *ret, struct error *err);

#define WEBHOOK_SECRET_MIN 16
#define WEBHOOK_SECRET_MAX 128
#define WEBHOOK_SECRET_SIZE 38 /* of a generated secret */
void webhook_secret_generate(char ret[WEBHOOK_SECRET_SIZE + 1]);
MUST_CHECK int webhook_secret_check(const char *secret, struct error *err);

/* "t=1790000000,v1=HEX": HMAC-SHA256 with the secret over "1790000000.BODY". */
#define WEBHOOK_SIGNATURE_SIZE 96
void webhook_sign(const char *secret, int64_t unix_s, struct span body,
                  char ret[WEBHOOK_SIGNATURE_SIZE]);

/* The wait after the given number of failures, at least 1: `first_ms`, doubled with each failure,
 * up to four hours, and varied by a fifth. */
int64_t webhook_wait_ms(int64_t first_ms, int64_t failures);

/* Whether one of the patterns, which are separated by blanks, matches this kind. */
bool webhook_wants(const char *patterns, const char *kind);
