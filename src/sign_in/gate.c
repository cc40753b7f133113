/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/gate.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"

struct password_gate {
	pthread_mutex_t lock;
	pthread_cond_t left;
	unsigned running, waiting;
};

struct password_gate *password_gate_new(void)
{
	struct password_gate *g = memory_new(sizeof(*g));

	(void)pthread_mutex_init(&g->lock, NULL);
	(void)pthread_cond_init(&g->left, NULL);
	return g;
}

void password_gate_free(struct password_gate *g)
{
	if (!g)
		return;
	(void)pthread_cond_destroy(&g->left);
	(void)pthread_mutex_destroy(&g->lock);
	free(g);
}

static int refuse_crowd(struct error *err)
{
	(void)FAIL(err, ERROR_UNAVAILABLE, "too many passwords are being checked");
	err->retry_after_s = 2;
	return FAIL_HINT(err, "try again in a few seconds");
}

static int gate_enter(struct password_gate *g, struct error *err)
{
	const struct timespec until = deadline_wall_time(deadline_after(GATE_WAIT_MS));
	int result = 0;

	(void)pthread_mutex_lock(&g->lock);
	if (g->running >= GATE_RUNNING_MAX && g->waiting >= GATE_WAITING_MAX)
		result = -1;
	g->waiting++;
	while (result == 0 && g->running >= GATE_RUNNING_MAX)
		result = pthread_cond_timedwait(&g->left, &g->lock, &until);
	g->waiting--;
	if (result == 0)
		g->running++;
	(void)pthread_mutex_unlock(&g->lock);
	return result == 0 ? 0 : refuse_crowd(err);
}

static void gate_leave(struct password_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	g->running--;
	(void)pthread_cond_signal(&g->left);
	(void)pthread_mutex_unlock(&g->lock);
}

int password_gate_hash(struct password_gate *g, const char *password, char ret[PASSWORD_HASH_SIZE],
                       struct error *err)
{
	int result;

	if (gate_enter(g, err) < 0)
		return -1;
	result = password_hash(password, ret, err);
	gate_leave(g);
	return result;
}

int password_gate_check(struct password_gate *g, const char *hash, const char *password,
                        bool *ret_matches, struct error *err)
{
	if (gate_enter(g, err) < 0)
		return -1;
	*ret_matches = password_matches(hash[0] ? hash : PASSWORD_HASH_OF_NOBODY, password);
	gate_leave(g);
	return 0;
}
