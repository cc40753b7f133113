/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent.h — the messages between Atoll and the agent inside a sandbox.
 *
 * The agent listens; Atoll opens any number of stream connections. Process messages are served by
 * the agent itself, file messages by a child that has become the named user; a connection may mix
 * them, but keeps its child only as long as the user stays the same. On one connection requests run
 * one after the other; a request is answered by its own reply, by a sequence that ends with
 * AGENT_DONE or AGENT_EXIT, or by AGENT_FAILED; then the connection may carry another request. Who
 * sends DATA ends it with DATA_END, or closes, even if AGENT_FAILED has come meanwhile.
 *
 *   EXEC    -> STARTED, OUTPUT*, EXIT     (while it runs the client may send STDIN, STDIN_END,
 *   ATTACH  -> STARTED, OUTPUT*, EXIT      RESIZE, SIGNAL, DETACH on the same connection)
 *   READ    -> FILE, DATA*, DONE          INSPECT -> ENTRY*, DONE
 *   WRITE   -> READY, then the client sends DATA*, DATA_END -> FILE, DONE
 *   LIST, GLOB -> FILE*, DONE             WATCH -> READY, CHANGE*; PING -> CHANGE*, READY
 *   TAR_OUT -> READY, DATA*, DONE         TAR_IN -> READY, client DATA*, DATA_END -> DONE
 *   COMPARE -> DIFFERENCE*, DONE          TAR_BASE -> READY, DATA*, DONE
 *
 * Every byte of output has an offset in its stream, counted from 0. The agent keeps the last
 * ring_bytes of each; OUTPUT.offset tells what the bytes are, and a jump tells what was lost. While
 * a connection is attached and slower than the process, the process waits (nothing is lost). */
#pragma once

#include "base/bytes.h"
#include "wire/wire.h"

#define AGENT_PROTOCOL 1
#define AGENT_ARGS_MAX 4096
#define AGENT_ENV_MAX 1024
#define AGENT_DATA_MAX (128 * 1024) /* bytes in one DATA or OUTPUT */

enum agent_type {
	AGENT_NONE,
	AGENT_FAILED, /* agent_failed */
	AGENT_DONE,   /* agent_done */
	AGENT_READY,  /* empty */
	AGENT_PING,   /* empty -> AGENT_PONG */
	AGENT_PONG,   /* agent_pong */
	/* processes */
	AGENT_EXEC,      /* agent_exec */
	AGENT_ATTACH,    /* agent_attach */
	AGENT_STARTED,   /* agent_process */
	AGENT_OUTPUT,    /* agent_output */
	AGENT_EXIT,      /* agent_process, state ended */
	AGENT_STDIN,     /* raw bytes */
	AGENT_STDIN_END, /* empty */
	AGENT_RESIZE,    /* agent_resize */
	AGENT_SIGNAL,    /* agent_signal; on an attached connection process = 0 */
	AGENT_DETACH,    /* empty: no more OUTPUT, the process goes on; -> DONE */
	AGENT_PROCESSES, /* empty -> AGENT_PROCESS*, DONE */
	AGENT_PROCESS,   /* agent_process */
	AGENT_FEED,      /* agent_feed: stdin for a process of another connection -> DONE */
	AGENT_FORGET,    /* agent_signal (process only): drops an ended one and its rings -> DONE */
	AGENT_STOP,      /* agent_stop: SIGTERM to all, then SIGKILL; no reply, the agent exits */
	/* files: each carries agent_path first */
	AGENT_READ,     /* agent_path */
	AGENT_WRITE,    /* agent_path */
	AGENT_STAT,     /* agent_path -> FILE, DONE */
	AGENT_LIST,     /* agent_path (depth) */
	AGENT_GLOB,     /* agent_path (pattern) */
	AGENT_MKDIR,    /* agent_path -> FILE, DONE */
	AGENT_REMOVE,   /* agent_path -> DONE */
	AGENT_RENAME,   /* agent_path (target) -> FILE, DONE */
	AGENT_COPY,     /* agent_path (target) -> FILE, DONE */
	AGENT_TAR_OUT,  /* agent_path; the names, see AGENT_PATH_NAMES */
	AGENT_TAR_IN,   /* agent_path */
	AGENT_WATCH,    /* agent_path */
	AGENT_FILE,     /* agent_file */
	AGENT_CHANGE,   /* agent_change */
	AGENT_DATA,     /* raw bytes, at most AGENT_DATA_MAX */
	AGENT_DATA_END, /* empty */
	/* from the broker, on the set-up socket only (wire/broker.h) */
	AGENT_SETUP,
	AGENT_PREPARE, /* empty, in place of DONE: prepares -> READY, and its identity files */
	AGENT_CLAIM,   /* empty, once after PREPARE, when they are: only now it serves; no reply */
	/* files again: an agent that runs keeps its numbers when the server is replaced */
	AGENT_COMPARE,    /* agent_path: root holds the trees, see agent_files.h */
	AGENT_TAR_BASE,   /* agent_path, as COMPARE: what the base has of all that differs */
	AGENT_DIFFERENCE, /* agent_difference */
	AGENT_WARM,       /* agent_warm (agent_warm.h) -> DONE */
	AGENT_DIAL,       /* agent_dial (agent_dial.h) -> DONE, and a socket with it */
	AGENT_JOB,        /* and the next two: agent_jobs.h */
	AGENT_FIND_JOB,
	AGENT_AWAIT,
	AGENT_TERMINAL,       /* agent_terminal (agent_terminal.h) -> …_STATE, DONE */
	AGENT_TERMINAL_STATE, /* agent_terminal_state */
	AGENT_INSPECT,        /* files: agent_path -> ENTRY*, DONE */
	AGENT_ENTRY,          /* agent_entry */
	AGENT_SET_ATTRIBUTES, /* files: agent_path -> DONE */
	AGENT_SEARCH,         /* files: agent_path -> DATA*, DONE (1: not all is told) */
	AGENT_SERVICE,        /* and the next three: agent_services.h */
	AGENT_SERVICES,
	AGENT_SERVICE_LOG,
	AGENT_SERVICE_STATE,
	AGENT_BEAT,  /* agent_beat (agent_beat.h), in the set-up and later; no reply */
	AGENT_PORTS, /* empty -> PORT* (agent_ports.h), DONE */
	AGENT_PORT,
	AGENT_HELLO,
	AGENT_OPEN,     /* agent_reverse.h */
	AGENT_IDENTITY, /* agent_identity (agent_machine.h) -> DONE */
	AGENT_TYPE_COUNT,
};

