/* What a test program may ask of libsimclock.so; look these up with dlsym, they exist only there.
 */
#pragma once

#include <stdint.h>

/* Spends CPU time of the calling thread. */
void sim_cpu_work(uint64_t ns);
/* Blocks the calling thread: time passes and no CPU time does. */
void sim_cpu_wait(uint64_t ns);
/* Time passes in which another thread had the caller's core: an involuntary switch. */
void sim_cpu_preempt(uint64_t ns);
/* All count threads that pass the same barrier leave at the time of the latest. id < 64. */
void sim_barrier(unsigned int id, unsigned int count);
/* The caller's time since the program began. */
uint64_t sim_elapsed(void);
