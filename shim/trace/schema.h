/* The tables of the format as data: names, units and default encodings, from tables.def. */
#ifndef BST_SCHEMA_H
#define BST_SCHEMA_H

#include "format.h"

struct bst_column_info {
	uint16_t id;
	uint8_t encoding; /* enum bst_encoding */
	const char *name;
	const char *unit;
};

struct bst_table_info {
	uint16_t id;
	uint16_t time_column; /* 0 = the table has no time */
	const char *name;
	const struct bst_column_info *column; /* ends with id 0 */
};

struct bst_enum_info {
	const char *set;
	uint32_t value;
	const char *name;
};

/* The table with this id, or NULL if this version does not know it. Static. */
const struct bst_table_info *bst_table_info(uint16_t table);

/* All enum rows, in order of enums.def; their number through `count`. Static. */
const struct bst_enum_info *bst_enum_info(unsigned *count);

/* The name of `value` in `set`, or NULL. Static. */
const char *bst_enum_name(const char *set, uint32_t value);

#endif
