/* A table of the descriptors of cuDNN's graph API, and the wrappers that fill it. Numbers as in
 * cudnn_graph_v9.h of cuDNN 9.19. */
#define _GNU_SOURCE
#include "cudnn_graph.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"
#include "cudnn.h"
#include "data_type.h"
#include "library_missing.h"
#include "loss.h"
#include "real.h"
#include "recorder.h"
#include "session.h"
#include "shapes.h"
#include "trace/format.h"

/* cudnnBackendDescriptorType_t */
enum kind {
	KIND_CONVOLUTION = 1,
	KIND_ENGINE = 2,
	KIND_ENGINE_CONFIG = 3,
	KIND_HEURISTIC = 4,
	KIND_PLAN = 5,
	KIND_CONV_FORWARD = 10,
	KIND_CONV_FILTER = 11,
	KIND_CONV_DATA = 12,
	KIND_GRAPH = 15,
	KIND_TENSOR = 17,
	KIND_MATMUL = 18,
	KIND_OPERATION_MATMUL = 19,
	KIND_SDPA_FORWARD = 41,
	KIND_MOE_MATMUL = 42,
	KIND_SDPA_BACKWARD = 43,
};

/* cudnnBackendAttributeName_t */
enum attribute {
	CONV_COMPUTE_TYPE = 100,
	CONV_FILTER_STRIDES = 103,
	FORWARD_BETA = 701,
	FORWARD_W = 703,
	FORWARD_X = 704,
	FORWARD_Y = 705,
	DATA_BETA = 707,
	DATA_W = 709,
	DATA_DX = 710,
	DATA_DY = 711,
	FILTER_BETA = 713,
	FILTER_DW = 715,
	FILTER_X = 716,
	FILTER_DY = 717,
	GRAPH_OPERATIONS = 801,
	TENSOR_TYPE = 901,
	TENSOR_SIZES = 902,
	TENSOR_STRIDES = 903,
	TENSOR_UID = 906,
	TENSOR_VIRTUAL = 907,
	TENSOR_BY_VALUE = 908,
	MATMUL_COMPUTE_TYPE = 1500,
	MATMUL_A = 1520,
	MATMUL_B = 1521,
	MATMUL_C = 1522,
	MATMUL_M_OVERRIDE = 1525,
	MATMUL_N_OVERRIDE = 1526,
	MATMUL_K_OVERRIDE = 1527,
	SDPA_FORWARD_Q = 2800,
	SDPA_FORWARD_V = 2802,
	SDPA_BACKWARD_Q = 2851,
	SDPA_BACKWARD_V = 2853,
};

/* cudnnBackendAttributeType_t */
enum type {
	TYPE_DATA_TYPE = 1,
	TYPE_BOOLEAN = 2,
	TYPE_INT64 = 3,
	TYPE_FLOAT = 4,
	TYPE_DOUBLE = 5,
	TYPE_DESCRIPTOR = 15,
};

#define OPERANDS 16       /* of one operation; an SDPA has 12 */
#define SIZES 6           /* of an operand */
#define GRAPH_TENSORS 128 /* whose bytes are added; a graph with more has unknown bytes */
#define BUCKETS (2 * CUDNN_DESCRIPTORS_LIMIT)

struct operand {
	int32_t attribute;
	uint8_t type, dims;
	bool moved; /* neither virtual nor passed by value */
	int64_t uid;
	uint64_t bytes;
	uint32_t size[SIZES];
};

/* One descriptor, as far as it was told. */
struct shadow {
	const void *descriptor;
	uint32_t next; /* in its bucket, or in the list of free ones; 0 = last */
	int32_t kind;
	union {
		struct {
			struct tensor tensor;
			int64_t uid;
			bool is_virtual, by_value;
		} tensor;
		struct {
			int64_t stride[TENSOR_DIMS];
			int32_t compute_type;
		} rule; /* of KIND_CONVOLUTION, KIND_MATMUL */
		struct {
			struct operand operand[OPERANDS];
			uint32_t operands;
			bool more;    /* than fit */
			bool nominal; /* sizes are upper limits, the true ones lie on the device */
			bool reads_output;
			int32_t compute_type;
			int64_t stride[3];
		} operation;
		uint32_t shape; /* of graphs, engines, configurations, heuristics, plans */
	} u;
};

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* all below; shapes.c's and loss counters are taken inside */
static uint32_t *bucket;
static struct shadow *shadow; /* from 1 */
static uint32_t used;
static uint32_t free_list;

