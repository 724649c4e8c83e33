/* Iteratively reweighted non-negative ridge regression. */
#include "unmix.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nnls.h"

#define ROUNDS 7
#define PRIOR_ROUND 3    /* the strength of the ridge is chosen after this one */
#define VARIANCE_STEPS 3 /* in each round */
#define LAST_ROUNDS                                                                                \
	2 /* see all rows; the ones before as many as have so many entries, evenly spread: */
#define EARLY_ENTRIES 400000

/* Variances, in scale squared: where they start, and below what they are rounding of the counters.
 */
#define VARIANCE_START 1e-4
#define VARIANCE_LEAST 1e-10
#define FLOOR_START 1e-7
#define FLOOR_LEAST 1e-8

/* A sample is left out beyond so many standard deviations; in early rounds, when these are still
 * guesses, beyond more. */
#define OUTLIER_DEVIATIONS 6.0
#define OUTLIER_EARLY 12.0

/* Before the data chose. Weak: a deviation of 100 times the scale. */
#define PRIOR_VARIANCE_START 1e4

/* What is assumed of it, as firmly as from so many columns: kernels differ by 30 points. */
#define PRIOR_VARIANCE_GUESS 0.09
#define PRIOR_COLUMNS 10
#define PRIOR_STEPS 8
/* Its tails: degrees of freedom of Student's t. */
#define PRIOR_FREEDOM 2

/* The idle samples count as at most so many: they say one thing, however often. */
#define IDLE_MOST 1000.0

/* Groups take turns of so many samples, so that each sees all phases of a program. */
#define GROUP_TURN 16

#define LEVERAGE_MOST 0.9

/* Counters trail or lead the times of kernels by at most this, and by about that. */
#define LAG_MOST_NS 3000.0
#define LAG_DEVIATION_NS 1000.0

struct work {
	const struct unmix_input *in;
	struct unmix *u;
	size_t n;
	struct envelope gram, factor;
	double *q;
	bool *fixed;
	double *variance;  /* of columns */
	double *up, *down; /* for its next step */
	double floor;
	double *prior_variance; /* of columns */
	double lag_ns;          /* what is measured comes so much later than kernels say */
	float *residual;        /* by row */
	bool *kept;             /* by row; false too where the metric is missing */
	double spread;          /* mean of residual squared over variance */
	size_t stride;          /* every so many rows are looked at */
};

static bool has_metric(const struct work *w, size_t row)
{
	return w->in->rows->row[row].present >> w->in->metric & 1;
}

static double value_of(const struct work *w, size_t row)
{
	const struct sample_rows *rows = w->in->rows;

	return (double)rows->value[sample_rows_value(&rows->row[row], w->in->metric)] /
	       w->in->scale;
}

/* A row: our columns, and their shares, were all kernels later by the lag. */
struct cells {
	size_t count;
	uint16_t column[SAMPLE_ENTRIES];
	double share[SAMPLE_ENTRIES];
};

/* What ran as the sample began gains by the lag, what ran as it ended loses. */
static void load_cells(const struct work *w, size_t row, struct cells *c)
{
	const struct sample_row *r = &w->in->rows->row[row];
	const uint16_t *column = &w->in->rows->column[r->entry];
	const float *share = &w->in->rows->share[r->entry];
	double shift = w->lag_ns / (double)r->length_ns;

	c->count = r->entries;
	for (size_t i = 0; i < c->count; i++) {
		double x = (double)share[i];

		if (column[i] == r->first_column)
			x += shift;
		if (column[i] == r->last_column)
			x -= shift;
		c->column[i] = w->in->column[column[i]];
		c->share[i] = x > 0 ? x : 0;
	}
}

static double fitted(const struct cells *c, const double *value)
{
	double sum = 0;

	for (size_t i = 0; i < c->count; i++)
		sum += c->share[i] * value[c->column[i]];
	return sum;
}

static double row_variance(const struct work *w, const struct cells *c)
{
	return w->floor + fitted(c, w->variance);
}

static double idle_variance(const struct work *w)
{
	const struct unmix_input *in = w->in;
	double mean = in->idle_sum / in->idle_count;

	return fmax(in->idle_square_sum / in->idle_count - mean * mean, 0) /
		       (in->scale * in->scale) +
	       w->floor;
}

static void add_idle(struct work *w)
{
	double weight;

	if (w->in->idle_count <= 0)
		return;
	weight = fmin(w->in->idle_count, IDLE_MOST) / idle_variance(w);
	*envelope_at(&w->gram, w->n - 1, w->n - 1) += weight;
	w->q[w->n - 1] += weight * w->in->idle_sum / w->in->idle_count / w->in->scale;
}

