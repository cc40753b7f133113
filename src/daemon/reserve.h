/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/reserve.h — room and files in the data folder that are kept for a full disk. Private to
 * this folder.
 *
 * DATA/reserve holds a file of 8 MiB and some empty files. When the disk is full they are given up,
 * so that the server can start, delete sandboxes and bring its log into the database. They are made
 * again when there is room. The supervisor owns them; its thread alone calls. */
#pragma once

#include <stdint.h>

#define RESERVE_LOOK_MS 1000

/* Gives the reserve up when the file system of this folder is full, and makes it when it is not.
 * A failure is not an error: there is no reserve then. */
void reserve_look(int data_fd);
