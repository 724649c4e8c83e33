/* Titles, colours and words. */
#include "label.h"

const char *label_title(enum regime regime)
{
	switch (regime) {
	case REGIME_COMPUTE:
		return "COMPUTE-BOUND";
	case REGIME_MEMORY:
		return "MEMORY-BOUND";
	case REGIME_OVERHEAD:
		return "OVERHEAD-BOUND";
	case REGIME_MIXED:
		return "MIXED";
	default:
		return "UNKNOWN";
	}
}

enum style label_style(enum regime pillar)
{
	switch (pillar) {
	case REGIME_COMPUTE:
		return STYLE_COMPUTE;
	case REGIME_MEMORY:
		return STYLE_MEMORY;
	case REGIME_OVERHEAD:
		return STYLE_OVERHEAD;
	default:
		return STYLE_BOLD;
	}
}

const char *label_evidence(enum evidence evidence)
{
	static const char *const words[] = {
		[EVIDENCE_NONE] = "none",         [EVIDENCE_PRIOR] = "prior",
		[EVIDENCE_GEOMETRY] = "geometry", [EVIDENCE_LIBRARY] = "library",
		[EVIDENCE_COUNTERS] = "counters",
	};

	return words[evidence];
}
