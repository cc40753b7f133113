/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

struct shell_queue_entry {
	char sandbox[ID_SIZE + 1]; /* "": unused */
	uint64_t process;
	uint64_t since, until; /* moments before and after the command was sent */
	struct id id;
	char *text;
};

struct shell_queue {
	pthread_mutex_t mutex;
	uint64_t moment;
	size_t next; /* the oldest one */
	struct shell_queue_entry entries[SHELL_QUEUE_MAX];
};

struct shell_queue *shell_queue_new(void)
{
	struct shell_queue *queue = memory_new(sizeof(*queue));

	pthread_mutex_init(&queue->mutex, NULL);
	return queue;
}

static void clear_entry(struct shell_queue_entry *e)
{
	free(e->text);
	*e = (struct shell_queue_entry){.text = NULL};
}

void shell_queue_free(struct shell_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < SHELL_QUEUE_MAX; i++)
		clear_entry(&queue->entries[i]);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
}

uint64_t shell_queue_advance(struct shell_queue *queue)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&queue->mutex);

	return ++queue->moment;
}

void shell_queue_add(struct shell_queue *queue, const struct shell_ref *shell, uint64_t since,
                     const struct shell_queued_command *command)
{
	char *text = memory_text(command->text);
	struct shell_queue_entry *e;

	pthread_mutex_lock(&queue->mutex);
	e = &queue->entries[queue->next];
	queue->next = (queue->next + 1) % SHELL_QUEUE_MAX;
	clear_entry(e);
	*e = (struct shell_queue_entry){.process = shell->process,
	                                .since = since,
	                                .until = ++queue->moment,
	                                .id = command->id,
	                                .text = text};
	memcpy(e->sandbox, shell->sandbox, strnlen(shell->sandbox, ID_SIZE));
	pthread_mutex_unlock(&queue->mutex);
}

static bool entry_is_of(const struct shell_queue_entry *e, const struct shell_ref *shell)
{
	return e->process == shell->process && strcmp(e->sandbox, shell->sandbox) == 0 &&
	       e->sandbox[0];
}

/* The shell's next entry, oldest first; NULL at the end. */
static struct shell_queue_entry *next_entry(struct shell_queue *queue,
                                            const struct shell_ref *shell, size_t *at)
{
	while (*at < SHELL_QUEUE_MAX) {
		struct shell_queue_entry *e =
		        &queue->entries[(queue->next + (*at)++) % SHELL_QUEUE_MAX];

		if (entry_is_of(e, shell))
			return e;
	}
	return NULL;
}

/* Two commands that were sent concurrently may begin in either order. */
static uint64_t drop_begun_commands(struct shell_queue *queue, const struct shell_ref *shell,
                                    shell_has_begun *has_begun, const void *context)
{
	uint64_t begun = 0;
	struct shell_queue_entry *e;

	for (size_t at = 0; (e = next_entry(queue, shell, &at));) {
		if (!has_begun(context, e->id.text))
			continue;
		if (e->since > begun)
			begun = e->since;
		clear_entry(e);
	}
	return begun;
}

struct shell_queued_commands shell_queue_list(struct shell_queue *queue, struct arena *a,
                                              const struct shell_ref *shell,
                                              shell_has_begun *has_begun, const void *context)
{
	struct shell_queued_commands ret = {NULL, 0};
	uint64_t begun;
	size_t count = 0;
	struct shell_queue_entry *e;

	pthread_mutex_lock(&queue->mutex);
	begun = drop_begun_commands(queue, shell, has_begun, context);
	for (size_t at = 0; (e = next_entry(queue, shell, &at));) {
		if (e->until < begun)
			clear_entry(e);
		else
			count++;
	}
	ret.items = ARENA_ARRAY(a, struct shell_queued_command, count);
	for (size_t at = 0; (e = next_entry(queue, shell, &at));)
		ret.items[ret.count++] =
		        (struct shell_queued_command){.id = e->id, .text = arena_text(a, e->text)};
	pthread_mutex_unlock(&queue->mutex);
	return ret;
}

void shell_queue_clear(struct shell_queue *queue, const struct shell_ref *shell)
{
	struct shell_queue_entry *e;

	pthread_mutex_lock(&queue->mutex);
	for (size_t at = 0; (e = next_entry(queue, shell, &at));)
		clear_entry(e);
	pthread_mutex_unlock(&queue->mutex);
}
