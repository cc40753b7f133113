/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include "config/check.h"
#include "config/mask.h"

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

static const char *const providers[] = {"native", "host", "null", NULL};
static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const on_off[] = {"off", "on", NULL};
static const char *const disk_quotas[] = {"off", "on", "auto", "project", "image", NULL};

const struct config_option config_options[] = {
        TEXT_OPTION("data", data_dir, .initial = "",
                    .about = "folder of the store, the templates and the sandboxes; when empty, "
                             "/var/lib/atoll for root, for others $XDG_DATA_HOME/atoll or "
                             "~/.local/share/atoll"),
        TEXT_OPTION("store", store, .initial = "", .check = check_store, .mask = mask_store,
                    .about = "database: postgresql://user@host/name, postgresql: and a libpq "
                             "conninfo, or sqlite: and a path; when empty, SQLite in the data "
                             "folder"),
        TEXT_OPTION("secret_key_file", secret_key_file, .initial = "",
                    .about = "keys of the values that are encrypted in the database, in a folder "
                             "that the server's user may write; made when missing; when empty, "
                             "keys/secret.key in the data folder"),
        TEXT_OPTION("blobs", blobs, .initial = "",
                    .about = "folder of backups and archives, an absolute path that the server's "
                             "user may write to, on a network's disk if you like; when empty, "
                             "blobs in the data folder"),
        TEXT_OPTION("listen", listen, .initial = "127.0.0.1:7777", .check = check_listen,
                    .about = "where the HTTP API listens: address:port or unix:/path"),
        TEXT_OPTION("tls_listen", tls_listen, .initial = "", .check = check_tls_listen,
                    .about = "where it listens for TLS as well: address:port; when empty, nowhere"),
        TEXT_OPTION("tls_cert", tls_cert, .initial = "",
                    .about = "certificate in PEM form, with the chain behind it; read again when "
                             "it changes; when empty, tls/server.pem in the data folder, which "
                             "'atoll tls init' makes"),
        TEXT_OPTION("tls_key", tls_key, .initial = "",
                    .about = "key of that certificate; when empty, tls/server.key in the data "
                             "folder"),
        TEXT_OPTION("peer_url", peer_url, .initial = "", .check = check_peer,
                    .about = "where other servers on the same PostgreSQL reach this one, "
                             "http://ADDRESS:PORT or https://NAME: they pass on what is asked of "
                             "its sandboxes; when empty, they refuse that and name this server"),
        TEXT_OPTION("peer_ca", peer_ca, .initial = "",
                    .about = "certificates in PEM form that those of such servers, if https, have "
                             "to be signed by; when empty, those that the system trusts"),
        TEXT_OPTION("provider", provider, .env = "SANDBOX_PROVIDER", .initial = "native",
                    .choices = providers,
                    .about = "how sandboxes are made; host has no isolation, null makes nothing"),
        TEXT_OPTION("user", user, .initial = "",
                    .about = "unprivileged user that atolld runs as when root starts it; when "
                             "empty, atoll if there is one, else nobody"),
        TEXT_OPTION("log_level", log_level, .initial = "info", .choices = log_levels,
                    .about = "least important kind of line that is logged"),
        TEXT_OPTION("debug", debug, .initial = "",
                    .about = "folders of src/ whose debug lines are on, with commas, or all"),
        WHOLE_OPTION("workers", workers, .initial = "16", .min = 2, .max = 256,
                     .about = "threads that run requests; half as many do slow work, and as many "
                              "work on files, beside them"),
        WHOLE_OPTION("agent_calls_max", agent_calls_max, .initial = "128", .min = 2, .max = 256,
                     .about = "threads that call into sandboxes; they are made when they are "
                              "needed, beside the workers. Calls that may take minutes have half "
                              "as many beside them"),
        WHOLE_OPTION("agent_calls_per_sandbox_max", agent_calls_per_sandbox_max, .initial = "4",
                     .min = 1, .max = 256,
                     .about = "such calls into one sandbox at once; more wait in a queue. Calls "
                              "that may take minutes have as many beside them"),
        WHOLE_OPTION("agent_calls_per_key_max", agent_calls_per_key_max, .initial = "12", .min = 1,
                     .max = 256, .about = "the same with one key"),
        WHOLE_OPTION("agent_calls_per_project_max", agent_calls_per_project_max, .initial = "16",
                     .min = 1, .max = 256, .about = "the same of one project"),
        DURATION_OPTION("agent_wait", agent_wait_ms, .initial = "10s", .min = 100, .max = 3600000,
                        .about = "how long such a call waits in its queue before it is refused"),
        SIZE_OPTION("body_max", body_max, .initial = "1M", .min = 1024, .max = 64 << 20,
                    .about = "largest JSON body; files are streamed and have no such limit"),
        WHOLE_OPTION("connections_max", connections_max, .initial = "8192", .min = 1,
                     .max = 1000000,
                     .about = "open connections of clients, of which a project has seven eighths "
                              "at most; "
                              "idle ones give way to new ones"),
        WHOLE_OPTION("tool_calls_max", tool_calls_max, .initial = "64", .min = 2, .max = 256,
                     .about = "tool calls at once, each of which may wait for minutes; more wait "
                              "in a queue"),
        WHOLE_OPTION("tool_calls_per_sandbox_max", tool_calls_per_sandbox_max, .initial = "16",
                     .min = 1, .max = 256,
                     .about = "the same in one sandbox; more wait in a queue"),
        WHOLE_OPTION("tool_calls_per_key_max", tool_calls_per_key_max, .initial = "48", .min = 1,
                     .max = 256, .about = "the same with one key"),
        WHOLE_OPTION("requests_per_key_max", requests_per_key_max, .initial = "256", .min = 1,
                     .max = 1000000,
                     .about = "requests of one key at once; more wait for their turn"),
        WHOLE_OPTION("requests_waiting_per_key_max", requests_waiting_per_key_max,
                     .initial = "1024", .min = 1, .max = 1000000,
                     .about = "requests of one key that wait so; more are refused"),
        DURATION_OPTION("request_wait", request_wait_ms, .initial = "30s", .min = 100,
                        .max = 3600000,
                        .about = "how long such a request waits before it is refused"),
        DURATION_OPTION("drain", drain_ms, .initial = "30s", .max = 3600000,
                        .about = "how long calls and uploads that run may go on when the server "
                                 "is told to stop; new ones are refused meanwhile"),
        DURATION_OPTION("ready_probe_every", ready_probe_every_ms, .initial = "10s", .max = 3600000,
                        .about = "how long /readyz goes by the last sandboxes that it made and "
                                 "ended; 0 = it makes none and asks only store and provider"),
        TEXT_OPTION("ready_networks", ready_networks, .initial = "off,on,rules",
                    .check = check_ready_networks,
                    .about = "sandboxes that /readyz makes, with commas between: off (without "
                             "internet), on (with it), rules (with network rules); 'off' for a "
                             "host without internet"),
        DURATION_OPTION("idle_exit", idle_exit_ms, .initial = "0s", .max = YEAR_MS,
                        .about = "the server ends after so long without a request or a "
                                 "sandbox; 0 = never"),

        WHOLE_OPTION("events_max", events_max, .initial = "200000", .min = 1000, .max = 100000000,
                     .about = "events that are kept, the newest"),
        DURATION_OPTION("orphan_timeout", orphan_timeout_ms, .initial = "1h", .max = YEAR_MS,
                        .about = "a sandbox whose server has gone ends by itself after so long, "
                                 "in whole seconds; 0 = never"),
        DURATION_OPTION("clock_hold", clock_hold_ms, .initial = "1h", .max = YEAR_MS,
                        .about = "after the machine's clock was set forward: so long nothing that "
                                 "is kept for a time is removed because of that; 0 = removed at "
                                 "once"),
        DURATION_OPTION("orphans_keep", orphans_keep_ms, .initial = "24h", .max = YEAR_MS,
                        .about = "how long the trash keeps what the store does not know: files of "
                                 "sandboxes, snapshots and layers; 0 deletes them at once"),
        WHOLE_OPTION("orphans_max", orphans_max, .initial = "32", .max = 1000000,
                     .about = "a start, or a sweep, that finds more sandboxes and snapshots that "
                              "the store does not know than this and than a tenth of its rows "
                              "removes none and says so"),
        DURATION_OPTION("deleted_keep", deleted_keep_ms, .initial = "10m", .max = YEAR_MS,
                        .about = "how long a sandbox that was deleted with keep=true, as 'atoll rm "
                                 "--all' does, can be brought back; 0 = not at all"),
        DURATION_OPTION("failed_keep", failed_keep_ms, .initial = "7d", .max = YEAR_MS,
                        .about = "how long failed sandboxes without files, failed templates and "
                                 "failed backups are listed; 0 = until they are deleted"),
        SIZE_OPTION("trash_bytes_max", trash_bytes_max, .initial = "20G", .min = 0,
                    .max = INT64_C(1) << 50,
                    .about = "bytes that the trash keeps; when it has more, its oldest entries go "
                             "before their time, orphans last; 0 = any number"),
        DURATION_OPTION("events_keep", events_keep_ms, .initial = "7d", .min = 60000,
                        .max = YEAR_MS, .about = "how long an event is kept"),
        WHOLE_OPTION("webhooks_max", webhooks_max, .initial = "20", .min = 1, .max = 1000,
                     .about = "webhooks of one project"),
        WHOLE_OPTION("webhook_tries", webhook_tries, .initial = "17", .min = 1, .max = 50,
                     .about = "tries of a delivery before it is dead; 17 take about a day"),
        WHOLE_OPTION("storage_max_mb", storage_max_mb, .initial = "0", .max = 1 << 30,
                     .about = "MiB that the templates, snapshots, backups and volumes of a project "
                              "may have together, unless the project says otherwise; 0 = no limit"),
        WHOLE_OPTION("artifacts_max_mb", artifacts_max_mb, .initial = "10240", .max = 1 << 30,
                     .about = "MiB of artifacts that a project may keep, unless its settings say "
                              "otherwise; 0 = no limit"),
        WHOLE_OPTION("artifact_max_mb", artifact_max_mb, .initial = "1024", .min = 1,
                     .max = 1 << 20, .about = "MiB of one artifact"),
        DURATION_OPTION("artifacts_keep", artifacts_keep_ms, .initial = "30d", .max = 100 * YEAR_MS,
                        .about = "how long an artifact is kept, unless the project's settings say "
                                 "otherwise; 0 = for ever"),

        DURATION_OPTION("webhook_retry", webhook_retry_ms, .initial = "5s", .min = 10,
                        .max = 3600000,
                        .about = "from the first try of a delivery to the second; each further "
                                 "wait is twice as long, up to four hours"),
        BOOL_OPTION("webhook_allow_private", webhook_allow_private, .initial = "false",
                    .about = "whether webhooks may go to loopback, private and link-local "
                             "addresses: who may make one then reaches the server's own network"),
        BOOL_OPTION("registry_allow_private", registry_allow_private, .initial = "false",
                    .about = "whether images may be pulled from loopback, private and link-local "
                             "addresses: who may make templates then reaches the server's own "
                             "network"),

        TEXT_OPTION("jobs_callback_url", jobs_callback_url, .initial = "", .check = check_callback,
                    .about = "where sandboxes reach this server, http://ADDRESS:PORT: agents post "
                             "the ends of background jobs there; the server watches them anyway"),
        DURATION_OPTION("jobs_keep", jobs_keep_ms, .initial = "7d", .min = 60000,
                        .max = 100 * YEAR_MS, .about = "how long ended background jobs are kept"),

        NUMBER_OPTION("default_cpu", defaults.cpu, .env = "SANDBOX_DEFAULT_CPU", .initial = "0.5",
                      .max = 1024, .about = "vCPUs of a sandbox whose creator names none"),
        WHOLE_OPTION("default_memory_mb", defaults.memory_mb, .env = "SANDBOX_DEFAULT_MEMORY_MB",
                     .initial = "1024", .min = 16, .max = 16 << 20, .about = "its memory in MiB"),
        WHOLE_OPTION("default_disk_mb", defaults.disk_mb, .env = "SANDBOX_DEFAULT_DISK_MB",
                     .initial = "1024", .min = 16, .max = 1 << 30, .about = "its disk in MiB"),
        WHOLE_OPTION("default_pids", defaults.pids, .env = "SANDBOX_DEFAULT_PIDS", .initial = "512",
                     .min = 8, .max = 1 << 22, .about = "its processes"),
        NUMBER_OPTION("max_cpu", caps.cpu, .env = "SANDBOX_MAX_CPU", .initial = "0", .max = 1024,
                      .about = "most vCPUs that anybody gets; 0 = no limit"),
        WHOLE_OPTION("max_memory_mb", caps.memory_mb, .env = "SANDBOX_MAX_MEMORY_MB",
                     .initial = "0", .max = 16 << 20, .about = "most memory; 0 = no limit"),
        WHOLE_OPTION("max_disk_mb", caps.disk_mb, .env = "SANDBOX_MAX_DISK_MB", .initial = "0",
                     .max = 1 << 30, .about = "most disk; 0 = no limit"),
        WHOLE_OPTION("max_pids", caps.pids, .env = "SANDBOX_MAX_PIDS", .initial = "0",
                     .max = 1 << 22, .about = "most processes; 0 = no limit"),
        WHOLE_OPTION("sandboxes_max", sandboxes_max, .initial = "2000", .min = 1, .max = 1000000,
                     .about = "sandboxes of one project"),
        WHOLE_OPTION("sessions_max", sessions_max, .env = "SANDBOX_MAX_SESSIONS", .initial = "50",
                     .min = 1, .max = 1000000, .about = "sessions of /v1/sandbox at once"),
        SIZE_OPTION("output_limit", output_limit_bytes, .initial = "256K", .min = 1024,
                    .max = CONFIG_OUTPUT_LIMIT_MAX,
                    .about = "bytes of stdout, and of stderr, in the result of a command; a "
                             "stream is never cut"),
        DURATION_OPTION("exec_timeout", exec_timeout_ms, .initial = "10m", .max = YEAR_MS,
                        .about = "of a command whose caller names none; 0 = none"),
        DURATION_OPTION("idle_reap", idle_reap_ms, .env = "SANDBOX_IDLE_REAP_SECONDS",
                        .initial = "30m", .max = YEAR_MS,
                        .about = "an ephemeral sandbox is removed after so long without use; "
                                 "0 = never"),
        DURATION_OPTION("idle_pause", idle_pause_ms, .env = "SANDBOX_IDLE_TIMEOUT_MS",
                        .initial = "5m", .max = YEAR_MS,
                        .about = "a sandbox is paused after so long without use, and goes on "
                                 "with its next one; 0 = never"),
        DURATION_OPTION("idle_stop", idle_stop_ms, .env = "SANDBOX_IDLE_STOP_SECONDS",
                        .initial = "24h", .max = YEAR_MS,
                        .about = "a sandbox is stopped after so long without use: its files are "
                                 "kept, its next use starts it; 0 = never"),
        DURATION_OPTION("agent_timeout", agent_timeout_ms, .initial = "10s", .min = 100,
                        .max = 60000,
                        .about = "how long a sandbox's agent may take to list, look up or change "
                                 "something small, and a call waits for it"),
        DURATION_OPTION("session_idle", session_idle_ms, .env = "SANDBOX_IDLE_TIMEOUT",
                        .initial = "15m", .max = YEAR_MS,
                        .about = "the same for sessions of /v1/sandbox; 0 = never"),
        DURATION_OPTION("leases_keep", leases_keep_ms, .initial = "30d", .max = YEAR_MS,
                        .about = "a lease without a sandbox is forgotten, with its "
                                 "specification, so long after its last use; 0 = never"),
        DURATION_OPTION("lifetime_max", lifetime_max_ms, .env = "AGENT_RUN_TIMEOUT_MS",
                        .initial = "7d", .max = YEAR_MS,
                        .about = "an ephemeral sandbox is removed at this age, a persistent one "
                                 "stopped so long after its start; 0 = never"),
        TEXT_OPTION("default_template", default_template, .initial = "base", .check = check_name,
                    .about = "template of a sandbox whose creator names none"),
        BOOL_OPTION("internet", internet, .initial = "true",
                    .about = "whether a sandbox reaches the internet when its creator does not "
                             "say; private networks stay refused"),

        WHOLE_OPTION("builds_at_once", builds_at_once, .initial = "4", .min = 1, .max = 64,
                     .about = "default templates that are built on first use and images that are "
                              "imported at once; more wait, and projects take turns"),
        WHOLE_OPTION("uploads_max", uploads_max, .initial = "64", .min = 1, .max = 1024,
                     .about = "images, backups and files of copy steps that are uploaded or wait "
                              "for their turn at once; more are refused"),
        WHOLE_OPTION("uploads_per_project_max", uploads_per_project_max, .initial = "16", .min = 1,
                     .max = 1024, .about = "the same of one project"),
        DURATION_OPTION("upload_idle", upload_idle_ms, .initial = "60s", .min = 1000,
                        .max = 3600000,
                        .about = "such an upload is given up when nothing has come for so long"),
        SIZE_OPTION("upload_rate_min", upload_rate_min, .initial = "1K", .min = 0, .max = 1 << 30,
                    .about = "and when it has brought fewer bytes a second than this, once it is "
                             "older than upload_idle; 0 = any rate is fine"),
        WHOLE_OPTION("builds_max", builds_max, .initial = "2", .min = 1, .max = 16,
                     .about = "templates that are built by steps at once; more wait"),
        SIZE_OPTION("build_cache_bytes_max", build_cache_bytes_max, .initial = "20G", .min = 0,
                    .max = INT64_C(1) << 50,
                    .about = "what steps have led to and no template needs is kept up to this "
                             "size, to be used again; 0 = nothing is kept"),

        TEXT_OPTION("hosts", hosts, .initial = "", .check = check_hosts,
                    .about = "host names by which clients know the server, with commas; localhost, "
                             "addresses and the machine's own name need not be among them; * for "
                             "all, when a proxy in front sees to it"),
        TEXT_OPTION("cors_origins", cors_origins, .initial = "", .check = check_origins,
                    .about = "origins of pages that may call the API with a key or a sandbox's "
                             "token, with commas, such as https://app.example.com; * for any; "
                             "when empty, none"),
        TEXT_OPTION("preview_ports", preview_ports, .env = "SANDBOX_PREVIEW_PORTS",
                    .initial = "3000,5173,8000,8080", .check = check_ports,
                    .about = "ports that previews show, besides those of the template: numbers and "
                             "ranges with commas, or any"),
        TEXT_OPTION("preview_secret", preview_secret, .env = "SANDBOX_PREVIEW_SECRET",
                    .initial = "", .check = check_secret, .mask = mask_secret,
                    .about = "what share links of previews are signed with, at least 16 "
                             "characters; when empty, none are given out"),
        TEXT_OPTION("preview_domain", preview_domain, .env = "SANDBOX_PREVIEW_DOMAIN",
                    .initial = "", .check = check_domain,
                    .about =
                            "previews are at PORT-ID.DOMAIN, too: a name whose subdomains all lead "
                            "here"),
        TEXT_OPTION("preview_origin", preview_origin, .env = "SANDBOX_PREVIEW_ORIGIN",
                    .initial = "", .check = check_origin,
                    .about = "https://HOST of previews by link: another name for this server, on "
                             "which there is nothing else; when empty, pages are kept apart by the "
                             "browser's sandbox alone"),

        NUMBER_OPTION("price_vcpu_second", prices.vcpu_second, .initial = "0", .max = PRICE_MAX_USD,
                      .about = "US dollars for a vCPU of a started sandbox for a second; to nine "
                               "decimals"),
        NUMBER_OPTION("price_memory_gib_second", prices.memory_gib_second, .initial = "0",
                      .max = PRICE_MAX_USD, .about = "the same for a GiB of its memory limit"),
        NUMBER_OPTION("price_storage_gib_month", prices.storage_gib_month, .initial = "0",
                      .max = PRICE_MAX_USD,
                      .about = "US dollars for a GiB of kept files for 730 hours; only where disk "
                               "limits are enforced is their size known"),
        DURATION_OPTION("usage_flush", usage_flush_ms, .initial = "1m", .min = 1000, .max = 3600000,
                        .about = "how often usage is written and budgets are looked at"),
        DURATION_OPTION("usage_keep", usage_keep_ms, .initial = "366d", .max = 100 * YEAR_MS,
                        .about = "how long the hours of usage are kept; 0 = for ever"),
        DURATION_OPTION("metrics_every", metrics_every_ms, .initial = "15s", .max = 3600000,
                        .about = "how often each running sandbox is asked what it uses; 240 "
                                 "answers are kept in memory; 0 = never"),

        TEXT_OPTION("disk_quota", disk_quota, .env = "SANDBOX_DISK_QUOTA", .initial = "auto",
                    .choices = disk_quotas,
                    .about =
                            "what enforces disk limits: project = quotas of the data folder's "
                            "filesystem (ext4, xfs), image = a disk image for each sandbox, which "
                            "cannot be kept in snapshots; both refuse to start where they do not "
                            "work; auto = project where a probe shows that it works, else nothing; "
                            "on = image where that works, else nothing; off = nothing"),
        TEXT_OPTION("disk_watch", disk_watch, .initial = "on", .choices = on_off,
                    .about = "on: where nothing enforces a disk limit, a sandbox that passes it "
                             "is paused, with the reason disk"),
        WHOLE_OPTION("disk_inodes", disk_inodes, .initial = "131072", .max = 1 << 24,
                     .about = "files and folders that a sandbox may have for each GiB of its disk "
                              "limit, where disk_watch counts them; 0 = no limit"),
        WHOLE_OPTION("io_mbps", io_mbps, .env = "SANDBOX_MAX_IO_MBPS", .initial = "0",
                     .max = CONFIG_IO_MBPS_MAX,
                     .about = "MB that a sandbox may read, and write, per second on the data "
                              "folder's disk; 0 = an equal share is all"),
        WHOLE_OPTION("cells", cells, .initial = "8", .max = CONFIG_CELLS_MAX,
                     .about = "half-made sandboxes that are kept ready, for each kind of network"),
        WHOLE_OPTION("pool_automatic", pool_automatic, .initial = "4", .max = CONFIG_POOL_MAX,
                     .about = "sandboxes that are kept prepared for each of the last few things "
                              "that were asked for"),
        WHOLE_OPTION("pool_max", pool_max, .initial = "64", .max = CONFIG_POOL_MAX,
                     .about = "sandboxes that are prepared at once, over all templates"),
        TEXT_OPTION("network_subnet", network_subnet, .initial = "10.213.0.0/16",
                    .check = check_subnet,
                    .about = "IPv4 network that sandboxes get their addresses from"),
        TEXT_OPTION("network_allow", network_allow, .initial = "", .check = check_networks,
                    .about = "networks inside the refused private ranges that sandboxes may "
                             "reach all the same, with commas"),
        TEXT_OPTION("network_nameservers", network_nameservers, .initial = "",
                    .check = check_nameservers,
                    .about = "IPv4 addresses, with commas, of those who are asked for hosts that "
                             "rules of sandboxes name; when empty, the host's own nameservers"),
        TEXT_OPTION("region", region, .initial = "local", .check = check_name,
                    .about = "name of this machine's place, shown with its sandboxes"),
        {.name = NULL},
};
