/* SPDX-License-Identifier: Apache-2.0 */
/* decision/uses.h — uses of rules of credentials, in memory until they are taken. Private; pure;
 * not thread-safe. */
#pragma once

#include "base/map.h"
#include "decision/decision.h"

#define USES_MAX 1024 /* rules of sandboxes with uses, between two takes; more are not noted */

struct rule_uses {
	struct map by_key; /* "SANDBOX RULE" -> struct decision_use */
};
/* Whether the decision is one of a rule of credentials: entries of network rules have other signs
 * than the id of a rule. */
bool uses_is_of_rule(const struct network_decision *d);
/* Notes a decision that lets a request pass. `now` is unix ms. */
void uses_add(struct rule_uses *u, const struct network_decision *d, int64_t now);
/* Moves at most `max` uses to `ret`; returns how many. */
size_t uses_take(struct rule_uses *u, struct decision_use *ret, size_t max);
void uses_done(struct rule_uses *u);
