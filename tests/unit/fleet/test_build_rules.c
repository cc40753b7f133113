/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "harness.h"

#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_state.h"

/* ---- keys ---- */

static const struct template_record source = {.id = "t1",
                                              .folder = "host",
                                              .snapshot_id = "",
                                              .env_json = "{}",
                                              .workdir = "/srv",
                                              .user = ""};

static const char *key_after(const struct build_step *steps, size_t count)
{
	static char keys[4][BUILD_KEY_SIZE + 1];
	static unsigned at;
	char *key = keys[at++ % 4];

	build_key_first(&source, true, key);
	for (size_t i = 0; i < count; i++)
		build_key_next(key, &steps[i]);
	return key;
}

TEST(a_key_depends_on_all_that_a_step_does_and_on_those_before)
{
	struct json_pair pair = {"A", "b"};
	const char *args[] = {"a", "b c", NULL}, *others[] = {"a", "b", "c", NULL};
	struct build_mount cache = {.type = BUILD_MOUNT_CACHE, .id = "a", .path = "b"};
	struct build_mount secret = {.type = BUILD_MOUNT_SECRET, .id = "a", .path = "b"};
	struct build_mount other_secret = {.type = BUILD_MOUNT_SECRET, .id = "a", .env = "b"};
	const struct build_step base = {.type = BUILD_RUN, .command = "make"};
	const struct build_step variants[] = {
	        {.type = BUILD_RUN, .command = "make "},
	        {.type = BUILD_RUN, .args = args},
	        {.type = BUILD_RUN, .args = others},
	        {.type = BUILD_RUN, .command = "make", .user = "user"},
	        {.type = BUILD_RUN, .command = "make", .env = {&pair, 1, true}},
	        {.type = BUILD_COPY, .files = "make"},
	        {.type = BUILD_COPY, .path = "make"},
	        {.type = BUILD_COPY, .path = "make", .mode = "0644"},
	        {.type = BUILD_WORKDIR, .path = "make"},
	        {.type = BUILD_FOLDER, .path = "make"},
	        {.type = BUILD_WRITE, .path = "make"},
	        {.type = BUILD_WRITE, .text = "make"},
	        {.type = BUILD_COPY, .paths = args},
	        {.type = BUILD_RUN, .command = "make", .mounts = {&cache, 1, true}},
	        {.type = BUILD_RUN, .command = "make", .mounts = {&secret, 1, true}},
	        {.type = BUILD_RUN, .command = "make", .mounts = {&other_secret, 1, true}},
	};

	assert_string_equal(key_after(&base, 1), key_after(&base, 1));
	assert_int_equal(strlen(key_after(&base, 1)), BUILD_KEY_SIZE);
	for (size_t i = 0; i < COUNT_OF(variants); i++) {
		const struct build_step both[] = {variants[i], base},
		                        turned[] = {base, variants[i]};

		assert_string_not_equal(key_after(&base, 1), key_after(&variants[i], 1));
		assert_string_not_equal(key_after(both, 2), key_after(turned, 2));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(key_after(&variants[k], 1),
			                        key_after(&variants[i], 1));
	}
}

TEST(a_key_depends_on_the_layer_of_a_stage)
{
	struct build_path stage = {.key = "k", .layer = "l"};
	const char *texts[] = {"k", "l", "m"};
	char keys[3][BUILD_KEY_SIZE + 1] = {""};

	build_key_add_stage(keys[0], &stage);
	stage.layer = texts[2];
	build_key_add_stage(keys[1], &stage);
	stage.layer = texts[1];
	memcpy(stage.key, texts[2], 2);
	build_key_add_stage(keys[2], &stage);
	assert_string_not_equal(keys[0], keys[1]);
	assert_string_not_equal(keys[0], keys[2]);
	assert_string_not_equal(keys[1], keys[2]);
}

TEST(what_changes_nothing_inside_is_not_in_the_key)
{
	const struct build_step base = {.type = BUILD_RUN, .command = "make"};
	const struct build_step same = {
	        .type = BUILD_RUN, .command = "make", .timeout_ms = 5, .force = true};
	struct template_record other = source;
	char one[BUILD_KEY_SIZE + 1], two[BUILD_KEY_SIZE + 1];

	assert_string_equal(key_after(&base, 1), key_after(&same, 1));
	build_key_first(&source, true, one);
	build_key_first(&source, false, two);
	assert_string_not_equal(one, two);
	other.snapshot_id = "layer";
	build_key_first(&other, true, two);
	assert_string_not_equal(one, two);
	other = source;
	other.env_json = "{\"A\":\"b\"}";
	build_key_first(&other, true, two);
	assert_string_not_equal(one, two);
	/* What people are told. */
	other = source;
	other.description = "x";
	build_key_first(&other, true, two);
	assert_string_equal(one, two);
}

