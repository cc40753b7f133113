/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/check/check.h"
#include "cli/core/table.h"
#include "json/write.h"

#define TEXT_MAX (4u * 1024 * 1024)

const char *check_outcome_name(enum check_outcome outcome)
{
	static const char *const names[] = {[CHECK_NOT_TRIED] = "not tried",
	                                    [CHECK_HELD] = "held",
	                                    [CHECK_OWN_KERNEL] = "own kernel",
	                                    [CHECK_WEAKER] = "weaker",
	                                    [CHECK_THROUGH] = "NOT HELD"};

	return names[outcome];
}

unsigned report_count(const struct checked_provider *p, enum check_outcome outcome)
{
	unsigned count = 0;

	for (unsigned i = 0; i < escape_row_count(); i++)
		count += p->results[i].outcome == outcome;
	return count;
}

bool report_has_failed(const struct isolation_report *report)
{
	for (unsigned i = 0; i < report->count; i++)
		if (report->providers[i].failure ||
		    report_count(&report->providers[i], CHECK_THROUGH) > 0)
			return true;
	return false;
}

static void print_provider(const struct isolation_report *report, const struct checked_provider *p)
{
	struct text_table table;

	(void)printf("%s: kind %s, isolation %s, %s network\n", p->name, p->kind, p->isolation,
	             p->has_network ? "with a" : "without");
	if (p->failure) {
		(void)printf("NOT CHECKED: %s\n\n", p->failure);
		return;
	}
	table_init(&table, report->cli->arena,
	           (const char *const[]){"ATTEMPT", "OUTCOME", "AS", "DETAIL", NULL});
	for (unsigned i = 0; i < escape_row_count(); i++) {
		const struct check_result *r = &p->results[i];

		table_add(&table, escape_rows[i].id);
		table_add(&table, check_outcome_name(r->outcome));
		table_add(&table, r->user);
		table_add(&table, r->detail);
	}
	table_print(&table, stdout, &report->cli->display);
	(void)printf("%u held, %u reached its own kernel only, %u weaker, %u NOT HELD, %u not "
	             "tried\n\n",
	             report_count(p, CHECK_HELD), report_count(p, CHECK_OWN_KERNEL),
	             report_count(p, CHECK_WEAKER), report_count(p, CHECK_THROUGH),
	             report_count(p, CHECK_NOT_TRIED));
}

void report_print(const struct isolation_report *report)
{
	for (unsigned i = 0; i < report->count; i++)
		print_provider(report, &report->providers[i]);
	if (report->traps->why_none)
		(void)printf("Attempts that need traps on the host were left out: %s.\n",
		             report->traps->why_none);
}

static void add_result(struct buf *out, const struct escape_row *row, const struct check_result *r)
{
	static const char *const words[] = {[CHECK_NOT_TRIED] = "not_tried",
	                                    [CHECK_HELD] = "held",
	                                    [CHECK_OWN_KERNEL] = "own_kernel",
	                                    [CHECK_WEAKER] = "weaker",
	                                    [CHECK_THROUGH] = "not_held"};

	json_begin_object(out, NULL);
	json_add_text(out, "id", row->id);
	json_add_text(out, "title", row->title);
	json_add_text(out, "group", escape_group_name(row->group));
	json_add_text(out, "tries", row->tries);
	json_add_text(out, "success", row->success);
	json_add_text(out, "outcome", words[r->outcome]);
	json_add_text(out, "user", r->user);
	json_add_text(out, "detail", r->detail);
	json_end_object(out);
}

static void add_provider(struct buf *out, const struct checked_provider *p)
{
	json_begin_object(out, NULL);
	json_add_text(out, "name", p->name);
	json_add_text(out, "kind", p->kind);
	json_add_text(out, "isolation", p->isolation);
	json_add_text(out, "failure", p->failure);
	json_add_text(out, "kernel", p->kernel);
	json_add_bool(out, "own_kernel", p->is_own_kernel);
	json_add_bool(out, "network", p->has_network);
	json_begin_list(out, "attempts");
	for (unsigned i = 0; i < escape_row_count(); i++)
		add_result(out, &escape_rows[i], &p->results[i]);
	json_end_list(out);
	json_end_object(out);
}

void report_print_json(const struct isolation_report *report)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);

	json_begin_object(&out, NULL);
	json_add_bool(&out, "held", !report_has_failed(report));
	json_add_text(&out, "without_traps", report->traps->why_none);
	json_begin_list(&out, "providers");
	for (unsigned i = 0; i < report->count; i++)
		add_provider(&out, &report->providers[i]);
	json_end_list(&out);
	json_end_object(&out);
	buf_add_byte(&out, '\n');
	(void)fputs(buf_text(&out), stdout);
}
