/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_health.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "provider/agent_reader.h"

struct quiet_agent {
	struct list item;
	char id[ID_SIZE + 1];
	unsigned misses;
	int64_t since_ms;  /* start of the first request that got no answer */
	int64_t missed_ms; /* the last miss */
	int64_t probe_ms;  /* from then on the next call goes through */
	bool is_marked, is_told;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static struct map agents;                                 /* id -> struct quiet_agent */
static struct list by_age = {&by_age, &by_age};           /* the same, oldest miss first */
/* Changed with the mutex held, read without it. */
static _Atomic size_t known_count, marked_count;

/* The next functions are called with the mutex held. */

static void set_mark(struct quiet_agent *agent, bool is_marked)
{
	if (agent->is_marked == is_marked)
		return;
	agent->is_marked = is_marked;
	if (is_marked)
		atomic_fetch_add(&marked_count, 1);
	else
		atomic_fetch_sub(&marked_count, 1);
}

static void drop_agent(struct quiet_agent *agent)
{
	set_mark(agent, false);
	map_remove(&agents, agent->id);
	list_remove(&agent->item);
	free(agent);
	/* An empty table holds no memory. */
	if (atomic_fetch_sub(&known_count, 1) == 1)
		map_done(&agents);
}

static struct quiet_agent *add_agent(const char *id, int64_t begun_ms)
{
	struct quiet_agent *agent = memory_new(sizeof(*agent));

	assert(atomic_load(&known_count) <= AGENT_HEALTH_MAX);
	if (atomic_load(&known_count) == AGENT_HEALTH_MAX)
		drop_agent(LIST_ENTRY(by_age.next, struct quiet_agent, item));
	memcpy(agent->id, id, ID_SIZE);
	agent->since_ms = begun_ms;
	agent->missed_ms = INT64_MIN;
	list_init(&agent->item);
	map_put(&agents, agent->id, agent);
	atomic_fetch_add(&known_count, 1);
	return agent;
}

static void count_miss(struct quiet_agent *agent, int64_t begun_ms, int64_t now_ms)
{
	/* It waited at the same time as the counted request. */
	if (begun_ms < agent->missed_ms)
		return;
	agent->missed_ms = now_ms;
	list_remove(&agent->item);
	list_append(&by_age, &agent->item);
	if (++agent->misses < AGENT_MISSES_MAX || agent->is_marked)
		return;
	agent->probe_ms = now_ms + agent_answer_ms();
	set_mark(agent, true);
}

static int refuse_call(struct quiet_agent *agent, struct error *err)
{
	int64_t now_ms = clock_monotonic_ms();

	/* This call may wait for so long; the others then pause for as long. */
	if (now_ms >= agent->probe_ms) {
		agent->probe_ms = now_ms + 2 * agent_answer_ms();
		return 0;
	}
	return FAIL(err, ERROR_UNAVAILABLE,
	            "the agent of sandbox '%s' has not answered for %lld s; stop or delete the "
	            "sandbox, or try again later",
	            agent->id, (long long)((now_ms - agent->since_ms) / 1000));
}

void agent_health_missed(const char *id, int64_t begun_ms)
{
	if (!id_is_valid(id))
		return;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	struct quiet_agent *agent = map_find(&agents, id);
	if (!agent)
		agent = add_agent(id, begun_ms);
	count_miss(agent, begun_ms, clock_monotonic_ms());
}

void agent_health_forget(const char *id)
{
	if (atomic_load(&known_count) == 0)
		return;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	struct quiet_agent *agent = map_find(&agents, id);
	if (agent)
		drop_agent(agent);
}

void agent_health_answered(const char *id)
{
	agent_health_forget(id);
}

int agent_health_admit(const char *id, struct error *err)
{
	if (atomic_load(&marked_count) == 0)
		return 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	struct quiet_agent *agent = map_find(&agents, id);
	return agent && agent->is_marked ? refuse_call(agent, err) : 0;
}

bool agent_health_is_unresponsive(const char *id)
{
	if (atomic_load(&marked_count) == 0)
		return false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	const struct quiet_agent *agent = map_find(&agents, id);
	return agent && agent->is_marked;
}

bool agent_health_take_news(const char *id)
{
	if (atomic_load(&marked_count) == 0)
		return false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&mutex);
	struct quiet_agent *agent = map_find(&agents, id);
	if (!agent || !agent->is_marked || agent->is_told)
		return false;
	agent->is_told = true;
	return true;
}

size_t agent_health_count(void)
{
	return atomic_load(&marked_count);
}
