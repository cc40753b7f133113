/* SPDX-License-Identifier: Apache-2.0 */
/* agent/image_user.h — gives the root filesystem of any image what Atoll's templates have: the user
 * "user" with the folder /home/user/project.
 *
 * Only for a sandbox that connects to its server (reverse.h), whose root no template made. */
#pragma once

/* Changes nothing when the image has that user. What cannot be written is left out. An agent that
 * is not root only makes the folder: its one user answers to that name (user.h). */
void image_user_add(void);
