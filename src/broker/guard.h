/* SPDX-License-Identifier: Apache-2.0 */
/* broker/guard.h — whether the rules for sandboxes' networks are still there. Private to this
 * folder.
 *
 * An administrator may empty the host's nftables under us ("nft flush ruleset", which a restart of
 * the service nftables runs, too). The kernel tells of each change there; when the table is gone,
 * or is another one, all that is ours is set again in one transaction. Should that fail, our
 * sandboxes lose their links: without rules they would reach the host and each other. */
#pragma once

#include "broker/event.h"

struct rule_guard {
	struct fd_watch watch;
	int fd;         /* -1: there are no rules to guard */
	uint64_t table; /* its number, which no other table ever has */
};

struct broker;
/* As soon as the rules are set, so that what empties them meanwhile is known. Without it the broker
 * works, and says so. */
void guard_open(struct broker *b);
/* Once all sandboxes of before are known: whether the table is still that one. */
void guard_begin(struct broker *b);
/* Where sandboxes can have no internet, as when nft failed or the host had no default route: sets
 * the host up once more, so that a host that was repaired needs no restart of the broker. */
void guard_try_again(struct broker *b);
void guard_close(struct broker *b);
