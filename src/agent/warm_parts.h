/* SPDX-License-Identifier: Apache-2.0 */
/* agent/warm_parts.h — one warm interpreter, for the files warm*.c. warm.c has the common part; a
 * `way` is how an interpreter is kept ready and gets its call. */
#pragma once

#include "agent/warm.h"
#include "base/fd.h"

struct warm;

struct way {
	/* Makes the streams of the start, in w->spawn and w->control. */
	int (*open)(struct warm *w, struct error *err);
	/* Closes them. */
	void (*close)(struct warm *w);
	bool (*is_ready)(const struct warm *w);
	/* Until when a caller should wait for it; 0 = it should not wait. */
	int64_t (*is_coming_until)(const struct warm *w);
	/* When its next message is overdue. */
	int64_t (*latest_word)(const struct warm *w);
	int (*give)(struct warm *w, struct process *p, const char *code, struct error *err);
	/* True when the pid was one of its processes other than the interpreter's reaper. */
	bool (*on_exit)(struct warm *w, pid_t pid);
	uint32_t flags; /* AGENT_EXEC_* that it supports */
	bool is_ahead;  /* keeps streams for the call, and starts when no command has just begun */
};
extern const struct way warm_fork, warm_ahead;

#define WARM_ARGS_MAX 4
struct warm_language {
	const char *name;
	const char *args[WARM_ARGS_MAX]; /* how code is run cold, before the code itself */
	const struct way *way;
	const char *script, *loader;
	const char *start_up_names; /* see is_start_up */
};

/* Of `fork`: a child that is being forked, or waits for a call. */
struct spare {
	struct watch watch;
	pid_t reaper, command; /* 0 = not reported yet */
	int64_t asked_ms;
};

/* Of `ahead`: the descriptors of its single call. */
struct ahead {
	struct watch in, out[2]; /* the agent's ends of its streams */
	int extra[3];            /* its end of `control`, the order, the token */
	bool ready, held;
	int64_t held_ms, took_ms; /* `took`: the last start; 0 = there was none */
};

struct warm {
	struct warm *next;
	struct agent *agent;
	const struct warm_language *language;
	struct arena arena; /* of the wish and of `spawn` */
	struct agent_warm wish;
	struct user user;
	struct spawn spawn;
	struct reaper *reaper; /* of the interpreter; NULL = none */
	struct watch control;  /* to it */
	struct spare spare;
	struct ahead ahead;
	bool has_served; /* it was ready for a call at least once */
	unsigned failures;
	int64_t wanted_ms; /* since when there should be one */
	int64_t started_ms, retry_at;
};

/* Ends an interpreter that cannot be used any more; it is started again after its end. */
void warm_restart(struct warm *w, bool has_failed);
/* Closes the streams of the start. */
void warm_close_start(struct warm *w);
bool warm_knows(struct agent *a, pid_t pid);
/* Writes the order to the file: the first word, folder, code and variables, each but the last
 * followed by a zero byte. */
MUST_CHECK int warm_write_order(int fd, const char *first, const struct process *p,
                                const char *code, struct error *err);
/* Wants a new interpreter after the previous one was used by its call. */
void warm_want(struct warm *w);
