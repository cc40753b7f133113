/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/activation.h"

#include <sodium.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/id.h"
#include "credential/rule.h"
#include "grant/grant.h"
#include "json/json.h"
#include "json/write.h"
#include "sandbox/credential.h"
#include "store/approvals.h"
#include "store/consents.h"
#include "store/credentials.h"
#include "store/sandbox_record.h"
#include "tool/builtin.h"
#include "tool/tool.h"

#define WHY_MAX 200
#define LIFE_MS ACTIVATION_HOUR_MS /* time to decide */
#define PENDING_MAX 200            /* of a project */
#define INPUT_MAX ((size_t)16 * 1024)
#define LOOK_MS 200

struct activation_input {
	const char *name, *why;
};
static const struct json_member activation_input_shape_members[] = {
        JSON_TEXT_MEMBER(activation_input, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = CREDENTIAL_NAME_MAX,
                         .about = "a name of list_credentials, or of a refusal",
                         .example = "github"),
        JSON_TEXT_MEMBER(activation_input, why, .max = WHY_MAX,
                         .about = "what it is needed for, shown to the person who decides",
                         .example = "to open the pull request that the user asked for"),
};
static JSON_SHAPE(activation_input_shape, "ActivateCredentialInput", activation_input,
                  "A credential to use");
struct activation_output {
	const char *name, *state, *approval, *note;
};
static const struct json_member activation_output_shape_members[] = {
        JSON_TEXT_MEMBER(activation_output, name),
        JSON_TEXT_MEMBER(activation_output, state, .about = "active or waiting"),
        JSON_TEXT_MEMBER(activation_output, approval, .name = "approvalId",
                         .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(activation_output, note, .flags = JSON_OMIT_EMPTY,
                         .about = "of the person who decided"),
};
static JSON_SHAPE(activation_output_shape, "ActivateCredentialOutput", activation_output,
                  "What came of the request");

bool activation_is_request(const struct approval_record *r)
{
	return strcmp(r->tool, CONSENT_TOOL) == 0;
}

/* The credential that the request names, as it was when the request was made. */
static int find_requested(const struct activation_context *c, const struct approval_record *r,
                          struct credential_record *ret, struct error *err)
{
	const struct json_value *input;
	struct credential_ref ref = {.project_id = r->project_id};

	if (json_load(c->arena, span_of(r->input), &input, err) < 0)
		return -1;
	ref.owner_id = json_get_text(input, "owner", "");
	ref.name = json_get_text(input, "id", "");
	if (store_credential_find(c->store, c->arena, &ref, ret, err) < 0)
		return -1;
	if (ret->version == json_get_whole(input, "version", 0) &&
	    strcmp(ret->hosts, json_get_text(input, "hosts", "")) == 0)
		return 0;
	return FAIL(err, ERROR_CONFLICT,
	            "credential '%s' was changed since; it has to be asked for again", ret->name);
}

/* Writes the consent of an approved request. Another call may do the same meanwhile: the one that
 * moves the approval writes it. */
static int apply_request(const struct activation_context *c, struct approval_record *r,
                         const struct credential_record *credential, struct error *err)
{
	const struct id id = id_new();
	int64_t now = clock_unix_ms();
	const struct consent_record consent = {
	        .id = id.text,
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .conversation_id = r->conversation_id,
	        .credential_id = credential->id,
	        .credential_name = credential->name,
	        .credential_version = credential->version,
	        .hosts = credential->hosts,
	        .approval_id = r->id,
	        .decided_by = r->decided_by,
	        .expires_at = credential->consent == CREDENTIAL_CONSENT_SANDBOX
	                              ? 0
	                              : now + ACTIVATION_HOUR_MS,
	        .created_at = now,
	};

	if (store_approval_use(c->store, r, err) < 0) {
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
	} else if (store_consent_insert(c->store, &consent, err) < 0) {
		return -1;
	}
	if (grants_refresh(c->grants, err) < 0)
		return -1;
	return store_approval_find(c->store, c->arena, r->project_id, r->id, r, err);
}

static int check_decider(const struct activation_context *c,
                         const struct credential_record *credential, struct error *err)
{
	if (!credential->owner_id[0] || strcmp(credential->owner_id, c->user_id) == 0)
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "credential '%s' is another user's", credential->name);
	return FAIL_HINT(err, "'%s' can allow its use", credential->owner_id);
}

int activation_decide(const struct activation_context *c, const struct tool_decision *d,
                      struct approval_record *ret, struct error *err)
{
	struct credential_record credential;
	struct approval_record r;

