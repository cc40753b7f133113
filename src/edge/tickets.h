/* SPDX-License-Identifier: Apache-2.0 */
/* edge/tickets.h — one-time tickets with which a browser opens a WebSocket, since it cannot send a
 * key there. A ticket is valid for a minute, for one key and one path. Any thread.
 *
 * Tickets are in memory: a restart forgets them. Another server does not know them, but the text
 * names the server that issued it. The newest API_TICKETS_MAX tickets are remembered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/bytes.h"

struct fleet;

#define API_TICKET_MS 60000
#define API_TICKETS_MAX 1024
#define API_TICKET_SIZE 64      /* characters of the secret */
#define API_TICKET_TEXT_MAX 192 /* characters of the whole text */

/* What the ticket grants. The key is looked up again on use, so a revoked key opens nothing. */
struct api_ticket {
	unsigned char key_hash[ACCOUNT_HASH_SIZE]; /* of the key, or of the login */
	bool is_login;
	char project_id[65]; /* in which the caller acts */
	char path[128];
};

struct api_tickets;
struct api_tickets *api_tickets_new(void);
void api_tickets_free(struct api_tickets *t); /* NULL is fine */
/* `now` is monotonic ms. */
void api_tickets_issue(struct api_tickets *t, const struct api_ticket *ticket, int64_t now,
                       char ret_text[API_TICKET_SIZE + 1]);
/* Uses the ticket up, also when the path is wrong. False for a text that is unknown, used or
 * expired. */
bool api_tickets_redeem(struct api_tickets *t, struct span text, const char *path, int64_t now,
                        struct api_ticket *ret);
/* The same without using up a valid ticket: a queued request is authorized again later. */
bool api_tickets_find(struct api_tickets *t, struct span text, const char *path, int64_t now,
                      struct api_ticket *ret);

/* tickets of several servers (ticket_home.c) */

/* The secret with this server's name and an expiry, signed: "SECRET.NODE.SECONDS.SIGNATURE". So
 * another server does not forward requests with invented tickets. */
const char *api_ticket_sign(const struct fleet *fleet, struct arena *a, const char *secret,
                            const char *path);
/* The server that issued the ticket. False when the signature is wrong or too old. */
bool api_ticket_issuer(const struct fleet *fleet, struct arena *a, struct span text,
                       const char *path, const char **ret_node);
