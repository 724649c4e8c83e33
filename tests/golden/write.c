/* Writes a trace of every table with random values, by the C encoder: write SEED >FILE. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/trace_image.h"

/* Short and long text, of any bytes. */
static struct bst_cell random_text(char *room, uint32_t most)
{
	struct bst_cell cell = {.text = room};

	cell.size = (uint32_t)random_below(random_below(4) ? 12 : most);
	for (uint32_t i = 0; i < cell.size; i++)
		room[i] = (char)random_next();
	return cell;
}

static void add_random(struct image *image, uint16_t table)
{
	struct bst_batch batch;
	uint32_t count = 1 + (uint32_t)random_below(random_below(4) ? 10 : 300);
	unsigned shift = (unsigned)random_below(64);
	void *memory = batch_create(&batch, table, count, count * 64);

	for (uint32_t row = 0; row < count; row++) {
		struct bst_cell cells[BST_COLUMN_LIMIT];
		char text[BST_COLUMN_LIMIT][64];

		for (unsigned i = 0; batch.info->column[i].id; i++) {
			if (batch.info->column[i].encoding == BST_BYTES)
				cells[i] = random_text(text[i], sizeof(text[i]));
			else
				cells[i] = (struct bst_cell){.number = random_next() >> shift};
		}
		bst_batch_add(&batch, cells);
	}
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		image->encoder.losses[i] += (uint32_t)random_below(2);
	image_add(image, &batch);
	free(memory);
}

int main(int argc, char **argv)
{
	uint8_t run_id[16];
	struct image image;

	if (argc != 2) {
		fputs("usage: write SEED >FILE\n", stderr);
		return EXIT_FAILURE;
	}
	random_seed(strtoull(argv[1], NULL, 0));
	for (unsigned i = 0; i < sizeof(run_id); i++)
		run_id[i] = (uint8_t)random_next();
	image_init(&image, run_id, 300, 300 * 64);
	for (uint16_t table = 1; table < BST_TABLE_LIMIT; table++)
		if (bst_table_info(table) && table != BST_TABLE_INDEX)
			add_random(&image, table);
	image_finish(&image);
	fwrite(image.data, 1, image.size, stdout);
	image_fini(&image);
	return EXIT_SUCCESS;
}
