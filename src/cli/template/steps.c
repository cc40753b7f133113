/* SPDX-License-Identifier: Apache-2.0 */
/* A build by steps: translates the file into the body of one request, uploads the files of its copy
 * steps once per content, and shows the log until the build ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/body.h"
#include "cli/core/resources.h"
#include "cli/template/context.h"
#include "cli/core/server.h"
#include "cli/core/session.h"
#include "cli/template/template.h"
#include "cli/core/text_out.h"
#include "dockerfile/dockerfile.h"
#include "json/write.h"

#define BUILDS TEMPLATES "/builds"
#define FILE_MAX ((size_t)1 << 20)
#define BODY_MAX ((size_t)16 << 20)
#define SECRET_MAX ((size_t)64 * 1024 + 1)
#define LINE_MAX_SIZE ((size_t)64 * 1024)
#define LOOK_MS 100
#define AGAIN_MS 300

struct steps {
	struct cli *cli;
	struct context context; /* opened by the first copy step */
	bool has_context;
	struct buf body;
};

static void steps_done(struct steps *s)
{
	if (s->has_context)
		context_close(&s->context);
	buf_done(&s->body);
}

static bool is_json(const char *path)
{
	size_t size = strlen(path);

	return size > 5 && strcmp(path + size - 5, ".json") == 0;
}

static bool is_single_line(const struct buf *text)
{
	const char *end = strchr(buf_text(text), '\n');

	return !end || !end[1];
}

static int translate_dockerfile(struct cli *cli, const char *path, struct span text,
                                struct buf *out)
{
	AUTO(buf_done) struct buf notes = BUF(FILE_MAX);
	const char **args = ARENA_ARRAY(cli->arena, const char *, cli->args.value_count + 1);
	const struct dockerfile file = {.name = path,
	                                .text = text,
	                                .from = arguments_text(&cli->args, "from", NULL),
	                                .target = arguments_text(&cli->args, "target", NULL),
	                                .build_args = args};

	for (unsigned i = 0; (args[i] = arguments_text_at(&cli->args, "build-arg", i)); i++)
		if (!strchr(args[i], '='))
			return FAIL(cli->err, ERROR_INVALID, "--build-arg '%.60s' has no '='",
			            args[i]);
	if (dockerfile_translate(cli->arena, &file, out, &notes, cli->err) == 0)
		return 0;
	/* The error itself tells a single line. */
	for (struct span rest = buf_span(&notes), line;
	     !is_single_line(&notes) && span_split(&rest, '\n', &line);)
		(void)fprintf(stderr, "%s\n",
		              text_out_safe(cli->arena, arena_copy(cli->arena, line)));
	return -1;
}

