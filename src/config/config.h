/* SPDX-License-Identifier: Apache-2.0 */
/* config/config.h — the configuration of a server, loaded once at the start and const afterwards.
 *
 * The first of these that sets an option applies: a flag (--listen), the environment (ATOLL_LISTEN,
 * then neutral names such as SANDBOX_DEFAULT_CPU), DATA/atoll.yaml or --config FILE, the default.
 * A number without a unit is milliseconds if its neutral name ends in _MS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct buf;

/* Bounds that other folders rely on: the api process keeps no more of a command's output; the
 * broker does not trust the api process and enforces equal bounds of its own. */
#define CONFIG_OUTPUT_LIMIT_MAX (16 << 20)
#define CONFIG_CELLS_MAX 256
#define CONFIG_POOL_MAX 1024
#define CONFIG_IO_MBPS_MAX 1000000

/* The meaning of each option is in options.c. */
struct config {
	/* server */
	const char *data_dir;   /* in the api process the path by which that process reaches it */
	const char *data_place; /* the path that the operator knows; NULL = data_dir */
	const char *store;      /* a DSN that may hold a password; "" = SQLite in the data folder */
	const char *secret_key_file; /* "" = DATA/keys/secret.key */
	const char *blobs;           /* a folder; "" = DATA/blobs */
	const char *listen;          /* "127.0.0.1:7777" */
	const char *tls_listen;      /* "0.0.0.0:443"; "" = no TLS */
	const char *tls_cert;        /* "" = DATA/tls/server.pem */
	const char *tls_key;         /* "" = DATA/tls/server.key */
	const char *peer_url;        /* "" = peers cannot reach this server */
	const char *peer_ca;         /* "" = the system's authorities */
	const char *provider;        /* "native", "host", …; if `providers` is set, its first */
	const char *providers;       /* several, see providers.h; "" = `provider` alone */
	const char *routing;         /* rules, see routing.h; "" = none */
	const char *microvm_kernel;  /* folder that holds boot/ and lib/modules/ */
	const char *microvm_accelerator, *microvm_vmm; /* "auto", "kvm", "tcg"; "qemu" */
	const char *docker_host, *docker_image;        /* "unix:///path"; "" = no image */
	const char *docker_images, *docker_runtime;    /* separated by commas; "" = the daemon's */
	const char *e2b_api_key, *e2b_domain, *e2b_api_url, *e2b_sandbox_url;
	const char *e2b_template, *e2b_templates;
	bool e2b_allow_internet_access, e2b_secure_access, daytona_block_by_list;
	const char *daytona_api_key, *daytona_api_url, *daytona_target;
	const char *daytona_snapshot, *daytona_snapshots;
	const char *lambda_region, *lambda_endpoint; /* "" = the service's own */
	const char *lambda_access_key_id, *lambda_secret_access_key, *lambda_session_token;
	const char *sandbox_fn_mount_net, *sandbox_fn_mount_nonet, *sandbox_fn_nomount_net;
	const char *sandbox_fn_nomount_nonet, *lambda_templates, *lambda_workspace_project;
	const char *kubernetes_config, *kubernetes_context, *kubernetes_namespace;
	const char *kubernetes_image, *kubernetes_images, *kubernetes_agent_image;
	const char *kubernetes_agent_path, *kubernetes_runtime_class, *kubernetes_storage_class;
	const char *kubernetes_snapshot_class;
	int64_t workers, lambda_memory_mb, kubernetes_cpu_request_percent, kubernetes_warm_pods;
	bool kubernetes_network_policy, gpu_enabled, gpu_network_enabled;
	bool host_keep;                 /* sandboxes of provider host outlive the server */
	const char *user;               /* unprivileged user; "" = "atoll", else "nobody" */
	const char *log_level;          /* "error", "warning", "info" or "debug" */
	const char *log_format, *debug; /* "text" or "json"; folders of src/ with debug lines */
	int64_t body_max, connections_max;
	int64_t drain_ms, drain_delay_ms, ready_probe_every_ms; /* 0 = /readyz makes no sandboxes */
	const char *ready_networks;                             /* "off,on,rules" */
	int64_t idle_exit_ms;                                   /* 0 = never */

	/* queues of calls */
	int64_t agent_calls_max; /* threads */
	int64_t agent_calls_per_sandbox_max;
	int64_t agent_calls_per_key_max, agent_calls_per_project_max;
	int64_t agent_wait_ms;
	int64_t requests_per_key_max, requests_waiting_per_key_max, request_wait_ms;
	int64_t tool_calls_max; /* threads */
	int64_t tool_calls_per_sandbox_max, tool_calls_per_key_max;

	/* trash and retention */
	int64_t orphan_timeout_ms; /* a sandbox ends itself this long after its server */
	int64_t orphans_keep_ms;
	int64_t orphans_max;
	int64_t deleted_keep_ms;
	int64_t trash_bytes_max;
	int64_t failed_keep_ms; /* 0 = forever */
	int64_t clock_hold_ms;

	/* events and webhooks */
	int64_t events_max;
	int64_t events_keep_ms;
	int64_t activity_keep_ms;
	int64_t activity_max, activity_total_max; /* rows of each sandbox, of all */
	int64_t audit_keep_ms, audit_max;         /* audit_max: rows */
	int64_t webhooks_max, webhook_tries;      /* webhooks_max: per project */
	int64_t webhook_retry_ms; /* from the first to the second attempt; doubles */
	bool webhook_allow_private;
	bool registry_allow_private, audit_calls; /* audit_calls: also of calls into sandboxes */

