/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/alarms.h — sandboxes whose own timeout ends before the next rounds of the fleet: a
 * thread names each at its time, so that a timeout ends within milliseconds. A round would find it
 * seconds later, and finds those for which there is no place here. Any thread. */
#pragma once

#define ALARMS_MAX 1024
/* Later times are left to the rounds, which set them again. */
#define ALARM_WITHIN_MS 10000

struct alarms;
struct sandbox_record;

/* The thread starts with the first alarm. `ring` runs on it, with no lock held. */
struct alarms *alarms_new(void (*ring)(void *context, const char *sandbox_id), void *context);
/* Returns when the thread has ended; NULL is fine. */
void alarms_free(struct alarms *alarms);
/* Replaces the sandbox's alarm by one at its timeout, if it runs and has one. NULL is fine. */
void alarm_set(struct alarms *alarms, const struct sandbox_record *r);
