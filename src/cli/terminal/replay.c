/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/terminal/cast.h"
#include "cli/terminal/commands.h"
#include "cli/terminal/harmless.h"
#include "cli/core/server.h"

#define RECORDING_MAX ((size_t)64 * 1024 * 1024)
#define AFTERWARDS "\033[?1049l\033[?25h\033[0m\r\n"

struct player {
	double speed;
	int64_t idle_max_us; /* 0 = no limit */
	int64_t at_us;       /* of the previous event */
	struct harmless harmless;
};

static void wait_us(int64_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (us > 0 && nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int play_event(struct player *p, const struct cast_event *event, struct error *err)
{
	int64_t pause = event->at_us > p->at_us ? event->at_us - p->at_us : 0;
	AUTO(buf_done) struct buf out = BUF(2 * event->bytes.size + 128);

	p->at_us = event->at_us;
	if (!event->bytes.data)
		return 0;
	if (p->idle_max_us && pause > p->idle_max_us)
		pause = p->idle_max_us;
	wait_us((int64_t)((double)pause / p->speed));
	harmless_take(&p->harmless, event->bytes, &out);
	return fd_write_all(STDOUT_FILENO, out.data, out.size, err);
}

static int play_recording(struct cli *cli, struct player *p, struct span text)
{
	AUTO(arena_done) struct arena arena = {0};
	struct span line;
	int64_t columns, rows, number = 1;

	(void)span_split(&text, '\n', &line);
	if (cast_parse_head(&arena, line, &columns, &rows, cli->err) < 0)
		return -1;
	while (text.size > 0) {
		struct cast_event event;

		(void)span_split(&text, '\n', &line);
		number++;
		if (line.size == 0)
			continue;
		arena_reset(&arena);
		if (cast_parse_event(&arena, line, &event, cli->err) < 0)
			return FAIL_CONTEXT(cli->err, "line %lld", (long long)number);
		if (play_event(p, &event, cli->err) < 0)
			return -1;
	}
	/* Resets modes that an interrupted program left set. */
	if (isatty(STDOUT_FILENO))
		(void)!write(STDOUT_FILENO, AFTERWARDS, sizeof(AFTERWARDS) - 1);
	return 0;
}

static int fetch_recording(struct cli *cli, const char *id, struct buf *out)
{
	const struct http_call call = {
	        .method = "GET",
	        .path = escaped_path(cli->arena, "/api/sandbox/recordings/", id, ""),
	};
	struct http_answer answer;

	if (cli_connect(cli) < 0 || http_client_call(cli->client, &call, &answer, cli->err) < 0)
		return -1;
	*out = answer.body;
	return 0;
}

static int run_replay(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(RECORDING_MAX);
	struct player player = {.speed = 1};
	const char *what = cli->args.words[0];
	int64_t idle_ms = 0;

	if (arguments_number(&cli->args, "speed", &player.speed, cli->err) < 0 ||
	    arguments_duration(&cli->args, "idle-limit", &idle_ms, cli->err) < 0)
		return -1;
	if (!(player.speed >= 0.01 && player.speed <= 1000))
		return FAIL(cli->err, ERROR_INVALID, "speed: from 0.01 to 1000");
	player.idle_max_us = idle_ms * 1000;
	if (access(what, F_OK) == 0 ? file_read(AT_FDCWD, what, &text, cli->err) < 0
	                            : fetch_recording(cli, what, &text) < 0)
		return -1;
	return play_recording(cli, &player, buf_span(&text));
}

static const struct command_option options[] = {
        {"speed", "FACTOR", "2 = twice as fast", .letter = 's'},
        {"idle-limit", "DURATION", "longest pause, such as 2s", .letter = 'i'},
        {0},
};

const struct cli_command command_replay = {
        .name = "replay",
        .usage = "[OPTION...] FILE|RECORDING",
        .about = "replay a recording of a terminal",
        .more = "FILE is an asciicast of version 2, or the id of a recording on the server\n"
                "('atoll terminal recordings').",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_FILE,
        .run = run_replay,
};
