/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/prompt.h — a bash that tells when a command begins and how it ended. Private to this
 * folder.
 *
 * It starts with a few lines of ours after the user's own files. Sequences that terminals do not
 * show (OSC 133, as other terminals use it) then mark the prompt (B), the begin of a command's
 * output (C, with the time), its end with the exit status (D), and a line that is not complete (P).
 * To run a command we type a key that no keyboard has, a random number, and the line: the shell
 * reads both from the terminal without showing them, edits the line into its prompt as if it had
 * been typed, and puts the number into the marks of this one command. What a program prints can
 * hold no such number, because it exists nowhere else. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#define PROMPT_NONCE_SIZE 32 /* characters */

/* NULL-terminated, for exec. */
const char *const *prompt_shell_args(void);
/* Also of a server before this one. */
bool prompt_shell_is_ours(const char *const *args);
/* ERROR_INVALID for control characters but tabs and newlines, and for blank lines alone. */
MUST_CHECK int prompt_line_check(const char *command, struct error *err);
/* What is to be typed at its prompt. */
void prompt_line_write(struct buf *out, const char *nonce, const char *command);

struct prompt_mark {
	char kind;           /* 'B', 'C', 'D' or 'P'; 0 = none yet */
	uint64_t start, end; /* offsets of its first byte and past its last */
	int64_t status;      /* of D */
	int64_t unix_ms;     /* of C: when the command began; 0 = a bash before 5 does not know */
	char nonce[PROMPT_NONCE_SIZE + 1];
};
/* Looks through output for marks; all zeroes at first, `offset` being that of the first byte. */
struct prompt_scanner {
	uint64_t offset, start;
	char text[64];
	unsigned size;
	enum { MARKS_OUTSIDE, MARKS_ESCAPE, MARKS_INSIDE, MARKS_END } state;
};
/* Cuts from *bytes what comes before and in the next mark. False at the end of the bytes. */
bool prompt_scanner_next(struct prompt_scanner *m, struct span *bytes, struct prompt_mark *ret);
