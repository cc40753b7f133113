/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/readiness.h"

#include <stdlib.h>
#include <string.h>

#include "cli/core/local.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/server/trial.h"
#include "config/config.h"
#include "json/write.h"

#define ASK_MS 20000 /* a round of checks takes at most 7 s */

extern char **environ;

static int read_answer(struct arena *a, const struct http_answer *answer,
                       struct readiness_report *r, struct error *err)
{
	const char *text = arena_copy(a, buf_span(&answer->body));

	if (json_load(a, span_of(text), &r->answer, err) < 0)
		return FAIL_CONTEXT(err, "read the answer of /readyz");
	if (!json_get(r->answer, "checks"))
		return FAIL(err, ERROR_UNAVAILABLE, "/readyz answers %d without checks",
		            answer->status);
	r->text = text;
	r->is_ready = answer->status == 200 &&
	              strcmp(json_get_text(r->answer, "status", ""), "ready") == 0;
	return 0;
}

static int ask_server(struct arena *a, const char *url, struct readiness_report *r,
                      struct error *err)
{
	const struct http_call call = {
	        .method = "GET", .path = "/readyz", .timeout_ms = ASK_MS, .keeps_errors = true};
	struct http_client_options options;
	struct http_client *client;
	struct http_answer answer = {0};
	int result;

	if (server_parse(a, url, NULL, &options, err) < 0 ||
	    http_client_open(&options, &client, err) < 0)
		return -1;
	result = http_client_call(client, &call, &answer, err);
	http_client_close(client);
	if (result < 0)
		return -1;
	result = read_answer(a, &answer, r, err);
	buf_done(&answer.body);
	return result;
}

static void ask_trial(struct arena *a, const char *data_dir, const struct config *config,
                      struct readiness_report *r)
{
	struct trial_server trial;
	struct error err = {0};

	r->asked = "";
	if (trial_open(a, data_dir, config, &trial, &r->failure) < 0)
		return;
	if (ask_server(a, arena_format(a, "unix:%s", trial.server.socket), r, &r->failure) < 0)
		local_server_show_log(a, &trial.server);
	if (trial_close(&trial, &err) == 0)
		return;
	r->is_ready = false;
	r->answer = NULL;
	r->text = NULL;
	r->failure = err;
}

/* The address of the folder's server; NULL = none runs. */
static const char *address_of(struct arena *a, const char *data_dir)
{
	const struct local_server local = {.socket = arena_format(a, "%s/run/api.sock", data_dir)};

	return local_server_answers(&local) || local_server_runs(a, data_dir)
	               ? arena_format(a, "unix:%s", local.socket)
	               : NULL;
}

static bool ask_named(struct arena *a, struct readiness_report *r)
{
	const char *url = getenv("ATOLL_API_URL");
	struct error err = {0};

	if (!url || !url[0])
		return false;
	r->asked = url;
	if (ask_server(a, url, r, &err) == 0)
		return true;
	r->skipped = arena_format(a, "%s: %s", url, err.text);
	return false;
}

void readiness_ask(struct cli *cli, const char *data_dir, bool is_given,
                   struct readiness_report *ret)
{
	struct arena *a = cli->arena;
	const char *const flags[] = {arena_format(a, "data=%s", data_dir), NULL};
	const struct config_source source = {.flags = flags, .environment = environ};
	char *absolute = realpath(data_dir, NULL); /* NULL if it does not exist */
	const char *folder = arena_text(a, absolute ? absolute : data_dir);
	struct config config;

	free(absolute);
	*ret = (struct readiness_report){.asked = ""};
	if (!is_given && ask_named(a, ret))
		return;
	if (config_load(a, &source, &config, &ret->failure) < 0)
		return;
	ret->asked = address_of(a, folder);
	if (!ret->asked)
		ask_trial(a, folder, &config, ret);
	else if (ask_server(a, ret->asked, ret, &ret->failure) < 0)
		error_hint(&ret->failure,
		           "a server holds '%s': set ATOLL_API_URL to where it listens, or look at "
		           "its log",
		           folder);
}

static void add_row(struct buf *out, const char *verdict, const char *name, const char *found,
                    const char *cure)
{
	buf_addf(out, "%-8s %-26s %s\n", verdict, name, found);
	if (cure[0])
		buf_addf(out, "%-35s -> %s\n", "", cure);
}

static void add_check(struct arena *a, const struct json_value *check, struct buf *out)
{
	const char *name = text_out_safe(a, json_get_text(check, "name", "?"));
	const char *code = json_get_text(check, "code", "");
	const char *reason = json_get_text(check, "reason", "");

	if (json_get_bool(check, "ok", false))
		add_row(out, "ok", name,
		        arena_format(a, "%.1f ms", json_number(json_get(check, "took_ms"), 0)), "");
	else
		add_row(out, "fails", name,
		        text_out_safe(a, arena_format(a, "%s: %s", code, reason)),
		        text_out_safe(a, json_get_text(check, "cure", "")));
}

static void add_warning(struct arena *a, const struct json_value *warning, struct buf *out)
{
	add_row(out, "warns", text_out_safe(a, json_get_text(warning, "code", "?")),
	        text_out_safe(a, json_get_text(warning, "message", "")),
	        text_out_safe(a, json_get_text(warning, "hint", "")));
}

void readiness_add_text(struct arena *a, const struct readiness_report *report, struct buf *out)
{
	const struct json_value *checks = json_get(report->answer, "checks");
	const struct json_value *warnings = json_get(report->answer, "warnings");

	if (report->skipped)
		buf_addf(out, "No answer from %s\n", text_out_safe(a, report->skipped));
	if (report->asked && report->asked[0])
		buf_addf(out, "The server at %s makes and ends sandboxes:\n",
		         text_out_safe(a, report->asked));
	else
		buf_add_text(out, "A temporary server makes and ends sandboxes:\n");
	if (!report->answer)
		add_row(out, "fails", "server", text_out_safe(a, report->failure.text),
		        text_out_safe(a, report->failure.hint));
	for (size_t i = 0; i < json_count(checks); i++)
		add_check(a, json_item_at(checks, i), out);
	for (size_t i = 0; i < json_count(warnings); i++)
		add_warning(a, json_item_at(warnings, i), out);
	if (report->answer && !report->is_ready && json_count(checks) == 0)
		add_row(out, "fails", "server",
		        text_out_safe(a, json_get_text(json_get(report->answer, "error"), "message",
		                                       "it is not ready")),
		        "");
}

void readiness_add_json(const struct readiness_report *report, const char *name, struct buf *out)
{
	json_begin_object(out, name);
	json_add_bool(out, "ready", report->is_ready);
	json_add_text(out, "asked", report->asked && *report->asked ? report->asked : NULL);
	json_add_raw(out, "answer", span_of(report->text));
	if (!report->text) {
		json_begin_object(out, "error");
		json_add_text(out, "message", report->failure.text);
		json_add_text(out, "hint", report->failure.hint);
		json_end_object(out);
	}
	json_end_object(out);
}
