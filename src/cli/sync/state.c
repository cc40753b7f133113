/* SPDX-License-Identifier: Apache-2.0 */
/* The state after the last sync: one file per pair of folders, stored outside of both. A line per
 * file, with tabs: TIME SIZE PROGRAM TIME SIZE PROGRAM PATH; the local side comes first. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "cli/core/local.h"
#include "cli/sync/sync.h"

#define HEAD "atoll sync 1\n"
#define STATE_SIZE_MAX ((size_t)256 << 20)
#define NAME_SIZE 33

static int state_folder(struct arena *a, const char **ret, struct error *err)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (base && base[0] == '/')
		*ret = arena_format(a, "%s/atoll/sync", base);
	else if (home && home[0] == '/')
		*ret = arena_format(a, "%s/.local/state/atoll/sync", home);
	else
		return FAIL(err, ERROR_INVALID,
		            "no folder for state: neither XDG_STATE_HOME nor HOME is set");
	return make_folders(*ret, 0700, err);
}

int sync_state_open(struct folder_sync *s, const char *server)
{
	const char *pair = arena_format(s->cli->arena, "%s\n%s\n%s\n%s", server ? server : "",
	                                s->sandbox, s->remote, s->local);
	unsigned char hash[crypto_hash_sha256_BYTES];
	char name[NAME_SIZE];
	const char *folder;
	int fd;

	if (state_folder(s->cli->arena, &folder, s->cli->err) < 0)
		return -1;
	crypto_hash_sha256(hash, (const unsigned char *)pair, strlen(pair));
	sodium_bin2hex(name, sizeof(name), hash, (sizeof(name) - 1) / 2);
	s->state_path = arena_format(s->cli->arena, "%s/%s", folder, name);
	/* Locked until the process ends. */
	fd = open(arena_format(s->cli->arena, "%s.lock", s->state_path),
	          O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(s->cli->err, "open '%s.lock'", s->state_path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		(void)close(fd);
		return FAIL(s->cli->err, ERROR_CONFLICT,
		            "another sync of these folders is running");
	}
	return 0;
}

static bool take_side(struct span *line, struct sync_file *ret, struct arena *a)
{
	struct span time, size, program;
	struct error ignored;

	if (!span_split(line, '\t', &time) || !span_split(line, '\t', &size) ||
	    !span_split(line, '\t', &program) ||
	    span_parse_whole(size, 0, INT64_MAX, &ret->size, &ignored) < 0)
		return false;
	ret->time = arena_copy(a, time);
	ret->is_program = program.size == 1 && program.data[0] == '1';
	return true;
}

static int take_line(struct folder_sync *s, struct span line)
{
	struct sync_file local = {0}, remote = {0};

	if (!take_side(&line, &local, &s->arena) || !take_side(&line, &remote, &s->arena))
		return FAIL(s->cli->err, ERROR_INVALID, "'%s' is not a state file of sync",
		            s->state_path);
	local.path = remote.path = arena_copy(&s->arena, line);
	sync_list_add(&s->before.local, &local);
	sync_list_add(&s->before.remote, &remote);
	return 0;
}

int sync_state_read(struct folder_sync *s)
{
	AUTO(buf_done) struct buf text = BUF(STATE_SIZE_MAX);
	struct span rest, line;
	struct error *err = s->cli->err;

	if (file_read(AT_FDCWD, s->state_path, &text, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	rest = buf_span(&text);
	if (!span_starts_with(rest, HEAD))
		return FAIL(err, ERROR_INVALID, "'%s' is not a state file of sync", s->state_path);
	span_skip(&rest, strlen(HEAD));
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (line.size > 0 && take_line(s, line) < 0)
			return -1;
	}
	sync_list_index(&s->before.local);
	sync_list_index(&s->before.remote);
	return 0;
}

static void write_side(struct buf *out, const struct sync_file *file)
{
	buf_addf(out, "%s\t%lld\t%d\t", file->time, (long long)file->size, file->is_program);
}

int sync_state_write(struct folder_sync *s)
{
	AUTO(buf_done) struct buf text = BUF(STATE_SIZE_MAX);

	buf_add_text(&text, HEAD);
	for (size_t i = 0; i < s->next.local.count; i++) {
		write_side(&text, &s->next.local.items[i]);
		write_side(&text, &s->next.remote.items[i]);
		buf_addf(&text, "%s\n", s->next.local.items[i].path);
	}
	if (text.overflowed)
		return FAIL(s->cli->err, ERROR_TOO_LARGE, "the state of the sync is too large");
	return file_write(AT_FDCWD, s->state_path, buf_span(&text), 0600, s->cli->err);
}
