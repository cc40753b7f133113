/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/option.h"

#include "config/check.h"
#include "config/mask.h"
#include "sandbox/price.h"

#define OPTION(kind_, name_, member_, ctype_, ...)                                                 \
	{                                                                                          \
		.kind = (kind_), .name = (name_),                                                  \
		.offset = MEMBER_OFFSET(config, member_, ctype_), __VA_ARGS__                      \
	}
#define TEXT_OPTION(name, member, ...) OPTION(CONFIG_TEXT, name, member, const char *, __VA_ARGS__)
#define WHOLE_OPTION(name, member, ...) OPTION(CONFIG_WHOLE, name, member, int64_t, __VA_ARGS__)
#define NUMBER_OPTION(name, member, ...) OPTION(CONFIG_NUMBER, name, member, double, __VA_ARGS__)
#define BOOL_OPTION(name, member, ...) OPTION(CONFIG_BOOL, name, member, bool, __VA_ARGS__)
#define DURATION_OPTION(name, member, ...)                                                         \
	OPTION(CONFIG_DURATION, name, member, int64_t, __VA_ARGS__)
#define SIZE_OPTION(name, member, ...) OPTION(CONFIG_SIZE, name, member, int64_t, __VA_ARGS__)

#define YEAR_MS (INT64_C(366) * 86400000)

static const char *const providers[] = {"native",  "gvisor", "host",    "docker",
                                        "microvm", "e2b",    "daytona", "kubernetes",
                                        "lambda",  "null",   NULL};
const char *const config_accelerators[] = {"auto", "kvm", "tcg", NULL};
const char *const config_vmms[] = {"qemu", NULL};
static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const ipv6_modes[] = {"auto", "off", NULL};
static const char *const on_off[] = {"off", "on", NULL};
static const char *const disk_quotas[] = {"off", "on", "auto", "project", "image", NULL};