void cudnn_graph_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool ready(void)
{
	if (!bucket)
		bucket = map(BUCKETS * sizeof(*bucket));
	if (!shadow)
		shadow = map((CUDNN_DESCRIPTORS_LIMIT + 1) * sizeof(*shadow));
	return bucket && shadow && shapes_init() == 0;
}

static uint32_t *bucket_of(const void *descriptor)
{
	uint64_t h = (uint64_t)(uintptr_t)descriptor * UINT64_C(0x9e3779b97f4a7c15);

	return &bucket[h >> 32 & (BUCKETS - 1)];
}

static struct shadow *find(const void *descriptor)
{
	uint32_t at = bucket && shadow && descriptor ? *bucket_of(descriptor) : 0;

	while (at && shadow[at].descriptor != descriptor)
		at = shadow[at].next;
	return at ? &shadow[at] : NULL;
}

static uint32_t take_slot(void)
{
	uint32_t at = free_list;

	if (at) {
		free_list = shadow[at].next;
		return at;
	}
	return used < CUDNN_DESCRIPTORS_LIMIT ? ++used : 0;
}

void cudnn_graph_created(void *descriptor, int kind)
{
	struct shadow *s;
	uint32_t at, next;

	pthread_mutex_lock(&lock);
	s = ready() ? find(descriptor) : NULL;
	at = s ? (uint32_t)(s - shadow) : bucket && shadow ? take_slot() : 0;
	if (at) {
		next = s ? s->next : *bucket_of(descriptor);
		memset(&shadow[at], 0, sizeof(shadow[at]));
		shadow[at].descriptor = descriptor;
		shadow[at].kind = kind;
		shadow[at].next = next;
		if (!s)
			*bucket_of(descriptor) = at;
	}
	pthread_mutex_unlock(&lock);
	if (!at)
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
}

void cudnn_graph_destroyed(const void *descriptor)
{
	uint32_t *link, at;

	pthread_mutex_lock(&lock);
	link = bucket && shadow && descriptor ? bucket_of(descriptor) : NULL;
	while (link && *link && shadow[*link].descriptor != descriptor)
		link = &shadow[*link].next;
	if (link && *link) {
		at = *link;
		*link = shadow[at].next;
		shadow[at].descriptor = NULL;
		shadow[at].next = free_list;
		free_list = at;
	}
	pthread_mutex_unlock(&lock);
}

/* Attribute values, which stand in the caller's memory unaligned for all we know. */
static int64_t integer_at(const void *elements, int64_t at)
{
	int64_t value;

	memcpy(&value, (const char *)elements + at * (int64_t)sizeof(value), sizeof(value));
	return value;
}

static int enum_of(const void *elements)
{
	int32_t value;

	memcpy(&value, elements, sizeof(value));
	return value;
}

static const void *descriptor_at(const void *elements, int64_t at)
{
	const void *value;

	memcpy(&value, (const char *)elements + at * (int64_t)sizeof(value), sizeof(value));
	return value;
}

static bool is_true(const void *elements)
{
	return *(const unsigned char *)elements != 0;
}

struct setting {
	int attribute;
	int type;
	int64_t count;
	const void *elements;
};

