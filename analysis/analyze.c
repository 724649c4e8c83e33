/* Finding traces, and putting what each says into one report. */
#include "analyze.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "printable.h"
#include "process.h"
#include "verdict.h"

struct path_list {
	char **path;
	size_t count, capacity;
};

struct analysis {
	struct report *report;
	struct analyze_notes *notes;
	size_t process_capacity, note_capacity;
	int status;
};

static int add_path(struct path_list *list, const char *path)
{
	char *copy = strdup(path);

	if (!copy ||
	    array_reserve((void **)&list->path, &list->capacity, list->count + 1, sizeof(char *))) {
		free(copy);
		return -1;
	}
	list->path[list->count++] = copy;
	return 0;
}

static void free_paths(struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->path[i]);
	free(list->path);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_trace_name(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".bst") == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The traces of a directory and, where `deeper`, of the directories in it. -1 with errno if it
 * cannot be read. */
static int list_directory(const char *path, bool deeper, struct path_list *list)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	int status = directory ? 0 : -1;

	while (!status && (entry = readdir(directory))) {
		char *child;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) {
			status = -1;
			break;
		}
		/* A directory inside that cannot be read is none of ours. */
		if (is_trace_name(entry->d_name) && !is_directory(child))
			status = add_path(list, child);
		else if (deeper && is_directory(child))
			list_directory(child, false, list);
		free(child);
	}
	if (directory)
		closedir(directory);
	return status;
}

static void note(struct analysis *a, const char *path, char *text, bool failure)
{
	struct analyze_notes *notes = a->notes;

	if (failure) {
		a->report->failures++;
		a->status = 1;
	}
	if (!notes || array_reserve((void **)&notes->note, &a->note_capacity, notes->count + 1,
				    sizeof(*notes->note))) {
		free(text);
		return;
	}
	notes->note[notes->count++] = (struct analyze_note){strdup(path), text, failure};
}

static void add_trace(struct analysis *a, const char *path)
{
	struct report *report = a->report;
	struct process_report *process;
	enum process_status status;
	char *text;

	if (array_reserve((void **)&report->processes, &a->process_capacity,
			  report->process_count + 1, sizeof(*process))) {
		note(a, path, strdup("out of memory"), true);
		return;
	}
	process = &report->processes[report->process_count];
	memset(process, 0, sizeof(*process));
	status = process_analyze(path, PROCESS_FULL, process, &text);
	if (status != PROCESS_NONE)
		report->process_count++;
	if (status != PROCESS_WHOLE)
		note(a, path, text, status != PROCESS_TORN);
}

static void add_directory(struct analysis *a, const char *path)
{
	struct path_list list = {0};

	if (list_directory(path, true, &list)) {
		note(a, path, strdup(strerror(errno)), true);
	} else if (!list.count) {
		note(a, path, strdup("no trace (*.bst) in this directory"), true);
	} else {
		qsort(list.path, list.count, sizeof(char *), by_name);
		for (size_t i = 0; i < list.count; i++)
			add_trace(a, list.path[i]);
	}
	free_paths(&list);
}

int analyze_paths(const char *const *paths, size_t count, struct report *report,
		  struct analyze_notes *notes)
{
	struct analysis a = {.report = report, .notes = notes};

	if (notes)
		memset(notes, 0, sizeof(*notes));
	for (size_t i = 0; i < count; i++) {
		if (is_directory(paths[i]))
			add_directory(&a, paths[i]);
		else
			add_trace(&a, paths[i]);
	}
	report->verdict = verdict_over(report);
	collectives_compare(report);
	return count ? a.status : 1;
}

void analyze_notes_print(const struct analyze_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		char *path = printable_copy(notes->note[i].path, PRINTABLE_LINE, 1024);
		char *text = printable_copy(notes->note[i].text, PRINTABLE_LINE, 1024);

		fprintf(stderr, "boundshim: %s: %s\n", path, text);
		free(path);
		free(text);
	}
}

void analyze_notes_fini(struct analyze_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->note[i].path);
		free(notes->note[i].text);
	}
	free(notes->note);
	memset(notes, 0, sizeof(*notes));
}