const struct config_option config_options[] = {
        TEXT_OPTION(
                "data", data_dir, .initial = "",
                .about = "folder of the store, templates and sandboxes; default: /var/lib/atoll "
                         "for root, $XDG_DATA_HOME/atoll or ~/.local/share/atoll for other users"),
        TEXT_OPTION(
                "store", store, .initial = "", .check = check_store, .mask = mask_store,
                .about = "database: postgresql://user@host/name, 'postgresql:' and a libpq "
                         "conninfo, or 'sqlite:' and a path; default: SQLite in the data folder"),
        TEXT_OPTION("secret_key_file", secret_key_file, .initial = "",
                    .about = "file of the keys that encrypt values in the database; the server's "
                             "user must be able to write to its folder; created if missing; "
                             "default: keys/secret.key in the data folder"),
        TEXT_OPTION("blobs", blobs, .initial = "",
                    .about = "folder of backups and archives: an absolute path that the server's "
                             "user can write to, for example on a network disk; default: blobs in "
                             "the data folder"),
        TEXT_OPTION("listen", listen, .initial = "127.0.0.1:7777", .check = check_listen,
                    .about = "where the HTTP API listens: address:port or unix:/path"),
        TEXT_OPTION("tls_listen", tls_listen, .initial = "", .check = check_tls_listen,
                    .about = "where the server also listens for TLS: address:port; empty = no TLS"),
        TEXT_OPTION("tls_cert", tls_cert, .initial = "",
                    .about = "certificate chain in PEM form; reloaded when it changes; default: "
                             "tls/server.pem in the data folder, made by 'atoll tls init'"),
        TEXT_OPTION("tls_key", tls_key, .initial = "",
                    .about = "key of the certificate; default: tls/server.key in the data folder"),
        TEXT_OPTION("peer_url", peer_url, .initial = "", .check = check_peer,
                    .about = "URL at which other servers on the same PostgreSQL reach this server, "
                             "http://ADDRESS:PORT or https://NAME; they forward requests for its "
                             "sandboxes; empty = they refuse such requests and name this server"),
        TEXT_OPTION("peer_ca", peer_ca, .initial = "",
                    .about = "certificate authorities in PEM form that sign the peers' https "
                             "certificates; default: those that the system trusts"),
        TEXT_OPTION(
                "provider", provider, .env = "SANDBOX_PROVIDER", .initial = "native",
                .choices = providers,
                .about = "how sandboxes are made: native = isolated; gvisor = native on a kernel "
                         "of its own; host = without isolation; "
                         "docker = containers of a Docker daemon; "
                         "microvm = virtual machines; "
                         "e2b, daytona = sandboxes of an account at E2B or Daytona; "
                         "kubernetes = pods of a cluster; "
                         "lambda = functions at AWS Lambda, for ephemeral calls; "
                         "null = no real sandboxes, for tests"),
        TEXT_OPTION(
                "providers", providers, .initial = "", .check = check_providers,
                .about = "several providers, as NAME=KIND:KEY=VALUE;KEY=VALUE separated by commas, "
                         "such as native,bare=host:max_sandboxes=20; the first keeps "
                         "templates, snapshots and volumes; in the file also a list with the "
                         "keys name, kind and the settings of docs/operate/providers.md; "
                         "empty = the one that 'provider' names, else that option is not used"),
        TEXT_OPTION("routing", routing, .initial = "", .check = check_routing,
                    .about = "rules that say which providers make a sandbox, as "
                             "NAME:KEY=VALUE;providers=A B separated by commas, such as "
                             "heavy:memory_mb_min=4096;providers=docker native; the first match "
                             "decides; in the file also a list with the keys of "
                             "docs/operate/providers.md; empty = every provider, the first one "
                             "first"),
        TEXT_OPTION("docker_host", docker_host, .env = "DOCKER_HOST",
                    .initial = "unix:///var/run/docker.sock",
                    .about = "with provider docker: where the Docker daemon of this machine "
                             "listens: unix:///path. A user of that socket is root on this "
                             "machine"),
        TEXT_OPTION("docker_image", docker_image, .env = "SANDBOX_WORKER_IMAGE", .initial = "",
                    .about = "with provider docker: image of sandboxes of the template 'host'; "
                             "pulled when it is missing"),
        TEXT_OPTION("docker_runtime", docker_runtime, .initial = "",
                    .about = "with provider docker: which runtime of the daemon runs containers, "
                             "such as runc, crun, runsc or kata; the isolation follows it; empty "
                             "= the daemon's default, taken for namespaces"),
        TEXT_OPTION("docker_images", docker_images, .initial = "",
                    .about = "with provider docker: images that the daemon has and that every "
                             "project may use, separated by commas; any other image must be "
                             "readable at its registry without a login"),
        BOOL_OPTION("host_keep", host_keep, .initial = "false",
                    .about = "with provider host: whether sandboxes go on when the server is "
                             "stopped; without it they end with the server, and only their files "
                             "stay"),
        BOOL_OPTION("gpu_enabled", gpu_enabled, .env = "SANDBOX_GPU_ENABLED", .initial = "false",
                    .about = "with provider docker: whether creates may ask for GPUs of this "
                             "machine (gpus)"),
        BOOL_OPTION("gpu_network_enabled", gpu_network_enabled,
                    .env = "SANDBOX_GPU_NETWORK_ENABLED", .initial = "false",
                    .about = "with gpu_enabled: whether a sandbox with GPUs may have a network; "
                             "without it such a sandbox has none"),
        TEXT_OPTION("microvm_kernel", microvm_kernel, .initial = "/",
                    .about = "with provider microvm: the folder that holds boot/ and lib/modules/ "
                             "of the guest kernel; its newest kernel is taken"),
        TEXT_OPTION("microvm_accelerator", microvm_accelerator, .initial = "auto",
                    .choices = config_accelerators,
                    .about = "with provider microvm: kvm runs machines on the processors of this "
                             "machine, tcg emulates processors; auto = kvm when a trial machine "
                             "boots under it"),
        TEXT_OPTION("microvm_vmm", microvm_vmm, .initial = "qemu", .choices = config_vmms,
                    .about = "with provider microvm: the program that runs virtual machines"),
        TEXT_OPTION("e2b_api_key", e2b_api_key, .env = "E2B_API_KEY", .initial = "",
                    .mask = mask_secret,
                    .about = "with provider e2b: key of the account; the option e2b_api_key of a "
                             "provider replaces it"),
        TEXT_OPTION("e2b_domain", e2b_domain, .env = "E2B_DOMAIN", .initial = "e2b.app",
                    .about = "with provider e2b: domain of the service; the API is at api.DOMAIN, "
                             "ports of sandboxes at PORT-ID.DOMAIN"),
        TEXT_OPTION("e2b_api_url", e2b_api_url, .env = "E2B_API_URL", .initial = "",
                    .about = "with provider e2b: URL of the API of a service of your own; default: "
                             "https://api.DOMAIN"),
        TEXT_OPTION("e2b_sandbox_url", e2b_sandbox_url, .env = "E2B_SANDBOX_URL", .initial = "",
                    .about = "with provider e2b: URL that takes the ports of all sandboxes, told "
                             "apart by headers; empty = names of DOMAIN"),
        TEXT_OPTION("e2b_template", e2b_template, .env = "E2B_TEMPLATE", .initial = "base",
                    .about = "with provider e2b: template of the service for sandboxes of the "
                             "template 'host'"),
        TEXT_OPTION("e2b_templates", e2b_templates, .initial = "",
                    .about = "with provider e2b: templates of the service for other templates, as "
                             "NAME=TEMPLATE separated by spaces"),
        BOOL_OPTION("e2b_allow_internet_access", e2b_allow_internet_access,
                    .env = "E2B_ALLOW_INTERNET_ACCESS", .initial = "true",
                    .about = "with provider e2b: sandboxes may have a network"),
        BOOL_OPTION("e2b_secure_access", e2b_secure_access, .env = "E2B_SECURE_ACCESS",
                    .initial = "true",
                    .about = "with provider e2b: files, processes and ports of a sandbox need its "
                             "tokens; without it everyone who knows its id reaches them"),
        TEXT_OPTION("daytona_api_key", daytona_api_key, .env = "DAYTONA_API_KEY", .initial = "",
                    .mask = mask_secret,
                    .about = "with provider daytona: key of the account; the option "
                             "daytona_api_key of a provider replaces it"),
        TEXT_OPTION("daytona_api_url", daytona_api_url, .env = "DAYTONA_API_URL",
                    .initial = "https://app.daytona.io/api",
                    .about = "with provider daytona: URL of the API"),
        TEXT_OPTION("daytona_target", daytona_target, .env = "DAYTONA_TARGET", .initial = "",
                    .about = "with provider daytona: region of new sandboxes; empty = the "
                             "service's default"),
        TEXT_OPTION("daytona_snapshot", daytona_snapshot, .initial = "",
                    .about = "with provider daytona: snapshot of the service for sandboxes of the "
                             "template 'host'; empty = the service's default"),
        BOOL_OPTION("daytona_block_by_list", daytona_block_by_list, .initial = "false",
                    .about = "with provider daytona: a sandbox without a network is made with an "
                             "allow list of one address that no host has, for a service that "
                             "shows no ports of sandboxes without a network, such as another "
                             "server of Atoll"),
        TEXT_OPTION("daytona_snapshots", daytona_snapshots, .initial = "",
                    .about = "with provider daytona: snapshots of the service for other "
                             "templates, as NAME=SNAPSHOT separated by spaces"),
        TEXT_OPTION("kubernetes_config", kubernetes_config, .env = "KUBECONFIG", .initial = "",
                    .about = "with provider kubernetes: a kubeconfig file; empty = the account of "
                             "the pod that this server runs in"),
        TEXT_OPTION("kubernetes_context", kubernetes_context, .initial = "",
                    .about = "with provider kubernetes: context of that file; empty = its current "
                             "one"),
        TEXT_OPTION("kubernetes_namespace", kubernetes_namespace, .initial = "",
                    .about = "with provider kubernetes: namespace of the pods; empty = that of the "
                             "context, or of this server's pod"),
        TEXT_OPTION("kubernetes_image", kubernetes_image, .initial = "",
                    .about = "with provider kubernetes: image of sandboxes of the template 'host'"),
        TEXT_OPTION("kubernetes_images", kubernetes_images, .initial = "",
                    .about = "with provider kubernetes: images of other templates, as NAME=IMAGE "
                             "separated by spaces"),
        TEXT_OPTION("kubernetes_agent_image", kubernetes_agent_image, .initial = "",
                    .about = "with provider kubernetes: image that holds atoll-agent; an init "
                             "container copies it into each pod"),
        TEXT_OPTION("kubernetes_agent_path", kubernetes_agent_path,
                    .initial = "/usr/libexec/atoll/atoll-agent",
                    .about = "with provider kubernetes: where atoll-agent is in that image"),
        TEXT_OPTION("kubernetes_runtime_class", kubernetes_runtime_class, .initial = "",
                    .about = "with provider kubernetes: RuntimeClass of the pods; the isolation "
                             "follows the handler that it has: runsc = gvisor, kata = microvm, "
                             "all others = namespaces; empty = the cluster's default, taken for "
                             "namespaces"),
        TEXT_OPTION("kubernetes_storage_class", kubernetes_storage_class, .initial = "",
                    .about = "with provider kubernetes: StorageClass of the volume at /home/user, "
                             "whose files outlive a stop; empty = the cluster's default; none = "
                             "sandboxes cannot be stopped"),
        TEXT_OPTION("kubernetes_snapshot_class", kubernetes_snapshot_class, .initial = "none",
                    .about = "with provider kubernetes: VolumeSnapshotClass of snapshots of homes; "
                             "default = the one that the cluster chooses; none = sandboxes have no "
                             "snapshots"),
        WHOLE_OPTION("kubernetes_cpu_request_percent", kubernetes_cpu_request_percent,
                     .initial = "20", .min = 1, .max = 100,
                     .about = "with provider kubernetes: the part of its processor limit that a "
                              "pod reserves, in percent"),
        WHOLE_OPTION("kubernetes_warm_pods", kubernetes_warm_pods, .initial = "0", .max = 100,
                     .about = "with provider kubernetes: pods that run before they are asked for, "
                              "of each of the last four images and limits"),
        BOOL_OPTION("kubernetes_network_policy", kubernetes_network_policy, .initial = "false",
                    .about = "with provider kubernetes: the cluster's network plugin enforces "
                             "NetworkPolicies; without it sandboxes without a network, or with "
                             "network rules, are refused"),
        TEXT_OPTION("lambda_region", lambda_region, .env = "AWS_REGION", .initial = "",
                    .about = "with provider lambda: region of the functions"),
        TEXT_OPTION("lambda_endpoint", lambda_endpoint, .env = "AWS_ENDPOINT_URL_LAMBDA",
                    .initial = "",
                    .about = "with provider lambda: http://HOST:PORT or https://HOST of the "
                             "service; default: https://lambda.REGION.amazonaws.com"),
        TEXT_OPTION("lambda_access_key_id", lambda_access_key_id, .env = "AWS_ACCESS_KEY_ID",
                    .initial = "",
                    .about = "with provider lambda: id of the key that may invoke the functions"),
        TEXT_OPTION("lambda_secret_access_key", lambda_secret_access_key,
                    .env = "AWS_SECRET_ACCESS_KEY", .initial = "", .mask = mask_secret,
                    .about = "with provider lambda: the key"),
        TEXT_OPTION("lambda_session_token", lambda_session_token, .env = "AWS_SESSION_TOKEN",
                    .initial = "", .mask = mask_secret,
                    .about = "with provider lambda: token of a key that expires; empty = none"),
        TEXT_OPTION("sandbox_fn_mount_net", sandbox_fn_mount_net, .env = "SANDBOX_FN_MOUNT_NET",
                    .initial = "",
                    .about = "with provider lambda: name or ARN of the function for calls with a "
                             "workspace and a network; empty = there is none"),
        TEXT_OPTION("sandbox_fn_mount_nonet", sandbox_fn_mount_nonet,
                    .env = "SANDBOX_FN_MOUNT_NONET", .initial = "",
                    .about = "with provider lambda: the function for calls with a workspace and "
                             "without a network"),
        TEXT_OPTION("sandbox_fn_nomount_net", sandbox_fn_nomount_net,
                    .env = "SANDBOX_FN_NOMOUNT_NET", .initial = "",
                    .about = "with provider lambda: the function for calls without a workspace "
                             "and with a network"),
        TEXT_OPTION("sandbox_fn_nomount_nonet", sandbox_fn_nomount_nonet,
                    .env = "SANDBOX_FN_NOMOUNT_NONET", .initial = "",
                    .about = "with provider lambda: the function for calls without a workspace "
                             "and without a network"),
        TEXT_OPTION("lambda_templates", lambda_templates, .initial = "host base",
                    .about = "with provider lambda: templates that the image of the functions "
                             "stands for, separated by spaces; creates from others are refused"),
        TEXT_OPTION("lambda_workspace_project", lambda_workspace_project, .initial = "",
                    .about = "with provider lambda: id of the one project whose calls may have "
                             "workspaces, because the functions share a file system; empty = no "
                             "project's"),
        WHOLE_OPTION("lambda_memory_mb", lambda_memory_mb, .initial = "1024", .min = 128,
                     .max = 1024,
                     .about = "with provider lambda: MB of memory that each function has"),
        TEXT_OPTION("user", user, .initial = "",
                    .about = "unprivileged user that atolld runs as when root starts it; default: "
                             "atoll if that user exists, else nobody"),
        TEXT_OPTION("log_level", log_level, .initial = "info", .choices = log_levels,
                    .about = "least important level that is logged"),
        TEXT_OPTION("log_format", log_format, .initial = "text", .choices = log_formats,
                    .about = "text = logfmt, for people; json = an object per line"),
        TEXT_OPTION("debug", debug, .initial = "",
                    .about = "folders of src/ whose debug lines are logged, separated by commas, "
                             "or 'all'"),
        WHOLE_OPTION("workers", workers, .initial = "16", .min = 2, .max = 256,
                     .about = "worker threads for ordinary requests; in addition, half as many do "
                              "slow work and as many work on files"),
        WHOLE_OPTION("agent_calls_max", agent_calls_max, .initial = "128", .min = 2, .max = 256,
                     .about = "threads that call agents in sandboxes, in addition to the workers; "
                              "started on demand. Calls that may take minutes have half as many "
                              "further threads"),
        WHOLE_OPTION("agent_calls_per_sandbox_max", agent_calls_per_sandbox_max, .initial = "4",
                     .min = 1, .max = 256,
                     .about = "agent calls into one sandbox at once; more wait in a queue. Calls "
                              "that may take minutes have a separate limit of the same size"),
        WHOLE_OPTION("agent_calls_per_key_max", agent_calls_per_key_max, .initial = "12", .min = 1,
                     .max = 256, .about = "agent calls of one key at once; more wait in a queue"),
        WHOLE_OPTION("agent_calls_per_project_max", agent_calls_per_project_max, .initial = "16",
                     .min = 1, .max = 256,
                     .about = "agent calls of one project at once; more wait in a queue"),
        DURATION_OPTION("agent_wait", agent_wait_ms, .initial = "10s", .min = 100, .max = 3600000,
                        .about = "how long an agent call waits in its queue before it is refused"),
        SIZE_OPTION("body_max", body_max, .initial = "1M", .min = 1024, .max = 64 << 20,
                    .about = "largest JSON body; files are streamed and have no such limit"),
        WHOLE_OPTION("connections_max", connections_max, .initial = "8192", .min = 1,
                     .max = 1000000,
                     .about = "open client connections; one project may hold seven eighths of "
                              "them; new connections replace idle ones"),
        WHOLE_OPTION(
                "tool_calls_max", tool_calls_max, .initial = "64", .min = 2, .max = 256,
                .about = "tool calls at once; more wait in a queue. A tool call may take minutes"),
        WHOLE_OPTION("tool_calls_per_sandbox_max", tool_calls_per_sandbox_max, .initial = "16",
                     .min = 1, .max = 256,
                     .about = "tool calls in one sandbox at once; more wait in a queue"),
        WHOLE_OPTION("tool_calls_per_key_max", tool_calls_per_key_max, .initial = "48", .min = 1,
                     .max = 256, .about = "tool calls of one key at once; more wait in a queue"),
        WHOLE_OPTION("requests_per_key_max", requests_per_key_max, .initial = "256", .min = 1,
                     .max = 1000000, .about = "requests of one key at once; more wait in a queue"),
        WHOLE_OPTION("requests_waiting_per_key_max", requests_waiting_per_key_max,
                     .initial = "1024", .min = 1, .max = 1000000,
                     .about = "requests of one key that may wait in that queue; more are refused"),
        DURATION_OPTION("request_wait", request_wait_ms, .initial = "30s", .min = 100,
                        .max = 3600000,
                        .about = "how long a request waits in that queue before it is refused"),
        DURATION_OPTION("drain", drain_ms, .initial = "30s", .max = 3600000,
                        .about = "how long running calls and uploads may continue after the server "
                                 "is told to stop; new ones are refused"),
        DURATION_OPTION("drain_delay", drain_delay_ms, .initial = "0s", .max = 600000,
                        .about = "how long the server still takes new requests after it is told to "
                                 "stop, while /readyz answers 503: a load balancer needs this time "
                                 "to send them elsewhere"),
        DURATION_OPTION(
                "ready_probe_every", ready_probe_every_ms, .initial = "10s", .max = 3600000,
                .about = "how long /readyz reuses the result of its last test sandboxes; 0 = "
                         "/readyz makes no sandboxes and checks only the store and the provider"),
        TEXT_OPTION("ready_networks", ready_networks, .initial = "off,on,rules",
                    .check = check_ready_networks,
                    .about = "kinds of test sandboxes that /readyz makes, separated by commas: off "
                             "(no internet), on (internet), rules (network rules); use 'off' on a "
                             "host without internet"),
        DURATION_OPTION("idle_exit", idle_exit_ms, .initial = "0s", .max = YEAR_MS,
                        .about = "the server exits after this time without a request or a sandbox; "
                                 "0 = never"),

        WHOLE_OPTION("events_max", events_max, .initial = "200000", .min = 1000, .max = 100000000,
                     .about = "events that are kept; the oldest are dropped first"),
        DURATION_OPTION("orphan_timeout", orphan_timeout_ms, .initial = "1h", .max = YEAR_MS,
                        .about = "a sandbox ends itself when its server has been gone for this "
                                 "long, rounded up to whole seconds; 0 = never"),
        DURATION_OPTION("clock_hold", clock_hold_ms, .initial = "1h", .max = YEAR_MS,
                        .about = "how long timed removals are suspended after the machine's clock "
                                 "jumps forward; 0 = not at all"),
        DURATION_OPTION(
                "orphans_keep", orphans_keep_ms, .initial = "24h", .max = YEAR_MS,
                .about = "how long the trash keeps orphans: files of sandboxes, snapshots and "
                         "layers that the store does not know; 0 = they are deleted immediately"),
        WHOLE_OPTION("orphans_max", orphans_max, .initial = "32", .max = 1000000,
                     .about = "a start or sweep removes no orphans and logs an error if it finds "
                              "more of them than this and more than a tenth of the store's rows"),
        DURATION_OPTION("deleted_keep", deleted_keep_ms, .initial = "10m", .max = YEAR_MS,
                        .about = "how long a sandbox deleted with keep=true, as by 'atoll rm "
                                 "--all', can be restored; 0 = not at all"),
        DURATION_OPTION("failed_keep", failed_keep_ms, .initial = "7d", .max = YEAR_MS,
                        .about = "how long failed templates, failed backups and failed sandboxes "
                                 "without files stay listed; 0 = until they are deleted"),
        SIZE_OPTION("trash_bytes_max", trash_bytes_max, .initial = "20G", .min = 0,
                    .max = INT64_C(1) << 50,
                    .about = "largest size of the trash; above it, the oldest entries are deleted "
                             "early, orphans last; 0 = no limit"),
        DURATION_OPTION("events_keep", events_keep_ms, .initial = "7d", .min = 60000,
                        .max = YEAR_MS, .about = "how long an event is kept"),
        DURATION_OPTION("activity_keep", activity_keep_ms, .initial = "7d", .min = 60000,
                        .max = YEAR_MS,
                        .about = "how long a row of activity is kept, also after its sandbox is "
                                 "deleted"),
        WHOLE_OPTION("activity_max", activity_max, .initial = "2000", .min = 10, .max = 1000000,
                     .about = "rows of activity that are kept of each sandbox, of about 5 KiB at "
                              "most; the oldest are dropped first"),
        WHOLE_OPTION("activity_total_max", activity_total_max, .initial = "1000000", .min = 1000,
                     .max = 100000000,
                     .about = "rows of activity that are kept of all sandboxes together"),
        BOOL_OPTION("audit_calls", audit_calls, .initial = "true",
                    .about = "whether calls into sandboxes (commands, code, files, tools) have "
                             "rows in the audit; other writes always have"),
        DURATION_OPTION("audit_keep", audit_keep_ms, .initial = "400d", .min = 86400000,
                        .max = INT64_C(3660) * 86400000,
                        .about = "how long a row of the audit is kept; older rows go up to a "
                                 "checkpoint, so that the rest can be verified"),
        WHOLE_OPTION("audit_max", audit_max, .initial = "10000000", .min = 10000, .max = 1000000000,
                     .about = "rows of the audit that are kept, of about 1 KiB each"),
        TEXT_OPTION("otlp_endpoint", otlp_endpoint, .env = "OTEL_EXPORTER_OTLP_ENDPOINT",
                    .initial = "", .check = check_otlp_endpoint,
                    .about = "URL of an OpenTelemetry collector that takes OTLP over HTTP, such as "
                             "http://127.0.0.1:4318; traces go to /v1/traces and metrics to "
                             "/v1/metrics below it; empty = neither"),
        TEXT_OPTION("otlp_headers", otlp_headers, .env = "OTEL_EXPORTER_OTLP_HEADERS",
                    .initial = "", .check = check_otlp_headers, .mask = mask_secret,
                    .about = "headers for the collector: NAME=VALUE,NAME=VALUE, values "
                             "percent-encoded"),
        TEXT_OPTION("otlp_service_name", otlp_service_name, .env = "OTEL_SERVICE_NAME",
                    .initial = "atoll", .about = "service.name in traces and metrics"),
        NUMBER_OPTION("otlp_traces_ratio", otlp_traces_ratio, .env = "OTEL_TRACES_SAMPLER_ARG",
                      .initial = "1", .max = 1,
                      .about = "fraction of the requests without a traceparent that are traced, 0 "
                               "to 1; with one, its flag decides"),
        DURATION_OPTION("otlp_metrics_interval", otlp_metrics_interval_ms, .initial = "60s",
                        .min = 1000, .max = 86400000,
                        .about = "time between two exports of all metrics"),
        DURATION_OPTION("otlp_timeout", otlp_timeout_ms, .initial = "10s", .min = 100,
                        .max = 300000, .about = "time that the collector may take for one export"),
        WHOLE_OPTION("otlp_spans_max", otlp_spans_max, .initial = "4096", .min = 64, .max = 65536,
                     .about = "spans that may wait for the collector, of about 700 bytes each; "
                              "later ones are dropped and counted"),
        WHOLE_OPTION("webhooks_max", webhooks_max, .initial = "20", .min = 1, .max = 1000,
                     .about = "webhooks per project"),
        WHOLE_OPTION("webhook_tries", webhook_tries, .initial = "17", .min = 1, .max = 50,
                     .about = "delivery attempts before a delivery is dead; 17 attempts take about "
                              "a day"),
        WHOLE_OPTION("storage_max_mb", storage_max_mb, .initial = "0", .max = 1 << 30,
                     .about = "MiB of templates, snapshots, backups and volumes per project, "
                              "unless the project sets its own limit; 0 = no limit"),
        WHOLE_OPTION("artifacts_max_mb", artifacts_max_mb, .initial = "10240", .max = 1 << 30,
                     .about = "MiB of artifacts per project, unless the project's settings set "
                              "their own limit; 0 = no limit"),
        WHOLE_OPTION("artifact_max_mb", artifact_max_mb, .initial = "1024", .min = 1,
                     .max = 1 << 20, .about = "MiB of one artifact"),
        DURATION_OPTION("artifacts_keep", artifacts_keep_ms, .initial = "30d", .max = 100 * YEAR_MS,
                        .about = "how long an artifact is kept, unless the project's settings say "
                                 "otherwise; 0 = forever"),

        DURATION_OPTION("webhook_retry", webhook_retry_ms, .initial = "5s", .min = 10,
                        .max = 3600000,
                        .about = "delay between the first and the second delivery attempt; each "
                                 "further delay is twice as long, up to four hours"),
        BOOL_OPTION("webhook_allow_private", webhook_allow_private, .initial = "false",
                    .about = "allow webhooks to loopback, private and link-local addresses; users "
                             "who may create webhooks can then reach the server's own network"),
        BOOL_OPTION(
                "registry_allow_private", registry_allow_private, .initial = "false",
                .about = "allow image pulls from loopback, private and link-local addresses; users "
                         "who may create templates can then reach the server's own network"),

        TEXT_OPTION("jobs_callback_url", jobs_callback_url, .initial = "", .check = check_callback,
                    .about = "URL at which sandboxes reach this server, http://ADDRESS:PORT; "
                             "agents report ended background jobs there; the server also watches "
                             "the jobs itself"),
        DURATION_OPTION("jobs_keep", jobs_keep_ms, .initial = "7d", .min = 60000,
                        .max = 100 * YEAR_MS, .about = "how long ended background jobs are kept"),

        NUMBER_OPTION("default_cpu", defaults.cpu, .env = "SANDBOX_DEFAULT_CPU", .initial = "0.5",
                      .max = 1024,
                      .about = "vCPUs of a sandbox, unless its create request sets them"),
        WHOLE_OPTION("default_memory_mb", defaults.memory_mb, .env = "SANDBOX_DEFAULT_MEMORY_MB",
                     .initial = "1024", .min = 16, .max = 16 << 20,
                     .about = "MiB of memory of a sandbox, unless its create request sets them"),
        WHOLE_OPTION("default_disk_mb", defaults.disk_mb, .env = "SANDBOX_DEFAULT_DISK_MB",
                     .initial = "1024", .min = 16, .max = 1 << 30,
                     .about = "MiB of disk of a sandbox, unless its create request sets them"),
        WHOLE_OPTION(
                "default_pids", defaults.pids, .env = "SANDBOX_DEFAULT_PIDS", .initial = "512",
                .min = 8, .max = 1 << 22,
                .about = "processes and threads of a sandbox, unless its create request sets them"),
        NUMBER_OPTION("max_cpu", caps.cpu, .env = "SANDBOX_MAX_CPU", .initial = "0", .max = 1024,
                      .about = "most vCPUs of one sandbox; 0 = no limit"),
        WHOLE_OPTION("max_memory_mb", caps.memory_mb, .env = "SANDBOX_MAX_MEMORY_MB",
                     .initial = "0", .max = 16 << 20,
                     .about = "most MiB of memory of one sandbox; 0 = no limit"),
        WHOLE_OPTION("max_disk_mb", caps.disk_mb, .env = "SANDBOX_MAX_DISK_MB", .initial = "0",
                     .max = 1 << 30, .about = "most MiB of disk of one sandbox; 0 = no limit"),
        WHOLE_OPTION("max_pids", caps.pids, .env = "SANDBOX_MAX_PIDS", .initial = "0",
                     .max = 1 << 22,
                     .about = "most processes and threads of one sandbox; 0 = no limit"),
        WHOLE_OPTION("sandboxes_max", sandboxes_max, .initial = "2000", .min = 1, .max = 1000000,
                     .about = "sandboxes per project"),
        WHOLE_OPTION("sessions_max", sessions_max, .env = "SANDBOX_MAX_SESSIONS", .initial = "50",
                     .min = 1, .max = 1000000, .about = "sessions of /v1/sandbox at once"),
        SIZE_OPTION("output_limit", output_limit_bytes, .initial = "256K", .min = 1024,
                    .max = CONFIG_OUTPUT_LIMIT_MAX,
                    .about = "bytes of stdout and of stderr that a command's result holds; streams "
                             "are never cut"),
        DURATION_OPTION(
                "exec_timeout", exec_timeout_ms, .initial = "10m", .max = YEAR_MS,
                .about = "time limit of a command, unless its request sets one; 0 = no limit"),
        DURATION_OPTION(
                "idle_reap", timeouts.idle_reap_ms, .env = "SANDBOX_IDLE_REAP_SECONDS",
                .initial = "30m", .max = YEAR_MS,
                .about = "an ephemeral sandbox is removed after this time without use; 0 = never"),
        DURATION_OPTION("idle_pause", timeouts.idle_pause_ms, .env = "SANDBOX_IDLE_TIMEOUT_MS",
                        .initial = "5m", .max = YEAR_MS,
                        .about = "a sandbox is paused after this time without use; its next use "
                                 "resumes it; 0 = never"),
        DURATION_OPTION("idle_stop", timeouts.idle_stop_ms, .env = "SANDBOX_IDLE_STOP_SECONDS",
                        .initial = "24h", .max = YEAR_MS,
                        .about = "a sandbox is stopped after this time without use; its files are "
                                 "kept and its next use starts it; 0 = never"),
        DURATION_OPTION("agent_timeout", agent_timeout_ms, .initial = "10s", .min = 100,
                        .max = 60000,
                        .about = "how long a call waits for an agent to list, look up or change "
                                 "something small"),
        DURATION_OPTION("session_idle", session_idle_ms, .env = "SANDBOX_IDLE_TIMEOUT",
                        .initial = "15m", .max = YEAR_MS,
                        .about = "a /v1/sandbox session and its sandbox are removed after this "
                                 "time without use; 0 = never"),
        DURATION_OPTION("leases_keep", leases_keep_ms, .initial = "30d", .max = YEAR_MS,
                        .about = "a lease without a sandbox is deleted, with its specification, "
                                 "after this time without use; 0 = never"),
        DURATION_OPTION("lifetime_max", timeouts.lifetime_max_ms, .env = "AGENT_RUN_TIMEOUT_MS",
                        .initial = "7d", .max = YEAR_MS,
                        .about = "an ephemeral sandbox is removed at this age; a persistent one is "
                                 "stopped this long after its start; 0 = never"),
        TEXT_OPTION("default_template", default_template, .initial = "base",
                    .check = sandbox_name_check,
                    .about = "template of a sandbox, unless its create request names one"),
        BOOL_OPTION("internet", internet, .initial = "true",
                    .about = "whether a sandbox reaches the internet, unless its create request "
                             "says so; private networks stay blocked"),

        WHOLE_OPTION("builds_at_once", builds_at_once, .initial = "4", .min = 1, .max = 64,
                     .about = "first builds of default templates and image imports at once; more "
                              "wait in a queue that serves projects in turn"),
        WHOLE_OPTION("uploads_max", uploads_max, .initial = "64", .min = 1, .max = 1024,
                     .about = "uploads of images, backups and copy-step files at once, including "
                              "those in the queue; more are refused"),
        WHOLE_OPTION("uploads_per_project_max", uploads_per_project_max, .initial = "16", .min = 1,
                     .max = 1024,
                     .about = "such uploads of one project at once, including those in the queue; "
                              "more are refused"),
        DURATION_OPTION("upload_idle", upload_idle_ms, .initial = "60s", .min = 1000,
                        .max = 3600000,
                        .about = "such an upload is aborted when no byte arrives for this long"),
        SIZE_OPTION("upload_rate_min", upload_rate_min, .initial = "1K", .min = 0, .max = 1 << 30,
                    .about = "such an upload is aborted when it is older than upload_idle and "
                             "slower than this many bytes per second; 0 = no minimum"),
        WHOLE_OPTION("builds_max", builds_max, .initial = "2", .min = 1, .max = 16,
                     .about = "template builds by steps at once; more wait in a queue"),
        SIZE_OPTION("build_cache_bytes_max", build_cache_bytes_max, .initial = "20G", .min = 0,
                    .max = INT64_C(1) << 50,
                    .about = "largest size of the build cache: step results that no template "
                             "needs; 0 = no cache"),
        SIZE_OPTION("image_cache_bytes_max", image_cache_bytes_max, .initial = "20G", .min = 0,
                    .max = INT64_C(1) << 50,
                    .about = "largest size of the images that creates and builds have pulled by "
                             "name and that nothing uses; the least recently used goes first"),
        DURATION_OPTION("image_keep", image_keep_ms, .initial = "7d", .max = YEAR_MS,
                        .about = "such an image is removed when it has not been used for this "
                                 "long; 0 = never"),

        TEXT_OPTION("hosts", hosts, .initial = "", .check = check_hosts,
                    .about = "host names by which clients reach the server, separated by commas; "
                             "localhost, addresses and the machine's own name are always accepted; "
                             "* = any, if a proxy in front checks the name"),
        TEXT_OPTION("cors_origins", cors_origins, .initial = "", .check = check_origins,
                    .about = "origins whose pages may call the API with a key or a sandbox token, "
                             "separated by commas, such as https://app.example.com; * = any; empty "
                             "= none"),
        TEXT_OPTION("preview_ports", preview_ports, .env = "SANDBOX_PREVIEW_PORTS",
                    .initial = "1024-65535", .check = check_ports,
                    .about = "ports that previews may show, besides those of the template: numbers "
                             "and ranges separated by commas, or 'any'; empty = only the "
                             "template's"),
        BOOL_OPTION("preview_sharing", preview_sharing, .initial = "true",
                    .about = "whether links for people without a key may be made, and work"),
        TEXT_OPTION("preview_secret", preview_secret, .env = "SANDBOX_PREVIEW_SECRET",
                    .initial = "", .check = check_secret, .mask = mask_secret,
                    .about = "secret that signs share links of previews, at least 16 characters; "
                             "empty = the one that the server has made and keeps in its database; "
                             "another value ends all links made before"),
        TEXT_OPTION("preview_domain", preview_domain, .env = "SANDBOX_PREVIEW_DOMAIN",
                    .initial = "", .check = check_domain,
                    .about = "domain for previews at PORT-ID.DOMAIN; all of its subdomains must "
                             "lead to this server; empty = none"),
        TEXT_OPTION("preview_origin", preview_origin, .env = "SANDBOX_PREVIEW_ORIGIN",
                    .initial = "", .check = check_origin,
                    .about = "https://HOST of previews by link: a second name of this server that "
                             "serves nothing else; empty = only the browser's iframe sandbox "
                             "separates the pages"),
        BOOL_OPTION("mcp_fixtures", mcp_fixtures, .initial = "false",
                    .about = "for conformance tests of MCP only: /mcp also has the tools, "
                             "resources and prompts that the protocol's suite calls; refused "
                             "unless listen and tls_listen are loopback addresses"),

        TEXT_OPTION("public_url", public_url, .initial = "", .check = check_origin,
                    .about = "where browsers reach this server, such as "
                             "https://atoll.example.com; for links in invitations and for OpenID "
                             "Connect; empty = the address by which a request came"),
        BOOL_OPTION("sign_in_password", sign_in_password, .initial = "true",
                    .about = "whether users may sign in with a password; keys always work"),
        TEXT_OPTION("oidc_issuer", oidc_issuer, .initial = "", .check = check_issuer,
                    .about = "provider of OpenID Connect by which users sign in, exactly as its "
                             "document names it, such as https://login.example.com; the callback "
                             "to register there is PUBLIC_URL/v1/sign-in/oidc/callback; empty = "
                             "none"),
        TEXT_OPTION("oidc_client_id", oidc_client_id, .initial = "",
                    .about = "id of this server at the provider"),
        TEXT_OPTION("oidc_client_secret", oidc_client_secret, .initial = "", .mask = mask_secret,
                    .about = "secret of this server at the provider; empty = a public client"),
        TEXT_OPTION("oidc_name", oidc_name, .initial = "Single sign-on",
                    .about = "what the console calls the provider"),
        TEXT_OPTION("oidc_scopes", oidc_scopes, .initial = "openid email profile",
                    .about = "what is asked for, separated by spaces; some providers tell groups "
                             "only with a scope such as groups"),
        TEXT_OPTION("oidc_groups_claim", oidc_groups_claim, .initial = "groups",
                    .about = "claim that lists a person's groups"),
        TEXT_OPTION("oidc_roles", oidc_roles, .initial = "", .check = check_group_roles,
                    .about = "roles that groups give, such as "
                             "admins=admin@default,devs=member@default; a project's row decides "
                             "at each sign-in; admin@* = an admin of the server"),
        DURATION_OPTION("sign_in_idle", sign_in_idle_ms, .initial = "3d", .min = 60000,
                        .max = YEAR_MS,
                        .about = "a session in a browser ends after this time without use"),
        DURATION_OPTION("sign_in_lifetime", sign_in_lifetime_ms, .initial = "30d", .min = 60000,
                        .max = YEAR_MS,
                        .about = "a session in a browser ends after this time in any case"),
        DURATION_OPTION("invitation_keep", invitation_keep_ms, .initial = "7d", .min = 1000,
                        .max = YEAR_MS, .about = "how long the link of an invitation works"),

        NUMBER_OPTION(
                "price_vcpu_second", price_vcpu_second, .initial = "0", .max = PRICE_MAX_USD,
                .about =
                        "US dollars per vCPU and second of a started sandbox; up to nine decimals"),
        NUMBER_OPTION("price_memory_gib_second", price_memory_gib_second, .initial = "0",
                      .max = PRICE_MAX_USD,
                      .about = "US dollars per GiB of memory limit and second of a started "
                               "sandbox; up to nine decimals"),
        NUMBER_OPTION("price_storage_gib_month", price_storage_gib_month, .initial = "0",
                      .max = PRICE_MAX_USD,
                      .about = "US dollars per GiB of kept files and 730 hours; charged only where "
                               "disk limits are enforced, because sizes are unknown elsewhere"),
        DURATION_OPTION("usage_flush", usage_flush_ms, .initial = "1m", .min = 1000, .max = 3600000,
                        .about = "how often usage is written and budgets are checked"),
        DURATION_OPTION("usage_keep", usage_keep_ms, .initial = "366d", .max = 100 * YEAR_MS,
                        .about = "how long hourly usage is kept; 0 = forever"),
        DURATION_OPTION("metrics_every", metrics_every_ms, .initial = "15s", .max = 3600000,
                        .about = "how often each running sandbox is measured; the last 240 "
                                 "measurements are kept in memory; 0 = never"),

        TEXT_OPTION("disk_quota", disk_quota, .env = "SANDBOX_DISK_QUOTA", .initial = "auto",
                    .choices = disk_quotas,
                    .about = "what enforces disk limits: project = quotas of the data folder's "
                             "filesystem (ext4, xfs); image = a disk image per sandbox, which "
                             "snapshots do not support; both refuse to start if unsupported; auto "
                             "= project if a probe succeeds, else nothing; on = image if "
                             "supported, else nothing; off = nothing"),
        TEXT_OPTION("disk_watch", disk_watch, .initial = "on", .choices = on_off,
                    .about = "on = where nothing enforces a disk limit, a sandbox that exceeds it "
                             "is paused with the reason 'disk'"),
        WHOLE_OPTION("disk_inodes", disk_inodes, .initial = "131072", .max = 1 << 24,
                     .about = "files and folders that a sandbox may have per GiB of its disk "
                              "limit, where disk_watch counts them; 0 = no limit"),
        WHOLE_OPTION("io_mbps", io_mbps, .env = "SANDBOX_MAX_IO_MBPS", .initial = "0",
                     .max = CONFIG_IO_MBPS_MAX,
                     .about = "MB per second that a sandbox may read, and write, on the data "
                              "folder's disk; 0 = no limit, sandboxes share the disk equally"),
        WHOLE_OPTION("cells", cells, .initial = "8", .max = CONFIG_CELLS_MAX,
                     .about = "prewarmed sandboxes that are kept ready, per kind of network"),
        WHOLE_OPTION("pool_automatic", pool_automatic, .initial = "4", .max = CONFIG_POOL_MAX,
                     .about = "ready sandboxes that are kept for each of the last few kinds of "
                              "create requests"),
        WHOLE_OPTION("pool_max", pool_max, .initial = "64", .max = CONFIG_POOL_MAX,
                     .about = "ready sandboxes at once, over all templates"),
        TEXT_OPTION("network_subnet", network_subnet, .initial = "10.213.0.0/16",
                    .check = check_subnet, .about = "IPv4 network of the sandboxes' addresses"),
        TEXT_OPTION("network_allow", network_allow, .initial = "", .check = check_networks,
                    .about = "networks inside the blocked private ranges that sandboxes may reach, "
                             "separated by commas"),
        TEXT_OPTION("network_ipv6", network_ipv6, .initial = "auto", .choices = ipv6_modes,
                    .about =
                            "auto = sandboxes with internet have IPv6 where the host has a default "
                            "route of IPv6, forwards it, and there is no network_proxy; off = "
                            "they have it on loopback only"),
        TEXT_OPTION("network_ipv6_subnet", network_ipv6_subnet, .initial = "fd61:746f:6c6c::/64",
                    .check = check_ipv6_subnet,
                    .about = "IPv6 network of the sandboxes' addresses, in fc00::/7"),
        TEXT_OPTION("network_nameservers", network_nameservers, .initial = "",
                    .check = check_nameservers,
                    .about = "IPv4 addresses of the nameservers that resolve host names of network "
                             "rules, separated by commas; default: the host's own nameservers"),
        TEXT_OPTION("network_proxy", network_proxy, .initial = "", .check = check_network_proxy,
                    .about = "HTTP proxy through which all connections of sandboxes leave, such as "
                             "http://proxy.example.com:3128; they reach HTTP and TLS alone then; "
                             "default: none"),
        TEXT_OPTION("network_proxy_login_file", network_proxy_login_file, .initial = "",
                    .about =
                            "file with the login at network_proxy, one line USER:PASSWORD; read at "
                            "the start; default: no login"),
        TEXT_OPTION("region", region, .initial = "local", .check = sandbox_name_check,
                    .about = "name of this machine's location, shown with its sandboxes"),
        {.name = NULL},
};
