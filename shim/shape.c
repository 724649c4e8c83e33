/* The arithmetic of library calls. */
#include "shape.h"

#include <stdio.h>
#include <string.h>

#include "data_type.h"
#include "trace/format.h"

#define OP(name) BST_ENUM_OPERATION_##name
#define FLAG(name) BST_ENUM_SHAPE_FLAG_##name

_Static_assert(sizeof(struct shape) == 8 + 6 * 8 + SHAPE_EXTENTS * 4, "shapes have no padding");

enum {
	OP_N,
	OP_T,
	OP_C,
	OP_CONJG
};

void shape_clear(struct shape *shape, uint8_t library, uint8_t operation)
{
	memset(shape, 0, sizeof(*shape));
	shape->library = library;
	shape->operation = operation;
}

uint64_t shape_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t shape_plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t shape_bytes(uint64_t elements, uint8_t type)
{
	uint64_t bits = shape_times(elements, data_type_bits(type));

	return bits == UINT64_MAX ? UINT64_MAX : bits / 8 + (bits % 8 != 0);
}

static enum scalar scalar_of(bool other)
{
	return other ? SCALAR_OTHER : SCALAR_ZERO;
}

enum scalar scalar_at(const void *p, uint8_t type)
{
	uint16_t half[2];
	float single[2];
	double wide[2];
	int32_t integer;

	if (!p)
		return SCALAR_UNKNOWN;
	switch (type) {
	case BST_ENUM_DATA_TYPE_F16:
	case BST_ENUM_DATA_TYPE_BF16:
		memcpy(half, p, sizeof(half[0]));
		return scalar_of(half[0] & 0x7fff);
	case BST_ENUM_DATA_TYPE_C16:
	case BST_ENUM_DATA_TYPE_CB16:
		memcpy(half, p, sizeof(half));
		return scalar_of((half[0] | half[1]) & 0x7fff);
	case BST_ENUM_DATA_TYPE_F32:
		memcpy(single, p, sizeof(single[0]));
		return scalar_of(single[0] != 0);
	case BST_ENUM_DATA_TYPE_C32:
		memcpy(single, p, sizeof(single));
		return scalar_of(single[0] != 0 || single[1] != 0);
	case BST_ENUM_DATA_TYPE_F64:
		memcpy(wide, p, sizeof(wide[0]));
		return scalar_of(wide[0] != 0);
	case BST_ENUM_DATA_TYPE_C64:
		memcpy(wide, p, sizeof(wide));
		return scalar_of(wide[0] != 0 || wide[1] != 0);
	case BST_ENUM_DATA_TYPE_I32:
		memcpy(&integer, p, sizeof(integer));
		return scalar_of(integer != 0);
	default:
		return SCALAR_UNKNOWN;
	}
}

/* Elements that the batch covers: apart, all of them; overlapping, at most what lies between the
 * first and the last. */
static uint64_t covered(const struct matrices *s, uint64_t rows, uint64_t columns, uint64_t batch)
{
	uint64_t one = shape_times(rows, columns), all = shape_times(one, batch);
	uint64_t step, ld, span;

	if (s->pointers || batch <= 1 || !one)
		return all;
	if (s->stride == 0)
		return one;
	if (s->by_row)
		return covered(&(struct matrices){s->type, false, false, s->ld, s->stride}, columns,
			       rows, batch);
	step = s->stride < 0 ? 0 - (uint64_t)s->stride : (uint64_t)s->stride;
	if (step >= one)
		return all;
	ld = s->ld > 0 && (uint64_t)s->ld > rows ? (uint64_t)s->ld : rows;
	span = shape_plus(shape_times(ld, columns - 1), rows);
	span = shape_plus(span, shape_times(step, batch - 1));
	return span < all ? span : all;
}

uint64_t matrices_bytes(const struct matrices *matrices, uint64_t rows, uint64_t columns,
			uint64_t batch)
{
	return shape_bytes(covered(matrices, rows, columns, batch), matrices->type);
}

/* Real multiplications and additions of one multiply-add. */
static uint64_t per_multiply_add(uint8_t type)
{
	return data_type_is_complex(type) ? 8 : 2;
}

static bool is_transposed(int trans)
{
	return trans == OP_T || trans == OP_C;
}