static void add_row(struct work *w, const struct cells *c, double weight, double y)
{
	for (size_t i = 0; i < c->count; i++) {
		size_t a = c->column[i];
		double wx = weight * c->share[i];

		w->q[a] += wx * y;
		for (size_t j = 0; j < c->count; j++) {
			size_t b = c->column[j];

			if (b <= a)
				*envelope_at(&w->gram, a, b) += wx * c->share[j];
		}
	}
}

/* The normal equations, drawn to the prior. */
static void collect(struct work *w)
{
	envelope_clear(&w->gram);
	for (size_t i = 0; i < w->n; i++) {
		*envelope_at(&w->gram, i, i) = 1 / w->prior_variance[i];
		w->q[i] = w->u->prior / w->prior_variance[i];
	}
	for (size_t row = 0; row < w->in->rows->count; row += w->stride) {
		struct cells c;

		if (!w->kept[row])
			continue;
		load_cells(w, row, &c);
		add_row(w, &c, 1 / row_variance(w, &c), value_of(w, row));
	}
	add_idle(w);
}

static void find_residuals(struct work *w)
{
	for (size_t row = 0; row < w->in->rows->count; row += w->stride) {
		struct cells c;

		if (!has_metric(w, row))
			continue;
		load_cells(w, row, &c);
		w->residual[row] = (float)(value_of(w, row) - fitted(&c, w->u->value));
	}
}

/* How the fit at a row changes when all kernels come 1 ns later. */
static double lag_slope(const struct work *w, size_t row)
{
	const struct sample_row *r = &w->in->rows->row[row];
	const double *value = w->u->value;

	return (value[w->in->column[r->first_column]] - value[w->in->column[r->last_column]]) /
	       (double)r->length_ns;
}

/*
 * One Gauss-Newton step for the lag: the residuals regressed on how the fit changes with it. Tensor
 * activity comes with the kernel's times, SM activity and DRAM reads a microsecond before, in
 * data/h200-bert; with the wrong one a GEMM loses 2 points to its neighbours.
 */
static void step_lag(struct work *w)
{
	double prior = 1 / (LAG_DEVIATION_NS * LAG_DEVIATION_NS);
	double up = -prior * w->lag_ns, down = prior;

	for (size_t row = 0; row < w->in->rows->count; row += w->stride) {
		struct cells c;
		double slope, weight;

		if (!w->kept[row])
			continue;
		load_cells(w, row, &c);
		weight = 1 / row_variance(w, &c);
		slope = lag_slope(w, row);
		up += weight * slope * (double)w->residual[row];
		down += weight * slope * slope;
	}
	w->lag_ns = fmin(fmax(w->lag_ns + up / down, -LAG_MOST_NS), LAG_MOST_NS);
}

/*
 * One step towards the likeliest variances: each times (sum of share r^2 / s^4) / (sum of share /
 * s^2), which never turns negative and leaves only a stationary point alone.
 */
static void step_variances(struct work *w)
{
	double floor_up = 0, floor_down = 0, squares = 0, count = 0;

	memset(w->up, 0, w->n * sizeof(*w->up));
	memset(w->down, 0, w->n * sizeof(*w->down));
	for (size_t row = 0; row < w->in->rows->count; row += w->stride) {
		struct cells c;
		double inverse, ratio;

		if (!w->kept[row])
			continue;
		load_cells(w, row, &c);
		inverse = 1 / row_variance(w, &c);
		ratio = (double)w->residual[row] * (double)w->residual[row] * inverse;
		floor_up += ratio * inverse;
		floor_down += inverse;
		squares += ratio;
		count++;
		for (size_t i = 0; i < c.count; i++) {
			w->up[c.column[i]] += c.share[i] * ratio * inverse;
			w->down[c.column[i]] += c.share[i] * inverse;
		}
	}
	if (count == 0)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (w->down[i] > 0)
			w->variance[i] =
				fmax(w->variance[i] * w->up[i] / w->down[i], VARIANCE_LEAST);
	w->floor = fmax(w->floor * floor_up / floor_down, FLOOR_LEAST);
	w->spread = squares / count;
}

static void reject(struct work *w, unsigned round)
{
	double limit = fmax(OUTLIER_EARLY - round, OUTLIER_DEVIATIONS);

	for (size_t row = 0; row < w->in->rows->count; row += w->stride) {
		struct cells c;

		if (!has_metric(w, row))
			continue;
		load_cells(w, row, &c);
		w->kept[row] = fabs((double)w->residual[row]) <= limit * sqrt(row_variance(w, &c));
	}
}

