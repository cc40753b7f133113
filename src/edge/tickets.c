/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/tickets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/random.h"

#define SECRET_SIZE (API_TICKET_SIZE / 2)
_Static_assert(SECRET_SIZE == ACCOUNT_HASH_SIZE, "compared as hashes are");

struct ticket_entry {
	unsigned char secret[SECRET_SIZE];
	int64_t expires; /* 0 = empty */
	struct api_ticket ticket;
};

struct api_tickets {
	pthread_mutex_t lock; /* guards all members */
	unsigned next;        /* index of the oldest entry */
	struct ticket_entry entries[API_TICKETS_MAX];
};

struct api_tickets *api_tickets_new(void)
{
	struct api_tickets *t = memory_new(sizeof(*t));

	(void)pthread_mutex_init(&t->lock, NULL);
	return t;
}

void api_tickets_free(struct api_tickets *t)
{
	if (!t)
		return;
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

void api_tickets_issue(struct api_tickets *t, const struct api_ticket *ticket, int64_t now,
                       char ret_text[API_TICKET_SIZE + 1])
{
	struct ticket_entry entry = {.expires = now + API_TICKET_MS, .ticket = *ticket};

	random_bytes(entry.secret, sizeof(entry.secret));
	hex_encode(entry.secret, SECRET_SIZE, ret_text);
	(void)pthread_mutex_lock(&t->lock);
	t->entries[t->next] = entry;
	t->next = (t->next + 1) % API_TICKETS_MAX;
	(void)pthread_mutex_unlock(&t->lock);
}

static int value_of(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool parse_secret(struct span text, unsigned char ret[SECRET_SIZE])
{
	if (text.size != API_TICKET_SIZE)
		return false;
	for (unsigned i = 0; i < SECRET_SIZE; i++) {
		int high = value_of(text.data[2 * i]), low = value_of(text.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* The caller holds the lock. Looks at every entry, so that the time does not depend on the secret.
 */
static struct ticket_entry *find_entry(struct api_tickets *t,
                                       const unsigned char secret[SECRET_SIZE])
{
	struct ticket_entry *found = NULL;

	for (unsigned i = 0; i < API_TICKETS_MAX; i++)
		if (t->entries[i].expires && account_hash_equals(t->entries[i].secret, secret))
			found = &t->entries[i];
	return found;
}

static bool look_up_ticket(struct api_tickets *t, struct span text, bool uses,
                           struct ticket_entry *ret)
{
	unsigned char secret[SECRET_SIZE];
	struct ticket_entry *entry;

	if (!parse_secret(text, secret))
		return false;
	(void)pthread_mutex_lock(&t->lock);
	entry = find_entry(t, secret);
	if (entry)
		*ret = *entry;
	if (entry && uses)
		*entry = (struct ticket_entry){.expires = 0};
	(void)pthread_mutex_unlock(&t->lock);
	return entry != NULL;
}

static bool is_good(const struct ticket_entry *entry, const char *path, int64_t now)
{
	return entry->expires > now && strcmp(entry->ticket.path, path) == 0;
}

bool api_tickets_find(struct api_tickets *t, struct span text, const char *path, int64_t now,
                      struct api_ticket *ret)
{
	struct ticket_entry found;

	if (!look_up_ticket(t, text, false, &found))
		return false;
	if (!is_good(&found, path, now)) {
		(void)look_up_ticket(t, text, true, &found);
		return false;
	}
	*ret = found.ticket;
	return true;
}

bool api_tickets_redeem(struct api_tickets *t, struct span text, const char *path, int64_t now,
                        struct api_ticket *ret)
{
	struct ticket_entry found;

	if (!look_up_ticket(t, text, true, &found) || !is_good(&found, path, now))
		return false;
	*ret = found.ticket;
	return true;
}
