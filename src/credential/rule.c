/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/rule.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 128
#define TEMPLATE_MAX CREDENTIAL_VALUE_MAX
#define PEM_MAX (256 * 1024)
#define BYTES_MAX (INT64_C(1) << 50)

static const char *const schemes[] = {"https", "http", NULL};
static const char *const actions[] = {"inject", "allow", "deny", NULL};
static const char *const kinds[] = {"header",      "basic", "query", "cookie",
                                    "placeholder", "sigv4", NULL};
static const char *const times[] = {"always", "absent", "placeholder", NULL};
static const char *const http2_choices[] = {"as-client", "always", "never", NULL};
static const char *const masks[] = {"headers+body", "headers", "off", NULL};

static const struct json_member field_match_members[] = {
        JSON_TEXT_MEMBER(credential_field_match, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = NAME_BYTES_MAX, .example = "x-team", .about = "The name"),
        JSON_TEXT_MEMBER(credential_field_match, exact, .flags = JSON_OMIT_EMPTY, .max = 1024,
                         .about = "The whole value"),
        JSON_TEXT_MEMBER(credential_field_match, prefix, .flags = JSON_OMIT_EMPTY, .max = 1024,
                         .about = "How the value begins"),
        JSON_BOOL_MEMBER(credential_field_match, is_there, .name = "present",
                         .flags = JSON_OMIT_EMPTY, .about = "Whether it is there at all"),
};
static JSON_BITS_SHAPE(field_match, "CredentialFieldMatch", credential_field_match,
                       "A query part or a header of a request");

static const struct json_member path_match_members[] = {
        JSON_TEXT_MEMBER(credential_path_match, exact, .flags = JSON_OMIT_EMPTY, .max = 512,
                         .example = "/user", .about = "The whole path"),
        JSON_TEXT_MEMBER(credential_path_match, prefix, .flags = JSON_OMIT_EMPTY, .max = 512,
                         .example = "/repos", .about = "Whole segments at the begin"),
        JSON_TEXT_MEMBER(credential_path_match, glob, .flags = JSON_OMIT_EMPTY, .max = 512,
                         .example = "/repos/acme/**",
                         .about = "'*' is any text within a segment, '**' across segments"),
};
static JSON_SHAPE(path_match, "CredentialPathMatch", credential_path_match,
                  "The path of a request, one of the three");

static const struct json_member match_members[] = {
        JSON_TEXT_LIST_MEMBER(credential_match, methods, .flags = JSON_OMIT_EMPTY,
                              .max = CREDENTIAL_MATCH_MAX, .example = "[\"GET\"]",
                              .about = "Any of these methods; none: all"),
        JSON_OBJECT_MEMBER(credential_match, path, &path_match, .flags = JSON_OMIT_EMPTY,
                           .about = "The path; none: all"),
        JSON_LIST_MEMBER(credential_match, query, &field_match, .flags = JSON_OMIT_EMPTY,
                         .max = CREDENTIAL_MATCH_MAX, .about = "Query parts, all must hold"),
        JSON_LIST_MEMBER(credential_match, headers, &field_match, .flags = JSON_OMIT_EMPTY,
                         .max = CREDENTIAL_MATCH_MAX, .about = "Headers, all must hold"),
        JSON_BOOL_MEMBER(credential_match, encoded_slash, .flags = JSON_OMIT_EMPTY,
                         .about = "Whether %2F may be in the path"),
};
static JSON_SHAPE(match, "CredentialMatch", credential_match, "Which requests a rule is about");

