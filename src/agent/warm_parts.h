/* SPDX-License-Identifier: Apache-2.0 */
/* agent/warm_parts.h — one kept interpreter, for the files warm*.c. What is common to all is in
 * warm.c; a `way` is how an interpreter is kept and gets its call. */
#pragma once

#include "agent/warm.h"
#include "base/fd.h"

struct warm;

struct way {
	/* Makes what it starts with, in w->spawn and w->control. */
	int (*open)(struct warm *w, struct error *err);
	/* Closes that. */
	void (*close)(struct warm *w);
	bool (*is_ready)(const struct warm *w);
	/* Until when one who waits would get it; 0 = it is not worth it, or not coming. */
	int64_t (*is_coming_until)(const struct warm *w);
	/* When it should have said something that it has not. */
	int64_t (*latest_word)(const struct warm *w);
	int (*give)(struct warm *w, struct process *p, const char *code, struct error *err);
	/* True when the pid was one of its own, besides the interpreter's reaper. */
	bool (*on_exit)(struct warm *w, pid_t pid);
	uint32_t flags; /* AGENT_EXEC_* that it can do */
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

/* Of `fork`: one that is being forked, or waits for a call. */
struct spare {
	struct watch watch;
	pid_t reaper, command; /* 0 = has not said so yet */
	int64_t asked_ms;
};

/* Of `ahead`: what its one call will have, and is told by. */
struct ahead {
	struct watch in, out[2]; /* our ends of its streams */
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
	struct reaper *reaper; /* of the interpreter; NULL = there is none */
	struct watch control;  /* to it */
	struct spare spare;
	struct ahead ahead;
	bool has_served; /* a call could have been given to this one */
	unsigned failures;
	int64_t wanted_ms; /* since when there should be one */
	int64_t started_ms, retry_at;
};

/* What we cannot use any more is ended; it is started anew when it is gone. */
void warm_restart(struct warm *w, bool has_failed);
/* The streams that the interpreter was started with. */
void warm_close_start(struct warm *w);
bool warm_knows(struct agent *a, pid_t pid);
/* Into the file: that first word, folder, code, variables; a zero byte ends each but the last. */
MUST_CHECK int warm_write_order(int fd, const char *first, const struct process *p,
                                const char *code, struct error *err);
/* The used one has gone with its call. */
void warm_want(struct warm *w);