	if (store_approval_find(c->store, c->arena, d->project_id, d->id, &r, err) < 0)
		return -1;
	if (!activation_is_request(&r))
		return FAIL(err, ERROR_NOT_FOUND, "no such request for a credential");
	if (d->approves &&
	    (find_requested(c, &r, &credential, err) < 0 || check_decider(c, &credential, err) < 0))
		return -1;
	if ((r.state != APPROVAL_APPROVED || !d->approves) &&
	    tool_decide_approval(c->store, c->arena, d, &r, err) < 0)
		return -1;
	if (d->approves && apply_request(c, &r, &credential, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

/* Whether the conversation's windows get values of it. */
static bool is_for_windows(const struct tool_call *call, const struct credential_record *credential)
{
	return credential->environment[0] && text_or_null(call->conversation_id);
}

struct is_named {
	struct span name;
	bool found;
};

static int note_name(void *context, const struct credential_reference *reference)
{
	struct is_named *at = context;

	at->found = at->found || span_equals(reference->name, at->name);
	return 0;
}

static bool is_about(const struct credential_rule *rule, const char *name)
{
	struct is_named at = {span_of(name), false};

	(void)credential_rule_references(rule, note_name, &at);
	return at.found;
}

/* Hosts at which a rule of the sandbox sends the value without TLS, separated by spaces; "": none.
 */
static const char *find_plain_hosts(const struct tool_call *call, const char *name)
{
	AUTO(buf_done) struct buf hosts = BUF(INPUT_MAX / 4);
	struct credential_rules rules;
	struct error err = {0};

	if (!call->sandbox->rules_json[0] ||
	    credential_rules_parse(call->arena, span_of(call->sandbox->rules_json), &rules, NULL,
	                           &err) < 0)
		return "";
	for (size_t i = 0; i < rules.rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(&rules, i);

		if (rule->scheme == CREDENTIAL_HTTP && is_about(rule, name))
			buf_addf(&hosts, "%s%s", hosts.size ? " " : "", rule->host);
	}
	return arena_copy(call->arena, buf_span(&hosts));
}

/* The server's own words; the agent's reason is one member, which is shown as a quotation. */
static const char *write_request(const struct tool_call *call, const struct activation_input *in,
                                 const struct credential_record *credential)
{
	AUTO(buf_done) struct buf text = BUF(INPUT_MAX);
	const char *plain = find_plain_hosts(call, credential->name);

	json_begin_object(&text, NULL);
	json_add_text(&text, "credential", credential->name);
	json_add_text(&text, "hosts", credential->hosts);
	json_add_text(&text, "until",
	              credential->consent == CREDENTIAL_CONSENT_SANDBOX
	                      ? "revoked, for every program in the sandbox"
	                      : "an hour from now, for every program in the sandbox");
	if (is_for_windows(call, credential))
		json_add_text(&text, "environment",
		              arena_format(call->arena,
		                           "programs in this sandbox can read the values: new "
		                           "terminal windows of this conversation have %s",
		                           credential->environment));
	if (*plain)
		json_add_text(&text, "unencrypted",
		              arena_format(call->arena,
		                           "a rule of this sandbox sends it without TLS, so that "
		                           "others on the way can read it: %s",
		                           plain));
	json_add_text(&text, "reason", in->why ? in->why : "");
	json_add_text(&text, "id", credential->id);
	json_add_text(&text, "owner", credential->owner_id);
	json_add_whole(&text, "version", credential->version);
	json_end_object(&text);
	return arena_copy(call->arena, buf_span(&text));
}

static void hash_texts(const char *const *texts, unsigned char ret[APPROVAL_HASH_SIZE])
{
	crypto_hash_sha256_state state;

	(void)crypto_hash_sha256_init(&state);
	for (; *texts; texts++)
		(void)crypto_hash_sha256_update(&state, (const unsigned char *)*texts,
		                                strlen(*texts) + 1);
	(void)crypto_hash_sha256_final(&state, ret);
}

/* A second call while one waits finds the same request. */
static int find_or_insert_request(const struct tool_call *call, const struct activation_input *in,
                                  const struct credential_record *credential,
                                  struct approval_record *ret, struct error *err)
{
	const char *conversation = call->conversation_id ? call->conversation_id : "";
	const char *const texts[] = {
	        CONSENT_TOOL,
	        call->sandbox->id,
	        credential->id,
	        arena_format(call->arena, "%lld", (long long)credential->version),
	        credential->hosts,
	        conversation,
	        NULL};
	const struct id id = id_new();
	int64_t now = clock_unix_ms();
	struct approval_record wanted = {
	        .id = arena_text(call->arena, id.text),
	        .project_id = call->project_id,
	        .key_id = call->key_id,
	        .conversation_id = conversation,
	        .origin_json = "",
	        .sandbox_id = call->sandbox->id,
	        .tool = CONSENT_TOOL,
	        .input = write_request(call, in, credential),
	        .note = "",
	        .decided_by = "",
	        .created_at = now,
	        .expires_at = now + LIFE_MS,
	};

	hash_texts(texts, wanted.hash);
	if (store_approval_match(call->store, call->arena, &wanted, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	*ret = wanted;
	return store_approval_insert(call->store, ret, PENDING_MAX, err);
}

static void sleep_moment(void)
{
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};

	(void)nanosleep(&moment, NULL);
}

static int await_request(const struct tool_call *call, const struct credential_record *credential,
                         struct approval_record *r, struct error *err)
{
	const struct activation_context c = {call->store, call->grants, call->arena, ""};
	int64_t end = deadline_after(call->approval_wait_ms);

	while (r->state == APPROVAL_PENDING && deadline_poll_ms(end) > 0) {
		if (cancel_is_said(call->cancel))
			return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
		sleep_moment();
		if (store_approval_find(call->store, call->arena, r->project_id, r->id, r, err) < 0)
			return -1;
	}
	if (r->state == APPROVAL_APPROVED)
		return apply_request(&c, r, credential, err);
	if (r->state == APPROVAL_REFUSED)
		return FAIL(err, ERROR_FORBIDDEN, "a person refused the credential%s%.150s",
		            r->note[0] ? ": " : "", r->note);
	if (r->state == APPROVAL_EXPIRED)
		return FAIL(err, ERROR_TIMEOUT, "the request expired without a decision");
	return 0;
}

static int find_credential(const struct tool_call *call, const char *name,
                           struct credential_record *ret, struct error *err)
{
	const struct credential_ref ref = {call->project_id, call->sandbox->user_id, name};

	if (!call->grants)
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no credential proxy");
	return store_credential_find(call->store, call->arena, &ref, ret, err);
}

static bool rules_name(const struct tool_call *call, const char *name)
{
	return strstr(call->sandbox->rules_json,
	              arena_format(call->arena, "${credential.%s.", name)) != NULL;
}

static int activation_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct activation_input *in = input;
	struct credential_record credential;

	if (find_credential(call, in->name, &credential, err) < 0)
		return -1;
	if (rules_name(call, credential.name) || is_for_windows(call, &credential))
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "no rule of this sandbox uses the credential '%s'",
	           credential.name);
	return FAIL_HINT(err, "a person has to add one to the sandbox's egress rules");
}

static int find_environment(const struct tool_call *call, struct grant_environment *ret,
                            struct error *err)
{
	const struct grant_place place = {call->sandbox, call->conversation_id, call->key_id};

	return grant_environment_find(call->grants, call->arena, &place, ret, err);
}

/* What the call lacks to use the credential; NULL: nothing. A window needs a consent of its own
 * conversation, whatever others in the sandbox may use. `environment` is what its windows get. */
static int find_lack(const struct tool_call *call, const struct grant_environment *environment,
                     const struct credential_record *credential, const char **ret_why,
                     struct error *err)
{
	if (grant_is_usable(call->grants, call->arena, call->sandbox->id, credential, ret_why,
	                    err) < 0)
		return -1;
	if (*ret_why || !is_for_windows(call, credential))
		return 0;
	if (!grant_environment_has(environment, credential->id))
		*ret_why = arena_format(call->arena,
		                        "credential '%s' needs a person's consent for this "
		                        "conversation: call activate_credential",
		                        credential->name);
	return 0;
}

static const char *say_active(const struct tool_call *call, const struct credential_record *r)
{
	if (is_for_windows(call, r))
		return arena_format(
		        call->arena,
		        "%s is active for %s; new terminal windows of this conversation "
		        "have %s in their environment: run the command in a window with "
		        "a new name",
		        r->name, r->hosts, r->environment);
	return arena_format(call->arena, "%s is active for %s: run the request again", r->name,
	                    r->hosts);
}

static int activation_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                           struct error *err)
{
	const struct activation_input *in = input;
	struct activation_output *out = ARENA_NEW(call->arena, struct activation_output);
	struct grant_environment environment;
	struct credential_record credential;
	struct approval_record r;
	const char *why;

	*out = (struct activation_output){.name = in->name, .state = "active"};
	ret->structured = out;
	if (find_credential(call, in->name, &credential, err) < 0 ||
	    find_environment(call, &environment, err) < 0 ||
	    find_lack(call, &environment, &credential, &why, err) < 0)
		return -1;
	if (why && (credential.needs_login || credential.consent == CREDENTIAL_CONSENT_PROJECT))
		return FAIL(err, ERROR_CONFLICT, "%s", why);
	if (why && (find_or_insert_request(call, in, &credential, &r, err) < 0 ||
	            await_request(call, &credential, &r, err) < 0))
		return -1;
	if (!why || r.state == APPROVAL_USED) {
		tool_add_text(ret, span_of(say_active(call, &credential)));
		return 0;
	}
	out->state = "waiting";
	out->approval = ret->pending = r.id;
	out->note = r.note;
	tool_add_text(ret, span_of(arena_format(call->arena,
	                                        "waiting for a person to allow %s (request %s). Go "
	                                        "on with other work; the same call again says "
	                                        "whether it is allowed",
	                                        credential.name, r.id)));
	return 0;
}

const struct tool activate_credential_tool = {
        .name = CONSENT_TOOL,
        .title = "Ask to use a credential",
        .description = "Asks a person to allow a credential in this sandbox. Its value stays "
                       "outside: once it is active, requests to its hosts get it on their way. One "
                       "with the form environment is then in the variables of new terminal windows "
                       "of this conversation. "
                       "Returns active, or waiting: the same call again says what came of it. Call "
                       "it when a request is refused because a credential needs consent.",
        .input = &activation_input_shape,
        .output = &activation_output_shape,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT,
        .check = activation_check,
        .call = activation_call,
};

struct listed_credential {
	const char *name, *about, *state;
	const char **hosts, **forms;
};
static const struct json_member listed_credential_shape_members[] = {
        JSON_TEXT_MEMBER(listed_credential, name),
        JSON_TEXT_MEMBER(listed_credential, about),
        JSON_TEXT_LIST_MEMBER(listed_credential, hosts),
        JSON_TEXT_LIST_MEMBER(listed_credential, forms,
                              .about = "proxy: requests to the hosts get it by rules of the "
                                       "sandbox; environment: new terminal windows of the "
                                       "conversation have it as variables"),
        JSON_TEXT_MEMBER(listed_credential, state, .about = "active, or why it is not"),
};
static JSON_SHAPE(listed_credential_shape, "ListedCredential", listed_credential,
                  "A credential that rules of this sandbox use");
struct credentials_input {
	bool all;
};
static const struct json_member credentials_input_shape_members[] = {
        JSON_BOOL_MEMBER(credentials_input, all,
                         .about = "also those that no rule of this sandbox uses"),
};
static JSON_SHAPE(credentials_input_shape, "ListCredentialsInput", credentials_input,
                  "Which credentials");
struct credentials_output {
	struct json_list credentials;
};
static const struct json_member credentials_output_shape_members[] = {
        JSON_LIST_MEMBER(credentials_output, credentials, &listed_credential_shape),
};
static JSON_SHAPE(credentials_output_shape, "ListCredentialsOutput", credentials_output,
                  "Credentials without their values");

static const char **forms_of(const struct tool_call *call, const struct credential_record *r)
{
	const char **forms = ARENA_ARRAY(call->arena, const char *, 3);
	size_t count = 0;

	if (rules_name(call, r->name) || !r->environment[0])
		forms[count++] = "proxy";
	if (r->environment[0])
		forms[count++] = "environment";
	forms[count] = NULL;
	return forms;
}

static int list_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct credentials_input *in = input;
	struct credentials_output *out = ARENA_NEW(call->arena, struct credentials_output);
	const struct credential_ref owner = {call->project_id, call->sandbox->user_id, ""};
	AUTO(buf_done) struct buf text = BUF(INPUT_MAX);
	struct grant_environment environment;
	struct listed_credential *items;
	struct credential_list found;

