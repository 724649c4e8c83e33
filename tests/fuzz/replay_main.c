/* Replays a fuzz corpus without libFuzzer: each file of each folder named is given once to the
 * target. Exit status 77 if there was none; a crash or a sanitizer's report ends the program
 * before. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

/* The bytes lie in a buffer of exactly their size, so that ASan sees one byte too far. */
static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(size ? size : 1);
	int status = -1;

	if (file && bytes && fread(bytes, 1, size, file) == size) {
		LLVMFuzzerTestOneInput(bytes, size);
		status = 0;
	} else {
		fprintf(stderr, "replay: %s: cannot be read\n", path);
	}
	free(bytes);
	if (file)
		fclose(file);
	return status;
}

static int replay_folder(const char *folder, size_t *count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return 0;
	while (!status && (entry = readdir(dir)) != NULL) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		status = replay_file(path, (size_t)st.st_size);
		*count += 1;
	}
	closedir(dir);
	return status;
}

int main(int argc, char **argv)
{
	size_t count = 0;

	for (int i = 1; i < argc; i++) {
		if (replay_folder(argv[i], &count) != 0)
			return EXIT_FAILURE;
	}
	printf("replayed %zu inputs\n", count);
	return count ? EXIT_SUCCESS : 77;
}
