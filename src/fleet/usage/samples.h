/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/samples.h — the samples behind history.h.
 *
 * The tick takes them, one round at a time; any thread may read them, and forget those of a deleted
 * sandbox. Samples are dropped when none has come for an hour, or for as long as a full history
 * takes. */
#pragma once

struct fleet;
struct sandbox_record;
struct sandbox_samples;

struct sandbox_samples *samples_new(void);
void samples_free(struct sandbox_samples *s);
void samples_forget(struct fleet *f, const char *id);
/* Of the tick, before it visits the sandboxes: decides whether this round takes samples. */
void samples_begin(struct fleet *f);
/* Of the tick, for each sandbox. */
void samples_add(struct fleet *f, const struct sandbox_record *r);