/* The inverse of the normal equations: what noise and prior leave open, if variances are right. */
static bool invert(struct work *w)
{
	size_t n = w->n;

	if (!envelope_factor(&w->gram, 0, NULL, &w->factor))
		return false;
	for (size_t i = 0; i < n; i++) {
		memset(w->up, 0, n * sizeof(*w->up));
		w->up[i] = 1;
		envelope_solve(&w->factor, w->up);
		for (size_t j = 0; j < n; j++)
			w->u->covariance[i * n + j] = (float)w->up[j];
	}
	return true;
}

/*
 * Most kernels do nothing to a unit and few do much, so that a normal prior would draw these away
 * from what is well known of them. Student's t does not: it is a normal whose variance follows the
 * value, found by expectation and maximisation (Lange, Little, Taylor, "Robust statistical modeling
 * using the t distribution", JASA 84, 1989). `away` is from the prior's mean, `open` the variance
 * of that.
 */
static double widen(double variance, double away, double open)
{
	double own = variance;

	for (unsigned step = 0; step < PRIOR_STEPS; step++) {
		double kept = own / (own + open);

		own = (PRIOR_FREEDOM * variance + kept * kept * away * away + kept * open) /
		      (PRIOR_FREEDOM + 1);
	}
	return own;
}

/*
 * Mean and variance of the prior, by how the values themselves spread beyond their noise: moments,
 * weighted by what is known of each (DerSimonian and Laird, "Meta-analysis in clinical trials",
 * 1986, repeated). From values without sign constraint and, so far, without prior: else many
 * columns of which little is known would be lifted above zero, at the cost of their neighbours.
 */
static void choose_prior(struct work *w)
{
	double *value = w->up, variance = PRIOR_VARIANCE_GUESS;

	memcpy(value, w->q, w->n * sizeof(*value));
	envelope_solve(&w->factor, value);
	for (unsigned step = 0; step < PRIOR_STEPS; step++) {
		double weights = 0, sum = 0, spread = 0, mean, pretended = PRIOR_COLUMNS / variance;

		for (size_t i = 0; i + 1 < w->n; i++) {
			double open = (double)w->u->covariance[i * w->n + i];
			double weight = w->u->samples[i] ? 1 / (open + variance) : 0;

			weights += weight;
			sum += weight * value[i];
			spread += weight * (value[i] * value[i] - open);
		}
		if (weights <= 0)
			return;
		mean = sum / weights;
		w->u->prior = fmax(mean, 0);
		variance = (fmax(spread - mean * sum, 0) + pretended * PRIOR_VARIANCE_GUESS) /
			   (weights + pretended);
		variance = fmin(variance, PRIOR_VARIANCE_START);
	}
	w->u->prior_deviation = sqrt(variance);
	for (size_t i = 0; i < w->n; i++)
		w->prior_variance[i] = widen(variance, value[i] - w->u->prior,
					     (double)w->u->covariance[i * w->n + i]);
}

static void count_samples(struct work *w)
{
	double shares = 0, values = 0;

	for (size_t row = 0; row < w->in->rows->count; row++) {
		struct cells c;

		w->kept[row] = has_metric(w, row);
		if (!w->kept[row])
			continue;
		load_cells(w, row, &c);
		w->u->used++;
		values += value_of(w, row);
		for (size_t i = 0; i < c.count; i++) {
			w->u->samples[c.column[i]]++;
			w->u->time[c.column[i]] += c.share[i];
			if (c.column[i] + 1u < w->n)
				shares += c.share[i];
		}
	}
	w->u->prior = shares > 0 ? fmax(values / shares, 0) : 0;
}

static void count_rejected(struct work *w)
{
	for (size_t row = 0; row < w->in->rows->count; row++) {
		struct cells c;

		if (!has_metric(w, row) || w->kept[row])
			continue;
		load_cells(w, row, &c);
		w->u->left_out++;
		for (size_t i = 0; i < c.count; i++)
			w->u->rejected[c.column[i]]++;
	}
}

/* The share of the fit at a sample that it owes to the sample itself. */
static double leverage(const struct work *w, const struct cells *c, double weight)
{
	double sum = 0;

	for (size_t i = 0; i < c->count; i++) {
		const float *h = &w->u->covariance[c->column[i] * w->n];

		for (size_t j = 0; j < c->count; j++)
			sum += c->share[i] * c->share[j] * (double)h[c->column[j]];
	}
	return fmin(fmax(weight * sum, 0), LEVERAGE_MOST);
}

