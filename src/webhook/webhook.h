/* SPDX-License-Identifier: Apache-2.0 */
/* webhook/webhook.h — tells other servers of events: signed, tried again for about a day, and kept
 * where it could not be done.
 *
 * One thread of its own looks at new events, writes a delivery for each webhook that wants one, and
 * hands those that are due to a few workers of its own: a receiver that hangs keeps no sandbox from
 * being made. One delivery per webhook is under way at a time, the oldest that is due, so order is
 * kept as far as failures let it. All that counts is in the store: whoever dies leaves nothing
 * undone, and repeats at most the attempt that was under way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "config/config.h"
#include "store/store.h"

struct webhooks;
struct webhooks_options {
	const struct config *config;
	struct store *store;
	const char *node; /* this server; its texts outlive the webhooks */
};
MUST_CHECK int webhooks_open(const struct webhooks_options *options, struct webhooks **ret,
                             struct error *err);
/* Ends what is under way, within a second or so. NULL is fine. */
void webhooks_close(struct webhooks *w);
/* A webhook or a delivery has been changed by a caller. Any thread; NULL is fine. */
void webhooks_wake(struct webhooks *w);

/* ---- pure parts ---- */

#define WEBHOOK_SECRET_MIN 16
#define WEBHOOK_SECRET_MAX 128
#define WEBHOOK_SECRET_SIZE 38 /* of one that is made here */
void webhook_secret_generate(char ret[WEBHOOK_SECRET_SIZE + 1]);
MUST_CHECK int webhook_secret_check(const char *secret, struct error *err);

/* "t=1790000000,v1=HEX": HMAC-SHA256 with the secret over "1790000000.BODY". */
#define WEBHOOK_SIGNATURE_SIZE 96
void webhook_sign(const char *secret, int64_t unix_s, struct span body,
                  char ret[WEBHOOK_SIGNATURE_SIZE]);

/* How long to wait after so many failures, 1 or more: `first_ms`, then twice as long each time, up
 * to four hours, a fifth more or less. */
int64_t webhook_wait_ms(int64_t first_ms, int64_t failures);

/* Whether one of the patterns, with blanks between them, is for this kind. */
bool webhook_wants(const char *patterns, const char *kind);
