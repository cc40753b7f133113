/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/credential.h"

#include <string.h>

#include "sandbox/egress.h"

#define WILDCARD "*."
#define HOSTS_TEXT_MAX (CREDENTIAL_HOSTS_MAX * (SANDBOX_HOST_NAME_MAX + 1))

const char *const credential_kinds[] = {
        [CREDENTIAL_TOKEN] = "token",   [CREDENTIAL_BASIC] = "basic",
        [CREDENTIAL_AWS] = "aws",       [CREDENTIAL_CUSTOM] = "custom",
        [CREDENTIAL_CLIENT] = "client", [CREDENTIAL_OAUTH] = "oauth",
        [CREDENTIAL_KIND_COUNT] = NULL,
};
const char *const credential_consents[] = {
        [CREDENTIAL_CONSENT_CONVERSATION] = "conversation",
        [CREDENTIAL_CONSENT_SANDBOX] = "sandbox",
        [CREDENTIAL_CONSENT_PROJECT] = "project",
        [CREDENTIAL_CONSENT_COUNT] = NULL,
};

/* The fields of a kind; NULL = any. */
static const struct {
	const char *needed[4], *optional[4];
} kind_fields[CREDENTIAL_KIND_COUNT] = {
        [CREDENTIAL_TOKEN] = {{"token"}, {NULL}},
        [CREDENTIAL_BASIC] = {{"username", "password"}, {NULL}},
        [CREDENTIAL_AWS] = {{"access_key_id", "secret_access_key"}, {"session_token", "region"}},
        [CREDENTIAL_CUSTOM] = {{NULL}, {NULL}},
        [CREDENTIAL_CLIENT] = {{"client_id"}, {"client_secret"}},
        [CREDENTIAL_OAUTH] = {{"token"}, {NULL}},
};

/* Names directly below which strangers can have names of their own. */
static const char *const rented[] = {
        "azurewebsites.net",
        "cloudfront.net",
        "cloudfunctions.net",
        "fly.dev",
        "firebaseapp.com",
        "github.io",
        "gitlab.io",
        "herokuapp.com",
        "netlify.app",
        "ngrok.io",
        "ngrok-free.app",
        "onrender.com",
        "pages.dev",
        "repl.co",
        "run.app",
        "trycloudflare.com",
        "vercel.app",
        "web.app",
        "workers.dev",
        "co.uk",
        "com.au",
        "co.jp",
        "com.br",
        "co.in",
};
/* The same at any depth. */
static const char *const rented_deep[] = {
        "amazonaws.com",
        "api.aws",
        "githubusercontent.com",
        "core.windows.net",
};

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int credential_name_check(const char *name, struct error *err)
{
	size_t size = strnlen(name, CREDENTIAL_NAME_MAX + 1);
	bool fine = size > 0 && size <= CREDENTIAL_NAME_MAX && is_lower_or_digit(name[0]);

	for (size_t i = 0; fine && i < size; i++)
		fine = is_lower_or_digit(name[i]) || name[i] == '-';
	if (fine)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%.64s' is no name of a credential", name);
	return FAIL_HINT(err, "1 to %d lower-case letters, digits and '-', the first no '-'",
	                 CREDENTIAL_NAME_MAX);
}

static int check_field_name(const char *name, struct error *err)
{
	size_t size = strnlen(name, CREDENTIAL_FIELD_NAME_MAX + 1);
	bool fine =
	        size > 0 && size <= CREDENTIAL_FIELD_NAME_MAX && name[0] >= 'a' && name[0] <= 'z';

	for (size_t i = 0; fine && i < size; i++)
		fine = is_lower_or_digit(name[i]) || name[i] == '_';
	if (fine)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%.40s' is no name of a field", name);
	return FAIL_HINT(err, "1 to %d lower-case letters, digits and '_', the first a letter",
	                 CREDENTIAL_FIELD_NAME_MAX);
}