/*
 * The lag is one more unknown of the normal equations: its column b = sum of weight x share x slope
 * goes to w->down, H b to w->up, and what is left of its information, c - b' H b, is returned.
 */
static double border_lag(struct work *w)
{
	double left = 1 / (LAG_DEVIATION_NS * LAG_DEVIATION_NS);
	double *b = w->down, *hb = w->up;

	memset(b, 0, w->n * sizeof(*b));
	for (size_t row = 0; row < w->in->rows->count; row++) {
		struct cells c;
		double weight, slope;

		if (!w->kept[row])
			continue;
		load_cells(w, row, &c);
		weight = 1 / row_variance(w, &c);
		slope = lag_slope(w, row);
		left += weight * slope * slope;
		for (size_t i = 0; i < c.count; i++)
			b[c.column[i]] += weight * slope * c.share[i];
	}
	memcpy(hb, b, w->n * sizeof(*b));
	envelope_solve(&w->factor, hb);
	for (size_t i = 0; i < w->n; i++)
		left -= b[i] * hb[i];
	return fmax(left, DBL_MIN);
}

/* What an uncertain lag leaves open: H b b' H / (c - b' H b). */
static void open_lag(struct work *w, double left)
{
	const double *hb = w->up;

	for (size_t i = 0; i < w->n; i++)
		for (size_t j = 0; j < w->n; j++)
			w->u->covariance[i * w->n + j] += (float)(hb[i] * hb[j] / left);
}

/* Adds the pull of each row on the values and on the lag to those of its group. */
static void add_pulls(const struct work *w, double *sums, double *lags)
{
	size_t turn = 0;

	for (size_t row = 0; row < w->in->rows->count; row++) {
		double *sum, weight, pull;
		struct cells c;
		size_t group;

		if (!w->kept[row])
			continue;
		group = turn++ / GROUP_TURN % UNMIX_GROUPS;
		sum = &sums[group * w->n];
		load_cells(w, row, &c);
		weight = 1 / row_variance(w, &c);
		pull = weight * (double)w->residual[row] / (1 - leverage(w, &c, weight));
		lags[group] += pull * lag_slope(w, row);
		for (size_t i = 0; i < c.count; i++)
			sum[c.column[i]] += pull * c.share[i];
	}
}

/*
 * How each group of samples pulls: H x sum of weight x share x r / (1 - leverage), the first order
 * of leaving it out. Their squares sum to the sandwich covariance that is right whatever the
 * variances (White 1980), clustered (Liang and Zeger 1986), corrected for leverage (HC3 of
 * MacKinnon and White 1985).
 */
static int find_changes(struct work *w)
{
	double *sums = calloc(w->n * UNMIX_GROUPS, sizeof(*sums)), lags[UNMIX_GROUPS] = {0};
	double left = border_lag(w);
	const double *hb = w->up;

	if (!sums)
		return -1;
	add_pulls(w, sums, lags);
	for (size_t g = 0; g < UNMIX_GROUPS; g++) {
		double *sum = &sums[g * w->n];

		for (size_t i = 0; i < w->n; i++)
			lags[g] -= hb[i] * sum[i];
		envelope_solve(&w->factor, sum);
		for (size_t i = 0; i < w->n; i++)
			w->u->change[g * w->n + i] = (float)(sum[i] - hb[i] * lags[g] / left);
	}
	open_lag(w, left);
	w->u->lag_deviation_ns = 1 / sqrt(left);
	free(sums);
	return 0;
}

/* Odd, so that it meets no rhythm of powers of two. */
static size_t early_stride(const struct work *w)
{
	return (w->in->rows->entries / EARLY_ENTRIES) | 1;
}

static int solve(struct work *w)
{
	struct unmix *u = w->u;

	count_samples(w);
	if (!u->used)
		return 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		w->stride = round + LAST_ROUNDS < ROUNDS ? early_stride(w) : 1;
		collect(w);
		if (nnls_solve(&w->gram, w->q, 0, &w->factor, w->fixed, u->value))
			return -1;
		find_residuals(w);
		for (unsigned i = 0; i < VARIANCE_STEPS; i++)
			step_variances(w);
		if (round)
			reject(w, round);
		if (round + 1 < ROUNDS)
			step_lag(w);
		if (round == PRIOR_ROUND) {
			if (!invert(w))
				return -1;
			choose_prior(w);
		}
	}
	collect(w);
	if (nnls_solve(&w->gram, w->q, 0, &w->factor, w->fixed, u->value) || !invert(w))
		return -1;
	find_residuals(w);
	memcpy(u->free_value, w->q, w->n * sizeof(*w->q));
	envelope_solve(&w->factor, u->free_value);
	if (find_changes(w))
		return -1;
	count_rejected(w);
	u->lag_ns = w->lag_ns;
	return 0;
}