	const char *otlp_endpoint, *otlp_headers, *otlp_service_name; /* "" = off */
	int64_t otlp_metrics_interval_ms, otlp_timeout_ms, otlp_spans_max;
	double otlp_traces_ratio;
	/* background jobs */
	const char *jobs_callback_url; /* "" = none */
	int64_t jobs_keep_ms;          /* after their end */

	/* sandboxes */
	struct sandbox_resources defaults;
	struct sandbox_resources caps;
	int64_t sandboxes_max; /* per project */
	int64_t sessions_max;  /* of /v1/sandbox */
	int64_t output_limit_bytes;
	int64_t exec_timeout_ms;
	struct sandbox_timeouts timeouts; /* only inherited ones */
	int64_t agent_timeout_ms;
	int64_t session_idle_ms; /* of /v1/sandbox */
	int64_t leases_keep_ms;
	const char *default_template;
	bool internet;

	/* builds and uploads */
	int64_t builds_at_once; /* first builds and imports */
	int64_t builds_max;     /* by steps */
	int64_t build_cache_bytes_max;
	int64_t image_cache_bytes_max, image_keep_ms; /* pulled images that nothing uses */
	int64_t uploads_max;
	int64_t uploads_per_project_max;
	int64_t upload_idle_ms;
	int64_t upload_rate_min; /* bytes per second */

	/* host names and previews */
	const char *hosts;
	const char *cors_origins;   /* "*" = any; "" = none */
	const char *preview_ports;  /* "3000,8000-8010" or "any" */
	bool preview_sharing;       /* links for people without a key */
	const char *preview_secret; /* signs them; "" = the key in the database */
	const char *preview_domain; /* "" = no PORT-ID.DOMAIN */
	const char *preview_origin; /* "https://host"; "" = this server's own origin */
	const char *public_url;     /* "https://host"; "" = the address of the request */
	bool mcp_fixtures;          /* for tests of the protocol; only on loopback */

	/* signing in */
	bool sign_in_password;
	const char *oidc_issuer; /* "" = no OpenID Connect */
	const char *oidc_client_id, *oidc_client_secret, *oidc_name, *oidc_scopes;
	const char *oidc_groups_claim;
	const char *oidc_roles; /* "GROUP=ROLE@PROJECT,…" */
	int64_t sign_in_idle_ms, sign_in_lifetime_ms, invitation_keep_ms;

	/* usage and storage */
	/* US dollars */
	double price_vcpu_second, price_memory_gib_second, price_storage_gib_month;
	int64_t usage_flush_ms;
	int64_t usage_keep_ms;
	int64_t metrics_every_ms; /* 0 = no history of measurements */
	int64_t artifacts_max_mb;
	int64_t artifact_max_mb;
	int64_t artifacts_keep_ms;
	int64_t storage_max_mb; /* per project: templates, snapshots, backups and volumes */

	/* native provider */
	const char *disk_quota; /* "off", "on", "auto", "project" or "image" */
	const char *disk_watch; /* "off" or "on" */
	int64_t disk_inodes;    /* per GiB of a disk limit */
	int64_t io_mbps;        /* 0 = no limit */
	int64_t cells;          /* prewarmed sandboxes per kind of network */
	int64_t pool_automatic, pool_max;
	const char *network_subnet; /* "10.213.0.0/16"; each sandbox has one address */
	const char *network_allow, *network_ipv6_subnet;      /* CIDRs */
	const char *network_ipv6, *network_nameservers;       /* "auto" or "off"; "" = the host's */
	const char *network_proxy, *network_proxy_login_file; /* "" = none */
	const char *region;

	/* Where each option was set: one letter per row of the table, see config_origin_of. */
	const char *origins;
};

struct config_source {
	/* "name=value" texts from the command line, NULL-terminated; NULL = none. '-' in a name
	 * stands for '_'. */
	const char *const *flags;
	const char *file; /* NULL = DATA/atoll.yaml if it exists */
	char *const *environment;
	/* The origins that another process of the server found; NULL = those of this source. */
	const char *origins;
};
/* Errors name the place: "atoll.yaml:12: 'cpuu' is not an option; did you mean 'cpu'?". An empty
 * environment variable counts as not set. The defaults of `data` and `user` depend on the user's id
 * and home folder. Opens no file but the configuration. */
MUST_CHECK int config_load(struct arena *a, const struct config_source *source, struct config *ret,
                           struct error *err);
/* The default of `data`: /var/lib/atoll for root, else $XDG_DATA_HOME/atoll, else
 * ~/.local/share/atoll. */
MUST_CHECK int config_data_dir_default(struct arena *a, char *const *environment, const char **ret,
                                       struct error *err);

/* Writes YAML with a comment per option, as `atoll config` prints it. Asterisks hide secrets. */
void config_print(struct buf *out, const struct config *config);
/* Writes the same with the secrets, for another process of the server to load. */
void config_write(struct buf *out, const struct config *config);
/* Writes the same without the options that may hold secrets. */
void config_write_harmless(struct buf *out, const struct config *config);
