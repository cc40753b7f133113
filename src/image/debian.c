/* SPDX-License-Identifier: Apache-2.0 */
/* The default templates: a small Debian made by mmdebstrap, and others that add packages to it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "image/command.h"
#include "image/host_config.h"
#include "image/packages.h"
#include "image/progress.h"
#include "image/recipes.h"
#include "image/root.h"
#include "image/tree.h"
#include "image/work.h"
#include "json/json.h"
#include "json/write.h"

#define USER_HOME "/home/user"
#define PROJECT USER_HOME "/project"
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

/* mmdebstrap installs in two rounds. In each, apt prints the number of packages, then fetches,
 * unpacks and sets up each. */
struct base_progress {
	int fd, percent, start, span;
	unsigned steps, done;
};

static const struct {
	const char *line, *text;
	int start, span;
} phases[] = {
        {"I: running apt-get update", "reading the lists of packages", 2, 4},
        {"I: downloading packages", "downloading the essential packages", 6, 20},
        {"I: extracting archives", "unpacking the essential packages", 12, 14},
        {"I: installing essential", "installing the essential packages", 14, 12},
        {"I: installing remaining", "installing the packages", 26, 66},
        {"I: cleaning", "cleaning up", 92, 2},
        /* of packages.c */
        {"I: reading the lists", "reading the lists of packages", 4, 2},
        {"I: installing the packages of npm", "installing the packages of npm", 82, 6},
        {"I: installing the packages", "installing the packages", 6, 64},
        {"I: installing npm", "installing npm", 70, 12},
        {"I: removing the other npm", "removing what only the installation needed", 88, 4},
};

static void report_progress(struct base_progress *p, int percent, const char *text)
{
	if (percent > p->percent)
		p->percent = percent;
	progress_tell(p->fd, p->percent, text);
}

static bool has_prefix(const char *line, const char *start)
{
	return !strncmp(line, start, strlen(start));
}

/* "Get:12 URI suite/main arch NAME arch version": only the name is shown, because addresses may be
 * confidential. */
static void name_of(const char *line, char *out, size_t size)
{
	char word[4][128] = {{0}};
	bool is_fetch = has_prefix(line, "Get:");
	int count = sscanf(line, "%127s %127s %127s %*s %127s", word[0], word[1], word[2], word[3]);
	const char *name = is_fetch && count == 4 ? word[3] : word[is_fetch ? 0 : 1];

	if (has_prefix(line, "Setting up "))
		(void)sscanf(line, "Setting up %127s", word[0]), name = word[0];
	(void)snprintf(out, size, "%s %.100s",
	               is_fetch                        ? "fetching"
	               : has_prefix(line, "Unpacking") ? "unpacking"
	                                               : "installing",
	               name);
}

static void take_line(void *context, const char *line)
{
	struct base_progress *p = context;
	char text[160];
	unsigned count;

	for (size_t i = 0; i < COUNT_OF(phases); i++)
		if (has_prefix(line, phases[i].line)) {
			p->start = phases[i].start;
			p->span = phases[i].span;
			report_progress(p, p->start, phases[i].text);
			return;
		}
	if (sscanf(line, "%*u upgraded, %u newly installed", &count) == 1) {
		p->steps = 3 * count;
		p->done = 0;
		return;
	}
	if (!has_prefix(line, "Get:") && !has_prefix(line, "Unpacking ") &&
	    !has_prefix(line, "Setting up "))
		return;
	if (p->done < p->steps)
		p->done++;
	name_of(line, text, sizeof(text));
	report_progress(p, p->start + (p->steps ? (int)(p->span * p->done / p->steps) : 0), text);
}

/* `path` is as seen in the jail. */
static int write_scratch(const struct work *w, const char *path, const struct buf *text,
                         struct error *err)
{
	return file_write(w->folder, path + strlen(JAIL_FOLDER "/"), buf_span(text), 0600, err);
}

#define OPTIONS WORK_SCRATCH "/" PACKAGES_OPTIONS
#define SOURCES WORK_SCRATCH "/" PACKAGES_SOURCES

/* Sources and options may hold passwords, so they are passed in files that only root can read. */
static int write_apt_options(const struct work *w, struct host_apt *apt, struct error *err)
{
	buf_add_text(&apt->options, "APT::Install-Recommends \"false\";\n"
	                            "APT::Sandbox::User \"root\";\n"
	                            "Dpkg::Use-Pty \"false\";\n");
	return write_scratch(w, OPTIONS, &apt->options, err) < 0
	               ? -1
	               : write_scratch(w, SOURCES, &apt->sources, err);
}

