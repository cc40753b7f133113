/* SPDX-License-Identifier: Apache-2.0 */
#include "config/provider_options.h"

#include <string.h>

#include "config/option.h"

static const char *const truths[] = {"true", "false", NULL};

const struct config_provider_option config_provider_options[] = {
        {"docker", "docker_host", .form = CONFIG_FORM_SOCKET,
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
        {"docker", "docker_runtime", .is_fixed = true, .form = CONFIG_FORM_WORD,
         .about = "runtime of the daemon, such as runsc; default: the option of this name"},
        {"docker", "gpu_enabled", .choices = truths,
         .about = "true: creates may ask for GPUs; default: the option of this name"},
        {"docker", "gpu_network_enabled", .choices = truths,
         .about = "true: a sandbox with GPUs may have a network; default: the option of this name"},
        {"microvm", "microvm_kernel", .form = CONFIG_FORM_FOLDER,
         .about = "folder that holds boot/ and lib/modules/ of the guest kernel; default: the "
                  "option of this name"},
        {"microvm", "microvm_accelerator", .choices = config_accelerators,
         .about = "auto, kvm or tcg; default: the option of this name"},
        {"microvm", "microvm_vmm", .choices = config_vmms,
         .about = "program that runs virtual machines: qemu; default: the option of this name"},
        {"e2b", "e2b_api_key", .is_secret = true,
         .about = "key of the account; default: the option of this name"},
        {"e2b", "e2b_domain", .is_fixed = true, .form = CONFIG_FORM_WORD,
         .about = "domain of the service; default: the option of this name"},
        {"e2b", "e2b_api_url", .is_fixed = true, .form = CONFIG_FORM_URL,
         .about = "URL of the API; default: the option of this name"},
        {"e2b", "e2b_sandbox_url", .is_fixed = true, .form = CONFIG_FORM_URL,
         .about = "URL that takes the ports of all sandboxes; default: the option of this name"},
        {"e2b", "e2b_template", .is_fixed = true,
         .about = "template of the service for the template 'host'; default: the option of this "
                  "name"},
        {"e2b", "e2b_templates", .is_fixed = true,
         .about = "templates of the service for other templates, NAME=TEMPLATE separated by "
                  "spaces; default: the option of this name"},
        {"e2b", "e2b_allow_internet_access", .is_fixed = true, .choices = truths,
         .about = "whether sandboxes may have a network; default: the option of this name"},
        {"e2b", "e2b_secure_access", .is_fixed = true, .choices = truths,
         .about = "whether a sandbox needs its tokens; default: the option of this name"},
        {"daytona", "daytona_api_key", .is_secret = true,
         .about = "key of the account; default: the option of this name"},
        {"daytona", "daytona_api_url", .is_fixed = true, .form = CONFIG_FORM_URL,
         .about = "URL of the API; default: the option of this name"},
        {"daytona", "daytona_target", .is_fixed = true,
         .about = "region of new sandboxes; default: the option of this name"},
        {"daytona", "daytona_snapshot", .is_fixed = true,
         .about = "snapshot of the service for the template 'host'; default: the option of this "
                  "name"},
        {"daytona", "daytona_block_by_list", .is_fixed = true, .choices = truths,
         .about = "an allow list in place of no network; default: the option of this name"},
        {"daytona", "daytona_snapshots", .is_fixed = true,
         .about = "snapshots of the service for other templates, NAME=SNAPSHOT separated by "
                  "spaces; default: the option of this name"},
        {"kubernetes", "kubernetes_config",
         .about = "a kubeconfig file; default: the option of this name"},
        {"kubernetes", "kubernetes_context",
         .about = "context of that file; default: the option of this name"},
        {"kubernetes", "kubernetes_namespace",
         .about = "namespace of the pods; default: the option of this name"},
        {"kubernetes", "kubernetes_image",
         .about = "image of sandboxes of the template 'host'; default: the option of this name"},
        {"kubernetes", "kubernetes_images",
         .about = "images of other templates, NAME=IMAGE separated by spaces; default: the option "
                  "of this name"},
        {"kubernetes", "kubernetes_agent_image",
         .about = "image that holds atoll-agent; default: the option of this name"},
        {"kubernetes", "kubernetes_agent_path",
         .about = "where atoll-agent is in that image; default: the option of this name"},
        {"kubernetes", "kubernetes_runtime_class", .is_fixed = true,
         .about = "RuntimeClass of the pods; default: the option of this name"},
        {"kubernetes", "kubernetes_storage_class",
         .about = "StorageClass of the homes; none = there are none; default: the option of this "
                  "name"},
        {"kubernetes", "kubernetes_snapshot_class", .is_fixed = true,
         .about =
                 "VolumeSnapshotClass of the snapshots; none = there are none; default: the option "
                 "of this name"},
        {"kubernetes", "kubernetes_cpu_request_percent",
         .about = "part of its processor limit that a pod reserves; default: the option of this "
                  "name"},
        {"kubernetes", "kubernetes_warm_pods",
         .about = "pods that run before they are asked for; default: the option of this name"},
        {"kubernetes", "kubernetes_network_policy", .choices = truths,
         .about = "whether the cluster enforces NetworkPolicies; default: the option of this name"},
        {"lambda", "lambda_region",
         .about = "region of the functions; default: the option of this name"},
        {"lambda", "lambda_endpoint",
         .about = "http://HOST:PORT or https://HOST of the service; default: the option of this "
                  "name"},
        {"lambda", "lambda_access_key_id",
         .about = "id of the key; default: the option of this name"},
        {"lambda", "lambda_secret_access_key", .is_secret = true,
         .about = "the key; default: the option of this name"},
        {"lambda", "lambda_session_token", .is_secret = true,
         .about = "token of a key that expires; default: the option of this name"},
        {"lambda", "sandbox_fn_mount_net",
         .about = "function for calls with a workspace and a network; default: the option of this "
                  "name"},
        {"lambda", "sandbox_fn_mount_nonet",
         .about = "function for calls with a workspace and without a network; default: the option "
                  "of this name"},
        {"lambda", "sandbox_fn_nomount_net",
         .about = "function for calls without a workspace and with a network; default: the option "
                  "of this name"},
        {"lambda", "sandbox_fn_nomount_nonet",
         .about = "function for calls without a workspace and without a network; default: the "
                  "option of this name"},
        {"lambda", "lambda_templates",
         .about = "templates that the image of the functions stands for, separated by spaces; "
                  "default: the option of this name"},
        {"lambda", "lambda_workspace_project",
         .about = "id of the project whose calls may have workspaces; default: the option of this "
                  "name"},
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

static const char word_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._:-";

static const struct value_form {
	const char *begins, *expected;
	const char *letters; /* of the rest, which is not empty; NULL: no space and nothing below */
} value_forms[] = {
        [CONFIG_FORM_WORD] = {"", "letters, digits, '.', '_', ':' and '-'", word_letters},
        [CONFIG_FORM_FOLDER] = {"/", "an absolute path", NULL},
        [CONFIG_FORM_SOCKET] = {"unix:///", "unix:///PATH, a socket of this machine", NULL},
        [CONFIG_FORM_URL] = {"http", "a URL such as https://host:port", NULL},
};

static bool has_form(const struct value_form *form, const char *text)
{
	size_t begins = strlen(form->begins);

	if (strncmp(text, form->begins, begins) != 0)
		return false;
	if (form->letters)
		return text[begins] && text[strspn(text, form->letters)] == '\0';
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return false;
	return true;
}

static bool is_url(const char *text)
{
	const char *host = strstr(text, "://");

	return host && (host - text == 4 || (host - text == 5 && text[4] == 's')) &&
	       strchr("/?#", host[3]) == NULL;
}

int config_provider_option_check(const struct config_provider_option *option, const char *text,
                                 struct error *err)
{
	const struct value_form *form = &value_forms[option->form];

	if (option->form == CONFIG_FORM_ANY ||
	    (has_form(form, text) && (option->form != CONFIG_FORM_URL || is_url(text))))
		return 0;
	return FAIL(err, ERROR_INVALID, "'%.100s' is not right; expected %s", text, form->expected);
}
