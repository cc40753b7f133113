/* SPDX-License-Identifier: Apache-2.0 */
#include "config/provider_options.h"

#include <string.h>

#include "config/option.h"

static const char *const truths[] = {"true", "false", NULL};

const struct config_provider_option config_provider_options[] = {
        {"docker", "docker_host",
         .about = "socket of the daemon: unix:///path; default: the option of this name"},
        {"docker", "docker_image",
         .about = "image of sandboxes of the template 'host'; default: the option of this name"},
        {"docker", "docker_images",
         .about = "images of the daemon that every project may use, separated by spaces; default: "
                  "the "
                  "option of this name"},
        {"docker", "docker_logins", .is_secret = true,
         .about = "logins at registries, in the form of docker's config.json, for docker_image and "
                  "docker_images"},
        {"docker", "docker_runtime", .is_fixed = true,
         .about = "runtime of the daemon, such as runsc; default: the option of this name"},
        {"docker", "gpu_enabled",
         .about = "true: creates may ask for GPUs; default: the option of this name"},
        {"docker", "gpu_network_enabled",
         .about = "true: a sandbox with GPUs may have a network; default: the option of this name"},
        {"microvm", "microvm_kernel",
         .about = "folder that holds boot/ and lib/modules/ of the guest kernel; default: the "
                  "option of this name"},
        {"microvm", "microvm_accelerator", .choices = config_accelerators,
         .about = "auto, kvm or tcg; default: the option of this name"},
        {"microvm", "microvm_vmm", .choices = config_vmms,
         .about = "program that runs virtual machines: qemu; default: the option of this name"},
        {"e2b", "e2b_api_key", .is_secret = true,
         .about = "key of the account; default: the option of this name"},
        {"e2b", "e2b_domain", .about = "domain of the service; default: the option of this name"},
        {"e2b", "e2b_api_url", .about = "URL of the API; default: the option of this name"},
        {"e2b", "e2b_sandbox_url",
         .about = "URL that takes the ports of all sandboxes; default: the option of this name"},
        {"e2b", "e2b_template",
         .about = "template of the service for the template 'host'; default: the option of this "
                  "name"},
        {"e2b", "e2b_templates",
         .about = "templates of the service for other templates, NAME=TEMPLATE separated by "
                  "spaces; default: the option of this name"},
        {"e2b", "e2b_allow_internet_access", .choices = truths,
         .about = "whether sandboxes may have a network; default: the option of this name"},
        {"e2b", "e2b_secure_access", .choices = truths,
         .about = "whether a sandbox needs its tokens; default: the option of this name"},
        {"daytona", "daytona_api_key", .is_secret = true,
         .about = "key of the account; default: the option of this name"},
        {"daytona", "daytona_api_url", .about = "URL of the API; default: the option of this name"},
        {"daytona", "daytona_target",
         .about = "region of new sandboxes; default: the option of this name"},
        {"daytona", "daytona_snapshot",
         .about = "snapshot of the service for the template 'host'; default: the option of this "
                  "name"},
        {"daytona", "daytona_block_by_list", .choices = truths,
         .about = "an allow list in place of no network; default: the option of this name"},
        {"daytona", "daytona_snapshots",
         .about = "snapshots of the service for other templates, NAME=SNAPSHOT separated by "
                  "spaces; default: the option of this name"},
        {"null", "token", .is_secret = true, .about = "a credential that is not used, for tests"},
        {.kind = NULL},
};

const struct config_provider_option *config_provider_option_find(const char *kind, const char *name)
{
	for (const struct config_provider_option *o = config_provider_options; o->kind; o++)
		if (strcmp(o->kind, kind) == 0 && strcmp(o->name, name) == 0)
			return o;
	return NULL;
}
