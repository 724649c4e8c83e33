/* The C reader on several traces, each under a line `file NAME`, in one process: dump FILE... */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/dump.h"

/* The whole file in memory of exactly its size, so that ASan sees one byte too far. */
static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long end;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
		rewind(file);
		*size = (size_t)end;
		data = malloc(*size ? *size : 1);
		if (data && fread(data, 1, *size, file) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *data = read_file(argv[i], &size);

		if (!data) {
			fprintf(stderr, "dump: %s: cannot be read\n", argv[i]);
			return EXIT_FAILURE;
		}
		printf("file %s\n", argv[i]);
		dump_print(data, size, 0, stdout);
		free(data);
	}
	return EXIT_SUCCESS;
}
