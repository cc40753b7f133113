/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/seal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define assert_done(call)                                                                          \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s", #call, err.text);                                       \
	} while (0)
#define assert_refused(call, code_)                                                                \
	do {                                                                                       \
		err = (struct error){0};                                                           \
		assert_int_equal((call), -1);                                                      \
		if (err.code != (code_))                                                           \
			fail_msg("%s: code %d, not %d: %s", #call, err.code, (code_), err.text);   \
	} while (0)

struct place {
	char folder[64], file[96];
	struct seal *seal;
	struct arena arena;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct error err = {0};

	snprintf(p->folder, sizeof(p->folder), "/tmp/atoll-seal-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->file, sizeof(p->file), "%s/secret.key", p->folder);
	assert_done(seal_open(p->file, &p->seal, &err));
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const ends[] = {"", ".lock", ".rotating"};
	struct place *p = *state;
	char name[128];

	seal_close(p->seal);
	arena_done(&p->arena);
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", p->file, ends[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(p->folder), 0);
	free(p);
	return 0;
}

/* Whether the text is sealed with the current key. */
static bool is_current(struct place *p, struct seal *seal, const char *text)
{
	const char *prefix = seal_prefix(seal, &p->arena);

	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *opened(struct place *p, struct seal *seal, const char *sealed)
{
	struct error err = {0};
	const char *text = NULL;

	assert_done(seal_open_text(seal, &p->arena, "row:1", sealed, &text, &err));
	return text;
}

static void write_file(const struct place *p, const char *text)
{
	struct error err = {0};

	assert_done(file_write(AT_FDCWD, p->file, span_of(text), 0600, &err));
}

static void what_is_sealed_is_a_json_text_and_opens_again(void **state)
{
	struct place *p = *state;
	static const char text[] = "{\"TOKEN\":\"hunter2\"}";
	const char *sealed = seal_close_text(p->seal, &p->arena, "row:1", text);
	const char *again = seal_close_text(p->seal, &p->arena, "row:1", text);
	size_t size = strlen(sealed);

	assert_true(seal_is_sealed(sealed) && is_current(p, p->seal, sealed));
	assert_false(seal_is_sealed(text));
	assert_null(strstr(sealed, "hunter2"));
	assert_true(sealed[0] == '"' && sealed[size - 1] == '"');
	assert_null(memchr(sealed + 1, '"', size - 2));
	assert_null(strchr(sealed, '\\'));
	assert_string_not_equal(sealed, again);
	assert_string_equal(opened(p, p->seal, sealed), text);
	assert_string_equal(opened(p, p->seal, again), text);
	assert_string_equal(opened(p, p->seal, seal_close_text(p->seal, &p->arena, "row:1", "")),
	                    "");
}

static void the_key_file_is_made_once_and_only_its_owner_reads_it(void **state)
{
	struct place *p = *state;
	const char *sealed = seal_close_text(p->seal, &p->arena, "row:1", "text");
	struct error err = {0};
	struct seal *other = NULL;
	struct stat st;

	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_done(seal_open(p->file, &other, &err));
	assert_string_equal(opened(p, other, sealed), "text");
	seal_close(other);
}

static void it_opens_for_its_own_row_only(void **state)
{
	struct place *p = *state;
	const char *sealed = seal_close_text(p->seal, &p->arena, "row:1", "text"), *text = NULL;
	struct error err = {0};

	assert_refused(seal_open_text(p->seal, &p->arena, "row:2", sealed, &text, &err),
	               ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "moved"));
	assert_null(text);
}

static void a_changed_byte_anywhere_is_noticed(void **state)
{
	struct place *p = *state;
	const char *sealed = seal_close_text(p->seal, &p->arena, "row:1", "some text");
	size_t size = strlen(sealed);

	for (size_t i = 0; i < size; i++) {
		char *changed = arena_text(&p->arena, sealed);
		struct error err = {0};
		const char *text;

		changed[i] = changed[i] == 'a' ? 'b' : 'a';
		assert_int_equal(seal_open_text(p->seal, &p->arena, "row:1", changed, &text, &err),
		                 -1);
		changed[i] = '\0';
		assert_int_equal(seal_open_text(p->seal, &p->arena, "row:1", changed, &text, &err),
		                 -1);
	}
}

static void a_new_key_seals_and_the_old_one_still_opens(void **state)
{
	struct place *p = *state;
	const char *old = seal_close_text(p->seal, &p->arena, "row:1", "old"), *new;
	struct error err = {0};

	assert_done(seal_add_key(p->seal, &err));
	new = seal_close_text(p->seal, &p->arena, "row:1", "new");
	assert_true(is_current(p, p->seal, new) && !is_current(p, p->seal, old));
	assert_true(strncmp(new, seal_prefix(p->seal, &p->arena),
	                    strlen(seal_prefix(p->seal, &p->arena))) == 0);
	assert_string_equal(opened(p, p->seal, old), "old");
	assert_string_equal(opened(p, p->seal, new), "new");
}

static void dropping_leaves_the_last_two_keys(void **state)
{
	struct place *p = *state;
	const char *texts[3], *text;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(texts); i++) {
		if (i > 0)
			assert_done(seal_add_key(p->seal, &err));
		texts[i] = seal_close_text(p->seal, &p->arena, "row:1", "text");
	}
	assert_done(seal_drop_keys(p->seal, &err));
	assert_string_equal(opened(p, p->seal, texts[2]), "text");
	assert_string_equal(opened(p, p->seal, texts[1]), "text");
	assert_refused(seal_open_text(p->seal, &p->arena, "row:1", texts[0], &text, &err),
	               ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.hint, "secret_key_file"));
}

