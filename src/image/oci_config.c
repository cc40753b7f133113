/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "image/config.h"
#include "json/json.h"
#include "json/write.h"

#define DOCUMENT_MAX (4 << 20)
#define TEXT_MAX (256 * 1024)

static int load_document(struct arena *a, int layout, const char *path,
                         const struct json_value **ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(DOCUMENT_MAX);
	AUTO_CLOSE int fd = -1;

	if (fd_open_beneath(layout, path, &(struct fd_open_options){.flags = O_RDONLY}, &fd, err) <
	            0 ||
	    fd_read_to_end(fd, &text, err) < 0 || json_load(a, buf_span(&text), ret, err) < 0)
		return FAIL_CONTEXT(err, "image layout: '%.90s'", path);
	return 0;
}

/* Follows a descriptor's digest to the document that it names. */
static int load_blob(struct arena *a, int layout, const struct json_value *descriptor,
                     const struct json_value **ret, struct error *err)
{
	const char *digest = json_text(json_get(descriptor, "digest"), "");

	if (!text_is_sha256(digest))
		return FAIL(err, ERROR_INVALID, "image layout: '%.80s' is no digest", digest);
	return load_document(a, layout, arena_format(a, "blobs/sha256/%s", strchr(digest, ':') + 1),
	                     ret, err);
}

/* ["A=b", …] -> {"A":"b", …}. A repeated name gets its last value. */
static const char *format_env(struct arena *a, const struct json_value *list)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	size_t count = json_count(list);

	json_begin_object(&out, NULL);
	for (size_t i = 0; i < count; i++) {
		struct span name, value = span_of(json_text(json_item_at(list, i), ""));
		bool is_last = true;
		if (!span_split(&value, '=', &name) || name.size == 0)
			continue;
		for (size_t j = i + 1; j < count && is_last; j++) {
			struct span other, rest = span_of(json_text(json_item_at(list, j), ""));
			is_last = !span_split(&rest, '=', &other) || !span_equals(other, name);
		}
		if (is_last)
			json_add_span(&out, arena_copy(a, name), value);
	}
	json_end_object(&out);
	return out.overflowed ? "{}" : arena_copy(a, buf_span(&out));
}

static void add_texts(struct buf *out, const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++)
		json_add_text(out, NULL, json_text(json_item_at(list, i), ""));
}

/* Most base images name a shell or an interpreter as command. It waits for input at a terminal and
 * ends at once without one, so it is not started as an entrypoint. */
static bool is_interactive(const struct json_value *entrypoint, const struct json_value *command)
{
	static const char *const programs[] = {"bash", "sh",   "zsh",    "ash",     "dash",
	                                       "fish", "node", "python", "python3", NULL};
	const struct json_value *only = json_count(entrypoint) ? entrypoint : command;
	const char *path = json_text(json_item_at(only, 0), ""), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (json_count(entrypoint) + json_count(command) != 1)
		return false;
	for (size_t i = 0; programs[i]; i++)
		if (strcmp(name, programs[i]) == 0)
			return true;
	return false;
}

static const char *format_command(struct arena *a, const struct json_value *config)
{
	const struct json_value *entrypoint = json_get(config, "Entrypoint");
	const struct json_value *command = json_get(config, "Cmd");
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);

	if (is_interactive(entrypoint, command))
		return "[]";
	json_begin_list(&out, NULL);
	add_texts(&out, entrypoint);
	add_texts(&out, command);
	json_end_list(&out);
	return out.overflowed ? "[]" : arena_copy(a, buf_span(&out));
}

/* {"80/tcp": {}, …} -> [80, …] */
static const char *format_ports(struct arena *a, const struct json_value *exposed)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct error ignored = {0};
	const char *key = NULL;

	json_begin_list(&out, NULL);
	for (size_t i = 0; json_member_at(exposed, i, &key); i++) {
		struct span protocol = span_of(key), number;
		int64_t port;
		bool has_protocol = span_split(&protocol, '/', &number);
		if (span_parse_whole(number, 1, 65535, &port, &ignored) < 0 ||
		    (has_protocol && !span_equals_text(protocol, "tcp")))
			continue;
		json_add_whole(&out, NULL, port);
	}
	json_end_list(&out);
	return out.overflowed ? "[]" : arena_copy(a, buf_span(&out));
}

