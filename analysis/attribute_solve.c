/* From rows to estimates: which columns are solved for, one unmixing for each metric, and what its
 * answers are worth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute_state.h"
#include "unmix.h"

/* Columns solved for, idle time and the shared one among them: solving takes their number cubed in
 * the worst case. */
#define COLUMN_LIMIT 640

/* A class with a smaller share of its signature's time goes with the nearest other. */
#define CLASS_SHARE 0.02

/* Half of an interval, of the scale: wider ones tell too little. Labels need a lead of 10 points.
 */
#define NARROW 0.10

/*
 * Where noise and prior leave this share of the prior's variance open, the prior has spoken, not
 * the data. That may decide only where all kernels are so much alike that it hardly matters.
 */
#define OPEN_SHARE 0.5
#define VERY_NARROW 0.03

/* Samples that a column needs: of kernels about as long as samples, or longer, fewer will do, which
 * then hold little else. */
#define FEW_SAMPLES 8
#define FEW_FULL 1.0
#define FULL_ENOUGH 3.0

/* Below zero by so many deviations and points: the model does not hold. */
#define NEGATIVE_DEVIATIONS 5.0
#define NEGATIVE_POINTS 0.03
#define OUTLIER_SHARE 0.3

/* Members of a group, and how strongly they must be bound to it: the correlation of what is open.
 */
#define GROUP_MEMBERS 6
#define GROUP_BOND (-0.5)

/*
 * What a kernel does to the counter in which another peaks, of its own maximum: the mean over pairs
 * of kernels, weighted by the time of both, in ncu's measurements of BERT, GPT and ResNet-50 in
 * training on an H200 is 0.78 to 0.89 for L2 and 0.81 to 0.84 for L1.
 */
#define HIDDEN_LEAST 0.8

#define NO_COLUMN UINT16_MAX

/* Of a shape's time, what others may bring into its columns that are still its own. */
#define JOINED_MOST 0.2

/* More of a signature's time in the shared column says too little about it. */
#define SHARED_MOST 0.2

/* A mean over columns, by time: of a signature, or of one shape that it serves. */
struct mean {
	uint16_t *column;
	double *weight;
	size_t count;
	double total_ns;
	double share;     /* of that, in these columns */
	uint32_t samples; /* that had one of its raw columns */
	double shared;    /* weight of the shared column */
	bool crowded;     /* it would have a column of its own, were there room */
	double other_ns;  /* of other shapes that joined its columns */
	bool joined;      /* its columns are other shapes' as much as its own */
};

struct solve {
	struct attribute *a;
	uint16_t *leader;  /* of raw columns: the raw column that stands for it */
	uint16_t *column;  /* of raw columns: ours */
	double *time;      /* of raw columns: their shares, added up over rows */
	uint32_t *samples; /* of raw columns: rows that have it */
	size_t columns;    /* ours */
	bool has_rest;     /* the one before the last is shared */
	uint32_t *first;
	struct mean *mean;       /* by family */
	struct mean *shape_mean; /* by record, of families of several */
	uint16_t *mean_column;   /* room of all means */
	double *mean_weight;
	double *level; /* three for each of our columns: see find_levels */
	/* For one metric: */
	unsigned metric;
	double scale;
	struct unmix unmix;
	uint16_t groups;
};

/* --- columns -------------------------------------------------------------------------------------
 */

static void add_times(struct solve *s)
{
	const struct sample_rows *rows = &s->a->rows;

	for (size_t i = 0; i < rows->entries; i++) {
		s->time[rows->column[i]] += (double)rows->share[i];
		s->samples[rows->column[i]]++;
	}
}

/*
 * Has it so many samples that it could be known? A column each for those that have not would
 * explain their samples perfectly, and make the others look better known than they are.
 */
static bool is_large(const struct solve *s, size_t raw)
{
	return s->samples[raw] >= FEW_SAMPLES || s->time[raw] >= FULL_ENOUGH;
}

/* The classes of a signature, of all its shapes. */
struct classes {
	uint32_t raw[(ATTRIBUTE_SHAPES + 1) * DURATION_CLASSES];
	double ns[(ATTRIBUTE_SHAPES + 1) * DURATION_CLASSES]; /* with those that joined */
	enum standing {
		POOLED, /* leads those alike that are small, too, or joined none yet */
		OWN,    /* is worth a column */
		JOINED,
	} standing[(ATTRIBUTE_SHAPES + 1) * DURATION_CLASSES];
	size_t count;
	double total_ns;
};