static int check_field_value(const struct credential_field *field, struct error *err)
{
	size_t size = strlen(field->value);

	if (size == 0 || size > CREDENTIAL_FIELD_VALUE_MAX)
		return FAIL(err, ERROR_INVALID, "%s: a value has 1 to %d bytes, not %zu",
		            field->name, CREDENTIAL_FIELD_VALUE_MAX, size);
	for (size_t i = 0; i < size; i++)
		if (field->value[i] < 0x20 || field->value[i] > 0x7e) {
			(void)FAIL(err, ERROR_INVALID,
			           "%s: byte %zu of the value is not printable ASCII", field->name,
			           i + 1);
			return FAIL_HINT(err, "a line end at the end of the value, perhaps");
		}
	return 0;
}

static bool has_name(const char *const names[4], const char *name)
{
	for (size_t i = 0; i < 4 && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool has_field(const struct credential_field *fields, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return true;
	return false;
}

static int check_kind(enum credential_kind kind, const struct credential_field *fields,
                      size_t count, struct error *err)
{
	const char *const *needed = kind_fields[kind].needed;

	if (!needed[0])
		return count > 0 ? 0 : FAIL(err, ERROR_INVALID, "at least one field is needed");
	for (size_t i = 0; i < 4 && needed[i]; i++)
		if (!has_field(fields, count, needed[i]))
			return FAIL(err, ERROR_INVALID,
			            "a credential of the kind '%s' needs the field '%s'",
			            credential_kinds[kind], needed[i]);
	for (size_t i = 0; i < count; i++)
		if (!has_name(needed, fields[i].name) &&
		    !has_name(kind_fields[kind].optional, fields[i].name)) {
			(void)FAIL(err, ERROR_INVALID,
			           "a credential of the kind '%s' has no field '%.40s'",
			           credential_kinds[kind], fields[i].name);
			return FAIL_HINT(err, "the kind 'custom' has any fields");
		}
	return 0;
}

int credential_fields_check(enum credential_kind kind, const struct credential_field *fields,
                            size_t count, struct error *err)
{
	size_t bytes = 0;

	if (count > CREDENTIAL_FIELD_COUNT_MAX)
		return FAIL(err, ERROR_INVALID, "%zu fields; at most %d are allowed", count,
		            CREDENTIAL_FIELD_COUNT_MAX);
	for (size_t i = 0; i < count; i++) {
		if (check_field_name(fields[i].name, err) < 0 ||
		    check_field_value(&fields[i], err) < 0)
			return -1;
		bytes += strlen(fields[i].value);
	}
	if (bytes > CREDENTIAL_FIELD_BYTES_MAX)
		return FAIL(err, ERROR_INVALID,
		            "the values have %zu bytes; at most %zu are allowed", bytes,
		            CREDENTIAL_FIELD_BYTES_MAX);
	return check_kind(kind, fields, count, err);
}

static bool is_wildcard(struct span pattern)
{
	return pattern.size > 2 && memcmp(pattern.data, WILDCARD, 2) == 0;
}

/* "*.example.com" for "a.example.com" and "*.a.example.com", not for "example.com". */
static bool host_covers(struct span host, struct span pattern)
{
	struct span end;

	if (host.size == pattern.size && memcmp(host.data, pattern.data, host.size) == 0)
		return true;
	if (!is_wildcard(host))
		return false;
	end = span_after(host, 1);
	return pattern.size > end.size &&
	       memcmp(pattern.data + pattern.size - end.size, end.data, end.size) == 0;
}

bool credential_hosts_cover(const char *text, struct span pattern)
{
	struct span rest = span_of(text), host;

	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &host);
		if (host_covers(host, pattern))
			return true;
	}
	return false;
}

static bool is_below(const char *name, const char *top)
{
	size_t size = strlen(name), top_size = strlen(top);

	return size > top_size && name[size - top_size - 1] == '.' &&
	       strcmp(name + size - top_size, top) == 0;
}