static void flag_transposes(struct shape *shape, int trans_a, int trans_b)
{
	if (is_transposed(trans_a))
		shape->flags |= FLAG(TRANS_A);
	if (is_transposed(trans_b))
		shape->flags |= FLAG(TRANS_B);
	if (trans_a >= OP_C && data_type_is_complex(shape->type[0]))
		shape->flags |= FLAG(CONJ_A);
	if (trans_b >= OP_C && data_type_is_complex(shape->type[1]))
		shape->flags |= FLAG(CONJ_B);
}

static void flag_beta(struct shape *shape, enum scalar beta)
{
	if (beta == SCALAR_OTHER)
		shape->flags |= FLAG(READS_C);
	else if (beta == SCALAR_UNKNOWN)
		shape->flags |= FLAG(BETA_UNKNOWN);
}

static void set_flops(struct shape *shape, uint64_t flops)
{
	shape->flops = flops;
	shape->flags |= FLAG(FLOPS);
}

/* `known` where all types are, else the sum is of no use. */
static void set_bytes(struct shape *shape, uint64_t bytes, bool known)
{
	if (!known)
		return;
	shape->bytes = bytes;
	shape->flags |= FLAG(BYTES);
}

static bool types_known(const struct shape *shape)
{
	return data_type_bits(shape->type[0]) && data_type_bits(shape->type[1]) &&
	       data_type_bits(shape->type[2]);
}

static uint64_t gemm_flops(const struct gemm *g)
{
	uint64_t outputs =
		shape_times(shape_times((uint64_t)g->m, (uint64_t)g->n), (uint64_t)g->batch);

	if (g->alpha == SCALAR_ZERO)
		return 0;
	return shape_times(shape_times(outputs, (uint64_t)g->k), per_multiply_add(g->a.type));
}

static uint64_t gemm_bytes(const struct gemm *g)
{
	uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k,
		 batch = (uint64_t)g->batch;
	bool ta = is_transposed(g->trans_a), tb = is_transposed(g->trans_b);
	uint64_t bytes = matrices_bytes(&g->d, m, n, batch);

	if (g->beta == SCALAR_OTHER)
		bytes = shape_plus(bytes, matrices_bytes(&g->c, m, n, batch));
	if (g->alpha == SCALAR_ZERO || !m || !n)
		return bytes;
	bytes = shape_plus(bytes, matrices_bytes(&g->a, ta ? k : m, ta ? m : k, batch));
	return shape_plus(bytes, matrices_bytes(&g->b, tb ? n : k, tb ? k : n, batch));
}

static bool is_broadcast(const struct matrices *s, int64_t batch)
{
	return batch > 1 && !s->pointers && s->stride == 0;
}

static bool gemm_sensible(const struct gemm *g)
{
	return g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0;
}

void shape_of_gemm(struct shape *shape, const struct gemm *g)
{
	shape_clear(shape, g->library, OP(GEMM));
	if (!gemm_sensible(g))
		return;
	shape->type[0] = g->a.type;
	shape->type[1] = g->b.type;
	shape->type[2] = g->d.type;
	shape->compute = g->compute;
	shape->m = (uint64_t)g->m;
	shape->n = (uint64_t)g->n;
	shape->k = (uint64_t)g->k;
	shape->batch = (uint64_t)g->batch;
	flag_transposes(shape, g->trans_a, g->trans_b);
	flag_beta(shape, g->beta);
	if (is_broadcast(&g->a, g->batch))
		shape->flags |= FLAG(BROADCAST_A);
	if (is_broadcast(&g->b, g->batch))
		shape->flags |= FLAG(BROADCAST_B);
	if (g->a.pointers)
		shape->flags |= FLAG(POINTERS);
	set_flops(shape, gemm_flops(g));
	set_bytes(shape, gemm_bytes(g), types_known(shape));
}

void shape_add_gemm(struct shape *shape, const struct gemm *g)
{
	if (!gemm_sensible(g)) {
		shape->flags &= (uint16_t) ~(FLAG(FLOPS) | FLAG(BYTES));
		return;
	}
	shape->batch = shape_plus(shape->batch, (uint64_t)g->batch);
	shape->flops = shape_plus(shape->flops, gemm_flops(g));
	if (shape->flags & FLAG(BYTES))
		shape->bytes = shape_plus(shape->bytes, gemm_bytes(g));
}

/* Vectors of a batch: a stride below their length makes them overlap. */
static uint64_t vectors_bytes(const struct matrices *s, uint64_t length, uint64_t batch)
{
	struct matrices dense = {s->type, s->pointers, false, 0, s->stride};

	return matrices_bytes(&dense, length, 1, batch);
}

