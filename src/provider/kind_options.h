/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kind_options.h — options of single kinds of providers. Part of provider/provider.h.
 * Borrowed; they live as long as the provider. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct docker_options {
	const char *host, *image; /* "unix:///path"; of the template "host", "" = none */
	const char *program;      /* the agent's, an absolute path on this host */
	const char *images;  /* of the daemon, for every project; separated by commas, or NULL */
	const char *logins;  /* at registries, as in docker's config.json, for `image` and `images`;
	                      * NULL = none */
	const char *runtime; /* "runc", "runsc" …; NULL or "" = the daemon's default */
	bool allows_private; /* a registry may have an address of this server's own network */
	unsigned providers;  /* of this kind in the configuration */
	bool has_gpus, has_gpu_network; /* sandboxes may ask for GPUs, also with a network */
};

struct microvm_options {
	const char *kernel;      /* folder that holds boot/ and lib/modules/ */
	const char *accelerator; /* "auto", "kvm" or "tcg"; NULL = "tcg" */
	const char *vmm;         /* "qemu"; NULL = that */
	const char *program;     /* the agent's, an absolute path on this host */
};

struct kubernetes_options {
	const char *config,
	        *context;      /* a kubeconfig file, and the name in it; "" = that of a pod */
	const char *namespace; /* "" = that of the context */
	const char *agent_image, *agent_path; /* holds the agent's program, and where */
	const char *runtime_class;            /* "" = the cluster's default */
	const char *storage_class;   /* "" = the default; "none": no files outlive a stop */
	const char *snapshot_class;  /* "none": homes have no snapshots; "default": the cluster's */
	int64_t cpu_request_percent; /* of a sandbox's limit: what it reserves */
	int64_t warm_pods;           /* of each shape that is asked for; 0 = none */
	bool policies_hold;          /* the cluster enforces NetworkPolicies */
};

/* Of the kinds behind another service's API (provider/remote/). */
struct remote_options {
	const char *key, *key_file; /* the credential; the file that it was read from, or NULL */
	const char *url;            /* of the API */
	const char *domain;         /* e2b: of the sandboxes' host names */
	const char *sandbox_url;    /* e2b: of all sandboxes' ports, with headers; "" = by domain */
	const char *image;   /* e2b's template or daytona's snapshot, of the template "host" */
	const char *images;  /* "NAME=IMAGE NAME=IMAGE", of other templates; "" = none */
	const char *target;  /* daytona: the region; "" = the service's default */
	const char *program; /* the agent's, an absolute path on this host */
	const struct kubernetes_options *kubernetes; /* of that kind */
	bool allows_internet;
	bool is_secure; /* e2b: files, processes and ports need tokens */
	/* daytona: a sandbox without a network has a list of one address that no host has, for a
	 * service that shows no ports of one without a network */
	bool blocks_by_list;
};

/* Of the kind lambda: functions at AWS Lambda, or at a service that speaks as it does. */
struct lambda_options {
	const char *region, *endpoint; /* "https://lambda.REGION.amazonaws.com" */
	const char *key_id, *secret;
	const char *session_token; /* "" = none */
	/* Names or ARNs by [has a workspace][has a network]; "" = there is none. */
	const char *functions[2][2];
	const char *templates; /* that the functions' image stands for, separated by spaces */
	/* Whose calls may have workspaces: they share one file system; "" = no project's. */
	const char *workspace_project;
	int64_t memory_mb; /* of each function */
};