static void set_tensor(struct shadow *s, const struct setting *set)
{
	struct tensor *t = &s->u.tensor.tensor;
	int64_t dims = set->count < TENSOR_DIMS ? set->count : TENSOR_DIMS;

	switch (set->attribute) {
	case TENSOR_TYPE:
		t->type = data_type_of_cudnn(enum_of(set->elements));
		break;
	case TENSOR_SIZES:
		/* one with more dimensions than fit has none: then nothing is made of it */
		t->dims = set->count <= TENSOR_DIMS ? (uint8_t)set->count : 0;
		for (int64_t i = 0; i < dims; i++)
			t->size[i] = integer_at(set->elements, i);
		break;
	case TENSOR_STRIDES:
		t->strided = set->count <= TENSOR_DIMS;
		for (int64_t i = 0; i < dims; i++)
			t->stride[i] = integer_at(set->elements, i);
		break;
	case TENSOR_UID:
		s->u.tensor.uid = integer_at(set->elements, 0);
		break;
	case TENSOR_VIRTUAL:
		s->u.tensor.is_virtual = is_true(set->elements);
		break;
	case TENSOR_BY_VALUE:
		s->u.tensor.by_value = is_true(set->elements);
		break;
	default:
		break;
	}
}

static void set_rule(struct shadow *s, const struct setting *set)
{
	if (set->attribute == CONV_COMPUTE_TYPE || set->attribute == MATMUL_COMPUTE_TYPE)
		s->u.rule.compute_type = enum_of(set->elements);
	if (set->attribute != CONV_FILTER_STRIDES || set->type != TYPE_INT64)
		return;
	for (int64_t i = 0; i < set->count && i < TENSOR_DIMS; i++)
		s->u.rule.stride[i] = integer_at(set->elements, i);
}

static struct operand *operand_for(struct shadow *s, int attribute)
{
	struct operand *o = s->u.operation.operand;

	for (uint32_t i = 0; i < s->u.operation.operands; i++)
		if (o[i].attribute == attribute)
			return &o[i];
	if (s->u.operation.operands == OPERANDS) {
		s->u.operation.more = true;
		return NULL;
	}
	return &o[s->u.operation.operands++];
}

/* What an operation needs of a tensor, which may be gone when the graph is made. */
static void link_tensor(struct shadow *s, int attribute, const struct shadow *tensor)
{
	const struct tensor *t = &tensor->u.tensor.tensor;
	struct operand *o = operand_for(s, attribute);

	if (!o)
		return;
	memset(o, 0, sizeof(*o));
	o->attribute = attribute;
	o->type = t->type;
	o->dims = t->dims <= SIZES ? t->dims : 0;
	o->moved = !tensor->u.tensor.is_virtual && !tensor->u.tensor.by_value;
	o->uid = tensor->u.tensor.uid;
	o->bytes = tensor_bytes(t);
	for (unsigned i = 0; i < o->dims; i++)
		o->size[i] = t->size[i] < 0                     ? 0
			     : t->size[i] > (int64_t)UINT32_MAX ? UINT32_MAX
								: (uint32_t)t->size[i];
	if (attribute >= MATMUL_M_OVERRIDE && attribute <= MATMUL_K_OVERRIDE)
		s->u.operation.nominal = true;
}

static void link_rule(struct shadow *s, const struct shadow *rule)
{
	s->u.operation.compute_type = rule->u.rule.compute_type;
	for (unsigned i = 0; i < 3; i++)
		s->u.operation.stride[i] = rule->u.rule.stride[i];
}

static bool is_other_than_zero(const struct setting *set)
{
	uint8_t type = set->type == TYPE_DOUBLE ? BST_ENUM_DATA_TYPE_F64 : BST_ENUM_DATA_TYPE_F32;

	return scalar_at(set->elements, type) == SCALAR_OTHER;
}

static void set_operation(struct shadow *s, const struct setting *set)
{
	const struct shadow *child;

	if (set->attribute == FORWARD_BETA || set->attribute == DATA_BETA ||
	    set->attribute == FILTER_BETA)
		s->u.operation.reads_output = is_other_than_zero(set);
	if (set->type != TYPE_DESCRIPTOR)
		return;
	for (int64_t i = 0; i < set->count; i++) {
		child = find(descriptor_at(set->elements, i));
		if (child && child->kind == KIND_TENSOR)
			/* a list of tensors (concatenation) has one attribute: kept apart by a
			 * number below 0 */
			link_tensor(s, i ? (int)(-i) : set->attribute, child);
		else if (child && (child->kind == KIND_CONVOLUTION || child->kind == KIND_MATMUL))
			link_rule(s, child);
	}
}