static const struct json_member inject_members[] = {
        JSON_CHOICE_MEMBER(credential_inject, kind, .flags = JSON_REQUIRED, .choices = kinds,
                           .about = "Where the credential goes"),
        JSON_CHOICE_MEMBER(credential_inject, when, .choices = times, .flags = JSON_OMIT_EMPTY,
                           .about = "Whether it replaces what the client sent"),
        JSON_TEXT_MEMBER(credential_inject, name, .flags = JSON_OMIT_EMPTY, .max = 64,
                         .example = "authorization", .about = "Of the header, part or cookie"),
        JSON_TEXT_MEMBER(credential_inject, value, .flags = JSON_OMIT_EMPTY, .max = TEMPLATE_MAX,
                         .example = "Bearer ${credential.github.token}", .about = "A template"),
        JSON_TEXT_MEMBER(credential_inject, username, .flags = JSON_OMIT_EMPTY, .max = TEMPLATE_MAX,
                         .about = "A template, for basic"),
        JSON_TEXT_MEMBER(credential_inject, password, .flags = JSON_OMIT_EMPTY, .max = TEMPLATE_MAX,
                         .about = "A template, for basic"),
        JSON_TEXT_MEMBER(credential_inject, marker, .flags = JSON_OMIT_EMPTY, .max = 256,
                         .about = "What a program inside has instead of the value"),
        JSON_TEXT_LIST_MEMBER(
                credential_inject, in, .flags = JSON_OMIT_EMPTY, .max = CREDENTIAL_MATCH_MAX,
                .example = "[\"header:authorization\"]",
                .about = "Where the marker is replaced: header:NAME, query:NAME, path; '*' is any "
                         "name"),
        JSON_TEXT_MEMBER(credential_inject, access_key_id, .flags = JSON_OMIT_EMPTY,
                         .max = TEMPLATE_MAX, .about = "A template, for sigv4"),
        JSON_TEXT_MEMBER(credential_inject, secret_access_key, .flags = JSON_OMIT_EMPTY,
                         .max = TEMPLATE_MAX, .about = "A template, for sigv4"),
        JSON_TEXT_MEMBER(credential_inject, session_token, .flags = JSON_OMIT_EMPTY,
                         .max = TEMPLATE_MAX, .about = "A template, for sigv4"),
        JSON_TEXT_LIST_MEMBER(credential_inject, regions, .flags = JSON_OMIT_EMPTY,
                              .max = CREDENTIAL_MATCH_MAX, .about = "That may be signed for"),
        JSON_TEXT_LIST_MEMBER(credential_inject, services, .flags = JSON_OMIT_EMPTY,
                              .max = CREDENTIAL_MATCH_MAX, .about = "That may be signed for"),
};
static JSON_SHAPE(inject, "CredentialInject", credential_inject,
                  "How a credential is put into a request");

#define LIMIT(member_, about_)                                                                     \
	JSON_WHOLE_MEMBER(credential_limits, member_, .flags = JSON_OMIT_EMPTY, .max = BYTES_MAX,  \
	                  .about = (about_))
static const struct json_member limits_members[] = {
        LIMIT(requests_per_second, "Requests each second"),
        LIMIT(burst, "Requests at once; as many as for a second if 0"),
        LIMIT(requests, "Requests in all"),
        LIMIT(bytes_out_request, "Bytes of the body of a request"),
        LIMIT(bytes_out, "Bytes of all bodies of requests"),
        LIMIT(bytes_in, "Bytes of all bodies of answers"),
        LIMIT(connections, "Connections at once"),
};
static JSON_SHAPE(limits, "CredentialLimits", credential_limits,
                  "Limits of a rule for a sandbox; 0: none");

static const struct json_member upstream_members[] = {
        JSON_TEXT_MEMBER(credential_upstream, ca, .flags = JSON_OMIT_EMPTY, .max = PEM_MAX,
                         .about = "Certificates to trust, as PEM, in place of the system's"),
        JSON_CHOICE_MEMBER(credential_upstream, http2, .choices = http2_choices,
                           .flags = JSON_OMIT_EMPTY, .about = "Whether the host is offered HTTP/2"),
};
static JSON_SHAPE(upstream, "CredentialUpstream", credential_upstream, "How the host is reached");

