/* Cholesky factors row by row. */
#include "envelope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pivot below this share of its diagonal is rounding. */
#define PIVOT_LEAST 1e-13

int envelope_init(struct envelope *m, const uint32_t *first, size_t size)
{
	size_t at = 0;

	m->size = size;
	m->first = malloc(size * sizeof(*m->first) + 1);
	m->start = malloc((size + 1) * sizeof(*m->start));
	m->value = NULL;
	if (!m->first || !m->start)
		goto out;
	for (size_t i = 0; i < size; i++) {
		m->first[i] = first[i];
		m->start[i] = at;
		at += i - first[i] + 1;
	}
	m->start[size] = at;
	m->value = calloc(at + 1, sizeof(*m->value));
out:
	if (m->value)
		return 0;
	envelope_fini(m);
	return -1;
}

void envelope_fini(struct envelope *m)
{
	free(m->first);
	free(m->start);
	free(m->value);
	memset(m, 0, sizeof(*m));
}

void envelope_clear(struct envelope *m)
{
	memset(m->value, 0, m->start[m->size] * sizeof(*m->value));
}

/* Four sums, so that additions need not wait for each other. */
static double dot(const double *a, const double *b, size_t count)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	size_t i = 0;

	for (; i + 4 <= count; i += 4) {
		s0 += a[i] * b[i];
		s1 += a[i + 1] * b[i + 1];
		s2 += a[i + 2] * b[i + 2];
		s3 += a[i + 3] * b[i + 3];
	}
	for (; i < count; i++)
		s0 += a[i] * b[i];
	return s0 + s1 + (s2 + s3);
}

static void copy_row(const struct envelope *m, size_t i, const bool *fixed, struct envelope *factor)
{
	for (size_t j = m->first[i]; j <= i; j++)
		*envelope_at(factor, i, j) =
			fixed && (fixed[i] || fixed[j]) ? (double)(i == j) : *envelope_at(m, i, j);
}

bool envelope_factor(const struct envelope *m, double ridge, const bool *fixed,
		     struct envelope *factor)
{
	for (size_t i = 0; i < m->size; i++) {
		size_t begin = m->first[i];
		double *row = &factor->value[m->start[i]], diagonal, pivot;

		copy_row(m, i, fixed, factor);
		diagonal = row[i - begin] + ridge;
		for (size_t j = begin; j < i; j++) {
			size_t common = begin > m->first[j] ? begin : m->first[j];

			row[j - begin] -=
				dot(&row[common - begin],
				    &factor->value[m->start[j] + common - m->first[j]], j - common);
			row[j - begin] /= *envelope_at(factor, j, j);
		}
		pivot = diagonal - dot(row, row, i - begin);
		if (!(pivot > PIVOT_LEAST * diagonal))
			return false;
		row[i - begin] = sqrt(pivot);
	}
	return true;
}

void envelope_solve(const struct envelope *factor, double *b)
{
	size_t head = 0;

	while (head < factor->size && b[head] == 0)
		head++;
	for (size_t i = head; i < factor->size; i++) {
		const double *row = &factor->value[factor->start[i]];
		size_t begin = factor->first[i] > head ? factor->first[i] : head;

		b[i] = (b[i] - dot(&row[begin - factor->first[i]], &b[begin], i - begin)) /
		       row[i - factor->first[i]];
	}
	for (size_t i = factor->size; i-- > 0;) {
		const double *row = &factor->value[factor->start[i]];
		size_t begin = factor->first[i];

		b[i] /= row[i - begin];
		for (size_t j = begin; j < i; j++)
			b[j] -= row[j - begin] * b[i];
	}
}

void envelope_multiply(const struct envelope *m, const double *x, double *y)
{
	for (size_t i = 0; i < m->size; i++) {
		const double *row = &m->value[m->start[i]];
		size_t begin = m->first[i];

		y[i] = dot(row, &x[begin], i - begin + 1);
		for (size_t j = begin; j < i; j++)
			y[j] += row[j - begin] * x[i];
	}
}
