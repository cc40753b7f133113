/* SPDX-License-Identifier: Apache-2.0 */
#include "image/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"

#define CONFIG_SIZE_MAX (256 * 1024)

struct config_file {
	struct span env, entrypoint, ports;
	const char *user, *workdir, *digest;
	int64_t size_bytes;
};

static const struct json_member config_file_shape_members[] = {
        JSON_RAW_MEMBER(config_file, env),      JSON_RAW_MEMBER(config_file, entrypoint),
        JSON_RAW_MEMBER(config_file, ports),    JSON_TEXT_MEMBER(config_file, user),
        JSON_TEXT_MEMBER(config_file, workdir), JSON_WHOLE_MEMBER(config_file, size_bytes),
        JSON_TEXT_MEMBER(config_file, digest),
};
static JSON_SHAPE(config_file_shape, "TemplateFile", config_file,
                  "What a template's root filesystem says of itself");

static void config_name(const char *name, char out[PATH_NAME_MAX])
{
	/* The name of a template never starts with a dot. */
	(void)snprintf(out, PATH_NAME_MAX, ".%s.json", name);
}

int config_save(int templates, const char *name, const struct image_config *config,
                struct error *err)
{
	char file_name[PATH_NAME_MAX];
	AUTO(buf_done) struct buf text = BUF(CONFIG_SIZE_MAX);
	struct config_file file = {
	        .env = span_of(config->env_json),
	        .entrypoint = span_of(config->entrypoint_json),
	        .ports = span_of(config->ports_json),
	        .user = config->user,
	        .workdir = config->workdir,
	        .size_bytes = config->size_bytes,
	        .digest = config->digest ? config->digest : "",
	};

	json_write(&text, &config_file_shape, &file);
	buf_add_byte(&text, '\n');
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the image says too much of itself");
	config_name(name, file_name);
	return file_write(templates, file_name, buf_span(&text), 0644, err);
}

int image_config_save(int templates, const char *name, const struct image_config *config,
                      struct error *err)
{
	if (image_name_check(name, err) < 0)
		return -1;
	if (mkdirat(templates, name, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "template '%s'", name);
	return config_save(templates, name, config, err);
}

int config_remove(int templates, const char *name, struct error *err)
{
	char file_name[PATH_NAME_MAX];

	config_name(name, file_name);
	if (unlinkat(templates, file_name, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", file_name);
	return 0;
}

static const char *copy_or_empty(struct arena *a, struct span s)
{
	return s.size > 0 ? arena_copy(a, s) : "";
}

int image_config_load(struct arena *a, const char *templates_dir, const char *name,
                      struct image_config *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CONFIG_SIZE_MAX);
	AUTO_CLOSE int templates = -1;
	char file_name[PATH_NAME_MAX];
	struct config_file file;

	if (image_name_check(name, err) < 0)
		return -1;
	config_name(name, file_name);
	templates = open(templates_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (templates < 0)
		return FAIL_ERRNO(err, "open '%s'", templates_dir);
	/* Without the folder the file is left from an unfinished attempt. */
	if (faccessat(templates, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "template '%s'", name);
	if (file_read(templates, file_name, &text, err) < 0 ||
	    json_parse(a, buf_span(&text), &config_file_shape, &file, err) < 0)
		return FAIL_CONTEXT(err, "template '%s'", name);
	*ret = (struct image_config){
	        .env_json = copy_or_empty(a, file.env),
	        .entrypoint_json = copy_or_empty(a, file.entrypoint),
	        .ports_json = copy_or_empty(a, file.ports),
	        .user = file.user ? file.user : "",
	        .workdir = file.workdir ? file.workdir : "",
	        .size_bytes = file.size_bytes,
	        .digest = file.digest ? file.digest : "",
	};
	return 0;
}
