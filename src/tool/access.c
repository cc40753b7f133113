/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/access.h"

#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fault.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/egress.h"
#include "json/json.h"
#include "sandbox/egress.h"
#include "sandbox/egress_ipv6.h"
#include "store/approvals.h"
#include "store/sandbox_record.h"
#include "tool/builtin.h"
#include "tool/tool.h"

#define REASON_MAX 500
#define LOOK_MS 200

struct access_input {
	const char *host, *reason;
	int64_t port;
};
static const struct json_member access_input_members[] = {
        JSON_TEXT_MEMBER(access_input, host, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_HOST_NAME_MAX,
                         .about = "a host name or an address, as the refusal names it",
                         .example = "api.example.com"),
        JSON_WHOLE_MEMBER(access_input, port, .min = 0, .max = 65535,
                          .about = "for the person who decides; names are reached on ports 80 and "
                                   "443"),
        JSON_TEXT_MEMBER(access_input, reason, .max = REASON_MAX,
                         .about = "what it is needed for, shown to the person who decides",
                         .example = "to read the issue that the user named"),
};
static JSON_SHAPE(access_input, "RequestAccessInput", access_input, "A host that is refused");

struct access_output {
	const char *host, *state, *approval, *note;
};
static const struct json_member access_output_members[] = {
        JSON_TEXT_MEMBER(access_output, host),
        JSON_TEXT_MEMBER(access_output, state, .about = "allowed or waiting"),
        JSON_TEXT_MEMBER(access_output, approval, .name = "approvalId", .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(access_output, note, .flags = JSON_OMIT_EMPTY,
                         .about = "of the person who decided"),
};
static JSON_SHAPE(access_output, "RequestAccessOutput", access_output,
                  "What came of a request for access");

bool access_is_request(const struct approval_record *r)
{
	return strcmp(r->tool, ACCESS_TOOL) == 0;
}

int access_host(struct arena *a, const struct approval_record *r, const char **ret,
                struct error *err)
{
	const struct json_value *value;
	const char *host;

	if (json_load(a, span_of(r->input), &value, err) < 0)
		return -1;
	host = json_get_text(value, "host", "");
	if (!*host)
		return FAIL(err, ERROR_INVALID, "request '%s' names no host", r->id);
	*ret = arena_text(a, host);
	return 0;
}

/* Rules that allow all of it, so that there is nothing to ask for. */
static bool is_allowed(const char *egress, const char *host)
{
	struct egress_ranges denied;
	struct egress_ranges6 denied6;
	struct egress_range range;
	struct address6 address6;
	struct error ignored = {0};

	if (egress_address6_parse(span_of(host), &address6))
		return sandbox_egress_denied6(egress, &denied6, &ignored) == 0 &&
		       !egress_ranges6_have(&denied6, &address6);
	if (!egress_range_parse(span_of(host), &range))
		return sandbox_egress_allows_name(egress, span_of(host)) || !*egress;
	if (sandbox_egress_denied(egress, &denied, &ignored) < 0)
		return false;
	for (size_t i = 0; i < denied.count; i++)
		if (range.first <= denied.items[i].last && range.last >= denied.items[i].first)
			return false;
	return true;
}

static int refuse_range(const char *host, struct error *err)
{
	return FAIL(err, ERROR_FORBIDDEN,
	            "'%s' is an address that no sandbox may reach; it cannot be allowed", host);
}

static int refuse_cut(const char *cut, struct error *err)
{
	AUTO(buf_done) struct buf why = BUF(512);

	egress_cut_describe(&why, span_of(cut));
	(void)FAIL(err, ERROR_CONFLICT, "%s", buf_text(&why));
	return FAIL_HINT(err, "rules cannot give it back; an administrator can raise the quota");
}

static int access_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct access_input *in = input;
	struct egress_range range;
	struct address6 address6;
	const char *ignored;

	if (egress_range_parse(span_of(in->host), &range)) {
		if (range.first != range.last)
			return FAIL(err, ERROR_INVALID, "host: one address, not the range '%s'",
			            in->host);
		if (egress_is_refused(range.first))
			return refuse_range(in->host, err);
	} else if (egress_address6_parse(span_of(in->host), &address6)) {
		if (egress_is_refused6(&address6))
			return refuse_range(in->host, err);
	} else if (!host_name_is_valid(span_of(in->host))) {
		return FAIL(err, ERROR_INVALID, "host: '%.80s' is no host name and no address",
		            in->host);
	}
	if (call->sandbox->network == SANDBOX_NETWORK_BLOCKED)
		return FAIL(err, ERROR_CONFLICT,
		            "the sandbox has no network; rules cannot give it one");
	if (*call->sandbox->egress_cut)
		return refuse_cut(call->sandbox->egress_cut, err);
	/* The approver is not asked for what the rules cannot hold. */
	if (is_allowed(call->sandbox->egress, in->host))
		return 0;
	return sandbox_egress_add(call->arena, call->sandbox->egress, in->host, &ignored, err);
}

