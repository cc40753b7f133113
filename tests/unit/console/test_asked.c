/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "console/asked.h"

static const struct asked_shell shell = {"aaaaaaaaaaaaaaaaaaaa", 3},
                                other = {"aaaaaaaaaaaaaaaaaaaa", 4},
                                elsewhere = {"bbbbbbbbbbbbbbbbbbbb", 3};

static struct id add(struct asked *asked, const struct asked_shell *to, uint64_t since,
                     const char *text)
{
	struct asked_command command = {.id = id_new(), .text = text};

	asked_add(asked, to, since, &command);
	return command.id;
}

static struct id ask(struct asked *asked, const struct asked_shell *to, const char *text)
{
	return add(asked, to, asked_now(asked), text);
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

static void check(struct asked *asked, const struct asked_shell *of, const char *begun,
                  const char *expected)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf texts = BUF(1 << 16);
	const char *ids[] = {begun, NULL};
	struct asked_commands found = asked_take(asked, &a, of, is_among, ids);

	for (size_t i = 0; i < found.count; i++)
		buf_addf(&texts, "%s%s", i > 0 ? " " : "", found.items[i].text);
	assert_string_equal(buf_text(&texts), expected);
}

TEST(a_command_is_known_until_it_has_begun)
{
	struct asked *asked = console_asked_new();
	struct id one = ask(asked, &shell, "one");

	(void)ask(asked, &shell, "two");
	check(asked, &shell, NULL, "one two");
	check(asked, &shell, one.text, "two");
	check(asked, &shell, NULL, "two");
	console_asked_free(asked);
}

TEST(shells_do_not_know_of_one_another)
{
	struct asked *asked = console_asked_new();
	struct id one = ask(asked, &shell, "one");

	(void)ask(asked, &other, "two");
	(void)ask(asked, &elsewhere, "three");
	check(asked, &other, one.text, "two");
	check(asked, &elsewhere, NULL, "three");
	asked_forget(asked, &other);
	check(asked, &other, NULL, "");
	check(asked, &shell, NULL, "one");
	console_asked_free(asked);
}

TEST(what_came_before_one_that_has_begun_has_begun)
{
	struct asked *asked = console_asked_new();
	struct id two;

	(void)ask(asked, &shell, "one");
	two = ask(asked, &shell, "two");
	(void)ask(asked, &shell, "three");
	check(asked, &shell, two.text, "three");
	console_asked_free(asked);
}

TEST(of_two_that_were_asked_for_at_once_either_may_begin_first)
{
	struct asked *asked = console_asked_new();
	uint64_t before = asked_now(asked), second = asked_now(asked);
	struct id two;

	(void)add(asked, &shell, before, "one");
	two = add(asked, &shell, second, "two");
	check(asked, &shell, two.text, "one");
	console_asked_free(asked);
}

TEST(the_oldest_are_forgotten_first)
{
	struct asked *asked = console_asked_new();
	char text[16];

	for (unsigned i = 0; i < ASKED_MAX + 3; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		(void)ask(asked, i < 4 ? &shell : &other, text);
	}
	check(asked, &shell, NULL, "3");
	console_asked_free(asked);
}

#define THREADS 4
#define ROUNDS 200

static void *work(void *context)
{
	struct asked *asked = context;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct id id = ask(asked, &shell, "x");
		AUTO(arena_done) struct arena a = {0};
		const char *ids[] = {id.text, NULL};

		(void)asked_take(asked, &a, &shell, is_among, ids);
		asked_forget(asked, &other);
	}
	return NULL;
}

TEST(several_threads_may_ask)
{
	struct asked *asked = console_asked_new();
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, asked), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	check(asked, &shell, NULL, "");
	console_asked_free(asked);
	console_asked_free(NULL);
}

int main(void)
{
	return RUN(CASE(a_command_is_known_until_it_has_begun),
	           CASE(shells_do_not_know_of_one_another),
	           CASE(what_came_before_one_that_has_begun_has_begun),
	           CASE(of_two_that_were_asked_for_at_once_either_may_begin_first),
	           CASE(the_oldest_are_forgotten_first), CASE(several_threads_may_ask));
}
