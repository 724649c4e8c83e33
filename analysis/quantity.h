/* Numbers as people read them: with a unit, three digits, and thousands apart. */
#ifndef QUANTITY_H
#define QUANTITY_H

#include <stdint.h>

/* A formatted number, by value: quantity_time(1.83e6).text is "1.83 ms". */
struct quantity {
	char text[32];
};

struct quantity quantity_time(double ns);
struct quantity quantity_bytes(double bytes);
struct quantity quantity_rate(double bytes_per_second);
/* `unit` is of few letters: quantity_operations(6.73e14, "FLOP/s").text is "673 TFLOP/s". */
struct quantity quantity_operations(double per_second, const char *unit);
struct quantity quantity_count(uint64_t count);
/* Of a share 0..1: "58 %", "2.1 %" below ten, "<0.1 %" for a trace of something, "0 %" for nothing.
 */
struct quantity quantity_percent(double share);
/* `digits` significant digits, never an exponent. */
struct quantity quantity_number(double value, int digits);

#endif