static const struct operand *operand(const struct shadow *s, int attribute)
{
	for (uint32_t i = 0; i < s->u.operation.operands; i++)
		if (s->u.operation.operand[i].attribute == attribute &&
		    s->u.operation.operand[i].dims)
			return &s->u.operation.operand[i];
	return NULL;
}

static void expand(const struct operand *o, struct tensor *t)
{
	*t = (struct tensor){.type = o->type, .dims = o->dims};
	for (unsigned i = 0; i < o->dims; i++)
		t->size[i] = o->size[i];
}

/* FLOPs and sizes of one operation; false where it multiplies nothing that is known. */
static bool shape_of_convolution(const struct shadow *s, struct shape *shape)
{
	static const int names[3][3] = {{FORWARD_X, FORWARD_W, FORWARD_Y},
					{FILTER_X, FILTER_DW, FILTER_DY},
					{DATA_DX, DATA_W, DATA_DY}};
	static const uint8_t operations[3] = {BST_ENUM_OPERATION_CONV_FORWARD,
					      BST_ENUM_OPERATION_CONV_BACKWARD_FILTER,
					      BST_ENUM_OPERATION_CONV_BACKWARD_DATA};
	unsigned which = (unsigned)(s->kind - KIND_CONV_FORWARD);
	const struct operand *o[3];
	struct tensor t[3];
	struct conv c = {.operation = operations[which], .x = &t[0], .w = &t[1], .y = &t[2]};

	for (unsigned i = 0; i < 3; i++) {
		o[i] = operand(s, names[which][i]);
		if (!o[i])
			return false;
		expand(o[i], &t[i]);
	}
	c.stride = s->u.operation.stride;
	c.compute = cudnn_compute(s->u.operation.compute_type, t[0].type, false);
	c.beta = s->u.operation.reads_output ? SCALAR_OTHER : SCALAR_ZERO;
	shape_of_conv(shape, &c);
	return shape->flags & BST_ENUM_SHAPE_FLAG_FLOPS;
}

static bool shape_of_matmul(const struct shadow *s, struct shape *shape)
{
	const struct operand *a = operand(s, MATMUL_A), *b = operand(s, MATMUL_B),
			     *c = operand(s, MATMUL_C);

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, BST_ENUM_OPERATION_GEMM);
	if (!a || !b || !c || a->dims < 2 || c->dims < 2)
		return false;
	shape->type[0] = a->type;
	shape->type[1] = b->type;
	shape->type[2] = c->type;
	shape->compute = cudnn_compute(s->u.operation.compute_type, a->type, false);
	shape->m = c->size[c->dims - 2];
	shape->n = c->size[c->dims - 1];
	shape->k = a->size[a->dims - 1];
	shape->batch = 1;
	for (int i = 0; i < c->dims - 2; i++)
		shape->batch = shape_times(shape->batch, c->size[i]);
	shape->flops =
		shape_times(shape_times(shape_times(shape->m, shape->n), shape_times(shape->k, 2)),
			    shape->batch);
	shape->flags |= BST_ENUM_SHAPE_FLAG_FLOPS;
	return true;
}

static void note_attention(struct shape *shape, const uint32_t *q, uint32_t keys,
			   uint32_t value_dim)
{
	shape->m = q[2];
	shape->n = keys;
	shape->k = q[3];
	shape->batch = shape_times(q[0], q[1]);
	shape->extent[ATTENTION_BATCH] = q[0];
	shape->extent[ATTENTION_HEADS] = q[1];
	shape->extent[ATTENTION_QUERIES] = q[2];
	shape->extent[ATTENTION_KEYS] = keys;
	shape->extent[ATTENTION_HEAD_DIM] = q[3];
	shape->extent[ATTENTION_VALUE_DIM] = value_dim;
}

/* The single operation that cuDNN 9.14 and later have for scaled dot-product attention: Q, V are B
 * x H x S x D. */
