/* What changes to a program would do to its steps: each is made to a recorded stretch, which is then
 * played again. */
#ifndef WHATIF_H
#define WHATIF_H

#include "report.h"
#include "stretch.h"
#include "vocabulary.h"

/* Of a step: what saves less is not worth it. */
#define WHATIF_WORTH 0.05

/* Above this error of the unchanged replay estimates are widened by it; above the other there are none. */
#define WHATIF_ERROR_WIDE 0.05
#define WHATIF_ERROR_MOST 0.2

/*
 * Fills device->whatif. Each change is simulated three times: with every parameter at its best, at
 * the likeliest, at its worst; the files change_*.c have them with their sources. Without memory
 * it stays unknown.
 */
void whatif_fill(const struct stretch *stretch, const struct vocabulary *vocabulary,
		 struct device_report *device);

/* Does the change save enough, likely, or at best by a good deal and likely something? */
bool whatif_worth(const struct whatif *whatif, enum change_kind kind);

/* Does compiling bring as much as fusing alone, so that one advice is enough? */
bool whatif_fuse_is_compiled(const struct whatif *whatif);

/* "cuda-graphs" and "CUDA graphs over the step"; static. */
const char *change_id(enum change_kind kind);
const char *change_title(enum change_kind kind);

#endif
