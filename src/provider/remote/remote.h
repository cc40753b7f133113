/* SPDX-License-Identifier: Apache-2.0 */
/* provider/remote/remote.h — what providers behind another service's API share: e2b, daytona,
 * kubernetes. Private to provider/.
 *
 *   DATA/remote/NAME/id         the id of this server in labels of the account
 *   DATA/remote/NAME/key        tokens of agents are made from it
 *   DATA/remote/NAME/lock       held while the provider is open
 *   DATA/remote/NAME/claims/ID  owner and lease epoch of a sandbox that was started again
 *   DATA/remote/NAME/access/ID  its tokens of the service, which the service's list does not tell
 *
 * A kind translates the steps of a sandbox's life to calls of its service (struct remote_kind). The
 * agent is uploaded into the sandbox and listens there on REMOTE_PORT; calls go to it in WebSockets
 * through the service's proxy (tunnel.c), on the thread of http/client/async.h.
 *
 * The labels of a sandbox in the account hold its server, id, owner and lease epoch. So the
 * account's list finds each sandbox after a crash at any step, and no file maps ids. Sandboxes
 * without this server's label are never touched. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "provider/kind_options.h"
#include "provider/kinds.h"

#define REMOTE_PORT 49990
#define REMOTE_AGENT_PATH "/opt/atoll/agent"
#define REMOTE_ID_MAX 128     /* bytes of the service's own id of a sandbox */
#define REMOTE_SECRET_MAX 512 /* bytes of a token */
#define REMOTE_URL_MAX 512
#define REMOTE_CREDENTIAL_MAX 8192 /* bytes of a header line with it */
#define REMOTE_HEADERS_MAX 12
#define REMOTE_LEASE_S 3600 /* then the service pauses one that no server has heard of */

struct http_async;
struct http_async_answer;
struct remote_carrier;       /* provider/remote/carrier.h */
struct remote_snapshot_kind; /* provider/remote/snapshots.h */
struct json_value;
struct remote;
struct remote_program;     /* provider/remote/parts.h */
struct remote_usage;       /* provider/remote/parts.h */
struct remote_volume_kind; /* provider/remote/volumes.h */

enum remote_state { REMOTE_RUNNING, REMOTE_PAUSED, REMOTE_STOPPED };

/* A sandbox in the account, as a copy. */
struct remote_sandbox {
	char id[ID_SIZE + 1];              /* ours */
	char remote_id[REMOTE_ID_MAX + 1]; /* the service's */
	char base[REMOTE_URL_MAX];         /* kind's own: a domain, a URL */
	char access[REMOTE_SECRET_MAX];    /* token for files and processes; "" = none */
	char traffic[REMOTE_SECRET_MAX];   /* token for ports; "" = none */
	bool has_access;                   /* base, access and traffic are known */
	enum remote_state state;
	char owner[ID_SIZE + 1];
	int64_t lease_epoch;
	int64_t started_unix_ms;
	double cpu;
	int64_t memory_mb, disk_mb;
	char region[64];           /* as the account tells it; "" = it does not */
	enum sandbox_reason ended; /* of a stopped one: why it ended by itself */
};

struct remote_list {
	struct remote_sandbox *items; /* in the arena */
	size_t count;
};

/* One call of the service's API or of a sandbox's. */
struct remote_call {
	const char *method;
	const char *url;  /* NULL: the API's, followed by `path` */
	const char *path; /* with a query */
	bool has_key;     /* a call of another URL carries the credential, too */
	const char *headers[REMOTE_HEADERS_MAX]; /* "Name: value"; besides those of the API */
	const char *content_type;                /* NULL = application/json */
	struct span body;
	const int *accepted; /* statuses besides 2xx; ends with 0 */
	bool is_once;        /* a second one would make a second sandbox */
	const char *wanted;  /* name of a header of the answer, or NULL */
	size_t answer_max;   /* bytes; 0 = the default of http/client/async.h */
	int64_t deadline;
};

/* Where an agent's port is, for a WebSocket. */
struct remote_reach {
	char url[REMOTE_URL_MAX];                /* without a path */
	char path[REMOTE_URL_MAX];               /* in front of TUNNEL_PATH; "" = none */
	char headers[4][REMOTE_SECRET_MAX + 64]; /* "Name: value"; "" ends them */
	/* Of a carrier: the path at the service, and a header line; "" = none. */
	char inner[REMOTE_URL_MAX], credential[REMOTE_CREDENTIAL_MAX];
};

/* What a service can do, and how. All but `describe` and `reach` make calls, on a worker or on the
 * thread of watch.c. */
