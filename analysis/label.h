/* How labels are written: the titles and colours of regimes, the words for evidence. */
#ifndef LABEL_H
#define LABEL_H

#include "report.h"
#include "terminal.h"

/* "OVERHEAD-BOUND"; static. */
const char *label_title(enum regime regime);
enum style label_style(enum regime pillar);
/* "counters", "geometry" ...: the names of the JSON contract. Static. */
const char *label_evidence(enum evidence evidence);

#endif
