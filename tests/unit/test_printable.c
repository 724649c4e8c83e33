/* Other people's bytes on our terminal, and numbers for people. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/printable.h"
#include "analysis/quantity.h"

static void assert_line(const char *text, const char *expected)
{
	char *line = printable_copy(text, PRINTABLE_LINE, 64);

	assert_string_equal(line, expected);
	free(line);
}

static void test_controls_are_spelled_out(void **state)
{
	(void)state;
	assert_line("a\033[31mb\r\n\tc\x7f", "a\\x1b[31mb\\x0d\\n\\tc\\x7f");
	assert_line("\xc2\x9b"
		    "31m",
		    "\\x9b31m");
	assert_line("\xe2\x80\xae"
		    "abc",
		    "\\u{202e}abc");
	assert_line(NULL, "");
}

static void test_invalid_bytes_are_replaced(void **state)
{
	(void)state;
	assert_line("\xff", "\xef\xbf\xbd");
	assert_line("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                   /* overlong */
	assert_line("\xed\xa0\x80x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"); /* surrogate */
	assert_line("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");                   /* cut off */
	assert_line("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}

static void test_length_is_bounded(void **state)
{
	char long_text[1001], *line;

	(void)state;
	memset(long_text, 'x', 1000);
	long_text[1000] = '\0';
	line = printable_copy(long_text, PRINTABLE_LINE, 64);
	assert_int_equal(strlen(line), 67);
	printable_cut(line, 10);
	assert_string_equal(line, "xxxxxxxx..");
	free(line);
}

static void test_wide_characters_take_two_columns(void **state)
{
	char text[] = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97";

	(void)state;
	assert_int_equal(printable_columns(text), 8);
	printable_cut(text, 7);
	assert_true(printable_columns(text) <= 7);
}

static void test_quantities(void **state)
{
	(void)state;
	assert_string_equal(quantity_time(1830000).text, "1.83 ms");
	assert_string_equal(quantity_time(999.9e3).text, "1.00 ms");
	assert_string_equal(quantity_time(12.4e9).text, "12.4 s");
	assert_string_equal(quantity_time(0).text, "0.00 ns");
	assert_string_equal(quantity_time(3600e9).text, "60 min");
	assert_string_equal(quantity_bytes(640000).text, "640 kB");
	assert_string_equal(quantity_count(110780).text, "110,780");
	assert_string_equal(quantity_count(999).text, "999");
	assert_string_equal(quantity_percent(0.0004).text, "<0.1 %");
	assert_string_equal(quantity_percent(0.58).text, "58 %");
	assert_string_equal(quantity_percent(0.0214).text, "2.1 %");
	assert_string_equal(quantity_percent(0).text, "0 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controls_are_spelled_out),
		cmocka_unit_test(test_invalid_bytes_are_replaced),
		cmocka_unit_test(test_length_is_bounded),
		cmocka_unit_test(test_wide_characters_take_two_columns),
		cmocka_unit_test(test_quantities),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
