/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/prompts.h — prompts and their arguments. */
#pragma once

#include <stdbool.h>

struct buf;
struct json_value;
struct mcp;
struct mcp_fault;

/* Where completion/complete finds values (completion.c). */
enum mcp_complete {
	MCP_COMPLETE_NOTHING,
	MCP_COMPLETE_SANDBOX,
	MCP_COMPLETE_TEMPLATE,
	MCP_COMPLETE_PATH, /* of the sandbox that the argument "sandbox" or the client names */
};

struct mcp_argument {
	const char *name, *about;
	enum mcp_complete complete;
	bool is_required;
};
/* A sentence; {name} in it stands for an argument. */
struct mcp_step {
	const char *text;
	const char *needs; /* left out unless this argument is given; NULL: never */
};
#define MCP_PROMPT_ARGUMENTS_MAX 4
#define MCP_PROMPT_STEPS_MAX 12
struct mcp_prompt {
	const char *name, *title, *about;
	struct mcp_argument arguments[MCP_PROMPT_ARGUMENTS_MAX]; /* up to one without a name */
	struct mcp_step steps[MCP_PROMPT_STEPS_MAX]; /* the first begins, the others are numbered */
};

/* An argument of a prompt, or NULL. */
const struct mcp_argument *mcp_prompt_argument(const char *prompt, const char *name,
                                               bool *ret_known);
void mcp_write_prompt(struct buf *out, const struct mcp_prompt *p);
/* Refuses arguments that are unknown, missing or no texts. */
int mcp_prompt_check(struct mcp *m, const struct mcp_prompt *p, const struct json_value *given,
                     struct mcp_fault *fault);
