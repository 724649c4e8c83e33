/* Looking up the functions of cupti_pm.def. */
#include "pm_api.h"

#include <dlfcn.h>
#include <string.h>

const char *pm_load(struct pm_api *api, void *libcupti)
{
	static const struct {
		const char *name;
		size_t at;
	} symbols[] = {
#define CUPTI(name) {#name, offsetof(struct pm_api, name)},
#include "cupti_pm.def"
#undef CUPTI
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *p = dlsym(libcupti, symbols[i].name);

		if (!p)
			return symbols[i].name;
		memcpy((char *)api + symbols[i].at, &p, sizeof(p));
	}
	return NULL;
}