static int run_mmdebstrap(const struct work *w, const struct image_recipe *recipe,
                          const struct host_apt *apt, struct error *err)
{
	struct base_progress progress = {.fd = w->spec->progress_fd};
	char include[1024];

	(void)snprintf(include, sizeof(include), "--include=%s", recipe->packages);
	const char *argv[] = {"mmdebstrap", "--verbose", "--mode=root", "--variant=minbase",
	                      "--format=directory", include, "--aptopt=" OPTIONS,
	                      /* Translations and documentation are a fifth of the size. */
	                      "--dpkgopt=path-exclude=/usr/share/man/*",
	                      /* Its folders stay: Java's packages make links in them. */
	                      "--dpkgopt=path-include=/usr/share/man/man[1-8]",
	                      "--dpkgopt=path-exclude=/usr/share/locale/*",
	                      "--dpkgopt=path-exclude=/usr/share/doc/*",
	                      "--dpkgopt=path-include=/usr/share/doc/*/copyright", apt->suite,
	                      WORK_ROOT, apt->sources.size > 0 ? SOURCES : NULL, NULL};
	static const char *const env[] = {"TMPDIR=" WORK_SCRATCH, NULL};
	struct image_command command = {.argv = argv,
	                                .env = env,
	                                .folder_fd = w->folder,
	                                .network = true,
	                                .source_fd = -1,
	                                .measured = NULL,
	                                .on_line = take_line,
	                                .line_context = &progress};
	return command_run(w->spec, &command, err);
}

static const struct root_file files[] = {
        /* A sandbox runs no system services, so packages must not try to start any. */
        {"usr/sbin/policy-rc.d", 0755, 0, SPAN("#!/bin/sh\nexit 101\n")},
        {"etc/sudoers.d/user", 0440, 0, SPAN("user ALL=(ALL:ALL) NOPASSWD: ALL\n")},
        {"etc/machine-id", 0444, 0, SPAN("")},
        {"etc/hostname", 0644, 0, SPAN("sandbox\n")},
        {"etc/resolv.conf", 0644, 0, SPAN("")},
        {"etc/apt/apt.conf.d/90sandbox", 0644, 0,
         SPAN("APT::Install-Recommends \"false\";\nAPT::Sandbox::User \"root\";\n")},
};

static int write_files(int root, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (root_write(root, &files[i], err) < 0)
			return -1;
	return 0;
}

static int read_settings(const char *const *paths, const char *const *names, struct buf *out)
{
	for (; *paths; paths++) {
		AUTO(buf_done) struct buf text = BUF(64 * 1024);
		struct error ignored = {0};
		if (file_read(AT_FDCWD, *paths, &text, &ignored) == 0)
			host_filter_settings(buf_span(&text), names, out);
	}
	return out->overflowed ? -1 : 0;
}

/* pip refuses to change Debian's packages (PEP 668). In a sandbox users expect `pip install` to
 * work and may change the whole machine. Both tools install below ~/.local, which is in PATH. */
static int write_tool_settings(int root, struct error *err)
{
	static const char *const npm_paths[] = {"/usr/etc/npmrc", "/etc/npmrc", "/root/.npmrc",
	                                        NULL};
	static const char *const pip_paths[] = {"/etc/pip.conf", "/root/.config/pip/pip.conf",
	                                        NULL};
	AUTO(buf_done) struct buf npm = BUF(64 * 1024);
	AUTO(buf_done) struct buf pip = BUF(64 * 1024);

	buf_add_text(&npm, "prefix=${HOME}/.local\n"
	                   "update-notifier=false\n"
	                   "fund=false\n");
	buf_add_text(&pip, "[global]\n"
	                   "break-system-packages = true\n"
	                   "disable-pip-version-check = true\n");
	if (read_settings(npm_paths, host_npm_settings, &npm) < 0 ||
	    read_settings(pip_paths, host_pip_settings, &pip) < 0)
		return FAIL(err, ERROR_TOO_LARGE, "npm's or pip's settings are too long");
	struct root_file npm_file = {"etc/npmrc", 0644, 0, buf_span(&npm)};
	struct root_file pip_file = {"etc/pip.conf", 0644, 0, buf_span(&pip)};
	return root_write(root, &npm_file, err) < 0 ? -1 : root_write(root, &pip_file, err);
}

static int remove_copy(int root, const char *folder_path, const char *name, struct error *err)
{
	AUTO_CLOSE int folder = -1;

	if (root_open_folder(root, folder_path, &folder, err) < 0)
		return -1;
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", name);
	return 0;
}

static int write_apt(int root, const struct host_apt *apt, struct error *err)
{
	struct root_file sources = {"etc/apt/sources.list", 0644, 0, buf_span(&apt->safe_sources)};
	struct root_file options = {"etc/apt/apt.conf.d/91network", 0644, 0,
	                            buf_span(&apt->safe_options)};

	/* The copies that mmdebstrap leaves may hold the machine's passwords. */
	if (remove_copy(root, "etc/apt/apt.conf.d", "99mmdebstrap", err) < 0 ||
	    remove_copy(root, "etc/apt/sources.list.d", "0000" PACKAGES_SOURCES, err) < 0)
		return -1;
	/* Without explicit sources mmdebstrap wrote its own. */
	if (apt->sources.size > 0 && root_write(root, &sources, err) < 0)
		return -1;
	return root_write(root, &options, err);
}