static bool shape_of_sdpa(const struct shadow *s, struct shape *shape)
{
	bool forward = s->kind == KIND_SDPA_FORWARD;
	const struct operand *q = operand(s, forward ? SDPA_FORWARD_Q : SDPA_BACKWARD_Q);
	const struct operand *v = operand(s, forward ? SDPA_FORWARD_V : SDPA_BACKWARD_V);
	uint64_t depth, scores;

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN,
		    forward ? BST_ENUM_OPERATION_ATTENTION_FORWARD
			    : BST_ENUM_OPERATION_ATTENTION_BACKWARD);
	if (!q || !v || q->dims != 4 || v->dims != 4)
		return false;
	shape->type[0] = shape->type[1] = shape->type[2] = q->type;
	shape->compute = BST_ENUM_COMPUTE_F32;
	note_attention(shape, q->size, v->size[2], v->size[3]);
	depth = forward ? (uint64_t)q->size[3] + v->size[3]
			: 3 * (uint64_t)q->size[3] + 2 * (uint64_t)v->size[3];
	scores = shape_times(shape_times(shape->m, shape->n), shape->batch);
	shape->flops = shape_times(shape_times(2, depth), scores);
	shape->flags |= BST_ENUM_SHAPE_FLAG_FLOPS;
	return true;
}

static bool shape_of_operation(const struct shadow *s, struct shape *shape)
{
	switch (s->kind) {
	case KIND_CONV_FORWARD:
	case KIND_CONV_FILTER:
	case KIND_CONV_DATA:
		return shape_of_convolution(s, shape);
	case KIND_OPERATION_MATMUL:
		return shape_of_matmul(s, shape);
	case KIND_SDPA_FORWARD:
	case KIND_SDPA_BACKWARD:
		return shape_of_sdpa(s, shape);
	default:
		return false;
	}
}

/* Tensors of a graph, each once. */
struct traffic {
	int64_t uid[GRAPH_TENSORS];
	unsigned count;
	uint64_t bytes;
	bool known;
};

static void add_traffic(struct traffic *traffic, const struct operand *o)
{
	for (unsigned i = 0; i < traffic->count; i++)
		if (traffic->uid[i] == o->uid)
			return;
	if (traffic->count == GRAPH_TENSORS || !o->bytes) {
		traffic->known = false;
		return;
	}
	traffic->uid[traffic->count++] = o->uid;
	traffic->bytes = shape_plus(traffic->bytes, o->bytes);
}

struct graph_sum {
	struct shape shape; /* of the first operation that multiplies */
	uint64_t flops;
	unsigned multiplying; /* operations */
	bool matmuls_only;
	bool nominal, unknown;
	uint64_t output_again; /* bytes read because beta is not 0 */
	uint32_t value_dim;
	struct traffic traffic;
};

static void add_operation(struct graph_sum *sum, const struct shadow *s)
{
	struct shape shape;

	for (uint32_t i = 0; i < s->u.operation.operands; i++)
		if (s->u.operation.operand[i].moved)
			add_traffic(&sum->traffic, &s->u.operation.operand[i]);
	if (s->u.operation.more)
		sum->traffic.known = false;
	sum->nominal |= s->u.operation.nominal;
	if (!shape_of_operation(s, &shape)) {
		/* others than these multiply no matrices */
		sum->unknown |= (s->kind >= KIND_CONV_FORWARD && s->kind <= KIND_CONV_DATA) ||
				s->kind == KIND_OPERATION_MATMUL || s->kind == KIND_MOE_MATMUL ||
				s->kind == KIND_SDPA_FORWARD || s->kind == KIND_SDPA_BACKWARD;
		return;
	}
	if (shape.flags & BST_ENUM_SHAPE_FLAG_READS_C)
		sum->output_again =
			shape_plus(sum->output_again,
				   s->kind == KIND_CONV_FORWARD ? operand(s, FORWARD_Y)->bytes
				   : s->kind == KIND_CONV_DATA  ? operand(s, DATA_DX)->bytes
								: operand(s, FILTER_DW)->bytes);
	if (sum->multiplying++ == 0)
		sum->shape = shape;
	sum->matmuls_only &= s->kind == KIND_OPERATION_MATMUL;
	sum->flops = shape_plus(sum->flops, shape.flops);
	if (s->kind == KIND_OPERATION_MATMUL)
		sum->value_dim = operand(s, MATMUL_C)->size[operand(s, MATMUL_C)->dims - 1];
}