static int load_steps(struct cli *cli, const struct json_value **ret)
{
	const char *path = arguments_text(&cli->args, "file", "");
	AUTO(buf_done) struct buf text = BUF(FILE_MAX), body = BUF(BODY_MAX);

	if (file_read(AT_FDCWD, path, &text, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "read '%s'", path);
	if (!is_json(path) && translate_dockerfile(cli, path, buf_span(&text), &body) < 0)
		return -1;
	if (json_load(cli->arena, buf_span(is_json(path) ? &text : &body), ret, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "%s", path);
	return 0;
}

static int upload_files(struct steps *s, const struct context_files *files, const char *path)
{
	struct cli *cli = s->cli;
	const struct archive_items items = {files->items, files->count, s->context.fd};
	const char *folder = getenv("TMPDIR");
	AUTO_CLOSE int fd =
	        open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct http_call call = {.method = "PUT",
	                         .path = path,
	                         .content_type = "application/x-tar",
	                         .has_body_fd = true};
	struct http_answer answer = {0};
	int result;

	if (fd < 0)
		return FAIL_ERRNO(cli->err, "make a file for what is copied");
	if (archive_pack_items(&items, fd, cli->err) < 0)
		return -1;
	call.body_fd_size = lseek(fd, 0, SEEK_END);
	if (call.body_fd_size < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(cli->err, "read what is copied");
	call.body_fd = fd;
	result = http_client_call(cli->client, &call, &answer, cli->err);
	buf_done(&answer.body);
	return result;
}

/* Uploads the files unless the server has them. */
static int put_files(struct steps *s, const struct context_files *files, const char **ret_hash)
{
	struct cli *cli = s->cli;
	char hash[CONTEXT_HASH_SIZE + 1];
	const struct json_value *there;
	const char *path;

	if (context_hash(&s->context, files, hash, cli->err) < 0)
		return -1;
	*ret_hash = arena_text(cli->arena, hash);
	path = escaped_path(cli->arena, BUILDS "/files/", hash, "");
	if (server_get(cli, path, &there) < 0)
		return -1;
	return json_get_bool(there, "present", false) ? 0 : upload_files(s, files, path);
}

static const char **source_list(struct arena *a, const struct json_value *source)
{
	size_t count = json_text(source, NULL) ? 1 : json_count(source);
	const char **list = ARENA_ARRAY(a, const char *, count + 1);

	if (json_text(source, NULL))
		list[0] = json_text(source, NULL);
	for (size_t i = 0; !json_text(source, NULL) && i < count; i++)
		list[i] = json_text(json_item_at(source, i), "");
	return list;
}

static int open_context(struct steps *s)
{
	const char *path = s->cli->args.words[0] ? s->cli->args.words[0] : ".";

	if (s->has_context)
		return 0;
	s->has_context = true;
	return context_open(&s->context, path, s->cli->err);
}

/* Replaces "source" by "files", and "path" by the folder that receives them. */
static int add_copy(struct steps *s, const struct json_value *step)
{
	struct cli *cli = s->cli;
	const char *at = json_get_text(step, "at", "copy");
	struct context_files files;
	const char *hash;

	if (open_context(s) < 0)
		return -1;
	if (context_select(&s->context, source_list(cli->arena, json_get(step, "source")),
	                   json_get_text(step, "path", ""), &files, cli->err) < 0 ||
	    put_files(s, &files, &hash) < 0)
		return FAIL_CONTEXT(cli->err, "%s", at);
	json_begin_object(&s->body, NULL);
	body_add_text(&s->body, "type", "copy");
	body_add_text(&s->body, "files", hash);
	body_add_text(&s->body, "path", *files.path ? files.path : ".");
	for (size_t i = 0; i < json_count(step); i++) {
		const char *name = "";
		const struct json_value *member = json_member_at(step, i, &name);

		if (strcmp(name, "user") == 0 || strcmp(name, "mode") == 0)
			body_add_text(&s->body, name, json_text(member, ""));
		else if (strcmp(name, "force") == 0 && json_bool(member, false))
			json_add_bool(&s->body, name, true);
	}
	json_end_object(&s->body);
	return 0;
}

/* Whether a single file is mounted, under the name at the end of the target. */
static bool is_one_file(const struct context_files *files, const char *target)
{
	return strcmp(files->path, target) != 0;
}

/* Replaces "context" by "files". */
static int add_bind(struct steps *s, const struct json_value *mount)
{
	struct cli *cli = s->cli;
	const char *path = json_get_text(mount, "path", "");
	struct context_files files;
	const char *hash;

	if (open_context(s) < 0)
		return -1;
	if (context_select(&s->context, source_list(cli->arena, json_get(mount, "context")), path,
	                   &files, cli->err) < 0 ||
	    put_files(s, &files, &hash) < 0)
		return FAIL_CONTEXT(cli->err, "%s", json_get_text(mount, "at", "mount"));
	json_begin_object(&s->body, NULL);
	body_add_text(&s->body, "type", "bind");
	body_add_text(&s->body, "files", hash);
	if (is_one_file(&files, path))
		json_add_bool(&s->body, "file", true);
	body_add_text(&s->body, "path", path);
	json_end_object(&s->body);
	return 0;
}

static int add_mounts(struct steps *s, const struct json_value *mounts)
{
	json_begin_list(&s->body, "mounts");
	for (size_t i = 0; i < json_count(mounts); i++) {
		const struct json_value *mount = json_item_at(mounts, i);

		if (!json_get(mount, "context"))
			json_add_value(&s->body, NULL, mount);
		else if (add_bind(s, mount) < 0)
			return -1;
	}
	json_end_list(&s->body);
	return 0;
}

/* An object with one member replaced by what `add` writes. */
static int add_changed(struct steps *s, const struct json_value *object, const char *member,
                       int (*add)(struct steps *s, const struct json_value *value))
{
	json_begin_object(&s->body, NULL);
	for (size_t i = 0; i < json_count(object); i++) {
		const char *name = "";
		const struct json_value *value = json_member_at(object, i, &name);

		if (strcmp(name, member) != 0)
			json_add_value(&s->body, name, value);
	}
	if (add(s, json_get(object, member)) < 0)
		return -1;
	json_end_object(&s->body);
	return 0;
}

static int add_steps(struct steps *s, const struct json_value *steps)
{
	json_begin_list(&s->body, "steps");
	for (size_t i = 0; i < json_count(steps); i++) {
		const struct json_value *step = json_item_at(steps, i);
		int result = 0;

		if (json_get(step, "source"))
			result = add_copy(s, step);
		else if (json_get(step, "mounts"))
			result = add_changed(s, step, "mounts", add_mounts);
		else
			json_add_value(&s->body, NULL, step);
		if (result < 0)
			return -1;
	}
	json_end_list(&s->body);
	return 0;
}

static int add_stages(struct steps *s, const struct json_value *stages)
{
	if (json_count(stages) == 0)
		return 0;
	json_begin_list(&s->body, "stages");
	for (size_t i = 0; i < json_count(stages); i++)
		if (add_changed(s, json_item_at(stages, i), "steps", add_steps) < 0)
			return -1;
	json_end_list(&s->body);
	return 0;
}

struct secret_option {
	const char *id, *file, *variable;
};

/* "id=NAME,src=FILE" or "id=NAME,env=VARIABLE". */
static int parse_secret(struct cli *cli, const char *text, struct secret_option *ret)
{
	struct span rest = span_of(text), item, key;
	bool more = true;

	*ret = (struct secret_option){NULL};
	while (more) {
		const char *value;

		more = span_split(&rest, ',', &item);
		(void)span_split(&item, '=', &key);
		value = arena_copy(cli->arena, item);
		if (span_equals_text(key, "id"))
			ret->id = value;
		else if (span_equals_text(key, "src") || span_equals_text(key, "source"))
			ret->file = value;
		else if (span_equals_text(key, "env"))
			ret->variable = value;
		else if (!span_equals_text(key, "type"))
			return FAIL(cli->err, ERROR_INVALID,
			            "--secret '%.60s': takes id=NAME,src=FILE or id=NAME,env=NAME",
			            text);
	}
	if (!ret->id || !*ret->id)
		return FAIL(cli->err, ERROR_INVALID, "--secret '%.60s' has no id=NAME", text);
	if (!ret->file && !ret->variable)
		ret->variable = ret->id;
	return 0;
}

static int add_secret(struct steps *s, const struct secret_option *secret)
{
	AUTO(buf_done) struct buf text = BUF(SECRET_MAX);
	struct cli *cli = s->cli;
	const char *value = secret->variable ? getenv(secret->variable) : NULL;

	if (secret->file && file_read(AT_FDCWD, secret->file, &text, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "secret '%.60s'", secret->id);
	if (!secret->file && !value)
		return FAIL(cli->err, ERROR_INVALID, "secret '%.60s': there is no variable %.60s",
		            secret->id, secret->variable);
	if (secret->file &&
	    (memchr(text.data ? text.data : "", 0, text.size) || !span_is_utf8(buf_span(&text))))
		return FAIL(cli->err, ERROR_INVALID, "secret '%.60s' is not text: use base64",
		            secret->id);
	body_add_text(&s->body, secret->id, secret->file ? buf_text(&text) : value);
	return 0;
}

static int add_secrets(struct steps *s)
{
	struct cli *cli = s->cli;
	struct secret_option secret;
	const char *text;

	if (!arguments_has(&cli->args, "secret"))
		return 0;
	json_begin_object(&s->body, "secrets");
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "secret", i)); i++)
		if (parse_secret(cli, text, &secret) < 0 || add_secret(s, &secret) < 0)
			return -1;
	json_end_object(&s->body);
	return 0;
}

/* Whether the command line overrides a member of the file. */
static bool is_overruled(struct cli *cli, const char *name)
{
	static const struct {
		const char *member, *option;
	} both[] = {{"name", "name"},         {"from", "from"}, {"image", "from"},
	            {"no_cache", "no-cache"}, {"pull", "pull"}, {"internet", "no-internet"},
	            {"timeout_ms", "timeout"}};

	for (size_t i = 0; i < COUNT_OF(both); i++)
		if (strcmp(name, both[i].member) == 0)
			return arguments_has(&cli->args, both[i].option);
	return false;
}

static int make_body(struct steps *s, const struct json_value *file)
{
	struct cli *cli = s->cli;
	const char *name = arguments_text(&cli->args, "name", json_get_text(file, "name", NULL));
	const char *from = arguments_text(&cli->args, "from", NULL);
	int64_t timeout_ms = 0;

	if (!name)
		return FAIL(cli->err, ERROR_INVALID, "give the template a name: --name NAME");
	if (arguments_duration(&cli->args, "timeout", &timeout_ms, cli->err) < 0)
		return -1;
	body_begin(&s->body);
	body_add_text(&s->body, "name", name);
	if (from)
		body_add_text(&s->body, names_image(from) ? "image" : "from", from);
	if (arguments_has(&cli->args, "no-cache"))
		json_add_bool(&s->body, "no_cache", true);
	if (arguments_has(&cli->args, "pull"))
		json_add_bool(&s->body, "pull", true);
	if (arguments_has(&cli->args, "no-internet"))
		json_add_bool(&s->body, "internet", false);
	if (timeout_ms > 0)
		json_add_whole(&s->body, "timeout_ms", timeout_ms);
	for (size_t i = 0; i < json_count(file); i++) {
		const char *key = "";
		const struct json_value *member = json_member_at(file, i, &key);

		if (strcmp(key, "name") == 0 || strcmp(key, "steps") == 0 ||
		    strcmp(key, "stages") == 0 || is_overruled(cli, key))
			continue;
		json_add_value(&s->body, key, member);
	}
	if (add_secrets(s) < 0 || add_stages(s, json_get(file, "stages")) < 0 ||
	    add_steps(s, json_get(file, "steps")) < 0)
		return -1;
	(void)body_end(&s->body);
	return s->body.overflowed ? FAIL(cli->err, ERROR_TOO_LARGE, "the steps are too large") : 0;
}

struct canceller {
	const struct http_client_options *server;
	const char *path; /* of the build */
	int stop_fd;
	bool interrupted;
};

static void cancel_build(struct canceller *c)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error ignored; /* the build's state reports failures */
	struct cli cli = {.arena = &arena, .server = c->server, .err = &ignored};
	const struct server_call call = {.method = "POST",
	                                 .path = arena_format(&arena, "%s/cancel", c->path)};

	if (http_client_open(c->server, &cli.client, &ignored) < 0)
		return;
	(void)!server_call(&cli, &call, NULL);
	http_client_close(cli.client);
}

