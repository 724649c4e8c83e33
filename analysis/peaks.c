/* Peaks from attributes. */
#include "peaks.h"

static const struct {
	unsigned major, minor;
	double fp32, tensor16, sheet;
} table[] = {
#define PEAK(major, minor, fp32, tensor16, sheet, ...) {major, minor, fp32, tensor16, sheet},
#include "peaks.def"
#undef PEAK
};

static struct measure between(double low, double high)
{
	return (struct measure){true, low, low, high};
}

static void add_arithmetic(struct peaks *peaks, uint64_t major, uint64_t minor, double sm_hz)
{
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].major != major || table[i].minor != minor)
			continue;
		peaks->tensor_flops = between(sm_hz * table[i].tensor16 * table[i].sheet,
					      sm_hz * table[i].tensor16);
		peaks->fma_flops = between(sm_hz * table[i].fp32, sm_hz * table[i].fp32);
	}
}

struct peaks peaks_of(const struct vocabulary *v, uint32_t device)
{
	uint64_t memory_khz, bus_bits, clock_khz, sm_count, major, minor;
	struct peaks peaks = {0};

	if (vocabulary_number(v, device, "memory_clock_khz", &memory_khz) &&
	    vocabulary_number(v, device, "memory_bus_bits", &bus_bits) && memory_khz && bus_bits) {
		double rate = (double)memory_khz * 1e3 * 2 * (double)bus_bits / 8;

		peaks.dram_bytes_per_s = between(rate, rate);
	}
	if (!vocabulary_number(v, device, "clock_khz", &clock_khz) || !clock_khz)
		return peaks;
	peaks.clock_mhz = between((double)clock_khz / 1e3, (double)clock_khz / 1e3);
	if (vocabulary_number(v, device, "sm_count", &sm_count) &&
	    vocabulary_number(v, device, "cc_major", &major) &&
	    vocabulary_number(v, device, "cc_minor", &minor))
		add_arithmetic(&peaks, major, minor, (double)sm_count * (double)clock_khz * 1e3);
	return peaks;
}
