/* Leader clustering on a logarithmic scale. */
#include "duration_class.h"

#include <math.h>

/* Below about a microsecond, lengths differ by the clock's own steps. */
#define BLUR_NS 1000.0

unsigned duration_class_add(struct duration_classes *classes, uint64_t duration_ns)
{
	double at = log((double)duration_ns + BLUR_NS), least = HUGE_VAL;
	struct duration_class *class;
	unsigned nearest = 0;

	for (unsigned i = 0; i < classes->count; i++) {
		double distance = fabs(classes->of[i].log_ns - at);

		if (distance < least) {
			least = distance;
			nearest = i;
		}
	}
	if (least > DURATION_TOLERANCE && classes->count < DURATION_CLASSES) {
		nearest = classes->count++;
		classes->of[nearest].log_ns = at;
	}
	class = &classes->of[nearest];
	class->launches++;
	class->total_ns += duration_ns;
	class->log_ns += (at - class->log_ns) / (double)class->launches;
	return nearest;
}