TEST(a_step_is_told_in_a_line_without_values)
{
	AUTO(arena_done) struct arena a = {0};
	struct json_pair pairs[] = {{"TOKEN", "secret"}, {"B", "c"}};
	const struct build_step env = {.type = BUILD_ENV, .env = {pairs, 2, true}},
	                        lines = {.type = BUILD_RUN, .command = "one\ntwo"},
	                        user = {.type = BUILD_USER, .user = "me"};
	const char *args[] = {"a", "b", NULL};

	assert_string_equal(build_step_text(&a, &env), "ENV TOKEN B");
	assert_string_equal(build_step_text(&a, &lines), "RUN one …");
	assert_string_equal(build_step_text(&a, &user), "USER me");
	assert_string_equal(
	        build_step_text(&a, &(struct build_step){.type = BUILD_RUN, .args = args}),
	        "RUN a b");
}

/* ---- logs ---- */

static void add(struct build_log *log, const char *text)
{
	build_log_add(log, 1, BUILD_STDOUT, span_of(text));
}

TEST(a_log_is_read_in_pieces_and_says_when_it_is_whole)
{
	struct build_log *log = build_log_new();
	AUTO(buf_done) struct buf all = BUF(4096);
	AUTO(buf_done) struct buf little = BUF(150);
	struct build_log_position at;

	add(log, "one \"quoted\"");
	add(log, "two");
	add(log, "");
	at = fleet_build_log_read(log, 0, &all);
	assert_int_equal(at.next, 3);
	assert_false(at.is_whole);
	assert_non_null(strstr(buf_text(&all), "\"text\":\"one \\\"quoted\\\"\"}\n"));
	assert_non_null(strstr(buf_text(&all), "{\"line\":2,"));
	at = fleet_build_log_read(log, 1, &little);
	assert_int_equal(at.next, 2);
	assert_non_null(strstr(buf_text(&little), "\"two\""));
	build_log_end(log);
	buf_reset(&little);
	at = fleet_build_log_read(log, 3, &little);
	assert_int_equal(at.next, 3);
	assert_true(at.is_whole);
	assert_int_equal(little.size, 0);
	at = fleet_build_log_read(log, 99, &little);
	assert_true(at.is_whole);
	fleet_build_log_close(log);
}

TEST(a_log_has_an_end_and_long_lines_are_cut)
{
	static char line[10000];
	struct build_log *log = build_log_new();
	AUTO(buf_done) struct buf out = BUF(3 * BUILD_LOG_MAX);
	struct build_log_position at;

	memset(line, 'x', sizeof(line) - 1);
	line[7] = '\0';
	build_log_add(log, 1, BUILD_STDERR, (struct span){line, sizeof(line) - 1});
	at = fleet_build_log_read(log, 0, &out);
	assert_int_equal(at.next, 3);
	assert_non_null(strstr(buf_text(&out), "\"text\":\"xxxxxxx xx"));
	for (unsigned i = 0; i < 2000; i++)
		build_log_add(log, 1, BUILD_STDERR, (struct span){line, sizeof(line) - 1});
	build_log_add(log, 1, BUILD_OWN, SPAN("the end"));
	buf_reset(&out);
	(void)fleet_build_log_read(log, 0, &out);
	assert_true(out.size < BUILD_LOG_MAX + 64 * 1024);
	assert_non_null(strstr(buf_text(&out), "longer than 4 MiB"));
	assert_non_null(strstr(buf_text(&out), "the end"));
	fleet_build_log_close(log);
}

/* ---- specs ---- */

static int check(struct harness *h, const char *text, struct error *err)
{
	struct build_spec spec;

	*err = (struct error){0};
	if (json_parse(&h->arena, span_of(text), &build_spec_shape, &spec, err) < 0)
		return -1;
	return build_spec_check(h->fleet, &spec, err);
}

static void a_spec_is_checked_before_anything_is_done(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
	        {"{\"from\":\"host\"}", "name"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"fly\"}]}", "type"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"run\"}]}",
	         "steps[0]: command: a run step needs one"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"user\",\"user\":\"u\","
	         "\"path\":\"/x\"}]}",
	         "steps[0]: path: a user step has none"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"copy\",\"path\":\"/x\","
	         "\"files\":\"XX\"}]}",
	         "hexadecimal"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"entrypoint\":[\"\"]}", "entrypoint[0]"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"stages\":[{\"name\":\"s\",\"from\":\"host\"},"
	         "{"
	         "\"name\":\"s\",\"from\":\"host\"}]}",
	         "stages[1]: there is a stage 's' already"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"stages\":[{\"name\":\"s\",\"from\":\"host\","
	         "\"steps\":[{\"type\":\"copy\",\"from\":\"s\",\"paths\":[\"/a\"],\"path\":\"/"
	         "b\"}]}]}",
	         "stages[0]: steps[0]: from: 's' is not an earlier stage"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"run\",\"command\":\"x\","
	         "\"mounts\":[{\"type\":\"cache\",\"path\":\"/a\"}]}]}",
	         "mounts[0]: id: a cache needs one"},
	        {"{\"name\":\"a\",\"from\":\"host\",\"steps\":[{\"type\":\"run\",\"command\":\"x\","
	         "\"mounts\":[{\"type\":\"secret\",\"id\":\"s\",\"env\":\"S\",\"required\":true}]}]"
	         "}",
	         "the secret 's' is required and not given"},
	};
	struct harness *h = *state;
	struct error err;

	assert_done(check(h, "{\"name\":\"a\",\"from\":\"host\"}", &err));
	assert_done(check(h,
	                  "{\"name\":\"a\",\"from\":\"host\",\"start\":\"x\",\"ready\":\"y\","
	                  "\"steps\":[{\"type\":\"workdir\",\"path\":\"../a\"}]}",
	                  &err));
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		assert_refused(check(h, wrong[i].text, &err), ERROR_INVALID);
		if (!strstr(err.text, wrong[i].says))
			fail_msg("'%s' does not say '%s'", err.text, wrong[i].says);
	}
}