static const struct duration_class *class_at(const struct solve *s, uint32_t raw)
{
	return &s->a->record[raw / DURATION_CLASSES].classes.of[raw % DURATION_CLASSES];
}

static void gather_classes(const struct solve *s, const struct attribute_family *family,
			   struct classes *c)
{
	c->count = 0;
	c->total_ns = 0;
	for (uint32_t at = attribute_first(family); at; at = s->a->record[at - 1].next) {
		for (unsigned i = 0; i < s->a->record[at - 1].classes.count; i++) {
			uint32_t raw = (at - 1) * DURATION_CLASSES + i;

			c->raw[c->count] = raw;
			c->ns[c->count] = (double)class_at(s, raw)->total_ns;
			c->standing[c->count] = POOLED;
			c->total_ns += c->ns[c->count++];
		}
	}
}

/* Have class `i` and those that joined it enough time and samples for a column of their own? */
static bool is_worth_a_column(const struct solve *s, const struct classes *c, size_t i)
{
	return c->ns[i] >= CLASS_SHARE * c->total_ns && is_large(s, c->raw[i]);
}

/* The class nearest in duration to `i` among those before `end` that stand so, or `count`. */
static size_t nearest(const struct solve *s, const struct classes *c, size_t i, size_t end,
		      enum standing standing, double within)
{
	double least = within;
	size_t found = c->count;

	for (size_t k = 0; k < end; k++) {
		double distance =
			fabs(class_at(s, c->raw[k])->log_ns - class_at(s, c->raw[i])->log_ns);

		if (k != i && c->standing[k] == standing && distance < least) {
			least = distance;
			found = k;
		}
	}
	return found;
}

/* Moves time and samples of class `i` to its leader. */
static void join(struct solve *s, struct classes *c, size_t i, size_t leader)
{
	uint32_t from = c->raw[i], to = c->raw[leader];

	s->leader[from] = (uint16_t)to;
	s->time[to] += s->time[from];
	s->samples[to] += s->samples[from];
	c->ns[leader] += c->ns[i];
	s->time[from] = 0;
	s->samples[from] = 0;
	c->ns[i] = 0;
	c->standing[i] = JOINED;
}

/* Small ones go with the nearest large one that is alike, else together, whatever their shape. */
static void join_alike(struct solve *s, struct classes *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (is_worth_a_column(s, c, i))
			c->standing[i] = OWN;
	for (size_t i = 0; i < c->count; i++) {
		size_t leader;

		if (c->standing[i] == OWN)
			continue;
		leader = nearest(s, c, i, c->count, OWN, DURATION_TOLERANCE);
		if (leader == c->count)
			leader = nearest(s, c, i, i, POOLED, DURATION_TOLERANCE);
		if (leader != c->count)
			join(s, c, i, leader);
	}
}

/* What is small still goes with the nearest large one; without such a one with the one that has most
 * samples. */
static void join_rest(struct solve *s, struct classes *c)
{
	size_t most = c->count;

	for (size_t i = 0; i < c->count; i++) {
		if (c->standing[i] == POOLED && is_worth_a_column(s, c, i))
			c->standing[i] = OWN;
		if (c->standing[i] == POOLED &&
		    (most == c->count || s->samples[c->raw[i]] > s->samples[c->raw[most]]))
			most = i;
	}
	for (size_t i = 0; i < c->count; i++) {
		size_t leader = nearest(s, c, i, c->count, OWN, HUGE_VAL);

		if (c->standing[i] != POOLED)
			continue;
		if (leader == c->count)
			leader = most;
		if (leader != i)
			join(s, c, i, leader);
	}
}

/* Finds the leaders of all classes, and moves time and samples to them. */
static void join_classes(struct solve *s)
{
	struct classes c;

	for (size_t i = 0; i < s->a->records * DURATION_CLASSES; i++)
		s->leader[i] = (uint16_t)i;
	for (size_t f = 0; f < s->a->families; f++) {
		gather_classes(s, &s->a->family[f], &c);
		join_alike(s, &c);
		join_rest(s, &c);
		/* a leader may have joined another */
		for (size_t i = 0; i < c.count; i++)
			s->leader[c.raw[i]] = s->leader[s->leader[c.raw[i]]];
	}
}