void shape_of_gemv(struct shape *shape, const struct gemv *g)
{
	uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, batch = (uint64_t)g->batch, bytes;
	uint64_t rows = is_transposed(g->trans) ? n : m, columns = is_transposed(g->trans) ? m : n;

	shape_clear(shape, BST_ENUM_LIBRARY_CUBLAS, OP(GEMV));
	if (g->m < 0 || g->n < 0 || g->batch < 0)
		return;
	shape->type[0] = g->a.type;
	shape->type[1] = g->x.type;
	shape->type[2] = g->y.type;
	shape->compute = g->compute;
	shape->m = m;
	shape->n = n;
	shape->batch = batch;
	flag_transposes(shape, g->trans, OP_N);
	flag_beta(shape, g->beta);
	if (is_broadcast(&g->a, g->batch))
		shape->flags |= FLAG(BROADCAST_A);
	if (is_broadcast(&g->x, g->batch))
		shape->flags |= FLAG(BROADCAST_B);
	if (g->a.pointers)
		shape->flags |= FLAG(POINTERS);
	bytes = vectors_bytes(&g->y, rows, batch);
	if (g->beta == SCALAR_OTHER)
		bytes = shape_plus(bytes, bytes);
	if (g->alpha == SCALAR_ZERO) {
		set_flops(shape, 0);
	} else {
		set_flops(shape, shape_times(shape_times(shape_times(m, n), batch),
					     per_multiply_add(g->a.type)));
		bytes = shape_plus(bytes, matrices_bytes(&g->a, m, n, batch));
		bytes = shape_plus(bytes, vectors_bytes(&g->x, columns, batch));
	}
	set_bytes(shape, bytes, types_known(shape));
}

static uint64_t triangle(uint64_t n)
{
	/* one of the two is even */
	return n % 2 ? shape_times(n, n / 2 + 1) : shape_times(n / 2, n + 1);
}

/* Multiply-adds, elements of the inputs, and of the output. */
struct work {
	uint64_t multiply_adds;
	uint64_t read;
	uint64_t output;
};

static struct work work_of(const struct blas3 *b)
{
	uint64_t m = (uint64_t)b->m, n = (uint64_t)b->n, k = (uint64_t)b->k;
	uint64_t side = b->side ? n : m, mn = shape_times(m, n);

	switch (b->operation) {
	case OP(GER):
		return (struct work){mn, shape_plus(m, n), mn};
	case OP(SYMM):
		return (struct work){shape_times(mn, side), shape_plus(triangle(side), mn), mn};
	case OP(SYRK):
		return (struct work){shape_times(triangle(n), k), shape_times(n, k), triangle(n)};
	case OP(SYRKX):
		return (struct work){shape_times(triangle(n), k), shape_times(2, shape_times(n, k)),
				     triangle(n)};
	case OP(SYR2K):
		return (struct work){shape_times(2, shape_times(triangle(n), k)),
				     shape_times(2, shape_times(n, k)), triangle(n)};
	default: /* TRMM, TRSM: half of these, as A is a triangle */
		return (struct work){shape_times(mn, side), shape_plus(triangle(side), mn), mn};
	}
}

void shape_of_blas3(struct shape *shape, const struct blas3 *b)
{
	bool half = b->operation == OP(TRMM) || b->operation == OP(TRSM);
	uint64_t batch = (uint64_t)b->batch, bytes;
	struct work work;

	shape_clear(shape, BST_ENUM_LIBRARY_CUBLAS, b->operation);
	if (b->m < 0 || b->n < 0 || b->k < 0 || b->batch < 0)
		return;
	work = work_of(b);
	shape->type[0] = b->type_a;
	shape->type[1] = b->operation == OP(SYRK) ? BST_ENUM_DATA_TYPE_UNKNOWN : b->type_a;
	shape->type[2] = b->type_c;
	shape->compute = b->compute;
	shape->m = (uint64_t)b->m;
	shape->n = (uint64_t)b->n;
	shape->k = (uint64_t)b->k;
	shape->batch = batch;
	flag_transposes(shape, b->trans, OP_N);
	if (b->pointers)
		shape->flags |= FLAG(POINTERS);
	if (!half)
		flag_beta(shape, b->beta);
	bytes = shape_bytes(shape_times(work.output, batch), b->type_c);
	if (b->beta == SCALAR_OTHER)
		bytes = shape_plus(bytes, bytes);
	if (b->alpha == SCALAR_ZERO) {
		set_flops(shape, 0);
	} else {
		set_flops(shape, shape_times(shape_times(work.multiply_adds, batch),
					     per_multiply_add(b->type_a) / (half ? 2 : 1)));
		bytes = shape_plus(bytes, shape_bytes(shape_times(work.read, batch), b->type_a));
	}
	set_bytes(shape, bytes, data_type_bits(b->type_a) && data_type_bits(b->type_c));
}