/* Two matmuls in one graph are attention (Q K and P V), its backward pass has five. */
static void name_attention(struct graph_sum *sum)
{
	struct shape *shape = &sum->shape;
	uint32_t q[4] = {(uint32_t)shape->batch, 1, (uint32_t)shape->m, (uint32_t)shape->k};
	bool forward = sum->multiplying == 2;

	if (!sum->matmuls_only || sum->multiplying < 2)
		return;
	if (!forward && sum->multiplying != 5) {
		shape->operation = BST_ENUM_OPERATION_OTHER;
		return;
	}
	shape->operation = forward ? BST_ENUM_OPERATION_ATTENTION_FORWARD
				   : BST_ENUM_OPERATION_ATTENTION_BACKWARD;
	note_attention(shape, q, (uint32_t)shape->n, forward ? sum->value_dim : 0);
}

static uint32_t shape_of_graph(const struct setting *set)
{
	struct graph_sum sum = {.matmuls_only = true, .traffic.known = true};
	struct shape *shape = &sum.shape;

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, BST_ENUM_OPERATION_OTHER);
	for (int64_t i = 0; i < set->count; i++) {
		const struct shadow *s = find(descriptor_at(set->elements, i));

		if (!s)
			return 0;
		add_operation(&sum, s);
	}
	name_attention(&sum);
	shape->flags &= (uint16_t) ~(BST_ENUM_SHAPE_FLAG_FLOPS | BST_ENUM_SHAPE_FLAG_BYTES);
	shape->flops = shape->bytes = 0;
	if (sum.multiplying && !sum.unknown) {
		shape->flops = sum.flops;
		shape->flags |= BST_ENUM_SHAPE_FLAG_FLOPS;
	}
	if (sum.traffic.known && sum.traffic.count) {
		shape->bytes = shape_plus(sum.traffic.bytes, sum.output_again);
		shape->flags |= BST_ENUM_SHAPE_FLAG_BYTES;
	}
	if (sum.nominal)
		shape->flags |= BST_ENUM_SHAPE_FLAG_NOMINAL;
	return shapes_intern(shape);
}

static bool carries_shape(int kind)
{
	return kind == KIND_GRAPH || kind == KIND_ENGINE || kind == KIND_ENGINE_CONFIG ||
	       kind == KIND_HEURISTIC || kind == KIND_PLAN;
}

static void set_carrier(struct shadow *s, const struct setting *set)
{
	const struct shadow *child;

	if (s->kind == KIND_GRAPH) {
		if (set->attribute == GRAPH_OPERATIONS && set->type == TYPE_DESCRIPTOR)
			s->u.shape = shape_of_graph(set);
		return;
	}
	if (set->type != TYPE_DESCRIPTOR || set->count < 1)
		return;
	child = find(descriptor_at(set->elements, 0));
	if (child && carries_shape(child->kind))
		s->u.shape = child->u.shape;
}

void cudnn_graph_set(const void *descriptor, int attribute, int type, int64_t count,
		     const void *elements)
{
	struct setting set = {attribute, type, count, elements};
	struct shadow *s;

	if (count < 1 || !elements)
		return;
	pthread_mutex_lock(&lock);
	s = find(descriptor);
	if (!s)
		;
	else if (s->kind == KIND_TENSOR)
		set_tensor(s, &set);
	else if (s->kind == KIND_CONVOLUTION || s->kind == KIND_MATMUL)
		set_rule(s, &set);
	else if (carries_shape(s->kind))
		set_carrier(s, &set);
	else
		set_operation(s, &set);
	pthread_mutex_unlock(&lock);
}

/* The library fills descriptors that the program made: heuristics give configurations, these give
 * engines. */