static int larger_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* A raw column needs more time than this to get one of its own, if there are too many. */
static int least_time(const struct solve *s, double *least)
{
	size_t raw = s->a->records * DURATION_CLASSES, count = 0;
	double *times = malloc((raw + 1) * sizeof(*times));

	if (!times)
		return -1;
	for (size_t i = 0; i < raw; i++)
		if (is_large(s, i))
			times[count++] = s->time[i];
	*least = 0;
	if (count > COLUMN_LIMIT - 2) {
		qsort(times, count, sizeof(*times), larger_first);
		*least = times[COLUMN_LIMIT - 2];
	}
	free(times);
	return 0;
}

/* Numbers columns in the order of first launch; what is small shares one. */
static int number_columns(struct solve *s)
{
	size_t raw = s->a->records * DURATION_CLASSES;
	uint16_t *own = malloc((raw + 1) * sizeof(*own));
	double least;

	if (!own || least_time(s, &least)) {
		free(own);
		return -1;
	}
	for (size_t i = 0; i < raw; i++) {
		own[i] = is_large(s, i) && s->time[i] > least ? (uint16_t)s->columns++ : NO_COLUMN;
		s->has_rest |= s->time[i] > 0 && own[i] == NO_COLUMN;
	}
	for (size_t i = 0; i < raw; i++) {
		uint16_t to = own[s->leader[i]];

		if (to != NO_COLUMN)
			s->column[i] = to;
		else
			s->column[i] = (uint16_t)s->columns; /* the shared one, if any row has it */
	}
	free(own);
	s->columns += s->has_rest;
	s->column[IDLE_COLUMN] = (uint16_t)s->columns++;
	return 0;
}

static void find_first(struct solve *s)
{
	const struct sample_rows *rows = &s->a->rows;

	for (size_t i = 0; i < s->columns; i++)
		s->first[i] = (uint32_t)i;
	for (size_t r = 0; r < rows->count; r++) {
		const uint16_t *column = &rows->column[rows->row[r].entry];
		uint32_t least = UINT32_MAX;

		for (uint32_t i = 0; i < rows->row[r].entries; i++)
			if (s->column[column[i]] < least)
				least = s->column[column[i]];
		for (uint32_t i = 0; i < rows->row[r].entries; i++)
			if (s->first[s->column[column[i]]] > least)
				s->first[s->column[column[i]]] = least;
	}
}

/* --- signatures ----------------------------------------------------------------------------------
 */

static bool is_shared(const struct solve *s, uint16_t column)
{
	return s->has_rest && column + 2u == s->columns;
}

static void add_weight(struct mean *mean, uint16_t column, double weight)
{
	for (size_t i = 0; i < mean->count; i++) {
		if (mean->column[i] == column) {
			mean->weight[i] += weight;
			return;
		}
	}
	mean->column[mean->count] = column;
	mean->weight[mean->count++] = weight;
}

/* Of what joined a class that takes another time nothing is known. */
static bool is_alike(const struct solve *s, size_t raw)
{
	size_t leader = s->leader[raw];

	return leader == raw || fabs(class_at(s, (uint32_t)leader)->log_ns -
				     class_at(s, (uint32_t)raw)->log_ns) < DURATION_TOLERANCE;
}

/* Classes with samples; with `alike`, without those that only went with the nearest one. */
static void add_record(const struct solve *s, size_t record, bool alike, struct mean *mean)
{
	const struct duration_classes *classes = &s->a->record[record].classes;

	for (unsigned c = 0; c < classes->count; c++) {
		size_t raw = record * DURATION_CLASSES + c, leader = s->leader[raw];
		double ns = (double)classes->of[c].total_ns;

		mean->total_ns += ns;
		if (s->time[leader] <= 0 || ns <= 0 || (alike && !is_alike(s, raw)))
			continue;
		add_weight(mean, s->column[raw], ns);
		mean->samples += leader == raw ? s->samples[raw] : 0;
		mean->crowded |= is_shared(s, s->column[raw]) && is_large(s, leader);
		mean->joined |= leader / DURATION_CLASSES != record;
	}
}