uint64_t tensor_elements(const struct tensor *t)
{
	uint64_t n = t->dims ? 1 : 0;

	for (unsigned i = 0; i < t->dims; i++)
		n = t->size[i] > 0 ? shape_times(n, (uint64_t)t->size[i]) : 0;
	return n;
}

uint64_t tensor_bytes(const struct tensor *t)
{
	uint64_t n = tensor_elements(t) ? 1 : 0;

	for (unsigned i = 0; i < t->dims && n; i++)
		if (!t->strided || t->stride[i] != 0)
			n = shape_times(n, (uint64_t)t->size[i]);
	return shape_bytes(n, t->type);
}

static uint32_t extent_of(int64_t size)
{
	return size < 0 ? 0 : size > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

/* Sizes, for the eye. */
static void note_conv(struct shape *shape, const struct conv *c, uint64_t groups)
{
	unsigned spatial = c->x->dims - 2u;

	if (spatial > 3)
		return;
	shape->extent[CONV_SPATIAL] = spatial;
	shape->extent[CONV_BATCH] = extent_of(c->x->size[0]);
	shape->extent[CONV_CHANNELS] = extent_of(c->x->size[1]);
	shape->extent[CONV_FILTERS] = extent_of(c->w->size[0]);
	shape->extent[CONV_GROUPS] = (uint32_t)groups;
	for (unsigned i = 0; i < spatial; i++) {
		shape->extent[CONV_IN + i] = extent_of(c->x->size[2 + i]);
		shape->extent[CONV_WINDOW + i] = extent_of(c->w->size[2 + i]);
		shape->extent[CONV_STRIDE + i] = c->stride ? extent_of(c->stride[i]) : 0;
	}
}

/* The operand that is written. */
static const struct tensor *conv_output(const struct conv *c)
{
	return c->operation == OP(CONV_FORWARD)         ? c->y
	       : c->operation == OP(CONV_BACKWARD_DATA) ? c->x
							: c->w;
}

void shape_of_conv(struct shape *shape, const struct conv *c)
{
	uint64_t outputs = tensor_elements(c->y), window = tensor_elements(c->w), groups, bytes;
	const struct tensor *input = c->operation == OP(CONV_FORWARD) ? c->x : c->y;
	const struct tensor *other = c->operation == OP(CONV_BACKWARD_FILTER) ? c->x : c->w;

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, c->operation);
	if (!outputs || !window || c->w->dims < 3 || c->y->dims != c->w->dims ||
	    c->x->dims != c->w->dims || !tensor_elements(c->x))
		return;
	window /= (uint64_t)c->w->size[0];
	groups = (uint64_t)(c->x->size[1] / c->w->size[1]);
	groups = groups ? groups : 1;
	shape->type[0] = input->type;
	shape->type[1] = other->type;
	shape->type[2] = conv_output(c)->type;
	shape->compute = c->compute;
	shape->m = outputs / (uint64_t)c->y->size[1];
	shape->n = (uint64_t)c->w->size[0] / groups;
	shape->k = window;
	shape->batch = groups;
	note_conv(shape, c, groups);
	flag_beta(shape, c->beta);
	set_flops(shape, shape_times(2, shape_times(outputs, window)));
	bytes = shape_plus(tensor_bytes(c->x), shape_plus(tensor_bytes(c->w), tensor_bytes(c->y)));
	if (c->beta == SCALAR_OTHER)
		bytes = shape_plus(bytes, tensor_bytes(conv_output(c)));
	set_bytes(shape, shape_plus(bytes, c->more_bytes), types_known(shape));
}

/* Does `count` speak of one rank's part of the message? */
static bool is_per_rank(uint8_t operation)
{
	return operation == OP(ALL_GATHER) || operation == OP(REDUCE_SCATTER) ||
	       operation == OP(ALL_TO_ALL) || operation == OP(GATHER) || operation == OP(SCATTER);
}

