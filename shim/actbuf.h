/* The raw buffers that CUPTI fills: ours, CUPTI's, ready, ours again. Knows no record type. */
#ifndef ACTBUF_H
#define ACTBUF_H

#include <stddef.h>
#include <stdint.h>

/*
 * 256 KiB hold about 1,150 kernel records; the pool is address space, touched as used. All of them are filled by 590,000 kernels
 * between two looks of the writer (100 ms). Many and small rather than few and large: each launching thread keeps one to itself
 * (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, on by default), and 200 such threads found 128 of 1 MiB too few.
 */
#define ACTBUF_BYTES (256u << 10)
#define ACTBUF_COUNT 512u

/* Who reads a completed buffer; bits. */
enum actbuf_reader {
	ACTBUF_OURS = 1,       /* the writer */
	ACTBUF_APPLICATION = 2 /* on its way to the application's profiler: cupti_share.c */
};

struct actbuf {
	uint8_t *data;
	size_t valid_bytes;
	void *context; /* as CUPTI gave it */
	uint32_t stream;
};

/* Maps the pool; 0, or -1 without memory. */
int actbuf_init(void);

/* For CUPTI's request: a buffer of ACTBUF_BYTES, or NULL when all are out. Any thread, no lock, no system call. */
uint8_t *actbuf_request(void);

/*
 * For CUPTI's completion: `buffer` came back with `valid_bytes` of records, for these readers; for
 * none it is free again. Any thread.
 */
void actbuf_complete(uint8_t *buffer, size_t valid_bytes, void *context, uint32_t stream,
		     unsigned readers);

/* The next completed buffer for this reader, oldest first: 1, or 0 when there is none. Any thread. */
int actbuf_take(enum actbuf_reader reader, struct actbuf *out);

/* The reader has finished. After the last one it is zeroed, and may be filled again. */
void actbuf_release(enum actbuf_reader reader, uint8_t *buffer);

/* Is this pointer one of the pool's? (The spare is not.) */
int actbuf_owns(const uint8_t *buffer);

/* In a forked child: forget the pool. Nothing is unmapped, CUPTI may hold it. */
void actbuf_forget(void);

#endif