static void a_spec_survives_being_written(void **state)
{
	struct harness *h = *state;
	AUTO(buf_done) struct buf text = BUF(4096);
	struct build_spec spec, again;
	const struct build_step *step;
	struct error err = {0};

	assert_done(json_parse(&h->arena,
	                       SPAN("{\"name\":\"a\",\"from\":\"host\",\"internet\":false,"
	                            "\"steps\":[{\"type\":\"run\",\"args\":[\"a\",\"b\"],"
	                            "\"env\":{\"K\":\"v\"},\"timeout_ms\":7}],\"ports\":[80]}"),
	                       &build_spec_shape, &spec, &err));
	json_write(&text, &build_spec_shape, &spec);
	assert_done(json_parse(&h->arena, buf_span(&text), &build_spec_shape, &again, &err));
	step = again.steps.items;
	assert_int_equal(again.steps.count, 1);
	assert_string_equal(step->args[1], "b");
	assert_string_equal(step->env.pairs[0].value, "v");
	assert_int_equal(step->timeout_ms, 7);
	assert_true(again.present >> BUILD_SPEC_INTERNET & 1);
	assert_false(again.internet);
	assert_int_equal(again.ports.size, 4);
	/* Not given stays not given. */
	text.size = 0;
	assert_done(json_parse(&h->arena, SPAN("{\"name\":\"a\",\"from\":\"host\"}"),
	                       &build_spec_shape, &spec, &err));
	json_write(&text, &build_spec_shape, &spec);
	assert_done(json_parse(&h->arena, buf_span(&text), &build_spec_shape, &again, &err));
	assert_false(again.present >> BUILD_SPEC_INTERNET & 1);
}

static void a_provider_without_snapshots_is_named(void **state)
{
	struct harness *h = *state;
	const struct build_spec spec = {.name = "a", .from = "host"};
	const struct fleet_build request = {.project_id = PROJECT, .spec = &spec};
	struct build_record r;
	struct error err = {0};

	assert_refused(fleet_build_start(h->fleet, &h->arena, &request, &r, &err),
	               ERROR_UNSUPPORTED);
}

static void what_was_left_unfinished_has_failed(void **state)
{
	struct harness *h = *state;
	const struct build_record left = {.id = "baaaaaaaaaaaaaaaaaaa",
	                                  .project_id = PROJECT,
	                                  .name = "a",
	                                  .source = "host",
	                                  .state = BUILD_BUILDING,
	                                  .sandbox_id = "gone",
	                                  .created_at = 1};
	const struct fleet_ref ref = {PROJECT, left.id};
	struct build_record r;
	struct error err = {0};

	assert_done(store_build_insert(h->store, &left, &err));
	harness_restart(h);
	assert_done(fleet_build_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.state, BUILD_ERROR);
	assert_string_equal(r.sandbox_id, "");
	assert_true(r.ended_at > 0);
	assert_done(fleet_build_cancel(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_build_remove(h->fleet, &h->arena, &ref, &err));
	assert_refused(fleet_build_find(h->fleet, &h->arena, &ref, &r, &err), ERROR_NOT_FOUND);
}

int main(void)
{
	return RUN_EACH(CASE(a_key_depends_on_all_that_a_step_does_and_on_those_before),
	                CASE(a_key_depends_on_the_layer_of_a_stage),
	                CASE(what_changes_nothing_inside_is_not_in_the_key),
	                CASE(a_step_is_told_in_a_line_without_values),
	                CASE(a_log_is_read_in_pieces_and_says_when_it_is_whole),
	                CASE(a_log_has_an_end_and_long_lines_are_cut),
	                EACH(a_spec_is_checked_before_anything_is_done),
	                EACH(a_spec_survives_being_written),
	                EACH(a_provider_without_snapshots_is_named),
	                EACH(what_was_left_unfinished_has_failed));
}
