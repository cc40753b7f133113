/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/tools/target.h"

#include "base/clock.h"
#include "base/path.h"
#include "calls/configs.h"
#include "config/config.h"
#include "edge/caller.h"
#include "edge/session.h"
#include "edge/target.h"
#include "fleet/core/use.h"
#include "http/server/shares.h"
#include "job/job.h"
#include "provider/provider.h"
#include "sandbox/lease.h"
#include "store/sandbox_record.h"
#include "surface/native/ephemeral.h"
#include "tool/tool.h"

#define SLACK_MS 30000 /* time of a call besides its command and its approval */

bool tools_are_ephemeral(const struct tools_target *w)
{
	return !w->sandbox && !w->lease && !w->session && !w->tenant &&
	       (w->is_ephemeral || w->config || w->workspace);
}

bool tools_offer(const struct tools_target *w, const struct tool *tool)
{
	const char *inner = w->settings ? w->settings->workspace : NULL;

	if (!tools_are_ephemeral(w))
		return true;
	return tool->flags & (w->workspace || inner ? TOOL_OF_WORKSPACE : TOOL_ALONE);
}

static int check_offer(const struct tools_target *w, const struct tool *tool, struct error *err)
{
	if (!tool || tools_offer(w, tool))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "tool '%s' is not offered in an ephemeral call%s",
	           tool->name, tool->flags & TOOL_OF_WORKSPACE ? " without a workspace" : "");
	return FAIL_HINT(err, "%s",
	                 tool->flags & TOOL_OF_WORKSPACE
	                         ? "name a workspace, whose files stay, or use the tool bash"
	                         : "call it in a sandbox or a lease");
}

static int check_target_count(const struct tools_target *w, struct error *err)
{
	unsigned count = !!w->sandbox + !!w->lease + !!w->session;

	if (w->workspace && (w->sandbox || w->session))
		return FAIL(err, ERROR_INVALID,
		            "a workspace is of a lease or of a call that names no sandbox");
	if (count == 1 && (w->session || !w->tenant))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "which sandbox: %s",
	           count == 0  ? "none is named"
	           : count > 1 ? "more than one is named"
	                       : "tenantId is without sessionId");
	error_hint(err, "one of sandboxId, lease, or sessionId with or without tenantId; without "
	                "them, config, workspace or ephemeral makes a sandbox for the call");
	return -1;
}

static int open_lease(struct request *rq, const struct tools_target *w, struct api_target *ret,
                      struct error *err)
{
	struct fleet_create make = {
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .workspace = w->workspace,
	        .internet = -1,
	};
	const struct api_config_use config = {w->config, w->lease};

	if (w->config && api_config_apply(rq, &config, &make, err) < 0)
		return -1;
	return session_open_made(rq, w->lease, &make, ret, err);
}

static int open_ephemeral(struct request *rq, const struct tools_target *w, struct api_target *ret,
                          struct error *err)
{
	struct native_ephemeral make = {.config = w->config, .workspace = w->workspace};

	if (w->settings)
		make.sandbox = *w->settings;
	else
		make.sandbox = (struct native_create_body){.template = w->template,
		                                           .image = w->image,
		                                           .provider = w->provider,
		                                           .isolation = w->isolation};
	return native_ephemeral_open(rq, &make, ret, err);
}

static int open_target(struct request *rq, const struct tools_target *w, struct api_target *ret,
                       struct error *err)
{
	const struct lease_session session = {w->tenant ? w->tenant : "default", w->session};

	if (tools_are_ephemeral(w))
		return open_ephemeral(rq, w, ret, err);
	if (check_target_count(w, err) < 0)
		return -1;
	if (w->sandbox) {
		if (api_target_open_id(rq, w->sandbox, ret, err) < 0)
			return -1;
		api_target_finish_without_client();
		return 0;
	}
	return w->lease ? open_lease(rq, w, ret, err) : session_open(rq, &session, ret, err);
}

/* Ends with its client, and its approval is for any sandbox that is made in the same way. */
static void set_ephemeral(struct request *rq, const struct tools_target *w,
                          const struct api_target *target, struct tool_call *ret)
{
	const char *workspace = w->workspace, *config = w->config;

	if (!api_target_is_ephemeral(target))
		return;
	ret->ephemeral = arena_format(rq->arena, "ephemeral\n%s\n%s", config ? config : "",
	                              workspace ? workspace : "");
	ret->cancel = api_cancel(rq);
}

static void set_sandbox(const struct api_target *target, struct tool_call *ret)
{
	ret->sandbox = target->record;
	ret->root = path_or_root(target->workdir);
	ret->user = target->user;
	ret->env = target->env;
}