static void *watch_interrupt(void *argument)
{
	struct canceller *c = argument;
	struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};

	while (poll(&stop, 1, LOOK_MS) <= 0) {
		if (!session_was_interrupted())
			continue;
		c->interrupted = true;
		cancel_build(c);
	}
	return NULL;
}

struct build_log_follower {
	struct buf pending; /* an incomplete line */
	int64_t next;
	bool as_json;
};

static void show_line(struct build_log_follower *f, struct span line)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *entry;
	struct error ignored = {0};
	const char *text, *stream;

	if (json_load(&arena, line, &entry, &ignored) < 0)
		return;
	f->next = json_get_whole(entry, "line", f->next) + 1;
	if (f->as_json) {
		(void)printf("%.*s\n", (int)line.size, line.data);
		return;
	}
	text = text_out_safe(&arena, json_get_text(entry, "text", ""));
	stream = json_get_text(entry, "stream", "");
	(void)fprintf(strcmp(stream, "stderr") == 0 ? stderr : stdout, "%s\n", text);
}

static bool on_body(void *context, struct span piece)
{
	struct build_log_follower *f = context;
	struct span rest, line;

	buf_add_span(&f->pending, piece);
	rest = buf_span(&f->pending);
	while (span_find(rest, '\n') >= 0 && span_split(&rest, '\n', &line))
		show_line(f, line);
	buf_consume(&f->pending, f->pending.size - rest.size);
	return fflush(stdout) == 0 && !f->pending.overflowed;
}

