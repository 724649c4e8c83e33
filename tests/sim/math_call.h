/* math_call: what the stand-in math libraries tell the program that calls them. */
#pragma once

#include <stdint.h>

#define SIM_MATH_WORDS 34

/* The last call of an entry point of one library, and how many there were. Each
 * exports a function sim_math_<library> that returns its own. */
struct sim_math_call {
	const char *name;
	uint64_t count;
	uint64_t word[SIM_MATH_WORDS];
};
