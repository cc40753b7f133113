/* SPDX-License-Identifier: Apache-2.0 */
/* edge/tickets.h — what a browser opens a WebSocket with, since it cannot send a key: a text for
 * one use within a minute, that stands for a key and is good for one path only. Private to this
 * folder; any thread.
 *
 * In memory only: a restart forgets them all, and another atolld knows none of them, but whom it
 * has to ask. There is room for so many; the oldest gives way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/arena.h"
#include "base/span.h"

struct fleet;

#define API_TICKET_MS 60000
#define API_TICKETS_MAX 1024
#define API_TICKET_SIZE 64      /* characters */
#define API_TICKET_TEXT_MAX 192 /* with what follows it in a path */

/* What it stands for. The key is looked up again: one that is revoked opens nothing. */
struct api_ticket {
	unsigned char key_hash[ACCOUNT_HASH_SIZE];
	char project_id[65]; /* that the key acted in */
	char path[128];
};

struct api_tickets;
struct api_tickets *api_tickets_new(void);
void api_tickets_free(struct api_tickets *t); /* NULL is fine */
/* `now` is monotonic ms. */
void api_tickets_issue(struct api_tickets *t, const struct api_ticket *ticket, int64_t now,
                       char ret_text[API_TICKET_SIZE + 1]);
/* False for a text that is unknown, used or too old; it is used up even if the path is another. */
bool api_tickets_redeem(struct api_tickets *t, struct span text, const char *path, int64_t now,
                        struct api_ticket *ret);
/* The same, but a good ticket stays: its request may still have to wait for its turn, and is then
 * authorized again. */
bool api_tickets_find(struct api_tickets *t, struct span text, const char *path, int64_t now,
                      struct api_ticket *ret);

/* ticket_home.c: the ticket with the name of this server, and when it ends, signed: so that another
 * server asks nobody for what somebody has made up. */
const char *api_ticket_sign(const struct fleet *fleet, struct arena *a, const char *secret,
                            const char *path);
/* Who has given it; false for what no server of this database has signed, or not lately. Asks
 * nobody. */
bool api_ticket_issuer(const struct fleet *fleet, struct arena *a, struct span text,
                       const char *path, const char **ret_node);
