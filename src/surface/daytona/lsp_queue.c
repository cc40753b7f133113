/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/lsp_queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct daytona_lsp_queue {
	pthread_mutex_t mutex; /* guards the list */
	pthread_cond_t left;   /* a place was given back */
	struct list taken;     /* of struct lsp_place */
};

struct daytona_lsp_queue *daytona_lsp_queue_new(void)
{
	struct daytona_lsp_queue *queue = memory_new(sizeof(*queue));

	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->left, NULL);
	list_init(&queue->taken);
	return queue;
}

void daytona_lsp_queue_free(struct daytona_lsp_queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->left);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
}

/* Called with the mutex held. */
static bool is_taken(const struct daytona_lsp_queue *queue, const char *sandbox)
{
	LIST_EACH (&queue->taken, const struct lsp_place, place, item)
		if (strcmp(place->sandbox, sandbox) == 0)
			return true;
	return false;
}

int lsp_place_take(struct daytona_lsp_queue *queue, const char *sandbox, int64_t deadline,
                   struct lsp_place *ret, struct error *err)
{
	const struct timespec until = deadline_wall_time(deadline);
	int waited = 0;

	assert(!ret->queue && strlen(sandbox) <= ID_SIZE);
	memcpy(ret->sandbox, sandbox, strlen(sandbox) + 1);
	pthread_mutex_lock(&queue->mutex);
	while (waited != ETIMEDOUT && is_taken(queue, sandbox))
		waited = pthread_cond_timedwait(&queue->left, &queue->mutex, &until);
	if (!is_taken(queue, sandbox)) {
		ret->queue = queue;
		list_append(&queue->taken, &ret->item);
	}
	pthread_mutex_unlock(&queue->mutex);
	return ret->queue
	               ? 0
	               : FAIL(err, ERROR_TIMEOUT,
	                      "other calls start or end language servers of sandbox '%s'", sandbox);
}

void lsp_place_leave(struct lsp_place *place)
{
	struct daytona_lsp_queue *queue = place->queue;

	if (!queue)
		return;
	pthread_mutex_lock(&queue->mutex);
	list_remove(&place->item);
	pthread_cond_broadcast(&queue->left);
	pthread_mutex_unlock(&queue->mutex);
}
