/* SPDX-License-Identifier: Apache-2.0 */
#include "image/config.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "json/json.h"

#define CONFIG_SIZE_MAX (256 * 1024)

struct config_file {
	struct span env, entrypoint, ports;
	const char *user, *workdir;
	int64_t size_bytes;
};

static const struct json_member config_file_shape_members[] = {
        JSON_RAW_MEMBER(config_file, env),
        JSON_RAW_MEMBER(config_file, entrypoint),
        JSON_RAW_MEMBER(config_file, ports),
        JSON_TEXT_MEMBER(config_file, user),
        JSON_TEXT_MEMBER(config_file, workdir),
        JSON_WHOLE_MEMBER(config_file, size_bytes),
        JSON_END,
};
static JSON_SHAPE(config_file_shape, "TemplateFile", config_file,
                  "What a template's root filesystem says of itself");

int config_save(int folder, const struct image_config *config, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CONFIG_SIZE_MAX);
	struct config_file file = {
	        .env = span_of(config->env_json),
	        .entrypoint = span_of(config->entrypoint_json),
	        .ports = span_of(config->ports_json),
	        .user = config->user,
	        .workdir = config->workdir,
	        .size_bytes = config->size_bytes,
	};

	json_write(&text, &config_file_shape, &file);
	buf_add_byte(&text, '\n');
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the image says too much of itself");
	return file_write(folder, IMAGE_CONFIG, buf_span(&text), 0644, err);
}

static const char *or_empty(struct arena *a, struct span s)
{
	return s.size > 0 ? arena_copy(a, s) : "";
}

int image_config_load(struct arena *a, const char *templates_dir, const char *name,
                      struct image_config *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CONFIG_SIZE_MAX);
	AUTO_CLOSE int folder = -1;
	struct config_file file;

	if (image_name_check(name, err) < 0)
		return -1;
	folder = open(arena_format(a, "%s/%s", templates_dir, name),
	              O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open template '%s'", name);
	if (file_read(folder, IMAGE_CONFIG, &text, err) < 0 ||
	    json_parse(a, buf_span(&text), &config_file_shape, &file, err) < 0)
		return FAIL_CONTEXT(err, "template '%s'", name);
	*ret = (struct image_config){
	        .env_json = or_empty(a, file.env),
	        .entrypoint_json = or_empty(a, file.entrypoint),
	        .ports_json = or_empty(a, file.ports),
	        .user = file.user ? file.user : "",
	        .workdir = file.workdir ? file.workdir : "",
	        .size_bytes = file.size_bytes,
	};
	return 0;
}