int access_apply(const struct access_context *c, struct approval_record *r, struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->sandbox_id};
	struct sandbox_record ignored;
	const char *host;

	if (access_host(c->arena, r, &host, err) < 0)
		return -1;
	fault_point("api", "access-approved");
	if (fleet_allow_egress(c->fleet, c->arena, &ref, host, &ignored, err) < 0)
		return -1;
	fault_point("api", "access-allowed");
	/* Another call may have done the same meanwhile. */
	if (store_approval_use(c->store, r, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return store_approval_find(c->store, c->arena, r->project_id, r->id, r, err);
}

int access_decide(const struct access_context *c, const struct tool_decision *d,
                  const char *sandbox_id, struct approval_record *ret, struct error *err)
{
	struct approval_record r;

	if (store_approval_find(c->store, c->arena, d->project_id, d->id, &r, err) < 0)
		return -1;
	if (!access_is_request(&r) || (sandbox_id && strcmp(r.sandbox_id, sandbox_id) != 0))
		return FAIL(err, ERROR_NOT_FOUND, "no such request for access");
	if ((r.state != APPROVAL_APPROVED || !d->approves) &&
	    tool_decide_approval(c->store, c->arena, d, &r, err) < 0)
		return -1;
	if (d->approves && access_apply(c, &r, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

static void sleep_moment(void)
{
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};

	(void)nanosleep(&moment, NULL);
}

/* Waits for a decision, and applies one that was not applied yet. */
static int await_decision(const struct tool_call *call, struct approval_record *r,
                          struct error *err)
{
	const struct access_context c = {call->fleet, call->store, call->arena};
	int64_t end = deadline_after(call->approval_wait_ms);

	while (r->state == APPROVAL_PENDING && deadline_poll_ms(end) > 0) {
		if (cancel_is_said(call->cancel))
			return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
		sleep_moment();
		if (store_approval_find(call->store, call->arena, r->project_id, r->id, r, err) < 0)
			return -1;
	}
	if (r->state == APPROVAL_APPROVED)
		return access_apply(&c, r, err);
	if (r->state == APPROVAL_REFUSED)
		return FAIL(err, ERROR_FORBIDDEN, "a person refused the access%s%.150s",
		            r->note[0] ? ": " : "", r->note);
	if (r->state == APPROVAL_EXPIRED)
		return FAIL(err, ERROR_TIMEOUT, "the request expired without a decision");
	return 0;
}

static void say_allowed(const struct tool_call *call, struct access_output *out,
                        struct tool_result *ret)
{
	out->state = "allowed";
	tool_add_text(ret, span_of(arena_format(call->arena, "%s is allowed: run the command again",
	                                        out->host)));
}

static void say_waiting(const struct tool_call *call, const struct approval_record *r,
                        struct access_output *out, struct tool_result *ret)
{
	out->state = "waiting";
	out->approval = r->id;
	ret->pending = r->id;
	tool_add_text(ret,
	              span_of(arena_format(call->arena,
	                                   "waiting for a person to allow %s (request %s). Go on "
	                                   "with other work; the same call again says whether it "
	                                   "is allowed",
	                                   out->host, r->id)));
}

static int access_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                       struct error *err)
{
	const struct access_input *in = input;
	struct access_output *out = ARENA_NEW(call->arena, struct access_output);
	const struct access_request request = {
	        .project_id = call->project_id,
	        .sandbox_id = call->sandbox->id,
	        .key_id = call->key_id,
	        .conversation_id = call->conversation_id ? call->conversation_id : "",
	        .host = in->host,
	        .reason = in->reason ? in->reason : "",
	        .port = in->port,
	        .now = clock_unix_ms(),
	};
	struct approval_record r;

	*out = (struct access_output){.host = in->host};
	ret->structured = out;
	if (is_allowed(call->sandbox->egress, in->host)) {
		say_allowed(call, out, ret);
		return 0;
	}
	if (store_access_request(call->store, call->arena, &request, &r, err) < 0 ||
	    await_decision(call, &r, err) < 0)
		return -1;
	out->note = r.note;
	if (r.state == APPROVAL_PENDING)
		say_waiting(call, &r, out, ret);
	else
		say_allowed(call, out, ret);
	return 0;
}

const struct tool request_access_tool = {
        .name = ACCESS_TOOL,
        .title = "Ask for access to a host",
        .description =
                "Asks a person to allow a host that the sandbox's network rules refuse, as a line "
                "[network] refused of a command's result names it. Returns allowed, or waiting: "
                "the same call again says what came of it. After it is allowed, run the command "
                "again. Ask only for what the task needs, and say why.",
        .input = &access_input,
        .output = &access_output,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT,
        .check = access_check,
        .call = access_call,
};