struct agent_failed {
	uint32_t code; /* enum error_code */
	uint32_t sys_errno;
	const char *text, *hint;
};
struct agent_failed agent_failed_of(const struct error *err);
struct agent_done {
	uint64_t count; /* entries, or bytes of a tar or copy */
};
extern const struct wire_member agent_failed_shape[], agent_done_shape[];

struct agent_pong {
	uint32_t protocol;
	uint32_t processes;   /* running ones that are not resident */
	uint32_t connections; /* open ones, this one included */
	uint64_t uptime_ms;
	const char *boot_id; /* random per agent start */
};

enum agent_exec_flag {
	AGENT_EXEC_TTY = 1 << 0,    /* a PTY with rows x columns; output is one stream */
	AGENT_EXEC_STDIN = 1 << 1,  /* keeps stdin open for STDIN, FEED; else stdin_bytes, EOF */
	AGENT_EXEC_DETACH = 1 << 2, /* answer STARTED, then DONE, without attaching */
	AGENT_EXEC_END_ON_CLOSE = 1 << 3,  /* a connection that breaks kills the tree */
	AGENT_EXEC_NO_PRIVILEGES = 1 << 4, /* PR_SET_NO_NEW_PRIVS */
	AGENT_EXEC_RESIDENT = 1 << 5,      /* the sandbox's own: does not count as activity */
	AGENT_EXEC_IF_THERE = 1 << 6,      /* FAILED (not found) without the file args[0], a path */
	AGENT_EXEC_WARM = 1 << 7,          /* a warm interpreter may run it; in a reply: it did */
	AGENT_EXEC_SHELL = 1 << 8,    /* RESIDENT, but counts as activity while it runs a command */
	AGENT_EXEC_ENDS_ALL = 1 << 9, /* when it ends, the agent ends the sandbox */
};

struct agent_exec {
	const char **args; /* args[0] is looked up in PATH of `env` inside the sandbox */
	const char **env;  /* "KEY=value", over the agent's own minimal set */
	const char *cwd;   /* "" = the user's home; a relative folder is relative to it */
	const char *user;  /* a name or a number; "" = root; "a|b": the first that exists */
	const char *label; /* the caller's name for it, for lists */
	struct span stdin_bytes;
	uint32_t flags;
	uint32_t rows, columns;
	uint32_t ring_bytes;  /* per stream, 0 = 1 MiB; at most 16 MiB */
	uint64_t timeout_ms;  /* 0 = none; then all descendants are killed and EXIT has timed_out */
	const char **secrets; /* see agent_secrets.h; or NULL */
};
extern const struct wire_member agent_pong_shape[], agent_exec_shape[];

enum agent_stream { AGENT_STDOUT = 1, AGENT_STDERR = 2 };

struct agent_attach {
	uint64_t process;
	uint64_t since[2];  /* first offsets wanted of stdout and stderr */
	uint32_t read_only; /* 1: STDIN, RESIZE and SIGNAL are refused on this connection */
	uint32_t until_end; /* 0: replays the kept output, then detaches */
};

enum agent_process_state { AGENT_PROCESS_RUNNING, AGENT_PROCESS_ENDED };
struct agent_process {
	uint64_t process;   /* counted from 1 per agent; never reused */
	uint32_t state;     /* enum agent_process_state */
	uint32_t pid;       /* inside the sandbox */
	int64_t exit_code;  /* 0..255, or 128 + signal; -1 while it runs */
	uint32_t signal;    /* that ended it, or 0 */
	uint32_t timed_out; /* 1: by timeout_ms */
	uint64_t started_unix_ms;
	uint64_t duration_ms;
	uint64_t output_end[2]; /* total bytes of stdout and stderr so far */
	uint32_t flags;         /* of agent_exec, and an AGENT_CAUSE_ once it has ended */
	const char *label, *user, *cwd;
	const char **args;
};
extern const struct wire_member agent_attach_shape[], agent_process_shape[];

struct agent_output {
	uint32_t stream; /* enum agent_stream */
	uint64_t offset; /* of the first byte */
	struct span bytes;
};
extern const struct wire_member agent_output_shape[];
struct agent_resize {
	uint32_t rows, columns;
};
struct agent_signal {
	uint64_t process;
	uint32_t signal;
	uint32_t whole_tree; /* 0: the process group; 1: all descendants, daemons included */
};
struct agent_feed {
	uint64_t process;
	uint32_t end; /* 1: close stdin after the bytes */
	struct span bytes;
};
extern const struct wire_member agent_resize_shape[], agent_signal_shape[], agent_feed_shape[];
struct agent_stop {
	uint64_t grace_ms;
};
extern const struct wire_member agent_stop_shape[];
