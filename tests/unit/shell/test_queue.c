/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shell/queue.h"

static const struct shell_ref shell = {"aaaaaaaaaaaaaaaaaaaa", 3},
                              other = {"aaaaaaaaaaaaaaaaaaaa", 4},
                              elsewhere = {"bbbbbbbbbbbbbbbbbbbb", 3};

static struct id add(struct shell_queue *queue, const struct shell_ref *to, uint64_t since,
                     const char *text)
{
	struct shell_queued_command command = {.id = id_new(), .text = text};

	shell_queue_add(queue, to, since, &command);
	return command.id;
}

static struct id ask(struct shell_queue *queue, const struct shell_ref *to, const char *text)
{
	return add(queue, to, shell_queue_advance(queue), text);
}

/* `context`: the ids that have begun, NULL-terminated. */
static bool is_among(const void *context, const char *id)
{
	const char *const *ids = context;

	while (*ids)
		if (strcmp(*ids++, id) == 0)
			return true;
	return false;
}

static void check(struct shell_queue *queue, const struct shell_ref *of, const char *begun,
                  const char *expected)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf texts = BUF(1 << 16);
	const char *ids[] = {begun, NULL};
	struct shell_queued_commands found = shell_queue_list(queue, &a, of, is_among, ids);

	for (size_t i = 0; i < found.count; i++)
		buf_addf(&texts, "%s%s", i > 0 ? " " : "", found.items[i].text);
	assert_string_equal(buf_text(&texts), expected);
}

TEST(a_command_is_known_until_it_has_begun)
{
	struct shell_queue *queue = shell_queue_new();
	struct id one = ask(queue, &shell, "one");

	(void)ask(queue, &shell, "two");
	check(queue, &shell, NULL, "one two");
	check(queue, &shell, one.text, "two");
	check(queue, &shell, NULL, "two");
	shell_queue_free(queue);
}

TEST(shells_do_not_know_of_one_another)
{
	struct shell_queue *queue = shell_queue_new();
	struct id one = ask(queue, &shell, "one");

	(void)ask(queue, &other, "two");
	(void)ask(queue, &elsewhere, "three");
	check(queue, &other, one.text, "two");
	check(queue, &elsewhere, NULL, "three");
	shell_queue_clear(queue, &other);
	check(queue, &other, NULL, "");
	check(queue, &shell, NULL, "one");
	shell_queue_free(queue);
}

TEST(what_came_before_one_that_has_begun_has_begun)
{
	struct shell_queue *queue = shell_queue_new();
	struct id two;

	(void)ask(queue, &shell, "one");
	two = ask(queue, &shell, "two");
	(void)ask(queue, &shell, "three");
	check(queue, &shell, two.text, "three");
	shell_queue_free(queue);
}

TEST(of_two_that_were_asked_for_at_once_either_may_begin_first)
{
	struct shell_queue *queue = shell_queue_new();
	uint64_t before = shell_queue_advance(queue), second = shell_queue_advance(queue);
	struct id two;

	(void)add(queue, &shell, before, "one");
	two = add(queue, &shell, second, "two");
	check(queue, &shell, two.text, "one");
	shell_queue_free(queue);
}

TEST(the_oldest_are_forgotten_first)
{
	struct shell_queue *queue = shell_queue_new();
	char text[16];

	for (unsigned i = 0; i < SHELL_QUEUE_MAX + 3; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		(void)ask(queue, i < 4 ? &shell : &other, text);
	}
	check(queue, &shell, NULL, "3");
	shell_queue_free(queue);
}

#define THREADS 4
#define ROUNDS 200

static void *work(void *context)
{
	struct shell_queue *queue = context;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct id id = ask(queue, &shell, "x");
		AUTO(arena_done) struct arena a = {0};
		const char *ids[] = {id.text, NULL};

		(void)shell_queue_list(queue, &a, &shell, is_among, ids);
		shell_queue_clear(queue, &other);
	}
	return NULL;
}

TEST(several_threads_may_ask)
{
	struct shell_queue *queue = shell_queue_new();
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, queue), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	check(queue, &shell, NULL, "");
	shell_queue_free(queue);
	shell_queue_free(NULL);
}

int main(void)
{
	return RUN(CASE(a_command_is_known_until_it_has_begun),
	           CASE(shells_do_not_know_of_one_another),
	           CASE(what_came_before_one_that_has_begun_has_begun),
	           CASE(of_two_that_were_asked_for_at_once_either_may_begin_first),
	           CASE(the_oldest_are_forgotten_first), CASE(several_threads_may_ask));
}