void shape_of_collective(struct shape *shape, const struct collective *c)
{
	uint64_t bytes = shape_bytes(c->count, c->type);

	shape_clear(shape, BST_ENUM_LIBRARY_NCCL, c->operation);
	shape->type[0] = shape->type[1] = shape->type[2] = c->type;
	shape->m = c->count;
	shape->n = c->ranks;
	shape->k = c->peer < 0 ? 0 : (uint64_t)c->peer;
	shape->batch = 1;
	if (is_per_rank(c->operation))
		bytes = shape_times(bytes, c->ranks);
	set_bytes(shape, bytes,
		  data_type_bits(c->type) && (c->ranks || !is_per_rank(c->operation)));
}

void shape_add_collective(struct shape *shape, const struct shape *more)
{
	if (shape->operation != more->operation)
		shape->operation = OP(NCCL_GROUP);
	if (shape->type[0] != more->type[0])
		shape->type[0] = shape->type[1] = shape->type[2] = BST_ENUM_DATA_TYPE_UNKNOWN;
	if (shape->n != more->n)
		shape->n = 0;
	shape->k = 0;
	shape->m = shape_plus(shape->m, more->m);
	shape->batch = shape_plus(shape->batch, more->batch);
	shape->bytes = shape_plus(shape->bytes, more->bytes);
	shape->flags &= (uint16_t)(more->flags | ~FLAG(BYTES));
	if (!(shape->flags & FLAG(BYTES)))
		shape->bytes = 0;
}

bool shape_known(const struct shape *shape)
{
	return shape->flags & (FLAG(FLOPS) | FLAG(BYTES));
}

/* A growing line of text; what does not fit is left out. */
struct line {
	char *text;
	size_t used, size;
};

static void add(struct line *line, const char *name, uint32_t value)
{
	int n = snprintf(line->text + line->used, line->size - line->used, "%s%s=%u",
			 line->used ? " " : "", name, value);

	if (n > 0 && (size_t)n < line->size - line->used)
		line->used += (size_t)n;
}

static void add_sizes(struct line *line, const char *name, const uint32_t *value, unsigned count)
{
	size_t begin = line->used;

	add(line, name, value[0]);
	for (unsigned i = 1; i < count && line->used > begin; i++) {
		int n = snprintf(line->text + line->used, line->size - line->used, "x%u", value[i]);

		if (n <= 0 || (size_t)n >= line->size - line->used)
			break;
		line->used += (size_t)n;
	}
}

static void describe_conv(struct line *line, const uint32_t *extent)
{
	unsigned spatial = extent[CONV_SPATIAL];

	if (!spatial || spatial > 3)
		return;
	add(line, "n", extent[CONV_BATCH]);
	add(line, "c", extent[CONV_CHANNELS]);
	add_sizes(line, "in", extent + CONV_IN, spatial);
	add(line, "k", extent[CONV_FILTERS]);
	add_sizes(line, "window", extent + CONV_WINDOW, spatial);
	if (extent[CONV_STRIDE])
		add_sizes(line, "stride", extent + CONV_STRIDE, spatial);
	if (extent[CONV_GROUPS] > 1)
		add(line, "groups", extent[CONV_GROUPS]);
}

static void describe_named(struct line *line, const uint32_t *extent, const char *const *names)
{
	for (unsigned i = 0; names[i]; i++)
		if (extent[i])
			add(line, names[i], extent[i]);
}

size_t shape_detail(const struct shape *shape, char *text, size_t size)
{
	static const char *const attention[] = {"b", "h", "sq", "skv", "d", "dv", NULL};
	static const char *const rnn[] = {"layers", "directions", "steps",     "batch", "input",
					  "hidden", "gates",      "projected", NULL};
	static const char *const gemm[] = {"epilogue", NULL};
	struct line line = {text, 0, size};

	if (size)
		text[0] = 0;
	switch (shape->operation) {
	case OP(CONV_FORWARD):
	case OP(CONV_BACKWARD_DATA):
	case OP(CONV_BACKWARD_FILTER):
		describe_conv(&line, shape->extent);
		break;
	case OP(ATTENTION_FORWARD):
	case OP(ATTENTION_BACKWARD):
		describe_named(&line, shape->extent, attention);
		break;
	case OP(RNN_FORWARD):
	case OP(RNN_BACKWARD_DATA):
	case OP(RNN_BACKWARD_WEIGHTS):
		describe_named(&line, shape->extent, rnn);
		break;
	case OP(GEMM):
		describe_named(&line, shape->extent, gemm);
		break;
	default:
		break;
	}
	return line.used;
}