static void another_server_with_the_file_learns_of_a_new_key(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	struct seal *other = NULL;
	const char *sealed;

	assert_done(seal_open(p->file, &other, &err));
	assert_done(seal_add_key(p->seal, &err));
	sealed = seal_close_text(p->seal, &p->arena, "row:1", "text");
	assert_string_equal(opened(p, other, sealed), "text");
	assert_true(is_current(p, other, seal_close_text(other, &p->arena, "row:1", "x")));
	assert_done(seal_add_key(other, &err));
	sealed = seal_close_text(other, &p->arena, "row:1", "theirs");
	assert_string_equal(opened(p, p->seal, sealed), "theirs");
	seal_close(other);
}

static void more_keys_than_may_be_are_refused(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	unsigned added = 0;

	while (added < 100 && seal_add_key(p->seal, &err) == 0)
		added++;
	assert_int_equal(added, 7);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_done(seal_drop_keys(p->seal, &err));
	assert_done(seal_add_key(p->seal, &err));
}

static void one_rotation_goes_on_at_a_time(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	int first = -1, second = -1;

	assert_done(seal_begin_rotation(p->seal, &first, &err));
	assert_refused(seal_begin_rotation(p->seal, &second, &err), ERROR_CONFLICT);
	close(first);
	assert_done(seal_begin_rotation(p->seal, &second, &err));
	close(second);
}

static void a_bad_key_file_is_refused_by_line(void **state)
{
	struct place *p = *state;
	static const char good[] =
	        "abcdefgh "
	        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	const char *const bad[] = {"", "\n", "nonsense\n", "abcdefgh 0011\n", "ABCDEFGH 00\n"};
	struct error err = {0};
	struct seal *other = NULL;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		write_file(p, bad[i]);
		assert_refused(seal_open(p->file, &other, &err), ERROR_INVALID);
		assert_null(other);
	}
	write_file(p, arena_format(&p->arena, "%s\n%s0\n", good, good));
	assert_refused(seal_open(p->file, &other, &err), ERROR_INVALID);
	assert_non_null(strstr(err.text, "line 2"));
	/* What is known goes on while the file is bad. */
	assert_true(seal_is_sealed(seal_close_text(p->seal, &p->arena, "row:1", "text")));
	write_file(p, arena_format(&p->arena, "%s\n", good));
	assert_done(seal_open(p->file, &other, &err));
	seal_close(other);
}

static void a_key_file_that_others_may_read_is_refused(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	struct seal *other = NULL;

	assert_int_equal(chmod(p->file, 0640), 0);
	assert_refused(seal_open(p->file, &other, &err), ERROR_FORBIDDEN);
	assert_non_null(strstr(err.hint, "chmod"));
}

/* As user and group 65534, which a pod's user and fsGroup are like. */
static int open_as_another(const char *file)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct seal *other = NULL;
		struct error err = {0};

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(3);
		_exit(seal_open(file, &other, &err) == 0 ? 0 : err.code == ERROR_FORBIDDEN ? 1 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A cluster mounts a Secret like that for a pod that does not run as root. */
static void a_key_file_of_root_may_be_read_by_the_group(void **state)
{
	struct place *p = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(p->folder, 0755), 0);
	assert_int_equal(chown(p->file, 0, 65534), 0);
	assert_int_equal(chmod(p->file, 0440), 0);
	assert_int_equal(open_as_another(p->file), 0);
	assert_int_equal(chmod(p->file, 0444), 0);
	assert_int_equal(open_as_another(p->file), 1);
	assert_int_equal(chmod(p->file, 0460), 0);
	assert_int_equal(open_as_another(p->file), 1);
	/* Of another user than root: that user could change it. */
	assert_int_equal(chown(p->file, 1000, 65534), 0);
	assert_int_equal(chmod(p->file, 0440), 0);
	assert_int_equal(open_as_another(p->file), 1);
}

#define OPENERS 8

static void *open_on_thread(void *argument)
{
	const struct place *p = argument;
	struct seal *seal = NULL;
	struct error err = {0};

	return seal_open(p->file, &seal, &err) == 0 ? seal : NULL;
}

static void servers_that_start_at_once_have_the_same_key(void **state)
{
	struct place *p = *state;
	pthread_t threads[OPENERS];
	struct seal *seals[OPENERS];

	assert_int_equal(unlink(p->file), 0);
	for (unsigned i = 0; i < OPENERS; i++)
		pthread_create(&threads[i], NULL, open_on_thread, p);
	for (unsigned i = 0; i < OPENERS; i++) {
		void *seal;

		pthread_join(threads[i], &seal);
		assert_non_null(seal);
		seals[i] = seal;
	}
	for (unsigned i = 0; i < OPENERS; i++) {
		const char *sealed = seal_close_text(seals[i], &p->arena, "row:1", "text");

		assert_string_equal(opened(p, seals[OPENERS - 1 - i], sealed), "text");
	}
	for (unsigned i = 0; i < OPENERS; i++)
		seal_close(seals[i]);
}

#define AT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	return RUN(AT(what_is_sealed_is_a_json_text_and_opens_again),
	           AT(the_key_file_is_made_once_and_only_its_owner_reads_it),
	           AT(it_opens_for_its_own_row_only), AT(a_changed_byte_anywhere_is_noticed),
	           AT(a_new_key_seals_and_the_old_one_still_opens),
	           AT(dropping_leaves_the_last_two_keys),
	           AT(another_server_with_the_file_learns_of_a_new_key),
	           AT(more_keys_than_may_be_are_refused), AT(one_rotation_goes_on_at_a_time),
	           AT(a_bad_key_file_is_refused_by_line),
	           AT(a_key_file_that_others_may_read_is_refused),
	           AT(a_key_file_of_root_may_be_read_by_the_group),
	           AT(servers_that_start_at_once_have_the_same_key));
}
