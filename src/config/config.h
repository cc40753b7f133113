/* SPDX-License-Identifier: Apache-2.0 */
/* config/config.h — every option of Atoll in one table: flag, file, environment, default, meaning.
 *
 * A value comes from, first wins: a flag (--listen), the environment (ATOLL_LISTEN, then the
 * neutral names that the seeds use, such as SANDBOX_DEFAULT_CPU), DATA/atoll.yaml or --config FILE,
 * the default. A bare number of a neutral name that ends in _MS is milliseconds. Parsed once at
 * start; passed as const afterwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attribute.h"
#include "base/buf.h"
#include "base/error.h"
#include "sandbox/price.h"
#include "sandbox/sandbox.h"

/* Bounds that others hold to, too: the api keeps no more of a command's output, and the broker,
 * which trusts nobody, has its own and equal one. */
#define CONFIG_OUTPUT_LIMIT_MAX (16 << 20)
#define CONFIG_CELLS_MAX 256
#define CONFIG_POOL_MAX 1024
#define CONFIG_IO_MBPS_MAX 1000000

struct config {
	/* server */
	const char *data_dir;   /* --data; in the api process the way that it reaches it by */
	const char *data_place; /* as the operator knows it; NULL: the same */
	const char *store;      /* a DSN; "" = SQLite in the data folder. May hold a password */
	const char *secret_key_file; /* "" = DATA/keys/secret.key */
	const char *blobs;           /* a folder; "" = DATA/blobs */
	const char *listen;          /* "127.0.0.1:7777" */
	const char *tls_listen;      /* the same, for TLS; "" = nowhere */
	const char *tls_cert;        /* "" = DATA/tls/server.pem */
	const char *tls_key;         /* "" = DATA/tls/server.key */
	const char *peer_url;        /* by which other servers on the store reach it; "" = none */
	const char *peer_ca;         /* whose certificates peers have; "" = the system's */
	const char *provider;        /* native, host, null */
	const char *user;      /* unprivileged user that atolld runs as; "atoll", else "nobody" */
	const char *log_level; /* error warning info debug */
	const char *debug;     /* folders whose debug lines are on */
	int64_t workers;       /* threads */
	int64_t body_max;      /* bytes of a JSON body */
	int64_t connections_max;
	int64_t agent_calls_max; /* threads that call agents */
	/* That run at once, and how long a call waits for its share. */
	int64_t agent_calls_per_sandbox_max, agent_calls_per_key_max, agent_calls_per_project_max;
	int64_t agent_wait_ms;
	int64_t requests_per_key_max;                          /* at once */
	int64_t requests_waiting_per_key_max, request_wait_ms; /* further ones, and for how long */
	int64_t tool_calls_max;                                /* threads that wait for tools */
	int64_t tool_calls_per_sandbox_max, tool_calls_per_key_max; /* of those */
	int64_t drain_ms;             /* that calls have to end when the server stops */
	int64_t ready_probe_every_ms; /* 0 = /readyz makes no sandboxes */
	const char *ready_networks;   /* "off,on,rules": kinds that it makes */
	int64_t idle_exit_ms; /* a server that a CLI started ends after so long without use; 0 =
	                         never */
	/* events */
	/* Of the trash; see fleet/trash.h. */
	int64_t orphan_timeout_ms;
	int64_t failed_keep_ms; /* of what is in state failed; 0 = for ever; see fleet/failed.h */
	int64_t clock_hold_ms;  /* see fleet/jump.h */
	int64_t orphans_keep_ms, orphans_max, deleted_keep_ms, trash_bytes_max;
	int64_t events_max, events_keep_ms; /* what is older or more is dropped */
	int64_t webhooks_max;               /* of one project */
	int64_t webhook_tries;              /* of one delivery */
	int64_t webhook_retry_ms;           /* from the first to the second; doubles */
	bool webhook_allow_private;         /* addresses that are no public ones */
	bool registry_allow_private; /* the same, of registries that images are pulled from */
	/* background jobs */
	const char *jobs_callback_url; /* of this server, from inside; "" = none */
	int64_t jobs_keep_ms;          /* after their end */
	/* sandboxes */
	struct sandbox_resources defaults; /* SANDBOX_DEFAULT_CPU, _MEMORY_MB, _DISK_MB, _PIDS */
	struct sandbox_resources caps;     /* SANDBOX_MAX_… */
	int64_t sandboxes_max;             /* of one project */
	int64_t sessions_max;              /* SANDBOX_MAX_SESSIONS */
	int64_t output_limit_bytes;        /* kept per stream of a collected result */
	int64_t exec_timeout_ms;           /* when the caller names none */
	int64_t idle_reap_ms;              /* SANDBOX_IDLE_REAP_SECONDS */
	int64_t idle_pause_ms;             /* SANDBOX_IDLE_TIMEOUT_MS */
	int64_t idle_stop_ms;              /* SANDBOX_IDLE_STOP_SECONDS */
	int64_t agent_timeout_ms;          /* for what an agent looks up or changes at once */
	int64_t session_idle_ms; /* SANDBOX_IDLE_TIMEOUT (seconds), of /v1/sandbox sessions */
	int64_t leases_keep_ms;  /* of those without a sandbox */
	int64_t lifetime_max_ms; /* AGENT_RUN_TIMEOUT_MS */
	const char *default_template;
	bool internet;                                /* when the caller does not say */
	int64_t builds_at_once;                       /* first builds, imports, backups */
	int64_t uploads_max, uploads_per_project_max; /* see api/receiver.h */
	int64_t upload_idle_ms, upload_rate_min;      /* the same; bytes per second */
	int64_t builds_max;                           /* of templates, by steps, at once */
	int64_t build_cache_bytes_max;                /* of layers */
	/* previews */
	const char *hosts;          /* names that requests may be for, besides our own */
	const char *cors_origins;   /* whose pages may read the API; "*" = anybody's; "" = none */
	const char *preview_ports;  /* SANDBOX_PREVIEW_PORTS: "3000,8000-8010", "any" */
	const char *preview_secret; /* SANDBOX_PREVIEW_SECRET; "" = no links are shared */
	const char *preview_domain; /* SANDBOX_PREVIEW_DOMAIN: PORT-ID.DOMAIN; "" = none */
	const char *preview_origin; /* SANDBOX_PREVIEW_ORIGIN: "https://host"; "" = our own */
	/* usage */
	struct price_list prices; /* US dollars */
	int64_t usage_flush_ms, usage_keep_ms;
	int64_t metrics_every_ms; /* 0 = no history of what sandboxes use */
	int64_t artifacts_max_mb, artifact_max_mb, artifacts_keep_ms;
	int64_t storage_max_mb; /* of a project: templates, snapshots, backups, volumes; 0 = no
	                           limit */
	/* native */
	const char *disk_quota;           /* SANDBOX_DISK_QUOTA: off, on, auto, project, image */
	const char *disk_watch;           /* off, on */
	int64_t disk_inodes;              /* of each GiB of a disk limit; 0 = no limit */
	int64_t io_mbps;                  /* SANDBOX_MAX_IO_MBPS; 0 = an equal share is all */
	int64_t cells;                    /* half-made sandboxes kept ready, per kind of network */
	int64_t pool_automatic, pool_max; /* prepared ones, see docs/use/pools.md */
	const char *network_subnet;       /* "10.213.0.0/16": one address per sandbox */
	const char *network_allow; /* CIDRs inside refused ranges that are allowed all the same */
	const char *network_nameservers; /* for hosts' names in rules; "" = the host's */
	const char *region;
};

