/* SPDX-License-Identifier: Apache-2.0 */
/* agent/settle.h — gives the root filesystem of any image what Atoll's templates have: the user
 * "user" with the folder /home/user/project.
 *
 * Only for a sandbox that connects to its server (reach.h), whose root no template made. */
#pragma once

/* Changes nothing when the image has that user. What cannot be written is left out. */
void settle_image(void);