/* Whether a stranger's name can match the wildcard. */
static bool is_too_wide(const char *host)
{
	const char *name = host + strlen(WILDCARD);

	for (size_t i = 0; i < COUNT_OF(rented); i++)
		if (strcmp(name, rented[i]) == 0)
			return true;
	for (size_t i = 0; i < COUNT_OF(rented_deep); i++)
		if (strcmp(name, rented_deep[i]) == 0 || is_below(name, rented_deep[i]))
			return true;
	return !strchr(name, '.');
}

static int check_host(enum credential_kind kind, const char *host, struct error *err)
{
	if (!egress_name_is_valid(span_of(host))) {
		(void)FAIL(err, ERROR_INVALID, "'%.80s' is no host name", host);
		return FAIL_HINT(err, "a name such as api.example.com or *.example.com, without "
		                      "a scheme, a port or a path");
	}
	if (kind != CREDENTIAL_AWS && is_wildcard(span_of(host)) && is_too_wide(host)) {
		(void)FAIL(err, ERROR_INVALID,
		           "'%.80s' has names that belong to strangers; they would get the "
		           "credential",
		           host);
		return FAIL_HINT(err, "name each host");
	}
	return 0;
}

/* Lower case, without the dot at the end. */
static const char *normalize_host(struct arena *a, const char *host)
{
	size_t size = strlen(host);
	char *text = arena_text(a, host);

	if (size > 0 && text[size - 1] == '.')
		text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return text;
}

int credential_hosts_format(struct arena *a, enum credential_kind kind, const char *const *hosts,
                            const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(HOSTS_TEXT_MAX);
	const char *host;

	if (!hosts || !hosts[0])
		return FAIL(err, ERROR_INVALID, "hosts: at least one is needed");
	for (size_t i = 0; hosts[i]; i++) {
		if (i == CREDENTIAL_HOSTS_MAX)
			return FAIL(err, ERROR_INVALID, "hosts: at most %d are allowed",
			            CREDENTIAL_HOSTS_MAX);
		host = normalize_host(a, hosts[i]);
		if (check_host(kind, host, err) < 0)
			return FAIL_CONTEXT(err, "hosts[%zu]", i);
		buf_addf(&text, "%s%s", i > 0 ? " " : "", host);
	}
	*ret = arena_copy(a, buf_span(&text));
	return 0;
}

const char **credential_hosts_split(struct arena *a, const char *text)
{
	const char **list = ARENA_ARRAY(a, const char *, CREDENTIAL_HOSTS_MAX + 1);
	struct span rest = span_of(text), host;
	size_t count = 0;

	while (rest.size > 0 && count < CREDENTIAL_HOSTS_MAX) {
		(void)span_split(&rest, ' ', &host);
		list[count++] = arena_copy(a, host);
	}
	list[count] = NULL;
	return list;
}

/* Programs that start before a window's own, or that verify others, read these. */
static const char *const refused_variables[] = {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "IFS",
        "ENV",
        "BASH_ENV",
        "BASHOPTS",
        "SHELLOPTS",
        "PS0",
        "PS1",
        "PS2",
        "PS4",
        "PROMPT_COMMAND",
        "CDPATH",
        "GLOBIGNORE",
        "PWD",
        "OLDPWD",
        "TMPDIR",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "LESSOPEN",
        "LESSCLOSE",
        "MANPAGER",
        "ZDOTDIR",
        "BROWSER",
        "CLASSPATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PERL5LIB",
        "PERL5OPT",
        "PERLLIB",
        "PERL5DB",
        "GOFLAGS",
        "MAVEN_OPTS",
        "RUSTC_WRAPPER",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "PIP_CERT",
        "CARGO_HTTP_CAINFO",
        "DENO_CERT",
        "NODE_EXTRA_CA_CERTS",
        "PIP_INDEX_URL",
        "PGSSLROOTCERT",
};
static const char *const refused_beginnings[] = {
        "LD_",    "DYLD_",  "SSL_",    "GIT_",        "PYTHON", "BASH_", "LC_",
        "ATOLL_", "GCONV_", "MALLOC_", "NPM_CONFIG_", "PIP_",   "XDG_"};