/* "name", "1000" or "1000:1000": without a group the user's group applies. */
static const char *format_user(struct arena *a, const char *user)
{
	struct span rest = span_of(user), name;

	(void)span_split(&rest, ':', &name);
	for (size_t i = 0; i < name.size; i++)
		if (!isalnum((unsigned char)name.data[i]) && !strchr("._-", name.data[i]))
			return "";
	return name.size > 64 ? "" : arena_copy(a, name);
}

static const char *copy_env(struct arena *a, const struct json_value *env)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	const struct json_value *value;
	const char *key = NULL;

	json_begin_object(&out, NULL);
	for (size_t i = 0; (value = json_member_at(env, i, &key)); i++) {
		if (*key && !strchr(key, '=') && json_text(value, NULL))
			json_add_text(&out, key, json_text(value, NULL));
	}
	json_end_object(&out);
	return out.overflowed ? "{}" : arena_copy(a, buf_span(&out));
}

static const char *copy_words(struct arena *a, const struct json_value *words)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);

	json_begin_list(&out, NULL);
	add_texts(&out, words);
	json_end_list(&out);
	return out.overflowed ? "[]" : arena_copy(a, buf_span(&out));
}

static const char *copy_ports(struct arena *a, const struct json_value *ports)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_begin_list(&out, NULL);
	for (size_t i = 0; i < json_count(ports); i++) {
		int64_t port = json_whole(json_item_at(ports, i), 0);

		if (port >= 1 && port <= 65535)
			json_add_whole(&out, NULL, port);
	}
	json_end_list(&out);
	return out.overflowed ? "[]" : arena_copy(a, buf_span(&out));
}

struct image_config config_of_backup(struct arena *a, const struct json_value *said)
{
	const char *workdir = json_text(json_get(said, "workdir"), "");

	return (struct image_config){
	        .env_json = copy_env(a, json_get(said, "env")),
	        .entrypoint_json = copy_words(a, json_get(said, "entrypoint")),
	        .ports_json = copy_ports(a, json_get(said, "ports")),
	        .user = format_user(a, json_text(json_get(said, "user"), "")),
	        .workdir = workdir[0] == '/' ? workdir : "",
	};
}

/* An index is searched for the image of this architecture; an image without an index may be any. */
static int check_processor(const struct json_value *image, struct error *err)
{
	static const struct {
		const char *machine, *architecture;
	} names[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"riscv64", "riscv64"}};
	const char *said = json_text(json_get(image, "architecture"), "");
	struct utsname host;

	if (uname(&host) < 0)
		return FAIL_ERRNO(err, "ask for this machine's processor");
	for (size_t i = 0; *said && i < COUNT_OF(names); i++)
		if (strcmp(names[i].machine, host.machine) == 0 &&
		    strcmp(names[i].architecture, said) != 0)
			return FAIL(err, ERROR_INVALID,
			            "the image is for '%.40s', and this machine's processor is "
			            "'%.40s'",
			            said, names[i].architecture);
	return 0;
}

int oci_config_load(struct arena *a, const char *layout_dir, struct image_config *ret,
                    struct error *err)
{
	AUTO_CLOSE int layout = open(layout_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct json_value *index, *manifest, *image;

	if (layout < 0)
		return FAIL_ERRNO(err, "open the image layout");
	if (load_document(a, layout, "index.json", &index, err) < 0)
		return -1;
	const struct json_value *manifests = json_get(index, "manifests");
	if (json_count(manifests) != 1)
		return FAIL(err, ERROR_INVALID, "image layout: %zu images where one is due",
		            json_count(manifests));
	if (load_blob(a, layout, json_item_at(manifests, 0), &manifest, err) < 0 ||
	    load_blob(a, layout, json_get(manifest, "config"), &image, err) < 0)
		return -1;
	if (check_processor(image, err) < 0)
		return -1;
	const struct json_value *config = json_get(image, "config");
	const char *workdir = json_text(json_get(config, "WorkingDir"), "");
	*ret = (struct image_config){
	        .env_json = format_env(a, json_get(config, "Env")),
	        .entrypoint_json = format_command(a, config),
	        .ports_json = format_ports(a, json_get(config, "ExposedPorts")),
	        .user = format_user(a, json_text(json_get(config, "User"), "")),
	        .workdir = workdir[0] == '/' ? workdir : "",
	};
	return 0;
}