	if (!call->grants)
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no credential proxy");
	if (store_credential_list(call->store, call->arena, &owner, &found, err) < 0 ||
	    find_environment(call, &environment, err) < 0)
		return -1;
	items = ARENA_ARRAY(call->arena, struct listed_credential, found.count + 1);
	out->credentials = (struct json_list){items, 0, true};
	for (size_t i = 0; i < found.count; i++) {
		const struct credential_record *r = &found.items[i];
		struct listed_credential *item = &items[out->credentials.count];
		const char *why;

		if (r->kind == CREDENTIAL_CLIENT ||
		    (!in->all && !rules_name(call, r->name) && !is_for_windows(call, r)))
			continue;
		if (find_lack(call, &environment, r, &why, err) < 0)
			return -1;
		*item = (struct listed_credential){r->name, r->about, why ? why : "active",
		                                   credential_hosts_split(call->arena, r->hosts),
		                                   forms_of(call, r)};
		out->credentials.count++;
		buf_addf(&text, "%s (%s%s%s): %s\n", r->name, r->hosts,
		         r->environment[0] ? "; environment " : "", r->environment, item->state);
	}
	ret->structured = out;
	tool_add_text(ret, span_of(text.size ? arena_copy(call->arena, buf_span(&text))
	                                     : "no credential"));
	return 0;
}

const struct tool list_credentials_tool = {
        .name = "list_credentials",
        .title = "List credentials",
        .description = "Lists the credentials that requests of this sandbox can get, or terminal "
                       "windows of this conversation as variables, their hosts, and whether each "
                       "is active. No value is shown.",
        .input = &credentials_input_shape,
        .output = &credentials_output_shape,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT,
        .call = list_call,
};
