/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/meter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/core/use.h"

struct meter *meter_new(const char *id)
{
	struct meter *m = memory_new(sizeof(*m));

	snprintf(m->id, sizeof(m->id), "%s", id);
	return m;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	free(m->uses);
	free(m);
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static bool is_same(const struct meter_use *u, const struct fleet_use *use)
{
	return u->reason == use->reason && strcmp(u->key_id, text_or_empty(use->key_id)) == 0 &&
	       strcmp(u->run, text_or_empty(use->run)) == 0 &&
	       strcmp(u->conversation, text_or_empty(use->conversation)) == 0;
}

static struct meter_use *add_use(struct meter *m, const struct fleet_use *use)
{
	struct meter_use *u;

	if (m->count == m->capacity) {
		m->capacity = m->capacity ? 2 * m->capacity : 1;
		m->uses = realloc(m->uses, m->capacity * sizeof(*m->uses));
		if (!m->uses)
			abort();
	}
	u = &m->uses[m->count++];
	*u = (struct meter_use){.reason = use->reason};
	snprintf(u->key_id, sizeof(u->key_id), "%s", text_or_empty(use->key_id));
	snprintf(u->run, sizeof(u->run), "%s", text_or_empty(use->run));
	snprintf(u->conversation, sizeof(u->conversation), "%s", text_or_empty(use->conversation));
	return u;
}

/* NULL: it is not there, and `most` uses are. */
static struct meter_use *find_or_add(struct meter *m, const struct fleet_use *use, unsigned most)
{
	for (unsigned i = 0; i < m->count; i++)
		if (is_same(&m->uses[i], use))
			return &m->uses[i];
	return m->count < most ? add_use(m, use) : NULL;
}

/* Callers choose conversations and runs: with many of them, they must not have their calls charged
 * to another caller's use. */
static struct meter_use *find_use(struct meter *m, const struct fleet_use *use)
{
	struct fleet_use less = *use;
	struct meter_use *found = find_or_add(m, &less, METER_USES_MAX);

	less.conversation = NULL;
	if (!found)
		found = find_or_add(m, &less, METER_RUNS_MAX);
	less.run = NULL;
	if (!found)
		found = find_or_add(m, &less, METER_KEYS_MAX);
	return found ? found : &m->uses[METER_KEYS_MAX - 1];
}

unsigned meter_begin(struct meter *m, const struct fleet_use *use)
{
	struct meter_use *u = find_use(m, use);

	u->begun++;
	u->open++;
	return (unsigned)(u - m->uses) + 1;
}

void meter_end(struct meter *m, unsigned number)
{
	assert(number >= 1 && number <= m->count && m->uses[number - 1].open > 0);
	m->uses[number - 1].open--;
}

/* Numbers stay valid while any use goes on. */
void meter_read(struct meter *m, struct meter *ret)
{
	bool goes_on = false;

	for (unsigned i = 0; i < m->count; i++) {
		struct meter_use *u = &m->uses[i];
		const struct fleet_use use = {u->key_id, u->run, u->reason, u->conversation};

		if (u->begun || u->open)
			find_use(ret, &use)->begun += u->begun > u->open ? u->begun : u->open;
		u->begun = 0;
		goes_on |= u->open > 0;
	}
	if (!goes_on)
		m->count = 0;
}