struct remote_kind {
	const char *name, *title; /* "e2b", "E2B" */
	const char *key_option;   /* name of the option that holds the credential */
	/* "Name: " and what is in front of the credential: the header of each call of the API. */
	const char *key_header;
	bool is_agent_named; /* an agent's token is made from the service's id, not from ours */
	const struct remote_carrier *carrier;         /* or NULL */
	const struct remote_snapshot_kind *snapshots; /* or NULL */
	const struct remote_volume_kind *volumes;     /* or NULL */
	bool renews_stopped;                          /* a stopped sandbox has a lease, too */
	int64_t look_ms; /* at least, between two lists of the account that nothing has asked for */
	/* In place of a check of the options: finds URL and credential. `finish` ends its threads,
	 * `done` frees what it has made, without a thread. Each may be NULL. */
	int (*begin)(struct remote *r, struct error *err);
	void (*finish)(struct remote *r);
	void (*done)(struct remote *r);
	/* Makes and starts a sandbox with its labels. ret->access and all others are known then. */
	int (*create)(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
	              struct remote_sandbox *ret, struct error *err);
	/* Those with this server's label; with `id` only that one. A second sandbox of one id is
	 * listed, too. */
	int (*list)(struct remote *r, struct arena *a, const char *id, int64_t deadline,
	            struct remote_list *ret, struct error *err);
	/* Succeeds when it is gone already. */
	int (*remove)(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
	              struct error *err);
	/* Keeps memory and processes, or only files. */
	int (*pause)(struct remote *r, const struct remote_sandbox *s, bool keeps_memory,
	             int64_t deadline, struct error *err);
	/* Starts or resumes it unless it runs, renews its lease, and finds what has_access tells
	 * of. */
	int (*resume)(struct remote *r, struct remote_sandbox *s, int64_t deadline,
	              struct error *err);
	/* Makes a stopped sandbox run on its files, from the whole of its specification. NULL:
	 * resume does that. */
	int (*start)(struct remote *r, const struct sandbox_spec *spec, struct remote_sandbox *s,
	             int64_t deadline, struct error *err);
	/* A running sandbox runs for REMOTE_LEASE_S from now. */
	int (*renew)(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
	             struct error *err);
	/* Of running sandboxes; ret[i].sampled_unix_ms stays 0 where there is none. May be NULL. */
	int (*usage)(struct remote *r, const struct remote_sandbox *all, size_t count,
	             int64_t deadline, struct remote_usage *ret, struct error *err);
	/* Replaces the network rules. May be NULL. */
	int (*filter)(struct remote *r, const struct remote_sandbox *s, const char *egress,
	              int64_t deadline, struct error *err);
	/* Writes a file that root owns, its folder included. NULL: the service starts the agent. */
	int (*put_file)(struct remote *r, const struct remote_sandbox *s, const char *path,
	                struct span bytes, int64_t deadline, struct error *err);
	/* As root; NULL as put_file is. ERROR_SYSTEM with its output unless it succeeds. */
	int (*run)(struct remote *r, const struct remote_sandbox *s,
	           const struct remote_program *program, struct error *err);
	int (*reach)(struct remote *r, const struct remote_sandbox *s, struct remote_reach *ret,
	             struct error *err);
	/* The API answers and accepts the credential. */
	int (*check)(struct remote *r, int64_t deadline, struct error *err);
};

struct agent_links;

struct remote {
	struct provider base;
	struct provider_ops ops;
	struct provider_options options;
	const struct remote_options *own; /* those of this kind, in `options` */
	const struct remote_kind *kind;
	const char *name;
	char server[ID_SIZE + 1];
	unsigned char key[32];
	char *dir, *claims_dir, *access_dir;
	int lock_fd;
	struct buf agent; /* the agent's program */
	struct http_async *http;
	void *state; /* of the kind: what `begin` has made */
	struct agent_links *links;
	char *api_url;        /* without a slash at its end */
	const char *key_file; /* the credential is read from it again; NULL = it is in none */

	pthread_t thread; /* of watch.c */
	bool has_thread;
	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t wake;
	char *credential;
	struct map sandboxes; /* id -> struct remote_record of records.c */
	bool is_listed;       /* the account was listed once */
	bool is_closing;
	bool looks_now;        /* a list of the account is wanted at once */
	int64_t limited_until; /* monotonic: the service has asked for a pause */
	struct list calls;     /* struct call_in_flight, oldest first */

	struct list tunnels; /* of the thread of `http` */
	atomic_uint tunnel_count;
};

static inline struct remote *as_remote(struct provider *p)
{
	return (struct remote *)p;
}