static int read_log(struct cli *cli, struct build_log_follower *f, const char *path)
{
	struct http_answer answer = {0};
	const struct http_call call = {
	        .method = "GET",
	        .path = arena_format(cli->arena, "%s/logs?stream=ndjson&since=%" PRId64, path,
	                             f->next),
	        .on_body = on_body,
	        .context = f,
	};
	int result = http_client_call(cli->client, &call, &answer, cli->err);

	buf_done(&answer.body);
	buf_reset(&f->pending);
	return result;
}

static bool has_ended(const struct json_value *build)
{
	const char *status = json_get_text(build, "status", "");

	return strcmp(status, "waiting") != 0 && strcmp(status, "building") != 0;
}

/* Survives a restart of the server: the build has failed then, and its state says so. */
static int follow_build(struct cli *cli, const char *path, const struct json_value **ret)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
	struct build_log_follower f = {.pending = BUF(LINE_MAX_SIZE), .as_json = cli->json};
	unsigned tries = 0;
	int result = -1;

	while (tries < 100) {
		error_clear(cli->err);
		result = read_log(cli, &f, path);
		if (result == 0)
			result = server_get(cli, path, ret);
		if (result < 0 && cli->err->code != ERROR_UNAVAILABLE)
			break;
		if (result == 0 && has_ended(*ret))
			break;
		tries = result < 0 ? tries + 1 : 0;
		(void)nanosleep(&pause, NULL);
	}
	buf_done(&f.pending);
	return result;
}

