/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts by file calls. Links are made inside; the calls come from outside, by the API. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/check/check.h"
#include "cli/core/server.h"
#include "http/client/client.h"

static struct check_result result_escaped(struct cage *cage, const char *path)
{
	return (struct check_result){CHECK_THROUGH, NULL,
	                             arena_format(cage->cli->arena, "by '%s'", path)};
}

static struct check_result result_held(const char *detail)
{
	return (struct check_result){CHECK_HELD, NULL, detail};
}

/* The call's answer does not matter, only whether it holds the text of the trap. */
static bool answers_with_secret(struct cage *cage, const char *path)
{
	struct arena *a = cage->cli->arena;
	const struct http_call call = {
	        .method = "GET",
	        .path = escaped_path(a, instance_path(a, cage->id, "/files/content?path="), path,
	                             ""),
	        .keeps_errors = true,
	        .timeout_ms = 30000,
	};
	struct http_answer answer = {0};
	struct error ignored = {0};
	bool is_found;

	if (http_client_call(cage->cli->client, &call, &answer, &ignored) < 0)
		return false;
	is_found = strstr(buf_text(&answer.body), TRAP_TEXT) != NULL;
	buf_done(&answer.body);
	return is_found;
}

static void send_file_call(struct cage *cage, const char *method, const char *prefix,
                           const char *path)
{
	struct arena *a = cage->cli->arena;
	const struct http_call call = {
	        .method = method,
	        .path = escaped_path(a, instance_path(a, cage->id, prefix), path, ""),
	        .content_type = "application/octet-stream",
	        .body = strcmp(method, "PUT") == 0 ? SPAN("written\n") : (struct span){0},
	        .keeps_errors = true,
	        .timeout_ms = 30000,
	};
	struct http_answer answer = {0};
	struct error ignored = {0};

	if (http_client_call(cage->cli->client, &call, &answer, &ignored) == 0)
		buf_done(&answer.body);
}

/* The path of a new link beside the program. */
static const char *make_link(struct cage *cage, const char *name, const char *target)
{
	const char *path = arena_format(cage->cli->arena, "%.*s%s",
	                                (int)(strrchr(cage->program, '/') + 1 - cage->program),
	                                cage->program, name);
	const struct cage_run run = {.user = "user", .args = {"--link", target, path}};
	const char *ignored;

	return cage_run_program(cage, &run, &ignored) == ESCAPE_HELD ? path : NULL;
}

static struct check_result result_without_link(struct cage *cage)
{
	return (struct check_result){CHECK_NOT_TRIED, NULL,
	                             arena_format(cage->cli->arena, "a link could not be made: %s",
	                                          cage->cli->err->text)};
}

static struct check_result read_by_path(struct cage *cage, const struct host_traps *traps)
{
	static const char *const prefixes[] = {"",
	                                       "../../../../../../../..",
	                                       "/proc/1/root",
	                                       "/proc/self/root",
	                                       "/proc/self/cwd/../../../../../..",
	                                       "/tmp/../../../../../.."};

	for (unsigned i = 0; i < COUNT_OF(prefixes); i++) {
		const char *path = arena_format(cage->cli->arena, "%s%s", prefixes[i], traps->file);

		if (answers_with_secret(cage, path))
			return result_escaped(cage, path);
	}
	return result_held("no path shows the file");
}

static struct check_result read_by_link(struct cage *cage, const struct host_traps *traps)
{
	struct arena *a = cage->cli->arena;
	const char *file = make_link(cage, "read-1", traps->file);
	const char *deep =
	        make_link(cage, "read-2", arena_format(a, "/proc/1/root%s", traps->file));
	const char *folder = make_link(cage, "read-3", traps->folder);
	const char *below;

	if (!file || !deep || !folder)
		return result_without_link(cage);
	below = arena_format(a, "%s/file", folder);
	if (answers_with_secret(cage, file) || answers_with_secret(cage, deep))
		return result_escaped(cage, file);
	return answers_with_secret(cage, below) ? result_escaped(cage, below)
	                                        : result_held("no link shows the file");
}

static bool is_trap_unchanged(const struct host_traps *traps)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct error ignored = {0};

	return file_read(AT_FDCWD, traps->file, &text, &ignored) == 0 &&
	       strcmp(buf_text(&text), TRAP_TEXT "\n") == 0;
}

static struct check_result write_by_link(struct cage *cage, const struct host_traps *traps)
{
	struct arena *a = cage->cli->arena;
	const char *made = arena_format(a, "%s/made", traps->folder);
	const char *file = make_link(cage, "write-1", traps->file);
	const char *other = make_link(cage, "write-2", made);
	const char *folder = make_link(cage, "write-3", traps->folder);

	if (!file || !other || !folder)
		return result_without_link(cage);
	send_file_call(cage, "PUT", "/files/content?path=", file);
	send_file_call(cage, "PUT", "/files/content?path=", other);
	send_file_call(cage, "PUT", "/files/content?path=", arena_format(a, "%s/made", folder));
	if (unlink(made) == 0)
		return result_escaped(cage, other);
	if (!is_trap_unchanged(traps)) {
		(void)!file_write(AT_FDCWD, traps->file, SPAN(TRAP_TEXT "\n"), 0666,
		                  &(struct error){0});
		return result_escaped(cage, file);
	}
	return result_held("no file of the host appears or changes");
}

static struct check_result delete_by_link(struct cage *cage, const struct host_traps *traps)
{
	struct arena *a = cage->cli->arena;
	const char *folder = make_link(cage, "delete", traps->folder);
	const char *path;

	if (!folder)
		return result_without_link(cage);
	path = arena_format(a, "%s/file", folder);
	send_file_call(cage, "DELETE", "/files?path=", path);
	if (!is_trap_unchanged(traps)) {
		(void)!file_write(AT_FDCWD, traps->file, SPAN(TRAP_TEXT "\n"), 0666,
		                  &(struct error){0});
		return result_escaped(cage, path);
	}
	return result_held("the file is there");
}

static const struct file_attempt {
	const char *id;
	struct check_result (*attempt)(struct cage *cage, const struct host_traps *traps);
} attempts[] = {
        {"read_by_path", read_by_path},
        {"read_by_link", read_by_link},
        {"write_by_link", write_by_link},
        {"delete_by_link", delete_by_link},
};

struct check_result file_attempt_make(struct cage *cage, const char *id,
                                      const struct host_traps *traps)
{
	if (traps->why_none)
		return (struct check_result){CHECK_NOT_TRIED, NULL, traps->why_none};
	for (unsigned i = 0; i < COUNT_OF(attempts); i++)
		if (strcmp(attempts[i].id, id) == 0)
			return attempts[i].attempt(cage, traps);
	return (struct check_result){CHECK_NOT_TRIED, NULL, "this program has no such attempt"};
}
