/* SPDX-License-Identifier: Apache-2.0 */
/* dockerfile/translation.h — private to this folder: the state of a translation. lines.c splits the
 * file into instructions; stages.c has FROM; run.c, copy.c and settings.c have the other
 * instructions; dockerfile.c has their table and writes the body. Everything is in the arena,
 * except the buffers. */
#pragma once

#include <stdint.h>

#include "dockerfile/dockerfile.h"

#define DOCKER_BODY_MAX ((size_t)8 << 20)
#define DOCKER_FLAGS_MAX 16
#define DOCKER_STAGES_MAX 64 /* one bit each in docker_stage.needs */

/* A here-document: the lines after an instruction, up to a line that is its name. */
struct docker_document {
	const char *name;
	const char *text; /* with a line feed after each line */
	bool expands;     /* variables in it have their values */
};

struct docker_instruction {
	unsigned line;    /* where it begins */
	const char *text; /* continued lines are joined */
	struct docker_document *documents;
	size_t document_count;
};
/* Calls `each` for every instruction; goes on while it returns 0. */
struct docker_reader {
	int (*each)(void *context, const struct docker_instruction *instruction, struct error *err);
	void *context;
};
/* *ret_line: the line of a failure of the text itself. */
MUST_CHECK int docker_lines_read(struct arena *a, struct span text,
                                 const struct docker_reader *reader, unsigned *ret_line,
                                 struct error *err);

/* Exec form, or shell form behind the words of the shell. */
struct docker_command {
	const char **items; /* NULL = not given */
	bool is_shell;
};

struct docker_stage {
	const char *name;
	const char *from;   /* a template, an image, or the name of an earlier stage */
	bool may_be_image;  /* `from` is no stage, and was not replaced */
	bool is_files_only; /* not in the file: what --from names besides stages */
	uint64_t needs;     /* indices of stages */
	struct docker_variables vars;
	struct buf steps, ports;
	unsigned step_count, port_count;
	struct docker_command entrypoint, command;
	const char *ready;
	const char **shell; /* NULL = /bin/sh -c */
};

struct docker_translation {
	struct arena *arena;
	const struct dockerfile *file;
	const struct docker_instruction *at;
	struct docker_variables before; /* ARG above FROM */
	struct docker_stage *stages[DOCKER_STAGES_MAX];
	unsigned stage_count;
	struct docker_stage *stage; /* the current one; NULL above FROM */
	struct buf notes;           /* texts of a JSON list */
	unsigned note_count;
	bool *used; /* per element of file->build_args */
};

typedef int translate_instruction(struct docker_translation *t, const char *rest,
                                  struct error *err);

/* dockerfile.c */

/* A line for the log of the build. */
void docker_note(struct docker_translation *t, const char *text);
int docker_refuse(const char *what, const char *instead, struct error *err);
const char *docker_skip_blanks(const char *text);
/* Parses ["a","b"]. Returns NULL if the text is not such a list: as with Docker, the shell then
 * gets it. */
const char **docker_parse_list(struct arena *a, const char *text);
void docker_add_texts(struct buf *out, const char *const *texts);
void docker_add_member(struct buf *out, const char *name, const char *value);
void docker_begin_step(struct docker_translation *t, const char *type);
void docker_end_step(struct docker_translation *t);
/* An option "--name=value" in front of the arguments; the value as written. */
struct docker_flag {
	const char *name, *value;
};
MUST_CHECK int docker_take_flags(struct docker_translation *t, const char **text,
                                 struct docker_flag ret[DOCKER_FLAGS_MAX + 1], struct error *err);
/* The value with its variables replaced. */
MUST_CHECK int docker_flag_value(struct docker_translation *t, const struct docker_flag *flag,
                                 const char **ret, struct error *err);

/* stages.c */

translate_instruction translate_from_instruction;
/* The stage that --from names, by name or number; a template or image becomes a stage of its own.
 * The current stage needs it from now on. */
MUST_CHECK int docker_stage_named(struct docker_translation *t, const char *name, const char **ret,
                                  struct error *err);
/* Chooses the stage to build and writes "from", "steps" and "stages" into the open object. */
MUST_CHECK int docker_stages_write(struct docker_translation *t, struct buf *out,
                                   const struct docker_stage **ret_last, struct error *err);
void docker_stages_done(struct docker_translation *t);

/* run.c, copy.c, settings.c */

translate_instruction translate_run, translate_shell;
translate_instruction translate_copy, translate_add;
translate_instruction translate_arg, translate_env, translate_workdir, translate_user,
        translate_cmd, translate_entrypoint, translate_healthcheck, translate_expose,
        translate_volume, translate_label, translate_maintainer, translate_stopsignal,
        translate_onbuild;