enum config_kind {
	CONFIG_TEXT,
	CONFIG_WHOLE,
	CONFIG_NUMBER,
	CONFIG_BOOL,
	CONFIG_DURATION,
	CONFIG_SIZE
};
struct config_option {
	const char *name; /* "log_level": the flag is --log-level, in the file `log_level:`, in
	                     the environment ATOLL_LOG_LEVEL */
	enum config_kind kind;
	size_t offset;
	const char *env; /* neutral name besides ATOLL_…, or NULL */
	const char *initial;
	int64_t min, max; /* of numbers, milliseconds and bytes */
	const char *about;
	const char *const *choices; /* CONFIG_TEXT: the words it may be, NULL-terminated; or NULL */
	/* CONFIG_TEXT: says what is wrong with the value; or NULL */
	int (*check)(const char *value, struct error *err);
	/* CONFIG_TEXT that may hold a secret: the value without it; or NULL */
	void (*mask)(struct buf *out, const char *value);
};
extern const struct config_option config_options[]; /* ends with name NULL */

/* "http://10.0.0.5:7777/prefix" in parts: for agents, which resolve no names. */
struct config_callback {
	char address[46]; /* numeric */
	uint16_t port;
	char host[64];  /* as a request says it */
	char path[256]; /* "" or "/prefix" */
};
MUST_CHECK int config_callback_parse(const char *url, struct config_callback *ret,
                                     struct error *err);

/* "http://10.0.0.2:7777" or "https://[fd00::2]:443" in parts: a server that this one passes
 * requests on to. */
struct config_peer {
	bool is_https;
	char host[256]; /* a name, or an address without brackets */
	uint16_t port;
};
MUST_CHECK int config_peer_parse(const char *url, struct config_peer *ret, struct error *err);

struct config_source {
	/* "name=value" texts from the command line, NULL-terminated; NULL = none. '-' in a name
	 * stands for '_'. */
	const char *const *flags;
	const char *file; /* NULL = DATA/atoll.yaml if there */
	char *const *environment;
};
/* Errors name the place: "atoll.yaml:12: 'cpuu' is not an option; did you mean 'cpu'?". An empty
 * environment variable counts as not set. Looks at the user's id and home for the defaults of
 * `data` and `user`; opens nothing but the file. */
MUST_CHECK int config_load(struct arena *a, const struct config_source *source, struct config *ret,
                           struct error *err);
/* Where `data` is when nothing names it: /var/lib/atoll for root, else $XDG_DATA_HOME/atoll, else
 * ~/.local/share/atoll. */
MUST_CHECK int config_data_dir_default(struct arena *a, char *const *environment, const char **ret,
                                       struct error *err);
/* As YAML with a comment per option: what `atoll config` prints. Asterisks stand for secrets. */
void config_print(struct buf *out, const struct config *config);
/* The same with the secrets, for a process of ours to load. */
void config_write(struct buf *out, const struct config *config);
/* The same without options that may hold a secret, for a process of ours that must know none. */
void config_write_harmless(struct buf *out, const struct config *config);
/* One value, as config_print has it but without quotes. */
void config_print_text(struct buf *out, const struct config_option *option,
                       const struct config *config);
/* How the command line spells it: "--idle-reap". */
void config_add_flag(struct buf *out, const struct config_option *option);
/* The reference page: a Markdown table of all options. */
void config_print_reference(struct buf *out);
