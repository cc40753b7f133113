/* SPDX-License-Identifier: Apache-2.0 */
/* credential/rule.h — what a sandbox may do with credentials: rules for requests. Pure.
 *
 * Rules are an ordered list. The first rule whose host and match hold for a request decides: it
 * adds credentials to the request (inject), lets it pass unchanged (allow) or refuses it (deny). A
 * request without a rule passes unchanged if the sandbox may reach the host (sandbox/egress.h);
 * rules themselves allow no host. A rule names a credential in templates, "Bearer
 * ${credential.github.token}", and holds no value. The credential names its hosts, too: both must
 * have the request's host.
 *
 * A set is what the credential proxy needs for a sandbox: its rules, the values of its credentials,
 * and its certificate authority. Everything is in the arena that parsed it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "json/json.h"

#define CREDENTIAL_RULES_MAX 128
#define CREDENTIAL_INJECT_MAX 32 /* of a rule */
#define CREDENTIAL_MATCH_MAX 16  /* methods, query parts, headers */
#define CREDENTIALS_MAX 32       /* of a sandbox */
#define CREDENTIAL_FIELDS_MAX 8
#define CREDENTIAL_VALUE_MAX 8192
#define CREDENTIAL_RULES_TEXT_MAX (64 * 1024)
#define CREDENTIAL_SET_TEXT_MAX (1024 * 1024)
#define CREDENTIAL_PORT 443 /* with CREDENTIAL_PLAIN_PORT all that the gateway for names sees */
#define CREDENTIAL_PLAIN_PORT 80

/* A query part or a header: exactly one of the three is given. */
struct credential_field_match {
	const char *name, *exact, *prefix;
	bool is_there;
	uint64_t present;
};
struct credential_path_match {
	const char *exact, *prefix, *glob; /* exactly one; compared with the decoded path */
};
struct credential_match {
	const char **methods;
	struct credential_path_match path;
	struct json_list query, headers; /* of struct credential_field_match; all must hold */
	bool encoded_slash; /* "%2F" may be in the path; for others that deny, it is a slash too */
};

enum credential_scheme { CREDENTIAL_HTTPS, CREDENTIAL_HTTP /* can be read on the way */ };
enum credential_action { CREDENTIAL_INJECT, CREDENTIAL_ALLOW, CREDENTIAL_DENY };
enum credential_inject_kind {
	INJECT_HEADER,      /* name, value */
	INJECT_BASIC,       /* username, password */
	INJECT_QUERY,       /* name, value */
	INJECT_COOKIE,      /* name, value */
	INJECT_PLACEHOLDER, /* marker, value, in: replaces the marker where it stands */
	INJECT_SIGV4,       /* access_key_id, secret_access_key, session_token; regions, services */
};
enum credential_when {
	INJECT_ALWAYS,        /* replaces what the client sent */
	INJECT_IF_ABSENT,     /* keeps what the client sent */
	INJECT_IF_PLACEHOLDER /* replaces only a value that has the marker */
};
struct credential_inject {
	int kind, when;
	const char *name, *value, *username, *password, *marker;
	const char **in; /* "header:NAME", "query:NAME", "path"; NAME "*": all but those that
	                    servers often repeat */
	const char *access_key_id, *secret_access_key, *session_token;
	const char **regions, **services; /* that may be signed for; NULL: all */
};
struct credential_limits { /* 0: no limit */
	int64_t requests_per_second, burst, requests, bytes_out_request, bytes_out, bytes_in;
	int64_t connections;
};
enum credential_mask { MASK_ALL, MASK_HEADERS, MASK_OFF };
enum credential_http2 {
	HTTP2_AS_CLIENT, /* HTTP/2 is offered to the host when the client offers it */
	HTTP2_ALWAYS,    /* also for clients that speak HTTP/1.1 alone */
	HTTP2_NEVER,
};
struct credential_upstream {
	const char *ca; /* PEM; NULL: the system's roots */
	int http2;
};
struct credential_rule {
	const char *id, *host; /* a name, or "*." and a name */
	int scheme;
	int64_t port;
	struct credential_match match;
	int action;
	struct json_list inject; /* of struct credential_inject */
	const char **remove;     /* names of headers */
	struct credential_limits limits;
	bool websocket; /* a WebSocket may be opened */
	int mask;
	struct credential_upstream upstream;
	int64_t expires_at;        /* unix ms; 0: never */
	const char *note, *source; /* for people */
	uint64_t present;
};
extern const struct json_shape credential_rule_shape, credential_rules_shape;

