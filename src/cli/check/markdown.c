/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/check/check.h"

#define TEXT_MAX (4u * 1024 * 1024)

static const char head[] =
        "# What isolation held\n\n"
        "`atoll check isolation --write FILE` wrote this page. It makes sandboxes with each "
        "provider of a server, and tries to get out of\n"
        "them: as root and as user inside, and by file calls from outside. Repeat it on your "
        "own host:\n\n"
        "```\nsudo atoll check isolation\n```\n\n"
        "It is no proof: it shows that known attempts fail, with your kernel and your "
        "options. Flaws of the kernel, of gVisor and of QEMU\n"
        "that nothing here uses stay possible ([threats](threats.md)).\n\n"
        "| outcome | means |\n|---|---|\n"
        "| held | the attempt was refused, or reached nothing |\n"
        "| own kernel | it got through to the sandbox's own kernel, which is not the host's |\n"
        "| weaker | a further barrier is missing; that is no way out by itself |\n"
        "| **NOT HELD** | it got out of the sandbox, or past a limit. The command ends with "
        "status 1 |\n"
        "| not tried | the details say why |\n\n"
        "Not tested: what escapes from the agent, gVisor or QEMU into the native sandbox around "
        "them could do there. That sandbox\n"
        "is as the provider `native` makes it, so its column answers that. With a network, gVisor "
        "passes the calls on sockets of TCP\n"
        "and UDP to the host's kernel, in the network namespace of that native sandbox: what the "
        "column `native` says of networks\n"
        "holds for gVisor, too.\n\n";

/* '|' would end the cell. */
static void add_cell(struct buf *out, const char *text)
{
	buf_add_text(out, " ");
	for (; *text; text++)
		buf_addf(out, "%s%c", *text == '|' ? "\\" : "", *text);
	buf_add_text(out, " |");
}

static void add_names(struct buf *out, const struct isolation_report *report)
{
	for (unsigned i = 0; i < report->count; i++)
		buf_addf(out, " `%s` |", report->providers[i].name);
	buf_add_text(out, "\n|---|");
	for (unsigned i = 0; i < report->count; i++)
		buf_add_text(out, "---|");
	buf_add_text(out, "\n");
}

static const char *outcome_cell(const struct checked_provider *p, unsigned row)
{
	if (p->failure)
		return "not tried";
	return p->results[row].outcome == CHECK_THROUGH
	               ? "**NOT HELD**"
	               : check_outcome_name(p->results[row].outcome);
}

static void add_providers(struct buf *out, const struct isolation_report *report)
{
	buf_add_text(out, "## Providers\n\n| provider | kind | isolation | network | kernel | held "
	                  "| own kernel | weaker | NOT HELD | not tried |\n"
	                  "|---|---|---|---|---|---|---|---|---|---|\n");
	for (unsigned i = 0; i < report->count; i++) {
		const struct checked_provider *p = &report->providers[i];
		const char *kernel = p->kernel ? strchr(p->kernel, ' ') : NULL;

		buf_addf(out, "| `%s` | `%s` | `%s` | %s | %s | %u | %u | %u | %u | %u |\n",
		         p->name, p->kind, p->isolation, p->has_network ? "yes" : "none",
		         kernel ? kernel + 1 : "-", report_count(p, CHECK_HELD),
		         report_count(p, CHECK_OWN_KERNEL), report_count(p, CHECK_WEAKER),
		         report_count(p, CHECK_THROUGH), report_count(p, CHECK_NOT_TRIED));
	}
	buf_add_text(out, "\n");
}

static void add_group(struct buf *out, const struct isolation_report *report,
                      enum escape_group group)
{
	buf_addf(out, "### %s\n\n| attempt |", escape_group_name(group));
	add_names(out, report);
	for (unsigned row = 0; row < escape_row_count(); row++) {
		if (escape_rows[row].group != group)
			continue;
		buf_add_text(out, "|");
		add_cell(out, escape_rows[row].title);
		for (unsigned i = 0; i < report->count; i++)
			add_cell(out, outcome_cell(&report->providers[i], row));
		buf_add_text(out, "\n");
	}
	buf_add_text(out, "\n");
}

/* Everything but "held". */
static void add_details(struct buf *out, const struct checked_provider *p)
{
	buf_addf(out, "### `%s`: everything that is not \"held\"\n\n", p->name);
	if (p->failure) {
		buf_addf(out, "Not checked: %s.\n\n", p->failure);
		return;
	}
	buf_add_text(out, "| attempt | outcome | as | detail |\n|---|---|---|---|\n");
	for (unsigned row = 0; row < escape_row_count(); row++) {
		const struct check_result *r = &p->results[row];

		if (r->outcome == CHECK_HELD)
			continue;
		buf_add_text(out, "|");
		add_cell(out, escape_rows[row].title);
		add_cell(out, outcome_cell(p, row));
		add_cell(out, r->user ? r->user : "");
		add_cell(out, r->detail);
		buf_add_text(out, "\n");
	}
	buf_add_text(out, "\n");
}

static void add_explanations(struct buf *out)
{
	buf_add_text(out, "## What each attempt does\n\n| attempt | tries | gets through if |\n"
	                  "|---|---|---|\n");
	for (unsigned row = 0; row < escape_row_count(); row++) {
		buf_addf(out, "| `%s` |", escape_rows[row].id);
		add_cell(out, escape_rows[row].tries);
		add_cell(out, escape_rows[row].success);
		buf_add_text(out, "\n");
	}
}

int report_write_markdown(const struct isolation_report *report, const char *path)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	struct buf date = BUF(64);

	buf_add_text(&out, head);
	clock_format(&date, clock_unix_ms());
	buf_addf(&out, "This run: Atoll " ATOLL_VERSION ", %.10s, host kernel %s.\n\n",
	         buf_text(&date), strchr(report->traps->kernel, ' ') + 1);
	buf_done(&date);
	add_providers(&out, report);
	buf_add_text(&out, "## Attempts\n\n");
	for (unsigned group = 0; group < ESCAPE_GROUP_COUNT; group++)
		add_group(&out, report, (enum escape_group)group);
	buf_add_text(&out, "## Details\n\n");
	for (unsigned i = 0; i < report->count; i++)
		add_details(&out, &report->providers[i]);
	add_explanations(&out);
	return file_write(AT_FDCWD, path, buf_span(&out), 0644, report->cli->err);
}
