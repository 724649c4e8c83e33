/* Records and activity become rows; handles, names and kernels become ids of the trace's dictionaries. Writer thread only. */
#ifndef ENCODE_H
#define ENCODE_H

#include <stdint.h>

#include "output.h"
#include "record.h"
#include "thread.h"

/* A kernel as the activity record tells it: what makes two launches the same row of table `kernel`. */
struct kernel_key {
	uint32_t name; /* id of names.h */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];
	uint32_t registers;
	uint32_t shared_static;
	uint32_t shared_dynamic;
	uint32_t shared_executed;
	uint32_t local;
};

/* Maps the dictionaries; 0, or -1 without memory. Once for each output. */
int encode_init(struct output *output);

/* One record of a thread's ring. */
void encode_record(struct thread *thread, const struct record *record);

/* Ids, making dictionary rows at first sight. 0 when the dictionary is full (counted). */
uint32_t encode_kernel(const struct kernel_key *key);
uint32_t encode_handle(uint64_t handle);

/* The names interned since the last call become rows of `string`. Before rows that refer to them are flushed. */
void encode_names(void);

#endif