static int64_t smaller_limit(int64_t a, int64_t b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

static bool has_word(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

/* NULL allows all of them. */
static const char *const *common_words(struct arena *a, const char *const *one,
                                       const char *const *other)
{
	const char **both;
	size_t count = 0;

	if (!one || !other)
		return one ? one : other;
	while (one[count])
		count++;
	both = ARENA_ARRAY(a, const char *, count + 1);
	count = 0;
	for (; *one; one++)
		if (has_word(other, *one))
			both[count++] = *one;
	return both;
}

/* Applies the narrower limits of both calls. */
static void narrow_call(struct tool_call *call, const struct tool_call *other)
{
	if (other->permission > call->permission)
		call->permission = other->permission;
	call->keeps_to_workspace |= other->keeps_to_workspace;
	call->runtimes = common_words(call->arena, call->runtimes, other->runtimes);
	call->timeout_ms = smaller_limit(call->timeout_ms, other->timeout_ms);
	call->timeout_max_ms = smaller_limit(call->timeout_max_ms, other->timeout_max_ms);
	call->job_timeout_max_ms =
	        smaller_limit(call->job_timeout_max_ms, other->job_timeout_max_ms);
	call->output_limit_bytes =
	        smaller_limit(call->output_limit_bytes, other->output_limit_bytes);
}

/* Applies the sandbox's own config. When that config was deleted, the call fails, unless it names
 * another config. */
static int guard_by_sandbox(struct request *rq, bool names_other, struct tool_call *call,
                            struct error *err)
{
	const struct json_value *labels;
	const char *config;

	if (json_load(rq->arena, span_of(call->sandbox->labels_json), &labels, err) < 0)
		return -1;
	config = json_text(json_get(labels, SANDBOX_CONFIG_LABEL), NULL);
	if (!config || api_config_guard(rq, config, call, err) == 0)
		return 0;
	if (!names_other || err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

/* A config that the call names can only narrow the limits of the sandbox's own config. */
static int set_guard(struct request *rq, const char *config, struct tool_call *call,
                     struct error *err)
{
	struct tool_call named = *call;

	if ((call->sandbox && guard_by_sandbox(rq, config != NULL, call, err) < 0) ||
	    (config && api_config_guard(rq, config, &named, err) < 0))
		return FAIL_CONTEXT(err, "what tools may do");
	if (config)
		narrow_call(call, &named);
	call->deadline = deadline_after(call->timeout_max_ms + call->approval_wait_ms + SLACK_MS);
	return 0;
}

int tools_describe(struct request *rq, const char *config, const struct tool *tool,
                   struct tool *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct tool_call call = {.runtimes = NULL};

	*ret = *tool;
	if (!config || !tool->check)
		return 0;
	if (api_config_guard(rq, config, &call, err) < 0)
		return -1;
	buf_add_text(&text, tool->description);
	if (call.keeps_to_workspace)
		buf_add_text(&text, " Absolute paths and .. are refused here (best effort).");
	for (const char *const *at = call.runtimes; at && *at; at++)
		buf_addf(&text, "%s%s", at == call.runtimes ? " Runtimes allowed here: " : ", ",
		         *at);
	if (call.runtimes)
		buf_add_text(&text, " (advisory).");
	ret->description = arena_copy(rq->arena, buf_span(&text));
	return 0;
}

/* The project is part of the share, because the names are not checked yet and must not reach shares
 * of other projects. */
int tools_parse_origin(struct arena *a, struct span text, const struct job_origin **ret,
                       struct error *err)
{
	struct job_origin *origin = ARENA_NEW(a, struct job_origin);

	if (json_parse(a, text, &job_origin_shape, origin, err) < 0 ||
	    job_origin_check(origin, err) < 0)
		return -1;
	*ret = origin;
	return 0;
}

void tools_find_shares(const struct tools_target *which, uint64_t *shares)
{
	const char *const names[] = {which->sandbox, which->lease, which->tenant, which->session};
	uint64_t share = shares[WORKER_PROJECT];

	for (size_t i = 0; i < COUNT_OF(names); i++)
		share = share * 31 + (names[i] ? worker_share_id(names[i]) : 0);
	shares[WORKER_SANDBOX] = share ? share : 1;
}

int tools_open_call(struct request *rq, const struct tool *tool, const struct tools_target *which,
                    struct api_target *ret_target, struct tool_call *ret, struct error *err)
{
	const struct config *config = api_of(rq)->config;
	const struct request_sandbox none = {.project = api_project(rq)};
	struct fleet_use use;
	int64_t most_ms = 1000 * account_call_max_s(provider_ops_of(api_of(rq)->provider)->name);

	*ret = (struct tool_call){
	        .fleet = api_of(rq)->fleet,
	        .store = api_of(rq)->store,
	        .jobs = api_of(rq)->jobs,
	        .activity = api_of(rq)->activity,
	        .decisions = api_of(rq)->decisions,
	        .grants = api_of(rq)->grants,
	        .terminals = api_of(rq)->terminals,
	        .contexts = api_of(rq)->code_contexts,
	        .config = config,
	        .arena = rq->arena,
	        .project_id = api_project(rq),
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .address = api_server_address(rq),
	        .conversation_id = which->conversation,
	        .origin = which->origin,
	        .timeout_ms = config->exec_timeout_ms < most_ms ? config->exec_timeout_ms : most_ms,
	        .timeout_max_ms = most_ms,
	        .output_limit_bytes = config->output_limit_bytes,
	        .approval_wait_ms = which->approval_wait_ms,
	};
	if (check_offer(which, tool, err) < 0)
		return -1;
	if (tool && tool->flags & TOOL_NO_SANDBOX && request_may_call(rq, &none, err) < 0)
		return -1;
	api_set_conversation(rq, which->conversation);
	if (tool && tool->flags & TOOL_MAKES_ONE && api_check_budgets(rq, err) < 0)
		return -1;
	if (tool && tool->flags & TOOL_NO_SANDBOX)
		return set_guard(rq, which->config, ret, err);
	((struct api_caller *)rq->caller)->reason = tool ? tool->reason : USAGE_FILE_OPS;
	if (open_target(rq, which, ret_target, err) < 0 || api_describe_use(rq, &use, err) < 0)
		return -1;
	set_sandbox(ret_target, ret);
	set_ephemeral(rq, which, ret_target, ret);
	ret->run = use.run;
	ret->hold = ret_target->hold;
	return set_guard(rq, which->config, ret, err);
}
