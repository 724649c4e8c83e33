/* What can be wrong with a trace: one code per reason, with its words. */
#ifndef BST_STATUS_H
#define BST_STATUS_H

enum bst_status {
	BST_OK = 0,
	BST_EMPTY,           /* no byte */
	BST_FOREIGN,         /* not a trace */
	BST_HEADER_TORN,     /* a trace cut off inside its file header */
	BST_HEADER_DAMAGED,  /* file header crc */
	BST_MAJOR_UNKNOWN,   /* another major version */
	BST_FEATURE_UNKNOWN, /* an incompatible feature bit is set */
	BST_CHUNK_UNKNOWN,   /* a chunk type that may not be skipped */
	BST_CHUNK_MAGIC_BAD,
	BST_CHUNK_HEADER_BAD, /* header crc */
	BST_CHUNK_TYPE_ZERO,
	BST_CHUNK_STALE, /* of another run, or at another place */
	BST_CHUNK_TOO_LARGE,
	BST_PAYLOAD_BAD,  /* payload crc */
	BST_TORN,         /* cut off inside a chunk */
	BST_TABLE_SHORT,  /* sizes inside the payload do not fit */
	BST_TABLE_LIMITS, /* rows, columns or text over the limits */
	BST_TABLE_ZERO,
	BST_COLUMN_DUPLICATE,
	BST_COLUMN_UNKNOWN, /* a column that may not be skipped */
	BST_COLUMN_ENCODING,
	BST_COLUMN_SIZE,
	BST_COLUMN_INFLATE,
	BST_SEQUENCE, /* chunks are missing */
	BST_NO_MEMORY,
	BST_FULL, /* the caller's buffer is too small */
};

/* Words for a status, lower case, without a full stop. Never NULL; static. */
const char *bst_status_text(enum bst_status status);

#endif
