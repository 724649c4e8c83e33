/* The numbers of the trace format: magics, limits, table, column and enum ids. FORMAT.md is normative. */
#ifndef BST_FORMAT_H
#define BST_FORMAT_H

#include <stdint.h>

#define BST_FILE_MAGIC                                                                             \
	"\x89"                                                                                     \
	"BST\r\n\x1a\n"
#define BST_FILE_HEADER_BYTES 64
#define BST_MAX_FILE_HEADER_BYTES 4096
#define BST_MAJOR 1
#define BST_MINOR 0
#define BST_KNOWN_INCOMPATIBLE UINT64_C(0)

#define BST_CHUNK_MAGIC UINT32_C(0x435342C5) /* C5 42 53 43 in the file */
#define BST_CHUNK_HEADER_BYTES 96
#define BST_TRAILER_BYTES 16
#define BST_TRAILER_MAGIC UINT32_C(0x45545342) /* "BSTE" */
#define BST_CHUNK_SKIPPABLE 1
#define BST_CAUSE_COUNT 12

#define BST_TABLE_HEADER_BYTES 32
#define BST_COLUMN_HEADER_BYTES 24
#define BST_COLUMN_SKIPPABLE 0x8000

#define BST_MAX_PAYLOAD_BYTES (64u << 20)
#define BST_MAX_ROWS (1u << 20)
#define BST_MAX_COLUMNS 64
#define BST_MAX_TEXT_BYTES (16u << 20)
#define BST_MAX_INFLATE_RATIO                                                                      \
	1032 /* deflate cannot do better: RFC 1951 match of 258 bytes in 2 bits */

enum bst_chunk_type {
	BST_CHUNK_TABLE = 1,
	BST_CHUNK_TRAILER = 2,
};

enum bst_encoding {
	BST_PLAIN = 1,
	BST_DELTA = 2,
	BST_BYTES = 3,
};

enum bst_codec {
	BST_STORED = 0,
	BST_DEFLATE = 1,
};

enum bst_table {
#define TABLE(NAME, id, name, time_column) BST_TABLE_##NAME = id,
#define COLUMN(TABLE, NAME, id, name, unit, ENCODING)
#include "tables.def"
#undef TABLE
#undef COLUMN
	BST_TABLE_LIMIT = 64 /* ids known to this reader are below */
};

enum bst_column {
#define TABLE(NAME, id, name, time_column)
#define COLUMN(TABLE, NAME, id, name, unit, ENCODING) BST_##TABLE##_##NAME = id,
#include "tables.def"
#undef TABLE
#undef COLUMN
	BST_COLUMN_LIMIT = 32
};

enum bst_enum {
#define ENUM(SET, set, NAME, value, name) BST_ENUM_##SET##_##NAME = value,
#include "enums.def"
#undef ENUM
};

#endif
