/* What the GPUs are, asked of the driver that the program loaded: host-side getters, no context is made. */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "process.h"

/* Attribute numbers are the driver's interface and never change (cuda.h). */
static const struct {
	const char *key;
	CUdevice_attribute attribute;
} attributes[] = {
	{"cc_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
	{"cc_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
	{"sm_count", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
	{"clock_khz", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
	{"memory_clock_khz", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
	{"memory_bus_bits", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
	{"l2_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
	{"warp_size", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
	{"threads_per_sm", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
	{"blocks_per_sm", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
	{"registers_per_sm", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
	{"shared_per_sm", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
	{"shared_per_block", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
	{"shared_reserved", CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
	{"multicast", CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED},
	{"mps", (CUdevice_attribute)133}, /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, CUDA 12.3 */
};

struct driver {
	__typeof__(&cuDeviceGetCount) count;
	__typeof__(&cuDeviceGet) get;
	__typeof__(&cuDeviceGetAttribute) attribute;
	__typeof__(&cuDeviceGetName) name;
	CUresult (*uuid)(CUuuid *, CUdevice);
	CUresult (*memory)(size_t *, CUdevice);
	CUresult (*pci)(char *, int, CUdevice);
	__typeof__(&cuDriverGetVersion) version;
};

static void *symbol(void *handle, const char *name, const char *older)
{
	void *p = dlsym(handle, name);

	return p ? p : dlsym(handle, older);
}

static int find_driver(struct driver *d)
{
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return -1;
	d->count = (__typeof__(d->count))dlsym(handle, "cuDeviceGetCount");
	d->get = (__typeof__(d->get))dlsym(handle, "cuDeviceGet");
	d->attribute = (__typeof__(d->attribute))dlsym(handle, "cuDeviceGetAttribute");
	d->name = (__typeof__(d->name))dlsym(handle, "cuDeviceGetName");
	d->uuid = (__typeof__(d->uuid))symbol(handle, "cuDeviceGetUuid_v2", "cuDeviceGetUuid");
	d->memory =
		(__typeof__(d->memory))symbol(handle, "cuDeviceTotalMem_v2", "cuDeviceTotalMem");
	d->pci = (__typeof__(d->pci))dlsym(handle, "cuDeviceGetPCIBusId");
	d->version = (__typeof__(d->version))dlsym(handle, "cuDriverGetVersion");
	return d->count && d->get && d->attribute ? 0 : -1;
}

static void add(struct output *output, int index, const char *key, uint64_t number,
		const char *text)
{
	output_add(output, BST_TABLE_DEVICE,
		   (struct bst_cell[]){{.number = (uint64_t)index},
				       {.text = key, .size = (uint32_t)strlen(key)},
				       {.number = number},
				       {.text = text, .size = text ? (uint32_t)strlen(text) : 0}});
}

static void describe_uuid(const struct driver *d, struct output *output, int index, CUdevice device)
{
	char text[48] = "GPU-", *p = text + 4;
	CUuuid uuid;

	if (!d->uuid || d->uuid(&uuid, device) != CUDA_SUCCESS)
		return;
	for (int i = 0; i < 16; i++)
		p += snprintf(p, 4, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      (unsigned char)uuid.bytes[i]);
	add(output, index, "uuid", 0, text);
}

static void describe(const struct driver *d, struct output *output, int index)
{
	CUdevice device;
	char text[256];
	size_t bytes;
	int value;

	if (d->get(&device, index) != CUDA_SUCCESS)
		return;
	if (d->name && d->name(text, sizeof(text), device) == CUDA_SUCCESS) {
		add(output, index, "name", 0, text);
		/* "NVIDIA H200 MIG 1g.18gb": no attribute says it */
		add(output, index, "mig", strstr(text, " MIG ") != NULL, NULL);
	}
	describe_uuid(d, output, index, device);
	if (d->pci && d->pci(text, sizeof(text), device) == CUDA_SUCCESS)
		add(output, index, "pci", 0, text);
	if (d->memory && d->memory(&bytes, device) == CUDA_SUCCESS)
		add(output, index, "memory_bytes", bytes, NULL);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (d->attribute(&value, attributes[i].attribute, device) == CUDA_SUCCESS &&
		    value >= 0)
			add(output, index, attributes[i].key, (uint64_t)value, NULL);
}

int devices_describe(struct output *output)
{
	struct driver d;
	int count, version;

	if (find_driver(&d) != 0 || d.count(&count) != CUDA_SUCCESS)
		return 0; /* not initialised yet: asked again later */
	for (int i = 0; i < count; i++)
		describe(&d, output, i);
	if (d.version && d.version(&version) == CUDA_SUCCESS)
		output_meta_number(output, "cuda.driver_version", (uint64_t)version);
	return 1;
}
