/* SPDX-License-Identifier: Apache-2.0 */
#include "console/asked.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char sandbox[ID_SIZE + 1]; /* "": unused */
	uint64_t process;
	uint64_t since, until; /* moments: before it was asked for, and when that was done */
	struct id id;
	char *text;
};

struct asked {
	pthread_mutex_t mutex;
	uint64_t moment;
	size_t next; /* the oldest one */
	struct entry entries[ASKED_MAX];
};

struct asked *console_asked_new(void)
{
	struct asked *asked = calloc(1, sizeof(*asked));

	if (!asked)
		abort();
	pthread_mutex_init(&asked->mutex, NULL);
	return asked;
}

static void drop(struct entry *e)
{
	free(e->text);
	*e = (struct entry){.text = NULL};
}

void console_asked_free(struct asked *asked)
{
	if (!asked)
		return;
	for (size_t i = 0; i < ASKED_MAX; i++)
		drop(&asked->entries[i]);
	pthread_mutex_destroy(&asked->mutex);
	free(asked);
}

uint64_t asked_now(struct asked *asked)
{
	uint64_t now;

	pthread_mutex_lock(&asked->mutex);
	now = ++asked->moment;
	pthread_mutex_unlock(&asked->mutex);
	return now;
}

void asked_add(struct asked *asked, const struct asked_shell *shell, uint64_t since,
               const struct asked_command *command)
{
	char *text = strdup(command->text);
	struct entry *e;

	if (!text)
		abort();
	pthread_mutex_lock(&asked->mutex);
	e = &asked->entries[asked->next];
	asked->next = (asked->next + 1) % ASKED_MAX;
	drop(e);
	*e = (struct entry){.process = shell->process,
	                    .since = since,
	                    .until = ++asked->moment,
	                    .id = command->id,
	                    .text = text};
	memcpy(e->sandbox, shell->sandbox, strnlen(shell->sandbox, ID_SIZE));
	pthread_mutex_unlock(&asked->mutex);
}

static bool is_of(const struct entry *e, const struct asked_shell *shell)
{
	return e->process == shell->process && strcmp(e->sandbox, shell->sandbox) == 0 &&
	       e->sandbox[0];
}

/* The next one of the shell, from the oldest; NULL at the end. */
static struct entry *next_of(struct asked *asked, const struct asked_shell *shell, size_t *at)
{
	while (*at < ASKED_MAX) {
		struct entry *e = &asked->entries[(asked->next + (*at)++) % ASKED_MAX];

		if (is_of(e, shell))
			return e;
	}
	return NULL;
}

/* Two that were asked for at once may be begun in either order. */
static uint64_t drop_begun(struct asked *asked, const struct asked_shell *shell,
                           asked_question *has_begun, const void *context)
{
	uint64_t begun = 0;
	struct entry *e;

	for (size_t at = 0; (e = next_of(asked, shell, &at));) {
		if (!has_begun(context, e->id.text))
			continue;
		if (e->since > begun)
			begun = e->since;
		drop(e);
	}
	return begun;
}

struct asked_commands asked_take(struct asked *asked, struct arena *a,
                                 const struct asked_shell *shell, asked_question *has_begun,
                                 const void *context)
{
	struct asked_commands ret = {NULL, 0};
	uint64_t begun;
	size_t count = 0;
	struct entry *e;

	pthread_mutex_lock(&asked->mutex);
	begun = drop_begun(asked, shell, has_begun, context);
	for (size_t at = 0; (e = next_of(asked, shell, &at));) {
		if (e->until < begun)
			drop(e);
		else
			count++;
	}
	ret.items = ARENA_ARRAY(a, struct asked_command, count);
	for (size_t at = 0; (e = next_of(asked, shell, &at));)
		ret.items[ret.count++] =
		        (struct asked_command){.id = e->id, .text = arena_text(a, e->text)};
	pthread_mutex_unlock(&asked->mutex);
	return ret;
}

void asked_forget(struct asked *asked, const struct asked_shell *shell)
{
	struct entry *e;

	pthread_mutex_lock(&asked->mutex);
	for (size_t at = 0; (e = next_of(asked, shell, &at));)
		drop(e);
	pthread_mutex_unlock(&asked->mutex);
}