static const char *const refused_endings[] = {"_PROXY", "_BASE_URL", "_CAINFO", "_CA_CERT"};

static bool name_ends_with(const char *name, const char *ending)
{
	size_t size = strlen(name), end = strlen(ending);

	return size >= end && strcmp(name + size - end, ending) == 0;
}

static bool is_refused_variable(const char *name)
{
	for (size_t i = 0; i < sizeof(refused_variables) / sizeof(*refused_variables); i++)
		if (strcmp(name, refused_variables[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(refused_beginnings) / sizeof(*refused_beginnings); i++)
		if (strncmp(name, refused_beginnings[i], strlen(refused_beginnings[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(refused_endings) / sizeof(*refused_endings); i++)
		if (name_ends_with(name, refused_endings[i]))
			return true;
	return false;
}

static int check_variable_name(const char *name, struct error *err)
{
	size_t size = strnlen(name, CREDENTIAL_VARIABLE_NAME_MAX + 1);
	bool fine = size > 0 && size <= CREDENTIAL_VARIABLE_NAME_MAX && name[0] >= 'A' &&
	            name[0] <= 'Z';

	for (size_t i = 0; fine && i < size; i++)
		fine = (name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= '0' && name[i] <= '9') ||
		       name[i] == '_';
	if (!fine) {
		(void)FAIL(err, ERROR_INVALID, "'%.70s' is no name of a variable", name);
		return FAIL_HINT(err,
		                 "1 to %d upper-case letters, digits and '_', the first a letter",
		                 CREDENTIAL_VARIABLE_NAME_MAX);
	}
	if (!is_refused_variable(name))
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "the variable '%s' decides what programs run or trust; a credential cannot set "
	            "it",
	            name);
}

static int check_variable(const struct credential_environment *wish,
                          const struct credential_field *variable, struct error *err)
{
	if (check_variable_name(variable->name, err) < 0)
		return -1;
	for (size_t i = 0; i < wish->field_count; i++) {
		size_t size = strlen(wish->fields[i].value);

		if (strcmp(wish->fields[i].name, variable->value) != 0)
			continue;
		if (size >= CREDENTIAL_VARIABLE_VALUE_MIN && size <= CREDENTIAL_VARIABLE_VALUE_MAX)
			return 0;
		return FAIL(
		        err, ERROR_INVALID,
		        "the field '%s' has %zu bytes; the value of a variable has %d to %d, so "
		        "that output can be masked",
		        variable->value, size, CREDENTIAL_VARIABLE_VALUE_MIN,
		        CREDENTIAL_VARIABLE_VALUE_MAX);
	}
	return FAIL(err, ERROR_INVALID, "%s: the credential has no field '%.40s'", variable->name,
	            variable->value);
}

int credential_environment_format(struct arena *a, const struct credential_environment *wish,
                                  const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf text =
	        BUF(CREDENTIAL_VARIABLES_MAX *
	            (CREDENTIAL_VARIABLE_NAME_MAX + CREDENTIAL_FIELD_NAME_MAX + 2));

	if (wish->variable_count > CREDENTIAL_VARIABLES_MAX)
		return FAIL(err, ERROR_INVALID, "a credential sets at most %d variables",
		            CREDENTIAL_VARIABLES_MAX);
	for (size_t i = 0; i < wish->variable_count; i++) {
		if (check_variable(wish, &wish->variables[i], err) < 0)
			return -1;
		buf_addf(&text, "%s%s=%s", i > 0 ? " " : "", wish->variables[i].name,
		         wish->variables[i].value);
	}
	*ret = arena_copy(a, buf_span(&text));
	return 0;
}

bool credential_environment_next(struct span *rest, struct span *ret_name, struct span *ret_field)
{
	if (rest->size == 0)
		return false;
	(void)span_split(rest, ' ', ret_field);
	(void)span_split(ret_field, '=', ret_name);
	return true;
}
