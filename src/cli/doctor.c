/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/local.h"
#include "cli/text_out.h"
#include "json/json.h"

#define TEXT_SIZE_MAX (256u * 1024)

static const char *const verdict_names[] = {
        [VERDICT_GOOD] = "ok",
        [VERDICT_LESS] = "less",
        [VERDICT_BAD] = "missing",
};

static void print_as_json(struct buf *out, const struct diagnosis *list, unsigned count, bool able)
{
	buf_addf(out, "{\"native\":%s,\"checks\":[", able ? "true" : "false");
	for (unsigned i = 0; i < count; i++) {
		buf_addf(out, "%s\n  {\"name\":", i > 0 ? "," : "");
		json_write_text(out, span_of(list[i].check->name));
		buf_addf(out, ",\"verdict\":\"%s\",\"found\":", verdict_names[list[i].verdict]);
		json_write_text(out, span_of(list[i].found));
		buf_add_text(out, ",\"meaning\":");
		if (list[i].verdict == VERDICT_GOOD)
			buf_add_text(out, "null");
		else
			json_write_text(out, span_of(list[i].check->without));
		buf_add_byte(out, '}');
	}
	buf_add_text(out, "\n]}\n");
}

static void print_as_text(struct buf *out, const struct diagnosis *list, unsigned count, bool able)
{
	for (unsigned i = 0; i < count; i++) {
		buf_addf(out, "%-8s %-22s %s\n", verdict_names[list[i].verdict],
		         list[i].check->name, list[i].found);
		if (list[i].verdict != VERDICT_GOOD)
			buf_addf(out, "%-31s -> %s\n", "", list[i].check->without);
	}
	buf_addf(out, "\n%s\n",
	         able ? "This host runs isolated sandboxes (provider native)."
	              : "This host CANNOT run isolated sandboxes as it is: see 'missing' above.\n"
	                "For development only, 'atoll serve --provider host' runs commands without "
	                "isolation.");
}

static int doctor(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX);
	struct diagnosis *list;
	const char *folder;
	unsigned count;
	bool able;

	if (local_data_dir(cli->arena, &folder, cli->err) < 0)
		return -1;
	list = ARENA_ARRAY(cli->arena, struct diagnosis, diagnosis_count());
	count = diagnosis_make(cli->arena, arguments_text(&cli->args, "data", folder), list);
	able = diagnosis_is_able(list, count);
	if (cli->json)
		print_as_json(&text, list, count, able);
	else
		print_as_text(&text, list, count, able);
	(void)fputs(buf_text(&text), stdout);
	return able ? 0 : 1;
}

static const struct command_option options[] = {
        {.name = "data",
         .value = "DIR",
         .about = "data folder to look at",
         .completion = COMPLETE_FOLDER},
        {0},
};

const struct command command_doctor = {
        .name = "doctor",
        .usage = "[--data DIR]",
        .about = "tell what this host can and cannot do, and what that means",
        .more = "Most checks try the thing itself, in a child process. The exit status is 0 when\n"
                "isolated sandboxes can run here, else 1.",
        .options = options,
        .run = doctor,
};