struct credential_rules {
	struct json_list rules; /* of struct credential_rule */
};

/* Every fault of a document, up to this many. */
#define CREDENTIAL_FAULTS_MAX 20
struct credential_faults {
	unsigned count;
	struct credential_fault {
		char pointer[96]; /* JSON pointer: "/rules/0/host" */
		char text[192];
	} items[CREDENTIAL_FAULTS_MAX];
};

/* Parses {"rules": […]} or […], checks every rule, gives rules without an id "r1", "r2", … and the
 * default port. ERROR_INVALID has the first fault; `ret_faults` (may be NULL) has all.
 * ERROR_TOO_LARGE for a text over CREDENTIAL_RULES_TEXT_MAX. */
MUST_CHECK int credential_rules_parse(struct arena *a, struct span text,
                                      struct credential_rules *ret,
                                      struct credential_faults *ret_faults, struct error *err);
/* Checks rules that other code has made, and completes them in the same way. */
MUST_CHECK int credential_rules_check(struct arena *a, struct credential_rules *rules,
                                      struct credential_faults *ret_faults, struct error *err);
/* Writes {"rules": […]}, which credential_rules_parse reads. */
void credential_rules_write(struct buf *out, const struct credential_rules *rules);

static inline const struct credential_rule *credential_rule_at(const struct credential_rules *r,
                                                               size_t number)
{
	return (const struct credential_rule *)r->rules.items + number;
}

/* Whether a pattern of a rule or of a credential has this host: the same name, or a name below
 * "*.NAME", in any case. */
bool credential_host_has(const char *pattern, struct span host);
/* Whether the pattern `outer` has every host of the pattern `inner`. */
bool credential_host_covers(const char *outer, const char *inner);
/* Whether any rule of this scheme is about this host. */
bool credential_rules_decrypt(const struct credential_rules *rules, struct span host, int scheme);

struct credential_request_field {
	struct span name, value;
};
struct credential_request {
	struct span host, method;
	struct span path, query; /* as sent; without '?' */
	const struct credential_request_field *headers;
	size_t header_count;
	int scheme;
	int64_t now_ms;
};
/* The first rule that holds, or NULL. */
const struct credential_rule *credential_rules_find(const struct credential_rules *rules,
                                                    const struct credential_request *request);
/* Why servers could disagree about which resource the path names, or NULL: dot segments, empty
 * segments, backslashes, control bytes, escaped slashes (but with `encoded_slash`), doubled
 * escapes. Such a request is refused. */
const char *credential_path_fault(struct span path, bool encoded_slash);
/* Whether servers often repeat the header: no marker is replaced in it. */
bool credential_header_is_repeated(const char *name);

/* Templates */

struct credential_reference {
	struct span name, field; /* borrowed */
};
/* The number of references in a template, or -1 if it is malformed: unclosed, nested or empty. The
 * first `size` of them are in `ret` (NULL with 0). */
int credential_references(const char *template, struct credential_reference *ret, unsigned size);
/* Calls for each reference of a rule, in order; a name may come more than once. Stops at a result
 * other than 0 and returns it. */
int credential_rule_references(const struct credential_rule *rule,
                               int (*on_reference)(void *context,
                                                   const struct credential_reference *reference),
                               void *context);

/* The set of a sandbox, as the credential proxy takes it */
struct credential_values {
	const char *name;
	const char **hosts;
	struct json_map fields; /* values */
	int64_t expires_at;     /* unix ms; 0: never */
};
struct credential_set {
	const char *sandbox;
	struct json_list rules;              /* of struct credential_rule */
	struct json_list credentials;        /* of struct credential_values */
	const char *ca_certificate, *ca_key; /* PEM: authority.h */
};
extern const struct json_shape credential_set_shape;
/* Refuses unsound rules, references to absent fields, and values with bytes outside 0x20..0x7e. */
MUST_CHECK int credential_set_parse(struct arena *a, struct span text, struct credential_set *ret,
                                    struct error *err);
void credential_set_write(struct buf *out, const struct credential_set *set);
const struct credential_values *credential_find(const struct credential_set *set, struct span name);
/* Writes the template with the set's values. ERROR_NOT_FOUND names what the set does not have. */
MUST_CHECK int credential_fill(struct buf *out, const struct credential_set *set,
                               const char *template, struct error *err);
