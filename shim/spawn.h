/* Threads of ours in somebody else's process. */
#ifndef SPAWN_H
#define SPAWN_H

/* Runs `body` in a detached thread with all signals blocked: the program's handlers never run in
 * it. 0, or -1. */
int spawn(void *(*body)(void *));

#endif
