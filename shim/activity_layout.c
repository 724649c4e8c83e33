/* Proof that activity.def reads what CUPTI writes: compiled against the headers of CUDA 13 and, where at hand, of CUDA 12. */
#include <cupti.h>
#include <stddef.h>

#if CUPTI_API_VERSION >= 130000
#define RECORD_kernel CUpti_ActivityKernel10
#else
#define RECORD_kernel CUpti_ActivityKernel9
#endif
#define RECORD_copy CUpti_ActivityMemcpy6
#define RECORD_peer CUpti_ActivityMemcpyPtoP4
#define RECORD_set CUpti_ActivityMemset4
#define RECORD_overhead CUpti_ActivityOverhead3

#define FIELD(record, name, type, member, offset)                                                  \
	_Static_assert(offsetof(RECORD_##record, member) == offset, #record "." #name);            \
	_Static_assert(sizeof(((RECORD_##record *)0)->member) == sizeof(type), #record "." #name);
#include "activity.def"
#undef FIELD

_Static_assert(sizeof(void *) == sizeof(uint64_t), "kernel.name is read as 64 bits");
