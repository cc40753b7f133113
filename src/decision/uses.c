/* SPDX-License-Identifier: Apache-2.0 */
#include "decision/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/decision.h"

#define KEY_SIZE (ID_SIZE + 1 + DECISION_RULE_ID_MAX + 1)

bool uses_is_of_rule(const struct network_decision *d)
{
	size_t size = strlen(d->rule);

	return size > 0 && size <= DECISION_RULE_ID_MAX && !strpbrk(d->rule, ".:/*");
}

void uses_add(struct rule_uses *u, const struct network_decision *d, int64_t now)
{
	char key[KEY_SIZE];
	struct decision_use *use;

	if (!uses_is_of_rule(d) || d->verdict != DECISION_ALLOWED || d->code != DECISION_OK)
		return;
	(void)snprintf(key, sizeof(key), "%.*s %.*s", ID_SIZE, d->sandbox, DECISION_RULE_ID_MAX,
	               d->rule);
	use = map_find(&u->by_key, key);
	if (!use && u->by_key.count >= USES_MAX)
		return;
	if (!use) {
		use = memory_new(sizeof(*use));
		*use = (struct decision_use){.at = now};
		memcpy(use->sandbox, d->sandbox, sizeof(use->sandbox));
		(void)snprintf(use->rule, sizeof(use->rule), "%.*s", DECISION_RULE_ID_MAX, d->rule);
		(void)map_put(&u->by_key, key, use);
	}
	use->at = now;
	use->count += d->count;
}

size_t uses_take(struct rule_uses *u, struct decision_use *ret, size_t max)
{
	size_t count = 0, at;
	const char *key;
	char taken[KEY_SIZE];

	while (count < max) {
		struct decision_use *use;

		at = 0;
		use = map_next(&u->by_key, &at, &key);
		if (!use)
			break;
		ret[count++] = *use;
		(void)snprintf(taken, sizeof(taken), "%s", key);
		free(map_remove(&u->by_key, taken));
	}
	return count;
}

void uses_done(struct rule_uses *u)
{
	map_free_values(&u->by_key);
}
