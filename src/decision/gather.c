/* SPDX-License-Identifier: Apache-2.0 */
#include "decision/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "decision/decision.h"

#define MINUTE_MS 60000
#define KEY_SIZE 704

/* So many at once, and then so many a minute. */
struct budget {
	int64_t left_ms; /* the time that is saved up; each use costs its share of a minute */
	int64_t since_ms;
};
struct refusal {
	struct network_decision decision;
	uint64_t sequence; /* of the last one */
};
struct gathered_sandbox {
	struct list item;
	char id[ID_SIZE + 1];
	struct budget rows, events;
	struct refusal refusals[GATHER_REFUSALS_MAX];
	unsigned count;
};
struct told_host {
	int64_t until_ms;
};

static bool budget_use(struct budget *b, int64_t now, int64_t burst, int64_t per_minute)
{
	const int64_t cost = MINUTE_MS / per_minute;
	int64_t passed = b->since_ms > 0 ? now - b->since_ms : burst * cost;

	b->since_ms = now;
	b->left_ms += passed > 0 ? passed : 0;
	if (b->left_ms > burst * cost)
		b->left_ms = burst * cost;
	if (b->left_ms < cost)
		return false;
	b->left_ms -= cost;
	return true;
}

void gather_init(struct gather *g)
{
	*g = (struct gather){0};
	list_init(&g->recent);
}

void gather_done(struct gather *g)
{
	free(g->rows);
	map_done(&g->by_key);
	map_free_values(&g->sandboxes);
	map_free_values(&g->told);
}

static struct gathered_sandbox *find_sandbox(struct gather *g, const char *id)
{
	struct gathered_sandbox *s = map_find(&g->sandboxes, id);

	if (s) {
		list_remove(&s->item);
	} else if (g->sandboxes.count < GATHER_SANDBOXES_MAX) {
		s = memory_new(sizeof(*s));
		(void)snprintf(s->id, sizeof(s->id), "%s", id);
		(void)map_put(&g->sandboxes, s->id, s);
	} else {
		s = LIST_ENTRY(g->recent.next, struct gathered_sandbox, item);
		list_remove(&s->item);
		(void)map_remove(&g->sandboxes, s->id);
		*s = (struct gathered_sandbox){0};
		(void)snprintf(s->id, sizeof(s->id), "%s", id);
		(void)map_put(&g->sandboxes, s->id, s);
	}
	list_append(&g->recent, &s->item);
	return s;
}

static void remember_refusal(struct gather *g, struct gathered_sandbox *s,
                             const struct network_decision *d)
{
	struct refusal *r = NULL, *oldest = &s->refusals[0];

	g->sequence++;
	for (unsigned i = 0; i < s->count && !r; i++) {
		if (decision_is_same(&s->refusals[i].decision, d))
			r = &s->refusals[i];
		else if (s->refusals[i].sequence < oldest->sequence)
			oldest = &s->refusals[i];
	}
	if (!r) {
		r = s->count < GATHER_REFUSALS_MAX ? &s->refusals[s->count++] : oldest;
		*r = (struct refusal){.decision = *d};
		r->decision.count = 0;
	}
	/* Counted from the last mark, when the latest command began. */
	if (r->sequence <= g->last_mark)
		r->decision.count = 0;
	r->decision.count += d->count;
	r->sequence = g->sequence;
}

/* Whether the decision is news: none was told about this host for a while. */
static bool is_news(struct gather *g, struct gathered_sandbox *s, const struct network_decision *d,
                    int64_t now)
{
	char key[KEY_SIZE], target[DECISION_TARGET_SIZE];
	struct told_host *told;

	decision_target(d, target);
	(void)snprintf(key, sizeof(key), "%s %u %u %s", d->sandbox, d->verdict, d->code, target);
	told = map_find(&g->told, key);
	if (told && told->until_ms > now)
		return false;
	if (!budget_use(&s->events, now, DECISION_EVENTS_BURST, DECISION_EVENTS_PER_MINUTE))
		return false;
	if (!told) {
		if (g->told.count >= GATHER_TOLD_MAX)
			map_free_values(&g->told);
		told = memory_new(sizeof(*told));
		(void)map_put(&g->told, key, told);
	}
	told->until_ms = now + (d->verdict == DECISION_ALLOWED ? DECISION_QUIET_ALLOWED_MS
	                                                       : DECISION_QUIET_MS);
	return true;
}

static void write_key(char key[KEY_SIZE], const struct network_decision *d)
{
	char address[ADDRESS6_TEXT_SIZE];

	decision_address(d, address);
	(void)snprintf(key, KEY_SIZE, "%s %u %u %u %s %u %s %s %s", d->sandbox, d->verdict, d->code,
	               d->protocol, address, d->port, d->host, d->rule, d->credential);
}

static struct gathered_row *new_row(struct gather *g, const struct network_decision *d,
                                    const char *key)
{
	struct gathered_row *row;

	if (!g->rows)
		g->rows = memory_new(sizeof(*g->rows));
	if (g->rows->count == GATHER_ROWS_MAX)
		return NULL;
	row = &g->rows->items[g->rows->count++];
	*row = (struct gathered_row){.decision = *d};
	row->decision.count = row->decision.bytes_in = row->decision.bytes_out = 0;
	(void)map_put(&g->by_key, key, row);
	return row;
}

/* The row of decisions of this sandbox that have none of their own. */
static struct gathered_row *rest_row(struct gather *g, const struct network_decision *d)
{
	struct network_decision rest = {
	        .verdict = d->verdict, .code = d->code, .protocol = DECISION_OTHER};
	struct gathered_row *row;
	char key[KEY_SIZE];

	memcpy(rest.sandbox, d->sandbox, sizeof(rest.sandbox));
	write_key(key, &rest);
	row = map_find(&g->by_key, key);
	return row ? row : new_row(g, &rest, key);
}

void gather_add(struct gather *g, const struct network_decision *d, int64_t now)
{
	struct gathered_sandbox *s = find_sandbox(g, d->sandbox);
	struct gathered_row *row;
	char key[KEY_SIZE];

	if (d->verdict == DECISION_DENIED && d->count > 0)
		remember_refusal(g, s, d);
	write_key(key, d);
	row = map_find(&g->by_key, key);
	if (!row) {
		row = budget_use(&s->rows, now, DECISION_ROWS_BURST, DECISION_ROWS_PER_MINUTE)
		              ? new_row(g, d, key)
		              : rest_row(g, d);
	}
	if (!row) {
		g->dropped += d->count;
		return;
	}
	row->at = now;
	row->decision.count += d->count;
	row->decision.bytes_in += d->bytes_in;
	row->decision.bytes_out += d->bytes_out;
	row->tells = row->tells || (d->count > 0 && is_news(g, s, d, now));
}

struct gathered_rows *gather_take(struct gather *g)
{
	struct gathered_rows *rows = g->rows;

	g->rows = NULL;
	map_done(&g->by_key);
	g->by_key = (struct map){0};
	return rows;
}

uint64_t gather_mark(struct gather *g)
{
	g->last_mark = g->sequence;
	return g->last_mark;
}

size_t gather_since(struct gather *g, const char *sandbox, uint64_t mark,
                    struct network_decision *ret, size_t max)
{
	const struct gathered_sandbox *s = map_find(&g->sandboxes, sandbox);
	size_t count = 0;

	for (unsigned i = 0; s && i < s->count && count < max; i++)
		if (s->refusals[i].sequence > mark)
			ret[count++] = s->refusals[i].decision;
	return count;
}
