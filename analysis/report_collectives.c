/* Waiting for the slowest rank, and transfer. */
#include "report_collectives.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "paragraph.h"
#include "printable.h"
#include "quantity.h"
#include "table.h"

static void name_rank(char *text, size_t size, const struct process_report *process,
		      const struct rank_collectives *rank)
{
	char *name = printable_line(process->rank, 12);

	if (*name)
		snprintf(text, size, "rank %s", name);
	else
		snprintf(text, size, "pid %" PRIu64 ", device %u", process->pid,
			 process->devices[rank->device].index);
	free(name);
}

static void add_row(struct table *table, const struct report *report,
		    const struct rank_collectives *rank)
{
	const struct collectives_report *c = &report->collectives;
	const struct process_report *process = &report->processes[rank->process];
	uint64_t transfer_ns = rank->total_ns - rank->waiting_ns;
	char *name = printable_line(process->rank, 12);

	table_add(table, "%s", name);
	table_add(table, "%" PRIu64, process->pid);
	table_add(table, "%u", process->devices[rank->device].index);
	table_add(table, "%s", quantity_time((double)rank->total_ns / (double)c->count).text);
	table_add(table, "%s", quantity_time((double)rank->waiting_ns / (double)c->count).text);
	table_add(table, "%s", quantity_time((double)transfer_ns / (double)c->count).text);
	free(name);
}

static void print_slowest(const struct report *report, const struct terminal *terminal)
{
	const struct collectives_report *c = &report->collectives;
	uint64_t waiting_ns = 0, total_ns = 0;
	char rank[64], text[256];

	for (size_t r = 0; r < c->rank_count; r++) {
		waiting_ns += c->rank[r].waiting_ns;
		total_ns += c->rank[r].total_ns;
	}
	if (c->slowest == c->rank_count) {
		snprintf(text, sizeof(text), "No rank stands out: waiting is %s of their time.",
			 quantity_percent(total_ns ? (double)waiting_ns / (double)total_ns : 0)
				 .text);
	} else {
		name_rank(rank, sizeof(rank), &report->processes[c->rank[c->slowest].process],
			  &c->rank[c->slowest]);
		snprintf(text, sizeof(text),
			 "The others wait for %s, %s of all time in collectives: see what it does "
			 "between them, not the network.",
			 rank,
			 quantity_percent(total_ns ? (double)waiting_ns / (double)total_ns : 0)
				 .text);
	}
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_PLAIN, text, 2, 2);
}

void report_collectives_print(const struct report *report, const struct terminal *terminal)
{
	static const char *const headings[] = {">rank",    ">pid",      ">device", ">each",
					       ">waiting", ">transfer", NULL};
	const struct collectives_report *c = &report->collectives;
	struct table table;

	if (!c->known && !c->reason)
		return;
	terminal_print(terminal, STYLE_BOLD, "Collectives, of the ranks beside each other\n");
	if (!c->known) {
		fprintf(terminal->out, "  not compared: %s\n\n", c->reason);
		return;
	}
	table_init(&table, headings);
	for (size_t r = 0; r < c->rank_count; r++)
		add_row(&table, report, &c->rank[r]);
	table_print(&table, terminal);
	table_fini(&table);
	print_slowest(report, terminal);
	fputc('\n', terminal->out);
}
