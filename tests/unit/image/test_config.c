/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image/config.h"
#include "json/json.h"
#include "scratch.h"

TEST(what_is_saved_is_loaded)
{
	struct scratch s = scratch_new();
	struct arena a = {0};
	struct image_config saved = {"{\"A\":\"b\"}", "[\"x\"]", "[80]", "me", "/srv", 7};
	struct image_config loaded;
	struct error err = {0};

	scratch_folder(&s, "one");
	assert_int_equal(config_save(s.fd, "one", &saved, &err), 0);
	if (image_config_load(&a, s.path, "one", &loaded, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(loaded.env_json, saved.env_json);
	assert_string_equal(loaded.entrypoint_json, saved.entrypoint_json);
	assert_string_equal(loaded.ports_json, saved.ports_json);
	assert_string_equal(loaded.user, "me");
	assert_string_equal(loaded.workdir, "/srv");
	assert_int_equal(loaded.size_bytes, 7);
	arena_done(&a);
	scratch_done(&s);
}

TEST(a_description_without_its_template_is_not_loaded)
{
	struct scratch s = scratch_new();
	struct arena a = {0};
	struct image_config saved = {"{}", "[]", "[]", "", "", 0}, loaded;
	struct error err = {0};

	assert_int_equal(config_save(s.fd, "one", &saved, &err), 0);
	assert_int_equal(image_config_load(&a, s.path, "one", &loaded, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(config_remove(s.fd, "one", &err), 0);
	assert_int_equal(config_remove(s.fd, "one", &err), 0);
	arena_done(&a);
	scratch_done(&s);
}

TEST(what_a_backup_says_and_cannot_mean_is_left_out)
{
	struct arena a = {0};
	const struct json_value *said;
	struct image_config c;
	struct error err = {0};

	assert_int_equal(
	        json_load(&a,
	                  span_of("{\"env\":{\"A\":\"b\",\"\":\"x\",\"C=D\":\"y\",\"E\":5},"
	                          "\"entrypoint\":[\"run\",\"\\\"it\\\"\"],"
	                          "\"ports\":[80,0,70000,\"x\"],\"user\":\"a/b\","
	                          "\"workdir\":\"here\"}"),
	                  &said, &err),
	        0);
	c = config_of_backup(&a, said);
	assert_string_equal(c.env_json, "{\"A\":\"b\"}");
	assert_string_equal(c.entrypoint_json, "[\"run\",\"\\\"it\\\"\"]");
	assert_string_equal(c.ports_json, "[80]");
	assert_string_equal(c.user, "");
	assert_string_equal(c.workdir, "");
	c = config_of_backup(&a, NULL);
	assert_string_equal(c.env_json, "{}");
	assert_string_equal(c.entrypoint_json, "[]");
	arena_done(&a);
}

/* ---- an OCI layout ---- */

#define CONFIG_HEX "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define MANIFEST_HEX "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define INDEX "{\"manifests\":[{\"digest\":\"sha256:" MANIFEST_HEX "\"}]}"
#define MANIFEST "{\"config\":{\"digest\":\"sha256:" CONFIG_HEX "\"}}"

static struct scratch new_layout(const char *index, const char *manifest, const char *config)
{
	struct scratch s = scratch_new();

	scratch_folder(&s, "blobs");
	scratch_folder(&s, "blobs/sha256");
	scratch_write(&s, "index.json", index);
	scratch_write(&s, "blobs/sha256/" MANIFEST_HEX, manifest);
	scratch_write(&s, "blobs/sha256/" CONFIG_HEX, config);
	return s;
}

TEST(an_images_own_words_are_taken_over)
{
	struct scratch s = new_layout(
	        INDEX, MANIFEST,
	        "{\"config\":{\"Env\":[\"A=1\",\"PATH=/bin\",\"A=2\",\"=x\",\"bad\"],"
	        "\"Entrypoint\":[\"run\"],\"Cmd\":[\"-x\",\"a b\"],\"User\":\"node:node\","
	        "\"WorkingDir\":\"/app\",\"ExposedPorts\":{\"80/tcp\":{},\"53/udp\":{},"
	        "\"3000\":{},\"70000/tcp\":{},\"x\":{}}}}");
	struct arena a = {0};
	struct image_config config;
	struct error err = {0};

	if (oci_config_load(&a, s.path, &config, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(config.env_json, "{\"PATH\":\"/bin\",\"A\":\"2\"}");
	assert_string_equal(config.entrypoint_json, "[\"run\",\"-x\",\"a b\"]");
	assert_string_equal(config.ports_json, "[80,3000]");
	assert_string_equal(config.user, "node");
	assert_string_equal(config.workdir, "/app");
	arena_done(&a);
	scratch_done(&s);
}

TEST(a_shell_or_an_interpreter_alone_is_no_entrypoint)
{
	static const char *const rows[][2] = {
	        {"{\"config\":{\"Cmd\":[\"bash\"]}}", "[]"},
	        {"{\"config\":{\"Cmd\":[\"/bin/sh\"]}}", "[]"},
	        {"{\"config\":{\"Entrypoint\":[\"/usr/local/bin/python3\"]}}", "[]"},
	        {"{\"config\":{\"Entrypoint\":null,\"Cmd\":[\"node\"]}}", "[]"},
	        {"{\"config\":{\"Cmd\":[\"bash\",\"-l\"]}}", "[\"bash\",\"-l\"]"},
	        {"{\"config\":{\"Entrypoint\":[\"entry.sh\"],\"Cmd\":[\"node\"]}}",
	         "[\"entry.sh\",\"node\"]"},
	        {"{\"config\":{\"Cmd\":[\"/srv/bashful\"]}}", "[\"/srv/bashful\"]"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct scratch s = new_layout(INDEX, MANIFEST, rows[i][0]);
		struct arena a = {0};
		struct image_config config;
		struct error err = {0};

		assert_int_equal(oci_config_load(&a, s.path, &config, &err), 0);
		assert_string_equal(config.entrypoint_json, rows[i][1]);
		arena_done(&a);
		scratch_done(&s);
	}
}

TEST(an_image_that_says_nothing_is_fine)
{
	struct scratch s = new_layout(INDEX, MANIFEST, "{}");
	struct arena a = {0};
	struct image_config config;
	struct error err = {0};

	assert_int_equal(oci_config_load(&a, s.path, &config, &err), 0);
	assert_string_equal(config.env_json, "{}");
	assert_string_equal(config.entrypoint_json, "[]");
	assert_string_equal(config.ports_json, "[]");
	assert_string_equal(config.user, "");
	assert_string_equal(config.workdir, "");
	arena_done(&a);
	scratch_done(&s);
}

TEST(layouts_that_make_no_sense_are_refused)
{
	static const char *const rows[][3] = {
	        {"{}", MANIFEST, "{}"},
	        {"not json", MANIFEST, "{}"},
	        {"{\"manifests\":[{},{}]}", MANIFEST, "{}"},
	        {"{\"manifests\":[{\"digest\":\"sha256:../../../etc/passwd\"}]}", MANIFEST, "{}"},
	        {INDEX, "{\"config\":{\"digest\":\"md5:1\"}}", "{}"},
	        {INDEX, "[]", "{}"},
	        {INDEX, MANIFEST, "["},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct scratch s = new_layout(rows[i][0], rows[i][1], rows[i][2]);
		struct arena a = {0};
		struct image_config config;
		struct error err = {0};
		assert_int_equal(oci_config_load(&a, s.path, &config, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		arena_done(&a);
		scratch_done(&s);
	}
}

TEST(a_user_that_is_no_name_is_left_out)
{
	struct scratch s = new_layout(INDEX, MANIFEST,
	                              "{\"config\":{\"User\":\"a b;c\",\"WorkingDir\":\"x\"}}");
	struct arena a = {0};
	struct image_config config;
	struct error err = {0};

	assert_int_equal(oci_config_load(&a, s.path, &config, &err), 0);
	assert_string_equal(config.user, "");
	assert_string_equal(config.workdir, "");
	arena_done(&a);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(what_is_saved_is_loaded),
	           CASE(a_description_without_its_template_is_not_loaded),
	           CASE(what_a_backup_says_and_cannot_mean_is_left_out),
	           CASE(an_images_own_words_are_taken_over),
	           CASE(a_shell_or_an_interpreter_alone_is_no_entrypoint),
	           CASE(an_image_that_says_nothing_is_fine),
	           CASE(layouts_that_make_no_sense_are_refused),
	           CASE(a_user_that_is_no_name_is_left_out));
}
