/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/lsp_turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "edge/tables.h"

struct daytona_lsp_turns {
	pthread_mutex_t mutex; /* of what follows */
	pthread_cond_t ended;
	struct list had;
};

struct daytona_lsp_turns *daytona_lsp_turns_new(void)
{
	struct daytona_lsp_turns *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->ended, NULL);
	list_init(&t->had);
	return t;
}

void daytona_lsp_turns_free(struct daytona_lsp_turns *t)
{
	if (!t)
		return;
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

/* With the mutex. */
static bool is_had(const struct daytona_lsp_turns *t, const char *sandbox)
{
	LIST_EACH (&t->had, item)
		if (strcmp(LIST_ENTRY(item, struct lsp_turn, item)->sandbox, sandbox) == 0)
			return true;
	return false;
}

int lsp_turn_take(struct daytona_lsp_turns *t, const char *sandbox, int64_t deadline,
                  struct lsp_turn *ret, struct error *err)
{
	const struct timespec until = deadline_wall_time(deadline);
	int waited = 0;

	memcpy(ret->sandbox, sandbox, strlen(sandbox) + 1);
	pthread_mutex_lock(&t->mutex);
	while (waited != ETIMEDOUT && is_had(t, sandbox))
		waited = pthread_cond_timedwait(&t->ended, &t->mutex, &until);
	if (!is_had(t, sandbox)) {
		ret->turns = t;
		list_append(&t->had, &ret->item);
	}
	pthread_mutex_unlock(&t->mutex);
	return ret->turns ? 0
	                  : FAIL(err, ERROR_TIMEOUT,
	                         "others start or end language servers of sandbox '%s'", sandbox);
}

void lsp_turn_end(struct lsp_turn *turn)
{
	struct daytona_lsp_turns *t = turn->turns;

	if (!t)
		return;
	pthread_mutex_lock(&t->mutex);
	list_remove(&turn->item);
	pthread_cond_broadcast(&t->ended);
	pthread_mutex_unlock(&t->mutex);
}
