/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_STREAMS_H
#define SCOPE_USDT_STREAMS_H

/*
 * Standard streams that the caller closed.  Their numbers must not go to the next file that is opened: a message would
 * then be written into a profile or a socket.
 */

/*
 * Holds each closed descriptor of 0, 1 and 2 with one that can neither be read (0) nor written (1, 2), so that using it
 * fails as before; a program that is executed finds it closed again.  First thing in main.
 */
void streams__hold(void);

#endif
