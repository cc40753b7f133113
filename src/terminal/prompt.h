/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/prompt.h — a bash that marks where a command begins and ends ("shell integration").
 *
 * The shell runs a few lines of Atoll after the user's own files. Invisible sequences (OSC 133)
 * then mark the prompt (B), the begin of a command's output (C, with the time), its end with the
 * exit status (D), and an incomplete line (P).
 *
 * To run a command the server types a key that no keyboard has, a random number, and the line. The
 * shell reads them without echo, puts the line into its prompt as if typed, and adds the number to
 * the marks of this command. A program cannot forge such a mark, because it does not know the
 * number. */
#pragma once

#include "base/bytes.h"

#define PROMPT_NONCE_SIZE 32 /* characters */

/* NULL-terminated, for exec. */
const char *const *prompt_shell_args(void);
/* Also accepts the arguments of older servers. */
bool prompt_shell_is_ours(const char *const *args);
/* ERROR_INVALID for control characters other than tab and newline, and for blank text. */
MUST_CHECK int prompt_line_check(const char *command, struct error *err);
/* Writes the bytes to type at the prompt. */
void prompt_line_write(struct buf *out, const char *nonce, const char *command);

struct prompt_mark {
	char kind;           /* 'B', 'C', 'D' or 'P'; 0 = none yet */
	uint64_t start, end; /* offsets of its first byte and past its last */
	int64_t status;      /* of D */
	int64_t unix_ms;     /* of C: when the command began; 0 = not known (bash before 5) */
	char nonce[PROMPT_NONCE_SIZE + 1];
};
/* Finds marks in output. Zeroed at first; `offset` is that of the first byte. */
struct prompt_scanner {
	uint64_t offset, start;
	char text[64];
	unsigned size;
	enum { MARKS_OUTSIDE, MARKS_ESCAPE, MARKS_INSIDE, MARKS_END } state;
};
/* Removes the bytes up to and including the next mark from *bytes. False at the end of the bytes.
 */
bool prompt_scanner_next(struct prompt_scanner *m, struct span *bytes, struct prompt_mark *ret);