static const struct json_member credential_rule_shape_members[] = {
        JSON_TEXT_MEMBER(credential_rule, id, .flags = JSON_OMIT_EMPTY, .max = 63,
                         .example = "github-api", .about = "In logs and errors; unique"),
        JSON_TEXT_MEMBER(credential_rule, host, .flags = JSON_REQUIRED, .max = 253,
                         .example = "api.github.com", .about = "A name, or *. and a name"),
        JSON_CHOICE_MEMBER(credential_rule, scheme, .choices = schemes, .flags = JSON_OMIT_EMPTY,
                           .about = "http: requests without TLS; the credential can be read on "
                                    "the network"),
        JSON_WHOLE_MEMBER(credential_rule, port, .flags = JSON_OMIT_EMPTY, .max = 65535,
                          .about = "443, or 80 with the scheme http"),
        JSON_OBJECT_MEMBER(credential_rule, match, &match, .flags = JSON_OMIT_EMPTY,
                           .about = "Which requests; none: all"),
        JSON_CHOICE_MEMBER(credential_rule, action, .flags = JSON_REQUIRED, .choices = actions,
                           .about = "What happens to the request"),
        JSON_LIST_MEMBER(credential_rule, inject, &inject, .flags = JSON_OMIT_EMPTY,
                         .max = CREDENTIAL_INJECT_MAX, .about = "What is put into the request"),
        JSON_TEXT_LIST_MEMBER(credential_rule, remove, .flags = JSON_OMIT_EMPTY,
                              .max = CREDENTIAL_MATCH_MAX,
                              .about = "Headers that are taken out of the request"),
        JSON_OBJECT_MEMBER(credential_rule, limits, &limits, .flags = JSON_OMIT_EMPTY,
                           .about = "Limits for the sandbox"),
        JSON_BOOL_MEMBER(credential_rule, websocket, .flags = JSON_OMIT_EMPTY,
                         .about = "Whether a WebSocket may be opened"),
        JSON_CHOICE_MEMBER(credential_rule, mask, .choices = masks, .flags = JSON_OMIT_EMPTY,
                           .about = "Where an answer may not repeat the credential"),
        JSON_OBJECT_MEMBER(credential_rule, upstream, &upstream, .flags = JSON_OMIT_EMPTY,
                           .about = "How the host is reached"),
        JSON_TIME_MEMBER(credential_rule, expires_at, .flags = JSON_OMIT_EMPTY,
                         .about = "The rule refuses requests from then on"),
        JSON_TEXT_MEMBER(credential_rule, note, .flags = JSON_OMIT_EMPTY, .max = 200,
                         .about = "For people"),
        JSON_TEXT_MEMBER(credential_rule, source, .flags = JSON_OMIT_EMPTY, .max = 80,
                         .example = "preset:github", .about = "Where the rule comes from"),
};
JSON_BITS_SHAPE(credential_rule_shape, "CredentialRule", credential_rule,
                "What happens to requests of a sandbox");

static const struct json_member credential_rules_shape_members[] = {
        JSON_LIST_MEMBER(credential_rules, rules, &credential_rule_shape, .flags = JSON_REQUIRED,
                         .max = CREDENTIAL_RULES_MAX, .about = "In order; the first that holds"),
};
JSON_SHAPE_(credential_rules_shape, "CredentialRules", credential_rules,
            "Rules for the requests of a sandbox", .present_offset = SIZE_MAX);

/* A bare list is a document, too: {"rules": LIST}. */
static int parse_document(struct arena *a, struct span text, struct credential_rules *ret,
                          struct error *err)
{
	AUTO(buf_done) struct buf wrapped = BUF(CREDENTIAL_RULES_TEXT_MAX + 32);
	struct span begin = text;

	while (begin.size > 0 && strchr(" \t\r\n", begin.data[0]))
		span_skip(&begin, 1);
	if (begin.size == 0 || begin.data[0] != '[')
		return json_parse(a, text, &credential_rules_shape, ret, err);
	buf_add_text(&wrapped, "{\"rules\":");
	buf_add_span(&wrapped, begin);
	buf_add_text(&wrapped, "}");
	return json_parse(a, buf_span(&wrapped), &credential_rules_shape, ret, err);
}

int credential_rules_parse(struct arena *a, struct span text, struct credential_rules *ret,
                           struct credential_faults *ret_faults, struct error *err)
{
	struct credential_faults faults = {.count = 0};
	struct credential_rules rules;

	if (text.size > CREDENTIAL_RULES_TEXT_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "rules of credentials have more than %d bytes",
		            CREDENTIAL_RULES_TEXT_MAX);
	if (parse_document(a, text, &rules, err) < 0) {
		(void)snprintf(faults.items[0].text, sizeof(faults.items[0].text), "%.180s",
		               err->text);
		faults.count = 1;
		if (ret_faults)
			*ret_faults = faults;
		return -1;
	}
	if (credential_rules_check(a, &rules, ret_faults, err) < 0)
		return -1;
	*ret = rules;
	return 0;
}

void credential_rules_write(struct buf *out, const struct credential_rules *rules)
{
	json_write(out, &credential_rules_shape, rules);
}