static void close_mean(const struct solve *s, struct mean *mean)
{
	double covered = 0;

	for (size_t i = 0; i < mean->count; i++)
		covered += mean->weight[i];
	for (size_t i = 0; i < mean->count; i++) {
		mean->weight[i] /= covered;
		mean->shared += is_shared(s, mean->column[i]) ? mean->weight[i] : 0;
	}
	mean->share = mean->total_ns > 0 ? covered / mean->total_ns : 0;
}

/* Samples of classes that joined another shape's, that shape has; and it has their time. */
static void note_joined(struct solve *s, size_t record)
{
	const struct duration_classes *classes = &s->a->record[record].classes;

	for (unsigned c = 0; c < classes->count; c++) {
		size_t leader = s->leader[record * DURATION_CLASSES + c];

		if (leader / DURATION_CLASSES == record)
			continue;
		s->shape_mean[record].samples += s->samples[leader];
		s->shape_mean[leader / DURATION_CLASSES].other_ns +=
			(double)classes->of[c].total_ns;
	}
}

static void find_shape_means(struct solve *s, const struct attribute_family *family,
			     struct mean *room)
{
	for (uint32_t at = attribute_first(family); at; at = s->a->record[at - 1].next) {
		struct mean *mean = &s->shape_mean[at - 1];

		*mean = (struct mean){.column = room->column, .weight = room->weight};
		add_record(s, at - 1, true, mean);
		room->column += mean->count;
		room->weight += mean->count;
		close_mean(s, mean);
	}
	for (uint32_t at = attribute_first(family); at; at = s->a->record[at - 1].next)
		note_joined(s, at - 1);
	for (uint32_t at = attribute_first(family); at; at = s->a->record[at - 1].next) {
		struct mean *mean = &s->shape_mean[at - 1];

		mean->joined |= mean->other_ns > JOINED_MOST * mean->total_ns;
	}
}

/* A signature's value is the mean of its classes by time, those with samples: all launches count,
 * sampled or not. */
static void find_means(struct solve *s)
{
	struct mean room = {.column = s->mean_column, .weight = s->mean_weight};

	for (size_t f = 0; f < s->a->families; f++) {
		const struct attribute_family *family = &s->a->family[f];
		struct mean *mean = &s->mean[f];

		*mean = (struct mean){.column = room.column, .weight = room.weight};
		for (uint32_t at = attribute_first(family); at; at = s->a->record[at - 1].next)
			add_record(s, at - 1, false, mean);
		room.column += mean->count;
		room.weight += mean->count;
		close_mean(s, mean);
		s->a->summary.crowded += mean->crowded && mean->shared > SHARED_MOST;
		if (family->records > 1)
			find_shape_means(s, family, &room);
	}
}

/* --- estimates -----------------------------------------------------------------------------------
 */

/* The 95 % point of Student's t: Cornish-Fisher expansion around the normal's (Abramowitz and
 * Stegun 26.7.5). */
