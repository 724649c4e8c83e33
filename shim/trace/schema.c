/* tables.def and enums.def as constant data. */
#include "schema.h"

#include <stddef.h>
#include <string.h>

/* All columns in the order of tables.def, an end mark before each table and at the end. */
static const struct bst_column_info flat[] = {
#define TABLE(NAME, id, name, time_column) {0, 0, NULL, NULL},
#define COLUMN(TABLE, NAME, id, name, unit, ENCODING) {id, BST_##ENCODING, name, unit},
#include "tables.def"
#undef TABLE
#undef COLUMN
	{0, 0, NULL, NULL},
};

/* Where each table's end mark stands in `flat`: its columns follow. */
enum position {
#define TABLE(NAME, id, name, time_column) AT_##NAME,
#define COLUMN(TABLE, NAME, id, name, unit, ENCODING) AT_##TABLE##_##NAME,
#include "tables.def"
#undef TABLE
#undef COLUMN
};

static const struct bst_table_info tables[BST_TABLE_LIMIT] = {
#define TABLE(NAME, id, name, time_column) [id] = {id, time_column, name, &flat[AT_##NAME + 1]},
#define COLUMN(TABLE, NAME, id, name, unit, ENCODING)
#include "tables.def"
#undef TABLE
#undef COLUMN
};

static const struct bst_enum_info enums[] = {
#define ENUM(SET, set, NAME, value, name) {set, value, name},
#include "enums.def"
#undef ENUM
};

const struct bst_table_info *bst_table_info(uint16_t table)
{
	if (table >= BST_TABLE_LIMIT || tables[table].id == 0)
		return NULL;
	return &tables[table];
}

const struct bst_enum_info *bst_enum_info(unsigned *count)
{
	*count = sizeof(enums) / sizeof(enums[0]);
	return enums;
}

const char *bst_enum_name(const char *set, uint32_t value)
{
	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++)
		if (enums[i].value == value && strcmp(enums[i].set, set) == 0)
			return enums[i].name;
	return NULL;
}
