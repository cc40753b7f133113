/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/server/commands.h"
#include "cli/server/diagnosis.h"
#include "cli/core/local.h"
#include "cli/server/readiness.h"
#include "json/write.h"

#define TEXT_SIZE_MAX (256u * 1024)

struct examination {
	const struct diagnosis *list;
	unsigned count;
	bool is_able; /* according to the list */
	struct readiness_report readiness;
};

static void print_as_json(struct buf *out, const struct examination *e)
{
	json_begin_object(out, NULL);
	json_add_bool(out, "native", e->is_able);
	diagnosis_add_json(e->list, e->count, out);
	readiness_add_json(&e->readiness, "readiness", out);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static const char *conclusion_text(const struct examination *e)
{
	if (!e->is_able)
		return "This host CANNOT run isolated sandboxes as it is: see 'missing' above.\n"
		       "For development only, 'atoll serve --provider host' runs commands without "
		       "isolation.";
	if (!e->readiness.is_ready)
		return "Sandboxes CANNOT be made now: see 'fails' above.";
	return "This host runs isolated sandboxes (provider native).";
}

static void print_as_text(struct arena *a, struct buf *out, const struct examination *e)
{
	diagnosis_add_text(e->list, e->count, out);
	buf_add_byte(out, '\n');
	readiness_add_text(a, &e->readiness, out);
	buf_addf(out, "\n%s\n", conclusion_text(e));
}

static int run_doctor(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX);
	struct examination e = {0};
	struct diagnosis *list;
	const char *folder;

	if (local_data_dir(cli->arena, &folder, cli->err) < 0)
		return -1;
	folder = arguments_text(&cli->args, "data", folder);
	list = ARENA_ARRAY(cli->arena, struct diagnosis, diagnosis_count());
	e.count = diagnosis_make(cli->arena, folder, list);
	e.list = list;
	e.is_able = diagnosis_is_able(list, e.count);
	readiness_ask(cli, folder, arguments_has(&cli->args, "data"), &e.readiness);
	if (cli->json)
		print_as_json(&text, &e);
	else
		print_as_text(cli->arena, &text, &e);
	(void)fputs(buf_text(&text), stdout);
	return e.is_able && e.readiness.is_ready ? 0 : 1;
}

static const struct command_option options[] = {
        {"data", "DIR", "data folder to look at", .completion = COMPLETE_FOLDER},
        {0},
};

const struct cli_command command_doctor = {
        .name = "doctor",
        .usage = "[--data DIR]",
        .about = "check what this host can and cannot do, and explain the consequences",
        .more = "Most checks try the feature itself in a child process. Then the server of\n"
                "ATOLL_API_URL or of the data folder, or else a temporary server,\n"
                "makes and deletes a sandbox per kind of network. The exit status is 0 if\n"
                "this host can make isolated sandboxes now, else 1.",
        .options = options,
        .run = run_doctor,
};
