/* SPDX-License-Identifier: Apache-2.0 */
/* machine/machine.h — the program atoll-machine, which works beside QEMU in the native sandbox of a
 * virtual machine. It controls QEMU through its monitor, a Unix socket in that sandbox.
 *
 * - run FILE KEY PROGRAM ARGUMENT…: becomes the program, if the file holds KEY; FILE "-": in any
 * case
 * - check FILE KEY: fails unless the file holds KEY
 * - save SOCKET FOLDER: stops the processors, makes the folder, and writes `ram`, `key` (the name
 * of the machine) and `state` to the disk; when that fails, the processors continue
 * - load SOCKET FOLDER: loads the state; the processors do not run
 * - restore SOCKET FOLDER: loads the state, and lets the processors run
 * - stop SOCKET, continue SOCKET: the processors; what the machine wrote is in its disk's file
 *   after a stop
 *
 * The file `state` exists only while `ram` is of the same moment. */
#pragma once

/* The whole program; returns the exit status. */
int machine_main(int argc, char **argv);
