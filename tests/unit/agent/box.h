/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/agent/box.h — an agent as a child of the test, in a folder of its own and without any
 * namespace, and a client that speaks to it. Every failure ends the test. */
#pragma once

#include "unit.h"

#include <sys/types.h>

#include "base/bytes.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define PATIENCE_MS 60000

struct box {
	pid_t pid;
	char folder[64]; /* fresh and empty */
	char socket[80];
	struct arena arena; /* of replies */
	struct buf payload; /* of the last frame; OUTPUT and DATA point into it */
};

enum box_kind { BOX_HOST /* --host-root folder */, BOX_PLAIN /* root is "/" */ };

struct box box_start(enum box_kind kind);
/* Checks that the agent has no child left, ends it, and removes the folder. */
void box_end(struct box *b);
/* The rest of that, when the agent has ended by itself. */
void box_forget(struct box *b);
int box_connect(struct box *b);
/* A path in the folder, good until the box ends. */
const char *box_path(struct box *b, const char *name);
void box_put(struct box *b, const char *name, const char *text);
/* The file's text, or NULL. */
const char *box_get(struct box *b, const char *name);
/* Entries of the folder, with hidden ones. */
unsigned box_count_entries(struct box *b, const char *name);
/* Children of the agent (file workers, reapers), dead ones not counted. */
unsigned box_children(struct box *b);
/* When there is one. */
pid_t box_only_child(struct box *b);
void box_wait_for_children(struct box *b, unsigned count);

void say(struct box *b, int fd, uint16_t type, const struct wire_member *shape,
         const void *message);
void say_raw(struct box *b, int fd, uint16_t type, struct span payload);
/* The next frame's type; its payload is in b->payload. */
uint16_t hear_any(struct box *b, int fd);
struct heard {
	const struct wire_member *shape;
	void *message;
	size_t size;
};
void hear(struct box *b, int fd, uint16_t type, const struct heard *heard);
#define HEAR(b, fd, type, name, message)                                                           \
	hear((b), (fd), (type), &(struct heard){name##_shape, (message), sizeof(struct name)})
#define HEAR_EMPTY(b, fd, type) hear((b), (fd), (type), &(struct heard){NULL, &(char){0}, 1})
struct agent_failed hear_failed(struct box *b, int fd);
uint64_t hear_done(struct box *b, int fd);
/* True when the agent closes without a word. */
bool hear_end(struct box *b, int fd);

struct ran {
	struct agent_process process;
	struct buf out[2];
};
/* Asks for a command and hears STARTED; the answer is the process. */
uint64_t exec_start(struct box *b, int fd, const struct agent_exec *exec);
/* OUTPUT up to EXIT. Offsets must be without gaps from `since`. */
struct ran exec_finish(struct box *b, int fd);
struct ran exec(struct box *b, int fd, const struct agent_exec *exec);
void ran_done(struct ran *r);
/* `sh -c LINE`, as an exec to be refined. */
struct agent_exec shell(struct box *b, const char *line);
struct ran run_shell(struct box *b, const char *line);

/* True once the process is gone or dead. */
bool is_dead(pid_t pid);
void wait_until_dead(pid_t pid);
/* Waits for a file to appear with a number in it. */
int wait_for_number(struct box *b, const char *name);

/* ---- files ---- */

/* One request that is answered by FILE and DONE. */
struct agent_file call(struct box *b, int fd, uint16_t type, const struct agent_path *path);
/* By AGENT_FAILED. */
struct agent_failed call_fails(struct box *b, int fd, uint16_t type, const struct agent_path *path);
/* A whole WRITE; the client's side up to DATA_END. */
void send_bytes(struct box *b, int fd, struct span bytes);
void write_file(struct box *b, int fd, const struct agent_path *path, struct span bytes);
/* DATA up to DONE. */
void collect(struct box *b, int fd, struct buf *out);
void read_file(struct box *b, int fd, const struct agent_path *path, struct buf *out);
/* FILE up to DONE, as "path path path". */
const char *list_files(struct box *b, int fd, uint16_t type, const struct agent_path *path);
/* A path beneath the box's folder. */
struct agent_path beneath(struct box *b, const char *path);
