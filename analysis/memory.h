/* What the command does when memory runs out. */
#ifndef MEMORY_H
#define MEMORY_H

/* From now on jansson too ends the program, as all allocations of the command do, when memory runs out. Once, at the start. */
void memory_ends_it(void);

#endif