static int follow_watched(struct cli *cli, const char *path, const struct json_value **ret)
{
	AUTO_CLOSE int stop_fd = eventfd(0, EFD_CLOEXEC);
	struct canceller c = {.server = cli->server, .path = path, .stop_fd = stop_fd};
	pthread_t thread;
	int result;

	if (stop_fd < 0)
		return FAIL_ERRNO(cli->err, "make an event");
	session_block_signals();
	if (pthread_create(&thread, NULL, watch_interrupt, &c) != 0)
		return FAIL(cli->err, ERROR_SYSTEM, "start a thread");
	result = follow_build(cli, path, ret);
	(void)eventfd_write(stop_fd, 1);
	(void)pthread_join(thread, NULL);
	cli->interrupted = c.interrupted;
	return result;
}

static int tell_end(struct cli *cli, const struct json_value *build)
{
	const char *status = json_get_text(build, "status", "");
	int64_t exit_code = json_get_whole(build, "exit_code", -1);

	if (cli->json)
		print_json(build);
	if (strcmp(status, "ready") == 0)
		return 0;
	(void)FAIL(cli->err, ERROR_CONFLICT, "build '%.64s': %s", json_get_text(build, "name", ""),
	           json_get_text(build, "message", status));
	if (exit_code < 1 || exit_code > 255)
		return -1;
	/* As if the command had run here. */
	(void)fprintf(stderr, "atoll: %s\n", text_out_safe(cli->arena, cli->err->text));
	error_clear(cli->err);
	return (int)exit_code;
}

int template_build_steps(struct cli *cli)
{
	AUTO(steps_done) struct steps s = {.cli = cli, .body = BUF(BODY_MAX)};
	struct server_call call = {.method = "POST", .path = BUILDS};
	const struct json_value *file, *build;
	const char *path;

	if (load_steps(cli, &file) < 0 || cli_connect(cli) < 0 || make_body(&s, file) < 0)
		return -1;
	call.body = buf_text(&s.body);
	if (server_call(cli, &call, &build) < 0)
		return FAIL_CONTEXT(cli->err, "build");
	path = escaped_path(cli->arena, BUILDS "/", json_get_text(build, "id", ""), "");
	if (follow_watched(cli, path, &build) < 0)
		return -1;
	return tell_end(cli, build);
}

const struct command_option template_build_options[] = {
        {"file", "FILE", "a Dockerfile, or steps as JSON", .letter = 'f',
         .completion = COMPLETE_FILE},
        {"name", "NAME", "name of the template"},
        {"from", "TEMPLATE|IMAGE", "base template or image, instead of the file's",
         .completion = COMPLETE_TEMPLATE},
        {"build-arg", "NAME=VALUE", "value of an ARG in the Dockerfile", .repeats = true},
        {"secret", "id=NAME,src=FILE", "a secret for RUN --mount=type=secret; env=NAME: a variable",
         .repeats = true},
        {"target", "STAGE", "stage of the Dockerfile to build; the last"},
        {"no-cache", NULL, "execute every step, even if it is cached"},
        {"pull", NULL, "ask the registries for newer images of FROM"},
        {"no-internet", NULL, "run steps without the internet"},
        {"timeout", "DURATION", "time limit of the whole build (default 1h)"},
        {0},
};
