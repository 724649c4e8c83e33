/* Formatting of times, sizes, rates, counts and shares. */
#include "quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct quantity quantity_number(double value, int digits)
{
	struct quantity q;
	int whole = value != 0 ? (int)floor(log10(fabs(value)) + 1e-9) + 1 : 1;
	int decimals = whole < 1 ? digits - 1 : digits - whole;

	snprintf(q.text, sizeof(q.text), "%.*f", decimals > 0 ? decimals : 0, value);
	return q;
}

/* Scales to the largest unit in which the value is at least one. */
static struct quantity scaled(double value, const double *steps, const char *const *units)
{
	struct quantity q, number;
	unsigned i = 0;

	/* 999.7 would be printed as 1000. */
	while (steps[i + 1] != 0 && fabs(value) >= 0.9995 * steps[i + 1])
		i++;
	number = quantity_number(value / steps[i], 3);
	snprintf(q.text, sizeof(q.text), "%.20s %s", number.text, units[i]);
	return q;
}

struct quantity quantity_time(double ns)
{
	static const double steps[] = {1, 1e3, 1e6, 1e9, 0};
	static const char *const units[] = {"ns", "us", "ms", "s"};

	if (ns >= 600e9) {
		struct quantity q;

		if (ns < 7200e9)
			snprintf(q.text, sizeof(q.text), "%.0f min", ns / 60e9);
		else
			snprintf(q.text, sizeof(q.text), "%.1f h", ns / 3600e9);
		return q;
	}
	return scaled(ns, steps, units);
}

struct quantity quantity_bytes(double bytes)
{
	static const double steps[] = {1, 1e3, 1e6, 1e9, 1e12, 0};
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

	return scaled(bytes, steps, units);
}

struct quantity quantity_rate(double bytes_per_second)
{
	struct quantity q = quantity_bytes(bytes_per_second);

	strncat(q.text, "/s", sizeof(q.text) - strlen(q.text) - 1);
	return q;
}

struct quantity quantity_operations(double per_second, const char *unit)
{
	static const double steps[] = {1, 1e3, 1e6, 1e9, 1e12, 0};
	static const char *const units[] = {"", "k", "M", "G", "T"};
	struct quantity q = scaled(per_second, steps, units);

	strncat(q.text, unit, sizeof(q.text) - strlen(q.text) - 1);
	return q;
}

struct quantity quantity_count(uint64_t count)
{
	struct quantity q = {""};
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *out = q.text;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return q;
}

struct quantity quantity_percent(double share)
{
	struct quantity q = {""};
	double percent = share * 100;

	if (percent <= 0)
		strcpy(q.text, "0 %");
	else if (percent < 0.1)
		strcpy(q.text, "<0.1 %");
	else if (percent < 9.95)
		snprintf(q.text, sizeof(q.text), "%.1f %%", percent);
	else
		snprintf(q.text, sizeof(q.text), "%.0f %%", percent);
	return q;
}
