/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/background_work.h — work that takes minutes and that parked calls await: its lanes,
 * what is queued, and the announcement of changes. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "fleet/core/caller.h"

struct alarms;
struct fleet;
struct work_lane;

struct background_work {
	pthread_mutex_t mutex; /* guards all of this but caller_check */
	void (*tell)(void *context, const char *key);
	void *context;
	struct work_lane *lane;        /* first builds, imports and pulls */
	struct work_lane *backup_lane; /* backups and archives */
	struct list shared;            /* of shared_work.c */
	pthread_cond_t shared_done;
	struct list first_builds; /* templates whose first build is queued: templates.c */
	struct list waiters;      /* of template_waiters.h */
	uint64_t wakes;           /* counts the wakes of `waiters` */
	bool is_ending;
	struct list endings; /* deletes of ephemeral sandboxes: lifecycle/ephemeral.c */
	uint64_t endings_done;
	pthread_cond_t ending_done;             /* has thread_condition_init */
	struct fleet_caller_check caller_check; /* set before the first request */
	struct alarms *alarms; /* has a mutex of its own; NULL: rounds alone end timeouts */
};
void awaited_init(struct fleet *f);
void awaited_done(struct fleet *f);