static int copy_skeleton(int root, int home, struct error *err)
{
	static const char *const names[] = {".bashrc", ".profile", ".bash_logout"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO(buf_done) struct buf text = BUF(64 * 1024);
		char path[64];
		(void)snprintf(path, sizeof(path), "etc/skel/%s", names[i]);
		if (root_read(root, path, &text, err) < 0)
			return -1;
		struct root_file file = {names[i], 0644, ROOT_USER_ID, buf_span(&text)};
		if (root_write(home, &file, err) < 0)
			return -1;
	}
	return 0;
}

static int fill_home(int root, struct error *err)
{
	AUTO_CLOSE int home = -1;

	if (root_open_folder(root, &USER_HOME[1], &home, err) < 0 ||
	    copy_skeleton(root, home, err) < 0)
		return -1;
	if (mkdirat(home, "project", 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the project folder");
	if (fchownat(home, "project", ROOT_USER_ID, ROOT_USER_ID, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "own the project folder");
	return 0;
}

static int finish_root(const struct work *w, const struct host_apt *apt, bool *ret_authorities,
                       struct error *err)
{
	AUTO_CLOSE int root = open(w->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return FAIL_ERRNO(err, "open '%s'", w->root);
	if (write_files(root, err) < 0 || write_tool_settings(root, err) < 0 ||
	    write_apt(root, apt, err) < 0 || host_copy_authorities(root, ret_authorities, err) < 0)
		return -1;
	if (root_finish(w->root, err) < 0 || root_add_alias(root, "daytona", "user", err) < 0)
		return -1;
	return fill_home(root, err);
}

/* npm's Node.js does not read Debian's authorities by itself. If the machine has authorities of its
 * own, other libraries that bring their own bundle use the machine's, too. */
static const char *format_env(struct arena *a, bool authorities)
{
	struct json_pair pairs[] = {
	        {"LANG", "C.UTF-8"},
	        {"ATOLL_PROJECT_DIR", PROJECT},
	        {"NODE_EXTRA_CA_CERTS", BUNDLE},
	        {"PATH", USER_HOME "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
	                           "/sbin:/bin"},
	        {"SSL_CERT_FILE", BUNDLE}, /* the last two: of such a machine */
	        {"REQUESTS_CA_BUNDLE", BUNDLE},
	};
	size_t count = COUNT_OF(pairs) - (authorities ? 0 : 2);

	return json_format_map(a, &(struct json_map){pairs, count, true});
}

static int make_root(struct work *w, const struct image_recipe *recipe, struct host_apt *apt,
                     struct error *err)
{
	struct base_progress progress = {.fd = w->spec->progress_fd};

	if (write_apt_options(w, apt, err) < 0)
		return -1;
	if (!recipe->from)
		return command_require("mmdebstrap", err) < 0 ? -1
		                                              : run_mmdebstrap(w, recipe, apt, err);
	progress_tell(w->spec->progress_fd, 2, "copying the template that this starts from");
	return packages_copy_root(w, recipe, err) < 0
	               ? -1
	               : packages_install(w, recipe, take_line, &progress, err);
}

static int build_template(struct work *w, const struct image_recipe *recipe, struct host_apt *apt,
                          struct arena *a, struct error *err)
{
	bool authorities = false;
	int64_t bytes;

	progress_tell(w->spec->progress_fd, 1, "asking apt for its sources");
	if (host_apt_ask(w->spec, a, apt, err) < 0 || make_root(w, recipe, apt, err) < 0 ||
	    finish_root(w, apt, &authorities, err) < 0 || tree_size(w->root, &bytes, err) < 0)
		return -1;
	if (bytes > w->spec->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "larger than %lld MiB",
		            (long long)(w->spec->size_max >> 20));
	struct image_config config = {
	        .env_json = format_env(a, authorities),
	        .entrypoint_json = "[]",
	        .ports_json = "[]",
	        .user = "user",
	        .workdir = PROJECT,
	        .size_bytes = bytes,
	};
	progress_tell(w->spec->progress_fd, 95, "writing to disk");
	return work_commit(w, &config, err);
}

int image_build(const struct image_spec *spec, const char *name, struct error *err)
{
	const struct image_recipe *recipe = image_recipe_find(name);
	AUTO(work_done) struct work w = WORK;
	AUTO(host_apt_done) struct host_apt apt = {0};
	AUTO(arena_done) struct arena a = {0};

	if (!recipe)
		return FAIL(err, ERROR_INVALID, "there is no recipe '%.40s'", name);
	if (work_begin(&w, spec, err) < 0 || build_template(&w, recipe, &apt, &a, err) < 0)
		return -1;
	progress_tell(spec->progress_fd, 100, "done");
	return 0;
}
