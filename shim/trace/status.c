/* The words for each reason. */
#include "status.h"

static const char *const words[] = {
	[BST_OK] = "no error",
	[BST_EMPTY] = "the file is empty",
	[BST_FOREIGN] = "not a boundshim trace (wrong magic)",
	[BST_HEADER_TORN] = "cut off inside the file header",
	[BST_HEADER_DAMAGED] = "file header: checksum mismatch",
	[BST_MAJOR_UNKNOWN] = "written in a newer, incompatible version of the format",
	[BST_FEATURE_UNKNOWN] = "uses a feature that this version does not know",
	[BST_CHUNK_UNKNOWN] = "a chunk of unknown type that may not be skipped",
	[BST_CHUNK_MAGIC_BAD] = "no chunk where one must be",
	[BST_CHUNK_HEADER_BAD] = "chunk header: checksum mismatch",
	[BST_CHUNK_TYPE_ZERO] = "chunk of type 0",
	[BST_CHUNK_STALE] = "a chunk of another trace or another place",
	[BST_CHUNK_TOO_LARGE] = "chunk larger than the format allows",
	[BST_PAYLOAD_BAD] = "payload: checksum mismatch",
	[BST_TORN] = "cut off inside a chunk",
	[BST_TABLE_SHORT] = "sizes inside the chunk do not fit",
	[BST_TABLE_LIMITS] = "more rows, columns or text than the format allows",
	[BST_TABLE_ZERO] = "table 0",
	[BST_COLUMN_DUPLICATE] = "a column twice",
	[BST_COLUMN_UNKNOWN] = "a column of unknown kind that may not be skipped",
	[BST_COLUMN_ENCODING] = "a column of unknown encoding",
	[BST_COLUMN_SIZE] = "a column whose size does not fit its rows",
	[BST_COLUMN_INFLATE] = "a column that does not decompress",
	[BST_SEQUENCE] = "chunks are missing",
	[BST_NO_MEMORY] = "out of memory",
	[BST_FULL] = "the buffer is too small",
};

const char *bst_status_text(enum bst_status status)
{
	if ((unsigned)status >= sizeof(words) / sizeof(words[0]) || !words[status])
		return "unknown status";
	return words[status];
}