static double student(double freedom)
{
	double z = 1.6448536, z2 = z * z, z3 = z2 * z, z5 = z3 * z2, z7 = z5 * z2;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

static double half_width(const struct unmix_sum *sum)
{
	return student(sum->freedom) * sum->deviation;
}

static bool is_narrow(const struct solve *s, const struct unmix_sum *sum)
{
	double prior = s->unmix.prior_deviation, half = half_width(sum);
	double open = sum->deviation * sum->deviation;

	return half <= VERY_NARROW || (half <= NARROW && open <= OPEN_SHARE * prior * prior);
}

/*
 * For each column the sums over its samples of share x value, of shares and of squared shares: the
 * mean of the metric over the samples, weighted by its time in them, and how much of such a sample
 * is its own.
 */
static void find_levels(struct solve *s)
{
	const struct sample_rows *rows = &s->a->rows;

	memset(s->level, 0, 3 * s->columns * sizeof(*s->level));
	for (size_t r = 0; r < rows->count; r++) {
		const struct sample_row *row = &rows->row[r];
		double value;

		if (!(row->present >> s->metric & 1))
			continue;
		value = (double)rows->value[sample_rows_value(row, s->metric)];
		for (uint32_t i = row->entry; i < row->entry + row->entries; i++) {
			double *level = &s->level[3 * s->column[rows->column[i]]];
			double share = (double)rows->share[i];

			level[0] += share * value;
			level[1] += share;
			level[2] += share * share;
		}
	}
}

/*
 * A maximum of counters is less than the sum of what kernels beside each other do to it: what one
 * does to another counter than its neighbours is hidden in the samples that they share. There its
 * neighbours keep that other counter busy too, at HIDDEN_LEAST of their own maximum; all that is
 * left of what the sample reads may be this one's.
 */
static double hidden_most(const struct solve *s, const struct mean *mean, double value)
{
	double most = 0;

	for (size_t i = 0; i < mean->count; i++) {
		const double *level = &s->level[3 * mean->column[i]];

		if (level[2] > 0)
			most += mean->weight[i] *
				(HIDDEN_LEAST * value + (1 - HIDDEN_LEAST) * level[0] / level[2]);
	}
	return most;
}

/* Value and interval, in the metric's unit. */
static void set_interval(const struct solve *s, const struct unmix_sum *sum,
			 struct attribute_estimate *e)
{
	const struct attribute_options *o = &s->a->options;
	double z = student(HUGE_VAL), share = z * o->model_share * sum->value;
	double points = z * o->model_points, noise = half_width(sum);
	double half = sqrt(noise * noise + share * share + points * points);
	double most = o->metric[s->metric].most > 0 ? o->metric[s->metric].most : HUGE_VAL;

	e->value = (float)fmin(sum->value * s->scale, most);
	e->low = (float)fmin(fmax((sum->value - half) * s->scale, 0), most);
	e->high = (float)fmin((sum->value + half) * s->scale, most);
}

static struct attribute_estimate *estimate_of(const struct solve *s, size_t family)
{
	return &s->a->estimate[family * ATTRIBUTE_METRICS + s->metric];
}

static void judge(const struct solve *s, const struct unmix_sum *sum, const struct mean *mean,
		  uint32_t rejected, struct attribute_estimate *e)
{
	e->status = ATTRIBUTE_NOT_IDENTIFIABLE;
	if (s->a->summary.align.state == ALIGN_POOR) {
		e->reason = ATTRIBUTE_CLOCKS;
	} else if (mean->shared > SHARED_MOST) {
		e->reason = mean->crowded ? ATTRIBUTE_CROWDED : ATTRIBUTE_FEW_SAMPLES;
	} else if ((e->samples < FEW_SAMPLES && (double)e->samples_full < FULL_ENOUGH) ||
		   (double)e->samples_full < FEW_FULL || mean->share < 0.5) {
		e->reason = ATTRIBUTE_FEW_SAMPLES;
	} else if ((double)rejected > OUTLIER_SHARE * e->samples) {
		e->status = ATTRIBUTE_CONTRADICTED;
		e->reason = ATTRIBUTE_OUTLIERS;
	} else if (sum->free_value < -NEGATIVE_POINTS &&
		   sum->free_value < -NEGATIVE_DEVIATIONS * sum->deviation) {
		e->status = ATTRIBUTE_CONTRADICTED;
		e->reason = ATTRIBUTE_NEGATIVE;
	} else if (!is_narrow(s, sum)) {
		e->reason = ATTRIBUTE_COLLINEAR;
	} else {
		e->status = ATTRIBUTE_IDENTIFIED;
		e->reason = ATTRIBUTE_FINE;
	}
}

static void estimate(const struct solve *s, const struct mean *mean, struct attribute_estimate *e)
{
	uint32_t rejected = 0;
	struct unmix_sum sum;

	for (size_t i = 0; i < mean->count; i++) {
		e->samples += s->unmix.samples[mean->column[i]];
		e->samples_full += (float)s->unmix.time[mean->column[i]];
		rejected += s->unmix.rejected[mean->column[i]];
	}
	if (!e->samples)
		return;
	if (e->samples > mean->samples)
		e->samples = mean->samples;
	sum = unmix_sum(&s->unmix, mean->column, mean->weight, mean->count);
	set_interval(s, &sum, e);
	if (s->a->options.metric[s->metric].maximum)
		e->high = fmaxf(e->high,
				(float)fmin(hidden_most(s, mean, (double)e->value), s->scale));
	judge(s, &sum, mean, rejected, e);
}

/* What shapes have in common is no finding about one of them. */
static void estimate_shape(const struct solve *s, size_t record)
{
	struct attribute_estimate *e =
		&s->a->shape_estimate[record * ATTRIBUTE_METRICS + s->metric];

	estimate(s, &s->shape_mean[record], e);
	if (e->status == ATTRIBUTE_IDENTIFIED && s->shape_mean[record].joined)
		e->status = ATTRIBUTE_MERGED;
}

/* --- groups --------------------------------------------------------------------------------------
 */

struct group {
	size_t family[GROUP_MEMBERS];
	size_t count;
};

/* Covariance of what is open between two signatures. */
static double open_between(const struct solve *s, size_t a, size_t b)
{
	const struct mean *x = &s->mean[a], *y = &s->mean[b];
	double sum = 0;

	for (size_t i = 0; i < x->count; i++)
		for (size_t j = 0; j < y->count; j++)
			sum += x->weight[i] * y->weight[j] *
			       (double)s->unmix
				       .covariance[x->column[i] * s->columns + y->column[j]];
	return sum;
}

static bool is_loose(const struct solve *s, size_t family)
{
	const struct attribute_estimate *e = estimate_of(s, family);

	return e->status == ATTRIBUTE_NOT_IDENTIFIABLE && e->reason == ATTRIBUTE_COLLINEAR;
}

static double time_of(const struct solve *s, size_t family)
{
	return s->mean[family].total_ns;
}

/* The mean over the group by time. Columns of members differ, since no two signatures share any but
 * the shared one. */
static struct unmix_sum group_sum(const struct solve *s, const struct group *group)
{
	uint16_t column[COLUMN_LIMIT + GROUP_MEMBERS];
	double weight[COLUMN_LIMIT + GROUP_MEMBERS], total = 0;
	size_t count = 0;

	for (size_t m = 0; m < group->count; m++)
		total += time_of(s, group->family[m]);
	for (size_t m = 0; m < group->count; m++) {
		const struct mean *mean = &s->mean[group->family[m]];

		for (size_t i = 0; i < mean->count; i++) {
			column[count] = mean->column[i];
			weight[count++] = mean->weight[i] * time_of(s, group->family[m]) / total;
		}
	}
	return unmix_sum(&s->unmix, column, weight, count);
}

/* The loose signature that is bound most strongly to one of the group; false if none is. */
static bool find_partner(const struct solve *s, const struct group *group, size_t *partner)
{
	double strongest = GROUP_BOND;
	bool found = false;

	for (size_t r = 0; r < s->a->families; r++) {
		bool inside = false;

		if (!is_loose(s, r))
			continue;
		for (size_t m = 0; m < group->count; m++)
			inside |= group->family[m] == r;
		for (size_t m = 0; m < group->count && !inside; m++) {
			size_t member = group->family[m];
			double bond = open_between(s, r, member) /
				      sqrt(open_between(s, r, r) * open_between(s, member, member));

			if (bond < strongest) {
				strongest = bond;
				*partner = r;
				found = true;
			}
		}
	}
	return found;
}

/* Each member may do all of the group's work, or what is left when the others do the most they can.
 */
static void merge(struct solve *s, const struct group *group, const struct unmix_sum *sum)
{
	double most = s->a->options.metric[s->metric].most, total = 0;

	s->groups++;
	for (size_t m = 0; m < group->count; m++)
		total += time_of(s, group->family[m]);
	for (size_t m = 0; m < group->count; m++) {
		struct attribute_estimate *e = estimate_of(s, group->family[m]);
		double own = time_of(s, group->family[m]), low, high;

		set_interval(s, sum, e);
		high = (double)e->high * total / own;
		low = most > 0 ? ((double)e->low * total - most * (total - own)) / own : 0;
		e->low = (float)fmax(low, 0);
		e->high = (float)(most > 0 ? fmin(high, most) : high);
		e->status = ATTRIBUTE_MERGED;
		e->group = s->groups;
	}
}

/* Grows a group around a loose signature until its mean is known. */
static void try_merge(struct solve *s, size_t family)
{
	struct group group = {.family = {family}, .count = 1};
	size_t partner;

	while (group.count < GROUP_MEMBERS && find_partner(s, &group, &partner)) {
		struct unmix_sum sum;

		group.family[group.count++] = partner;
		sum = group_sum(s, &group);
		if (is_narrow(s, &sum)) {
			merge(s, &group, &sum);
			return;
		}
	}
}

/* --- the end -------------------------------------------------------------------------------------
 */

static int solve_metric(struct solve *s, unsigned metric)
{
	struct attribute *a = s->a;
	const struct attribute_metric *m = &a->options.metric[metric];
	struct unmix_input in = {.rows = &a->rows,
				 .metric = metric,
				 .column = s->column,
				 .columns = s->columns,
				 .first = s->first,
				 .idle_count = a->idle.count[metric],
				 .idle_sum = a->idle.sum[metric],
				 .idle_square_sum = a->idle.square_sum[metric]};

	s->metric = metric;
	s->groups = 0;
	s->scale = m->most > 0                    ? m->most
		   : m->kind == ATTRIBUTE_PERCENT ? 100
						  : a->most_seen[metric];
	if (s->scale <= 0)
		s->scale = 1;
	in.scale = s->scale;
	if (unmix_init(&s->unmix, &in))
		return -1;
	if (m->maximum)
		find_levels(s);
	for (size_t f = 0; s->unmix.used && f < a->families; f++)
		if (s->mean[f].count)
			estimate(s, &s->mean[f], estimate_of(s, f));
	for (size_t f = 0; s->unmix.used && f < a->families; f++)
		if (is_loose(s, f))
			try_merge(s, f);
	for (size_t r = 0; s->unmix.used && r < a->records; r++)
		if (s->shape_mean[r].count)
			estimate_shape(s, r);
	/* What the shift took up is lag too, but for the offset of the clocks. */
	a->summary.lag_ns[metric] =
		s->unmix.lag_ns + (double)(a->shift_ns - a->summary.align.offset_ns);
	a->lag_deviation_ns[metric] = s->unmix.used ? s->unmix.lag_deviation_ns : HUGE_VAL;
	unmix_fini(&s->unmix);
	return 0;
}

static int prepare(struct solve *s)
{
	struct attribute *a = s->a;
	size_t raw = (a->records + 1) * DURATION_CLASSES;

	s->leader = calloc(SAMPLE_COLUMNS, sizeof(*s->leader));
	s->column = calloc(SAMPLE_COLUMNS, sizeof(*s->column));
	s->time = calloc(SAMPLE_COLUMNS, sizeof(*s->time));
	s->samples = calloc(SAMPLE_COLUMNS, sizeof(*s->samples));
	s->mean = calloc(a->families + 1, sizeof(*s->mean));
	s->shape_mean = calloc(a->records + 1, sizeof(*s->shape_mean));
	/* each column once for its signature, once for its shape */
	s->mean_column = calloc(2 * raw, sizeof(*s->mean_column));
	s->mean_weight = calloc(2 * raw, sizeof(*s->mean_weight));
	a->estimate = calloc((a->families + 1) * ATTRIBUTE_METRICS, sizeof(*a->estimate));
	a->shape_estimate =
		calloc((a->records + 1) * ATTRIBUTE_METRICS, sizeof(*a->shape_estimate));
	if (!s->leader || !s->column || !s->time || !s->samples || !s->mean || !s->shape_mean ||
	    !s->mean_column || !s->mean_weight || !a->estimate || !a->shape_estimate)
		return -1;
	add_times(s);
	join_classes(s);
	if (number_columns(s))
		return -1;
	s->first = calloc(s->columns, sizeof(*s->first));
	s->level = calloc(3 * s->columns, sizeof(*s->level));
	if (!s->first || !s->level)
		return -1;
	find_first(s);
	find_means(s);
	a->summary.columns = (unsigned)s->columns;
	return 0;
}

int attribute_solve(struct attribute *a)
{
	struct solve s = {.a = a};
	int status = -1;

	if (attribute_gather(a) || prepare(&s))
		goto out;
	status = 0;
	for (unsigned m = 0; !status && m < a->options.metrics; m++)
		status = solve_metric(&s, m);
out:
	free(s.leader);
	free(s.column);
	free(s.time);
	free(s.samples);
	free(s.mean);
	free(s.shape_mean);
	free(s.mean_column);
	free(s.mean_weight);
	free(s.first);
	free(s.level);
	return status;
}
