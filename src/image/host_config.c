/* SPDX-License-Identifier: Apache-2.0 */
#include "image/host_config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "image/command.h"
#include "image/root.h"

#define LOCAL_AUTHORITIES "usr/local/share/ca-certificates"
#define AUTHORITIES "etc/ssl/certs/ca-certificates.crt"
#define SETTINGS_MAX (64 * 1024)
#define AUTHORITIES_MAX (4 << 20)
#define DEFAULT_SUITE "bookworm"

const char *const host_npm_settings[] = {"registry", "*:registry", "proxy", "https-proxy",
                                         "noproxy",  "strict-ssl", NULL};
const char *const host_pip_settings[] = {"index-url", "extra-index-url", "trusted-host", "proxy",
                                         NULL};

static bool is_certificate(const char *name)
{
	size_t size = strlen(name);

	return name[0] != '.' && size > 4 && !strcmp(name + size - 4, ".crt");
}

/* Certificates are public; a key beside a certificate is not copied. */
static int copy_authority(int from, int root, const char *name, bool *ret_extra, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AUTHORITIES_MAX);
	char path[512];
	struct root_file file = {.path = path, .mode = 0644};

	if (file_read(from, name, &text, err) < 0)
		return -1;
	if (strstr(buf_text(&text), "PRIVATE KEY") ||
	    snprintf(path, sizeof(path), LOCAL_AUTHORITIES "/%s", name) >= (int)sizeof(path))
		return 0;
	*ret_extra = true;
	file.text = buf_span(&text);
	return root_write(root, &file, err);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

static int copy_local_authorities(int root, bool *ret_extra, struct error *err)
{
	AUTO(close_folder) DIR *folder = opendir("/" LOCAL_AUTHORITIES);

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (is_certificate(entry->d_name) &&
		    copy_authority(dirfd(folder), root, entry->d_name, ret_extra, err) < 0)
			return -1;
	return 0;
}

int host_copy_authorities(int root, bool *ret_extra, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AUTHORITIES_MAX);
	struct root_file file = {.path = AUTHORITIES, .mode = 0644};

	*ret_extra = false;
	if (copy_local_authorities(root, ret_extra, err) < 0)
		return -1;
	/* The machine's bundle includes them; without additional authorities the template's own
	 * bundle is right. */
	if (!*ret_extra)
		return 0;
	if (file_read(AT_FDCWD, "/" AUTHORITIES, &text, err) < 0)
		return -1;
	file.text = buf_span(&text);
	return root_write(root, &file, err);
}

bool host_has_credentials(struct span value)
{
	return span_find(value, '@') >= 0;
}

static bool is_listed(struct span name, const char *const *names)
{
	for (; *names; names++) {
		size_t size = strlen(*names);
		if (span_equals_text(name, *names))
			return true;
		if (**names == '*' && name.size >= size &&
		    !memcmp(name.data + name.size - (size - 1), *names + 1, size - 1))
			return true;
	}
	return false;
}

void host_filter_settings(struct span text, const char *const *names, struct buf *out)
{
	struct span line, name;
	bool more;

	do {
		more = span_split(&text, '\n', &line);
		struct span value = line;
		if (!span_split(&value, '=', &name) || !is_listed(span_trim(name), names) ||
		    host_has_credentials(value))
			continue;
		buf_add_span(out, line);
		buf_add_byte(out, '\n');
	} while (more);
}

void host_apt_done(struct host_apt *apt)
{
	buf_done(&apt->sources);
	buf_done(&apt->options);
	buf_done(&apt->safe_sources);
	buf_done(&apt->safe_options);
}

static const char *copy_unquoted(struct arena *a, struct span value)
{
	if (value.size >= 2 && value.data[0] == '"')
		value = (struct span){value.data + 1, value.size - 2};
	return arena_copy(a, value);
}

