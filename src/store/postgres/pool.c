/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "store/postgres/postgres.h"

/* The default number of workers; PostgreSQL accepts 100 connections by default, for all its
 * clients. */
#define CONNECTIONS_MAX 16
#define WAIT_MS 10000

struct postgres_pool {
	struct postgres_store *store;
	pthread_mutex_t mutex; /* over the rest */
	pthread_cond_t given;
	struct postgres_connection *idle; /* most recently used first */
	unsigned count;
};

struct postgres_pool *pool_new(struct postgres_store *s)
{
	struct postgres_pool *p = memory_new(sizeof(*p));
	pthread_condattr_t monotonic;

	p->store = s;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return p;
}

static void close_connections(struct postgres_connection *first)
{
	while (first) {
		struct postgres_connection *next = first->next;

		postgres_disconnect(first);
		first = next;
	}
}

void pool_free(struct postgres_pool *p)
{
	if (!p)
		return;
	close_connections(p->idle);
	pthread_cond_destroy(&p->given);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

/* With the mutex held. */
static bool wait_for_connection(struct postgres_pool *p)
{
	int64_t deadline = deadline_after(WAIT_MS);
	const struct timespec until = {.tv_sec = deadline / 1000,
	                               .tv_nsec = deadline % 1000 * 1000000};

	while (!p->idle && p->count == CONNECTIONS_MAX && clock_monotonic_ms() < deadline)
		pthread_cond_timedwait(&p->given, &p->mutex, &until);
	return p->idle || p->count < CONNECTIONS_MAX;
}

static void forget_connection(struct postgres_pool *p)
{
	pthread_mutex_lock(&p->mutex);
	p->count--;
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->mutex);
}

int pool_take(struct postgres_pool *p, struct postgres_connection **ret, bool *ret_is_new,
              struct error *err)
{
	struct postgres_connection *c = NULL;
	bool is_there;

	pthread_mutex_lock(&p->mutex);
	is_there = wait_for_connection(p);
	if (is_there && p->idle) {
		c = p->idle;
		p->idle = c->next;
	} else if (is_there) {
		p->count++;
	}
	pthread_mutex_unlock(&p->mutex);
	if (!is_there)
		return FAIL(err, ERROR_UNAVAILABLE, "all %d connections to the database are in use",
		            CONNECTIONS_MAX);
	*ret_is_new = !c;
	*ret = c;
	if (c)
		return 0;
	if (postgres_connect(p->store, ret, err) < 0) {
		forget_connection(p);
		return -1;
	}
	sync_renew(p->store->sync);
	return 0;
}

/* After a lost connection the idle ones are probably lost, too. */
static void drop_idle(struct postgres_pool *p)
{
	struct postgres_connection *idle;

	pthread_mutex_lock(&p->mutex);
	idle = p->idle;
	p->idle = NULL;
	for (const struct postgres_connection *c = idle; c; c = c->next)
		p->count--;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->mutex);
	close_connections(idle);
}

void pool_give(struct postgres_pool *p, struct postgres_connection *c)
{
	if (c->trouble != TROUBLE_NONE) {
		postgres_disconnect(c);
		forget_connection(p);
		drop_idle(p);
		return;
	}
	pthread_mutex_lock(&p->mutex);
	c->next = p->idle;
	p->idle = c;
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->mutex);
}