static bool allocate(struct work *w)
{
	struct unmix *u = w->u;
	size_t n = w->n, rows = w->in->rows->count;

	u->value = calloc(n, sizeof(*u->value));
	u->free_value = calloc(n, sizeof(*u->free_value));
	u->covariance = calloc(n * n, sizeof(*u->covariance));
	u->change = calloc(n * UNMIX_GROUPS, sizeof(*u->change));
	u->samples = calloc(n, sizeof(*u->samples));
	u->time = calloc(n, sizeof(*u->time));
	u->rejected = calloc(n, sizeof(*u->rejected));
	w->q = calloc(n, sizeof(*w->q));
	w->fixed = calloc(n, sizeof(*w->fixed));
	w->variance = calloc(n, sizeof(*w->variance));
	w->prior_variance = calloc(n, sizeof(*w->prior_variance));
	w->up = calloc(n, sizeof(*w->up));
	w->down = calloc(n, sizeof(*w->down));
	w->residual = calloc(rows + 1, sizeof(*w->residual));
	w->kept = calloc(rows + 1, sizeof(*w->kept));
	return u->value && u->free_value && u->covariance && u->change && u->samples && u->time &&
	       u->rejected && w->q && w->fixed && w->variance && w->prior_variance && w->up &&
	       w->down && w->residual && w->kept && !envelope_init(&w->gram, w->in->first, n) &&
	       !envelope_init(&w->factor, w->in->first, n);
}

static void release(struct work *w)
{
	envelope_fini(&w->gram);
	envelope_fini(&w->factor);
	free(w->q);
	free(w->fixed);
	free(w->variance);
	free(w->prior_variance);
	free(w->up);
	free(w->down);
	free(w->residual);
	free(w->kept);
}

int unmix_init(struct unmix *u, const struct unmix_input *in)
{
	struct work w = {.in = in, .u = u, .n = in->columns, .floor = FLOOR_START};
	int status = -1;

	memset(u, 0, sizeof(*u));
	u->columns = in->columns;
	if (allocate(&w)) {
		for (size_t i = 0; i < w.n; i++)
			w.variance[i] = VARIANCE_START;
		for (size_t i = 0; i < w.n; i++)
			w.prior_variance[i] = PRIOR_VARIANCE_START;
		status = solve(&w);
	}
	release(&w);
	if (status)
		unmix_fini(u);
	return status;
}

void unmix_fini(struct unmix *u)
{
	free(u->value);
	free(u->free_value);
	free(u->covariance);
	free(u->change);
	free(u->samples);
	free(u->time);
	free(u->rejected);
	memset(u, 0, sizeof(*u));
}

/* Squares of the groups' pulls on a sum, added up, and their fourth powers. */
static void add_changes(const struct unmix *u, const uint16_t *column, const double *weight,
			size_t count, double sums[2])
{
	for (size_t g = 0; g < UNMIX_GROUPS; g++) {
		double change = 0;

		for (size_t i = 0; i < count; i++)
			change += weight[i] * (double)u->change[g * u->columns + column[i]];
		sums[0] += change * change;
		sums[1] += change * change * change * change;
	}
}

/*
 * Degrees of freedom: those of the groups, fewer where a few groups hold most of the change. For
 * normal changes groups x sum of 4th powers / (sum of squares)^2 is 3.
 */
static double freedom_of(const double sums[2])
{
	double peak = sums[0] > 0 ? UNMIX_GROUPS * sums[1] / (sums[0] * sums[0]) / 3 : 1;

	return (UNMIX_GROUPS - 1) / fmax(peak, 1);
}

struct unmix_sum unmix_sum(const struct unmix *u, const uint16_t *column, const double *weight,
			   size_t count)
{
	struct unmix_sum sum = {0};
	double sums[2] = {0, 0}, open = 0;

	for (size_t i = 0; i < count; i++) {
		sum.value += weight[i] * u->value[column[i]];
		sum.free_value += weight[i] * u->free_value[column[i]];
		for (size_t j = 0; j < count; j++)
			open += weight[i] * weight[j] *
				(double)u->covariance[column[i] * u->columns + column[j]];
	}
	add_changes(u, column, weight, count, sums);
	sum.freedom = freedom_of(sums);
	sum.deviation = sqrt(fmax(sums[0] * UNMIX_GROUPS / (UNMIX_GROUPS - 1), fmax(open, 0)));
	return sum;
}
