/* Quantiles against the sorted truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/quantile.h"
#include "tests/unit/trace_image.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_within_the_stated_error(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct quantile q = {0};
		uint64_t value[501];

		for (unsigned i = 0; i < 501; i++) {
			value[i] = random_below(UINT64_C(1) << random_below(40));
			quantile_add(&q, value[i]);
		}
		qsort(value, 501, sizeof(value[0]), by_value);
		for (unsigned p = 0; p <= 10; p++) {
			double found = quantile_at(&q, p / 10.0);
			uint64_t truth = value[p ? (unsigned)ceil(p / 10.0 * 501) - 1 : 0];

			assert_true(fabs(found - (double)truth) <=
				    QUANTILE_ERROR * (double)truth + 0.5);
		}
	}
}

static void small_values_are_exact(void **state)
{
	struct quantile q = {0};

	(void)state;
	assert_true(quantile_at(&q, 0.5) == 0);
	quantile_add(&q, 13);
	assert_true(quantile_at(&q, 0.5) == 13);
}

static void huge_values_are_kept_in_the_last_bucket(void **state)
{
	struct quantile q = {0};

	(void)state;
	quantile_add(&q, UINT64_MAX);
	assert_true(quantile_at(&q, 0.5) > 4e12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_the_stated_error),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(huge_values_are_kept_in_the_last_bucket),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