/* The codename if this machine runs Debian. */
static const char *find_suite(struct arena *a)
{
	AUTO(buf_done) struct buf text = BUF(SETTINGS_MAX);
	const char *id = "", *codename = "";
	struct span rest, line, name;
	struct error ignored = {0};
	bool more;

	if (file_read(AT_FDCWD, "/etc/os-release", &text, &ignored) < 0)
		return DEFAULT_SUITE;
	rest = buf_span(&text);
	do {
		more = span_split(&rest, '\n', &line);
		if (!span_split(&line, '=', &name))
			continue;
		if (span_equals_text(name, "ID"))
			id = copy_unquoted(a, line);
		else if (span_equals_text(name, "VERSION_CODENAME"))
			codename = copy_unquoted(a, line);
	} while (more);
	return !strcmp(id, "debian") && codename[0] ? codename : DEFAULT_SUITE;
}

/* A line "URI|SUITE|COMPONENT|ORIGIN" of apt-get indextargets. The origin is empty until apt has
 * fetched a list. */
static void take_target(void *context, const char *text)
{
	struct host_apt *apt = context;
	struct span rest = span_of(text), uri, suite, component;
	size_t size = strlen(apt->suite);

	(void)span_split(&rest, '|', &uri);
	(void)span_split(&rest, '|', &suite);
	(void)span_split(&rest, '|', &component);
	bool is_suite = span_starts_with(suite, apt->suite) &&
	                (suite.size == size || suite.data[size] == '-');
	bool is_debian = rest.size == 0 || span_equals_text(rest, "Debian") ||
	                 span_equals_text(rest, "$(ORIGIN)");
	if (!span_starts_with(uri, "http") || !span_equals_text(component, "main") || !is_suite ||
	    !is_debian)
		return;
	AUTO(buf_done) struct buf line = BUF(2048);
	buf_addf(&line, "deb %.*s %.*s main\n", (int)uri.size, uri.data, (int)suite.size,
	         suite.data);
	/* Each index has a line of output, so a source may appear several times. */
	if (strstr(buf_text(&apt->sources), buf_text(&line)))
		return;
	buf_add_span(&apt->sources, buf_span(&line));
	if (!host_has_credentials(uri))
		buf_add_span(&apt->safe_sources, buf_span(&line));
}

/* A line `Name "value";` of apt-config dump. */
static void take_option(void *context, const char *text)
{
	static const char *const needed[] = {"Acquire::http", "Acquire::https", "Acquire::Check-",
	                                     "Acquire::Retries", "Acquire::ForceIPv"};
	struct host_apt *apt = context;
	struct span line = span_of(text), value = line, name;

	(void)span_split(&value, ' ', &name);
	for (size_t i = 0; i < COUNT_OF(needed); i++) {
		if (!span_starts_with(name, needed[i]))
			continue;
		buf_add_span(&apt->options, line);
		buf_add_byte(&apt->options, '\n');
		bool is_proxy = name.size > 5 && !memcmp(name.data + name.size - 5, "Proxy", 5);
		bool is_plain = is_proxy || span_starts_with(name, "Acquire::Check-");
		if (is_plain && !host_has_credentials(value)) {
			buf_add_span(&apt->safe_options, line);
			buf_add_byte(&apt->safe_options, '\n');
		}
		return;
	}
}

int host_apt_ask(const struct image_spec *spec, struct arena *a, struct host_apt *apt,
                 struct error *err)
{
	static const char *const targets[] = {"apt-get",
	                                      "indextargets",
	                                      "--format",
	                                      "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)",
	                                      "Created-By: Packages",
	                                      NULL};
	static const char *const options[] = {"apt-config", "dump", NULL};
	struct image_command command = {.argv = targets,
	                                .folder_fd = -1,
	                                .source_fd = -1,
	                                .on_line = take_target,
	                                .line_context = apt};

	*apt = (struct host_apt){.suite = find_suite(a),
	                         .sources = BUF(SETTINGS_MAX),
	                         .options = BUF(SETTINGS_MAX),
	                         .safe_sources = BUF(SETTINGS_MAX),
	                         .safe_options = BUF(SETTINGS_MAX)};
	if (command_run(spec, &command, err) < 0)
		return FAIL_CONTEXT(err, "ask apt for its sources");
	command.argv = options;
	command.on_line = take_option;
	if (command_run(spec, &command, err) < 0)
		return FAIL_CONTEXT(err, "ask apt for its options");
	return 0;
}
