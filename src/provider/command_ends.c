/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/command_ends.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"

struct ends_of_cause {
	uint64_t process, started_ms; /* time of the last noted end */
	int64_t exit_code;
	uint64_t count;  /* not reported yet */
	int64_t rest_ms; /* before this time the next end is not reported */
};

struct ends_of_sandbox {
	struct list item;
	char id[ID_SIZE + 1];
	struct ends_of_cause causes[AGENT_CAUSE_WORDS]; /* of agent_causes */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static struct map sandboxes;                              /* id -> struct ends_of_sandbox */
static struct list all = {&all, &all};                    /* the same */
/* Changed with the mutex held, read without it. */
static _Atomic size_t known_count;

static unsigned find_cause(const char *cause)
{
	unsigned i = 0;

	while (i < AGENT_CAUSE_WORDS && strcmp(agent_causes[i], cause) != 0)
		i++;
	assert(i < AGENT_CAUSE_WORDS);
	return i;
}

static bool is_old(const struct agent_process *p)
{
	int64_t ended_at = (int64_t)(p->started_unix_ms + p->duration_ms);

	return p->started_unix_ms > 0 && clock_unix_ms() - ended_at > COMMAND_ENDS_REST_MS;
}

/* The next functions are called with the mutex held. */

static struct ends_of_sandbox *get_sandbox(const char *id)
{
	struct ends_of_sandbox *found = map_find(&sandboxes, id);

	if (found || atomic_load(&known_count) == COMMAND_ENDS_MAX)
		return found;
	found = memory_new(sizeof(*found));
	memcpy(found->id, id, ID_SIZE);
	list_init(&found->item);
	list_append(&all, &found->item);
	map_put(&sandboxes, found->id, found);
	atomic_fetch_add(&known_count, 1);
	return found;
}

static void drop_sandbox(struct ends_of_sandbox *sandbox)
{
	map_remove(&sandboxes, sandbox->id);
	list_remove(&sandbox->item);
	free(sandbox);
	/* An empty table holds no memory. */
	if (atomic_fetch_sub(&known_count, 1) == 1)
		map_done(&sandboxes);
}

/* An end that several callers read counts once. */
static void count_end(struct ends_of_cause *c, const struct agent_process *p)
{
	if (c->process == p->process && c->started_ms == p->started_unix_ms && p->process > 0)
		return;
	c->process = p->process;
	c->started_ms = p->started_unix_ms;
	c->exit_code = p->exit_code;
	c->count++;
}

/* Drops a sandbox without unreported ends and without a pause. */
static bool take_due_end(struct ends_of_sandbox *sandbox, int64_t now_ms, struct command_end *ret)
{
	bool is_quiet = true;

	for (size_t i = 0; i < AGENT_CAUSE_WORDS; i++) {
		struct ends_of_cause *c = &sandbox->causes[i];

		is_quiet &= c->count == 0 && c->rest_ms <= now_ms;
		if (c->count == 0 || c->rest_ms > now_ms)
			continue;
		*ret = (struct command_end){.cause = agent_causes[i],
		                            .process = c->process,
		                            .exit_code = c->exit_code,
		                            .count = c->count};
		memcpy(ret->id, sandbox->id, sizeof(ret->id));
		c->count = 0;
		c->rest_ms = now_ms + COMMAND_ENDS_REST_MS;
		return true;
	}
	if (is_quiet)
		drop_sandbox(sandbox);
	return false;
}

void command_ends_note(const char *id, const struct agent_process *p)
{
	const char *cause = agent_process_cause(p);

	if (p->state != AGENT_PROCESS_ENDED || (p->exit_code == 0 && !p->timed_out))
		return;
	if (!agent_cause_is_limit(cause) || !id_is_valid(id) || is_old(p))
		return;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	struct ends_of_sandbox *sandbox = get_sandbox(id);
	if (sandbox)
		count_end(&sandbox->causes[find_cause(cause)], p);
}

bool command_ends_take(int64_t now_ms, struct command_end *ret)
{
	if (atomic_load(&known_count) == 0)
		return false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	LIST_EACH (&all, struct ends_of_sandbox, ends, item)
		if (take_due_end(ends, now_ms, ret))
			return true;
	return false;
}
