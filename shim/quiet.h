/* Writing without the signals that a failed write sends: SIGPIPE and SIGXFSZ would end the program
 * that hosts us. */
#ifndef QUIET_H
#define QUIET_H

#include <signal.h>

struct quiet {
	sigset_t before;  /* signal mask */
	sigset_t pending; /* signals that waited already, and stay */
};

/* Around a write in a thread of the program; errno is kept by both. The writer thread has all
 * signals blocked and needs none. */
void quiet_begin(struct quiet *quiet);
void quiet_end(const struct quiet *quiet);

#endif