void cudnn_graph_got(const void *descriptor, int type, int64_t count, const void *elements)
{
	const struct shadow *s;
	struct shadow *child;

	if (type != TYPE_DESCRIPTOR || !elements)
		return;
	pthread_mutex_lock(&lock);
	s = find(descriptor);
	for (int64_t i = 0; s && carries_shape(s->kind) && i < count; i++) {
		child = find(descriptor_at(elements, i));
		if (child && carries_shape(child->kind))
			child->u.shape = s->u.shape;
	}
	pthread_mutex_unlock(&lock);
}

void cudnn_graph_shape(const void *descriptor, struct shape *shape)
{
	const struct shadow *s;
	uint32_t id;

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, BST_ENUM_OPERATION_OTHER);
	pthread_mutex_lock(&lock);
	s = find(descriptor);
	id = s && carries_shape(s->kind) ? s->u.shape : 0;
	pthread_mutex_unlock(&lock);
	if (id)
		*shape = *shapes_get(id);
}

/* Plans made before recording begins are used after: only where nothing will ever be recorded is
 * nothing followed. */
static bool following(void)
{
	return atomic_load_explicit(&session_state_now, memory_order_relaxed) != SESSION_OFF;
}

#define REAL(name, params) ((int(*) params)real_function(API_##name, __builtin_return_address(0)))

int cudnnBackendCreateDescriptor(int kind, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count,
			     const void *elements);
int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t requested,
			     int64_t *count, void *elements);
int cudnnBackendExecute(void *handle, void *plan, void *pack);
int cudnnBackendPopulateCudaGraph(void *handle, void *plan, void *pack, void *graph);
int cudnnBackendUpdateCudaGraph(void *handle, void *plan, void *pack, void *graph);

#pragma GCC visibility push(default)

int cudnnBackendCreateDescriptor(int kind, void **descriptor)
{
	int (*real)(int, void **) = REAL(cudnnBackendCreateDescriptor, (int, void **));
	int result = real ? real(kind, descriptor) : CUDNN_MISSING;

	if (result == 0 && descriptor && following())
		cudnn_graph_created(*descriptor, kind);
	return result;
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
	int (*real)(void *) = REAL(cudnnBackendDestroyDescriptor, (void *));

	/* before: another thread may be given the same address right after */
	cudnn_graph_destroyed(descriptor);
	return real ? real(descriptor) : CUDNN_MISSING;
}

int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count,
			     const void *elements)
{
	int (*real)(void *, int, int, int64_t, const void *) =
		REAL(cudnnBackendSetAttribute, (void *, int, int, int64_t, const void *));
	int result = real ? real(descriptor, attribute, type, count, elements) : CUDNN_MISSING;

	if (result == 0 && following())
		cudnn_graph_set(descriptor, attribute, type, count, elements);
	return result;
}

int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t requested,
			     int64_t *count, void *elements)
{
	int (*real)(void *, int, int, int64_t, int64_t *, void *) =
		REAL(cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *));
	int result = real ? real(descriptor, attribute, type, requested, count, elements)
			  : CUDNN_MISSING;

	if (result == 0 && following() && count)
		cudnn_graph_got(descriptor, type, *count < requested ? *count : requested,
				elements);
	return result;
}

#define EXECUTE(name, params, args)                                                                \
	int name params                                                                            \
	{                                                                                          \
		int(*real) params = REAL(name, params);                                            \
		struct library_call call;                                                          \
		struct shape shape;                                                                \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return CUDNN_MISSING;                                                      \
		if (!recorder_library_begin(&call, API_##name))                                    \
			return real args;                                                          \
		cudnn_graph_shape(plan, &shape);                                                   \
		recorder_library_enter(&call, &shape, 0);                                          \
		result = real args;                                                                \
		recorder_library_end(&call, result);                                               \
		return result;                                                                     \
	}

EXECUTE(cudnnBackendExecute, (void *handle, void *plan, void *pack), (handle, plan, pack))
EXECUTE(cudnnBackendPopulateCudaGraph, (void *handle, void *plan, void *pack, void *graph),
	(handle, plan, pack, graph))
EXECUTE(cudnnBackendUpdateCudaGraph, (void *handle, void *plan, void *pack, void *graph),
	(handle, plan, pack, graph))

#pragma GCC visibility pop
