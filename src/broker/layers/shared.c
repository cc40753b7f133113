/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-launch makes the mounts that sandboxes share (launch/shared.c), and a task fills them
 * (task/fill.c). sudo is shown only when all users may read all of it. */
#include "broker/layers/shared.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/host/task_start.h"

#define TREE_DEPTH_MAX 8

static int ask_shared(struct host *host, const struct launch_shared *request, int tmpfs,
                      struct error *err)
{
	const struct wire_fds fds = {.fds = {tmpfs}, .count = tmpfs < 0 ? 0 : 1};

	if (launcher_call(host, LAUNCH_SHARED, request, &fds, NULL, err) < 0)
		return -1;
	host->layers |= 1u << request->layer;
	return 0;
}

static const struct {
	enum launch_layer layer;
	const char *name;
} filled_layers[] = {{LAYER_DEV, "dev"}, {LAYER_SYS, "sys"}, {LAYER_ROOT, "host"}};

static int make_layer(struct host *host, enum launch_layer layer, const char *name,
                      struct error *err)
{
	struct task_command command = {.kind = TASK_FILL, .count = 1, .words = {name}};
	const struct launch_shared request = {.layer = layer};
	AUTO_CLOSE int root = -1;

	if (launcher_open_fd(host, LAUNCH_SHARED, &request, NULL, &root, err) < 0)
		return -1;
	command.input_fd = root;
	if (task_run(host, &command, NULL, err) < 0)
		return FAIL_CONTEXT(err, "fill '%s'", name);
	return ask_shared(host, &request, root, err);
}

/* True when root owns everything at the path and all users may read it. */
static bool is_public(const char *path, unsigned depth)
{
	struct stat status;
	struct dirent *entry;
	bool answer = true;
	DIR *folder;

	if (lstat(path, &status) < 0 || status.st_uid != 0 || depth > TREE_DEPTH_MAX)
		return false;
	if (S_ISLNK(status.st_mode) || S_ISREG(status.st_mode))
		return status.st_mode & S_IROTH;
	if (!S_ISDIR(status.st_mode) || !(folder = opendir(path)))
		return false;
	while (answer && (entry = readdir(folder))) {
		char child[PATH_SIZE_MAX];

		(void)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		answer = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		         is_public(child, depth + 1);
	}
	(void)closedir(folder);
	return answer;
}

static int make_sudo(struct host *host, struct error *err)
{
	/* As in launch/shared.c. The second one is of releases before Debian 12. */
	static const char *const libraries[] = {"/usr/libexec/sudo", "/usr/lib/sudo"};
	struct stat status;

	if (stat("/usr/bin/sudo", &status) < 0 || !(status.st_mode & S_ISUID) ||
	    !is_public("/usr/bin/sudo", 0))
		return 0;
	for (unsigned i = 0; i < COUNT_OF(libraries); i++) {
		if (access(libraries[i], F_OK) < 0)
			continue;
		if (!is_public(libraries[i], 0))
			return 0;
		host->sudo_lib_dir = libraries[i];
		if (ask_shared(host, &(struct launch_shared){LAYER_SUDO_LIB, i}, -1, err) < 0)
			return -1;
		break;
	}
	return ask_shared(host, &(struct launch_shared){.layer = LAYER_SUDO}, -1, err);
}

/* Without it virtual machines are emulated; see host_has_kvm. */
static int make_kvm(struct host *host, struct error *err)
{
	return access("/dev/kvm", F_OK) < 0 ? 0 : make_layer(host, LAYER_KVM, "kvm", err);
}

/* Without gVisor its sandboxes are refused; see host_has_gvisor. */
static int make_gvisor(struct host *host, struct error *err)
{
	if (!is_public("/usr/bin/runsc", 0))
		return 0;
	if (ask_shared(host, &(struct launch_shared){.layer = LAYER_AGENT}, -1, err) < 0)
		return -1;
	return ask_shared(host, &(struct launch_shared){.layer = LAYER_RUNSC}, -1, err);
}

int host_layers_make(struct host *host, struct error *err)
{
	mode_t old_mask = umask(0);
	int status = 0;

	for (unsigned i = 0; status == 0 && i < COUNT_OF(filled_layers); i++)
		status = make_layer(host, filled_layers[i].layer, filled_layers[i].name, err);
	if (status == 0)
		status = ask_shared(host, &(struct launch_shared){.layer = LAYER_USR}, -1, err);
	if (status == 0)
		status = make_sudo(host, err);
	if (status == 0)
		status = make_gvisor(host, err);
	if (status == 0)
		status = make_kvm(host, err);
	(void)umask(old_mask);
	return status < 0 ? FAIL_CONTEXT(err, "prepare shared mounts") : 0;
}
