/* A trace that keeps the newest: its chunks, less the oldest of what happened, go to a second file that then takes its place. */
#ifndef TRIM_H
#define TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* State of one copying. Plain data, the writer thread's. */
struct trim {
	int from;
	uint64_t at;       /* the next chunk of `from` */
	uint64_t cut;      /* events before it are left out */
	uint64_t size;     /* of the copy so far */
	uint64_t sequence; /* of the next chunk in the copy */
	uint64_t dropped;  /* rows left out */
	uint64_t
		host_begin; /* from when to when they were, where their times are the host's; 0 = none are */
	uint64_t host_end;
};

/*
 * Decides what of the chunks in [header, end) of the file `from` goes, so that at most `most_bytes` stay: the oldest events, and
 * readings of clocks and costs as old; names and whatever else later rows refer to stay. -1: that alone would be too large, or the
 * file does not read. `from` must be open for reading.
 */
int trim_begin(struct trim *trim, int from, uint64_t end, uint64_t most_bytes);

/*
 * Copies about TRIM_PIECE bytes to `to`, through `buffer` of `capacity` bytes, in which the largest chunk must fit. `end` is where
 * the chunks of `from` end by now. 1: there is more; 0: the copy is whole, trim->size bytes with trim->sequence chunks; -1: it failed.
 */
#define TRIM_PIECE (4u << 20)
int trim_copy(struct trim *trim, int to, uint64_t end, uint8_t *buffer, uint64_t capacity);

#endif
