/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/credential.h — what a credential may consist of: its name, fields, hosts and kind. Pure.
 *
 * A credential is a set of named fields for some hosts. Its fields stay outside of sandboxes, but
 * for those that `environment` puts into variables of terminal windows: network rules of a sandbox
 * name them ("${credential.github.token}"), and the rules and the credential both have to name the
 * host. A host is "api.example.com", or "*.example.com" for all names below it but not itself.
 * Hosts are kept as one text: lower case, separated by blanks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define CREDENTIAL_NAME_MAX 63
#define CREDENTIAL_FIELD_COUNT_MAX 8
#define CREDENTIAL_FIELD_NAME_MAX 32
#define CREDENTIAL_FIELD_VALUE_MAX 8192                /* bytes */
#define CREDENTIAL_FIELD_BYTES_MAX ((size_t)32 * 1024) /* bytes of all fields */
#define CREDENTIAL_HOSTS_MAX 32

enum credential_kind {
	CREDENTIAL_TOKEN,  /* a bearer token or API key */
	CREDENTIAL_BASIC,  /* user name and password */
	CREDENTIAL_AWS,    /* keys that sign requests */
	CREDENTIAL_CUSTOM, /* any fields */
	CREDENTIAL_CLIENT, /* an application that is registered at an OAuth service */
	CREDENTIAL_OAUTH,  /* tokens that a login gave; only a connect makes it */
	CREDENTIAL_KIND_COUNT,
};
extern const char *const credential_kinds[]; /* names, NULL-terminated */

/* The source of a rule that cannot give its credential now: its note says why. */
#define CREDENTIAL_SOURCE_PROBLEM "problem"

/* What a use needs beside a rule; from the strictest. */
enum credential_consent {
	CREDENTIAL_CONSENT_CONVERSATION, /* a person's consent for each conversation */
	CREDENTIAL_CONSENT_SANDBOX,      /* a person's consent for each sandbox */
	CREDENTIAL_CONSENT_PROJECT,      /* none: every sandbox of the project */
	CREDENTIAL_CONSENT_COUNT,
};
extern const char *const credential_consents[]; /* names, NULL-terminated */

/* 1 to 63 of [a-z0-9-], the first a letter or digit. */
MUST_CHECK int credential_name_check(const char *name, struct error *err);

struct credential_field {
	const char *name, *value;
};
/* Checks names, values and sizes, and that the fields are those of the kind. Values are printable
 * ASCII, because they become parts of HTTP headers. An error never holds a value. */
MUST_CHECK int credential_fields_check(enum credential_kind kind,
                                       const struct credential_field *fields, size_t count,
                                       struct error *err);

/* Variables of terminal windows that get fields. The text is "PGPASSWORD=password", sorted and
 * separated by blanks. Refuses names that change how programs are found or what they trust (PATH,
 * LD_…, *_PROXY, SSL_…), fields that the credential does not have, and values that cannot be masked
 * in output: they have 8 to 1024 bytes. */
#define CREDENTIAL_VARIABLES_MAX 4
#define CREDENTIAL_VARIABLE_NAME_MAX 64
#define CREDENTIAL_VARIABLE_VALUE_MIN 8
#define CREDENTIAL_VARIABLE_VALUE_MAX 1024
struct credential_environment {
	const struct credential_field *variables; /* the value is the name of the field */
	size_t variable_count;
	const struct credential_field *fields;
	size_t field_count;
};
MUST_CHECK int credential_environment_format(struct arena *a,
                                             const struct credential_environment *wish,
                                             const char **ret, struct error *err);
/* The next "NAME=field" of such a text; false at its end. */
bool credential_environment_next(struct span *rest, struct span *ret_name, struct span *ret_field);

/* Writes the text of the hosts, in the arena. Refuses no hosts, addresses, and wildcards for names
 * below which anybody can rent a name ("*.com", "*.github.io"); a signature of AWS gives nothing
 * away, so its hosts may be such. */
MUST_CHECK int credential_hosts_format(struct arena *a, enum credential_kind kind,
                                       const char *const *hosts, const char **ret,
                                       struct error *err);
/* The hosts of such a text, NULL-terminated. */
const char **credential_hosts_split(struct arena *a, const char *text);
/* Whether every name of the pattern, a host as above, is one of the text's hosts. */
bool credential_hosts_cover(const char *text, struct span pattern);
