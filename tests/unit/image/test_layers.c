/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <sys/xattr.h>

#include "image/layers.h"
#include "scratch.h"

#define TOP "taaaaaaaaaaaaaaaaaaa"
#define LOW "laaaaaaaaaaaaaaaaaaa"

static struct scratch two_layers(void)
{
	struct scratch s = scratch_new();

	scratch_folder(&s, TOP);
	scratch_folder(&s, TOP "/upper");
	scratch_folder(&s, LOW);
	scratch_folder(&s, LOW "/upper");
	return s;
}

static void whiteout(const struct scratch *s, const char *path)
{
	assert_int_equal(mknodat(s->fd, path, S_IFCHR, 0), 0);
}

/* "path" and what it is, in any order: "d" a folder, "o" one that hides, "w" a whiteout, "f". */
struct seen {
	char text[2048];
};

static int on_entry(void *context, const struct layers_entry *e, struct error *err)
{
	struct seen *seen = context;
	size_t size = strlen(seen->text);
	char kind = e->is_whiteout                ? 'w'
	            : !S_ISDIR(e->status.st_mode) ? 'f'
	            : e->is_opaque                ? 'o'
	                                          : 'd';

	(void)snprintf(seen->text + size, sizeof(seen->text) - size, "[%s %c]", e->path, kind);
	return strcmp(e->path, "stop") == 0 ? FAIL(err, ERROR_CONFLICT, "stopped") : 0;
}

static int walk(const struct scratch *s, const char *ids, struct seen *ret, struct error *err)
{
	AUTO(layers_done) struct layers layers = {.count = 0};
	const struct layers_walk options = {.on_entry = on_entry, .context = ret};

	*ret = (struct seen){.text = ""};
	if (layers_open(&layers, s->fd, ids, err) < 0 || layers_note_opaque(&layers, err) < 0)
		return -1;
	return layers_walk(&layers, &options, err);
}

static void assert_seen(const struct seen *seen, const char *const *wanted)
{
	size_t size = 0;

	for (; *wanted; wanted++) {
		if (!strstr(seen->text, *wanted))
			fail_msg("no %s in %s", *wanted, seen->text);
		size += strlen(*wanted);
	}
	assert_int_equal(strlen(seen->text), size);
}

TEST(the_newest_of_each_name_is_seen_and_folders_are_one)
{
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;

	scratch_write(&s, TOP "/upper/both", "new");
	scratch_write(&s, LOW "/upper/both", "old");
	scratch_write(&s, LOW "/upper/low", "");
	scratch_folder(&s, TOP "/upper/dir");
	scratch_folder(&s, LOW "/upper/dir");
	scratch_write(&s, TOP "/upper/dir/a", "");
	scratch_write(&s, LOW "/upper/dir/b", "");
	assert_int_equal(walk(&s, TOP " " LOW, &seen, &err), 0);
	assert_seen(&seen, (const char *const[]){"[ d]", "[both f]", "[low f]", "[dir d]",
	                                         "[dir/a f]", "[dir/b f]", NULL});
	assert_int_equal(walk(&s, LOW, &seen, &err), 0);
	assert_seen(&seen, (const char *const[]){"[ d]", "[both f]", "[low f]", "[dir d]",
	                                         "[dir/b f]", NULL});
	scratch_done(&s);
}

TEST(what_is_taken_away_stays_away_and_hides_the_template_too)
{
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;

	scratch_folder(&s, LOW "/upper/gone");
	scratch_write(&s, LOW "/upper/gone/file", "");
	whiteout(&s, TOP "/upper/gone");
	/* A folder where the layer below has taken one away, or has a file. */
	whiteout(&s, LOW "/upper/again");
	scratch_folder(&s, TOP "/upper/again");
	scratch_write(&s, LOW "/upper/was-file", "");
	scratch_folder(&s, TOP "/upper/was-file");
	assert_int_equal(walk(&s, TOP " " LOW, &seen, &err), 0);
	assert_seen(&seen,
	            (const char *const[]){"[ d]", "[gone w]", "[again o]", "[was-file o]", NULL});
	scratch_done(&s);
}

TEST(a_folder_that_hides_shows_nothing_of_the_layers_below)
{
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;
	char path[160];

	scratch_folder(&s, TOP "/upper/dir");
	scratch_folder(&s, LOW "/upper/dir");
	scratch_write(&s, TOP "/upper/dir/new", "");
	scratch_write(&s, LOW "/upper/dir/hidden", "");
	(void)snprintf(path, sizeof(path), "%s/" TOP "/upper/dir", s.path);
	if (setxattr(path, LAYERS_OPAQUE, "y", 1, 0) < 0) {
		scratch_done(&s);
		skip(); /* only root may */
	}
	assert_int_equal(walk(&s, TOP " " LOW, &seen, &err), 0);
	assert_seen(&seen, (const char *const[]){"[ d]", "[dir o]", "[dir/new f]", NULL});
	scratch_done(&s);
}

TEST(a_link_is_an_entry_and_is_never_followed)
{
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;

	assert_int_equal(symlinkat("/etc", s.fd, TOP "/upper/link"), 0);
	assert_int_equal(walk(&s, TOP, &seen, &err), 0);
	assert_seen(&seen, (const char *const[]){"[ d]", "[link f]", NULL});
	/* Nor is a layer one. */
	assert_int_equal(renameat(s.fd, LOW "/upper", s.fd, LOW "/elsewhere"), 0);
	assert_int_equal(symlinkat("elsewhere", s.fd, LOW "/upper"), 0);
	assert_int_equal(walk(&s, LOW, &seen, &err), -1);
	scratch_done(&s);
}

TEST(too_deep_a_folder_and_a_callback_end_the_walk)
{
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;
	int at = openat(s.fd, TOP "/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	scratch_write(&s, LOW "/upper/stop", "");
	assert_int_equal(walk(&s, LOW, &seen, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	error_clear(&err);
	for (unsigned i = 0; i <= LAYERS_DEPTH_MAX; i++) {
		int below;

		assert_int_equal(mkdirat(at, "a", 0755), 0);
		below = openat(at, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = below;
	}
	(void)close(at);
	assert_int_equal(walk(&s, TOP, &seen, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	scratch_done(&s);
}

TEST(only_lists_of_ids_name_layers)
{
	static const char *const bad[] = {"",        "..",    TOP "/..",   "../" TOP,
	                                  TOP " ..", "short", TOP "  " TOP};
	struct scratch s = two_layers();
	struct error err = {0};
	struct seen seen;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(walk(&s, bad[i], &seen, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		error_clear(&err);
	}
	assert_int_equal(walk(&s, "naaaaaaaaaaaaaaaaaaa", &seen, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(the_newest_of_each_name_is_seen_and_folders_are_one),
	           CASE(what_is_taken_away_stays_away_and_hides_the_template_too),
	           CASE(a_folder_that_hides_shows_nothing_of_the_layers_below),
	           CASE(a_link_is_an_entry_and_is_never_followed),
	           CASE(too_deep_a_folder_and_a_callback_end_the_walk),
	           CASE(only_lists_of_ids_name_layers));
}
