/* Families of kernels: from names to bytes per element, from grids to elements. */
#include "geometry_bytes.h"

#include <math.h>
#include <string.h>

#include "template_args.h"

/* Share of L2's size that pointwise kernels find there of what the kernel before wrote: geometry_bytes.h. */
#define L2_HITS 0.25

/* Of an element whose type a cast hides: 1 to 8 bytes. */
#define TYPE_LEAST 1.0
#define TYPE_MOST 8.0

struct element_type {
	const char *name;
	double bytes;
};

/* Before any that it begins with. */
static const struct element_type types[] = {
	{"c10::BFloat16", 2},
	{"c10::Half", 2},
	{"__nv_bfloat16", 2},
	{"__half", 2},
	{"c10::Float8", 1},
	{"c10::complex<double>", 16},
	{"c10::complex<float>", 8},
	{"float", 4},
	{"double", 8},
	{"bool", 1},
	{"unsigned char", 1},
	{"signed char", 1},
	{"char", 1},
	{"short", 2},
	{"int", 4},
	{"long", 8},
	{"unsigned int", 4},
	{"unsigned long", 8},
	{"at::native::memory::OpaqueType<2u>", 2},
};

/* Of the element type that begins the part; 0 = not known. */
static double bytes_of_type(struct name_part part)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (name_part_begins(part, types[i].name))
			return types[i].bytes;
	return 0;
}

static struct measure between(double low, double value, double high)
{
	return (struct measure){true, value, low, high};
}

/* --- what a functor reads and writes ------------------------------------------------------- */

/* Bytes for each element. */
struct operands {
	unsigned inputs; /* tensors read */
	double input_bytes, output_bytes;
	double widest; /* of the inputs; of the output without any */
};

/* Types of the arguments from `from` to before `to` are inputs, that of `result` the output. */
static bool typed(const struct template_args *args, unsigned from, unsigned to, unsigned result,
		  struct operands *found)
{
	struct operands o = {.inputs = to - from};

	if (args->count <= result || args->count < to)
		return false;
	for (unsigned i = from; i < to; i++) {
		double bytes = bytes_of_type(args->arg[i]);

		if (bytes <= 0)
			return false;
		o.input_bytes += bytes;
		o.widest = fmax(o.widest, bytes);
	}
	o.output_bytes = bytes_of_type(args->arg[result]);
	*found = o;
	return o.output_bytes > 0;
}

/* A copy's name says what it writes, where its lambda says only what it reads. */
static double output_of_lambda(struct name_part functor, double first)
{
	if (name_part_find(functor, "bfloat16_copy").size ||
	    name_part_find(functor, "float16_copy").size)
		return 2;
	return name_part_find(functor, "float8_copy").size ? 1 : first;
}

/* "...::{lambda(float, bool)#1}" at the end: arguments are inputs, the output is as the first. */
static bool lambda_operands(struct name_part functor, struct operands *found)
{
	struct name_part lambda = name_part_find_last(functor, "{lambda(");
	struct template_args args;

	if (!lambda.size)
		return false;
	lambda = (struct name_part){lambda.at + 7, lambda.size - 7};
	if (!template_args_list(lambda, &args) || !args.count ||
	    !typed(&args, 0, args.count, 0, found))
		return false;
	found->output_bytes = output_of_lambda(functor, found->output_bytes);
	return true;
}

/* Wrappers of Loops.cuh and BinaryOps: argument types, then the result's. A scalar operand is no
 * tensor. */
static bool wrapper_operands(struct name_part functor, struct operands *found)
{
	struct template_args args;

	if (template_args_of(functor, "at::native::BinaryFunctor", &args))
		return typed(&args, 0, 2, 2, found);
	if (template_args_of(functor, "at::native::AUnaryFunctor", &args))
		return typed(&args, 1, 2, 2, found);
	if (template_args_of(functor, "at::native::BUnaryFunctor", &args))
		return typed(&args, 0, 1, 2, found);
	return false;
}

/* "CUDAFunctor_add<float>", "FillFunctor<float>": one type for all tensors. */
static bool plain_operands(struct name_part functor, unsigned inputs, struct operands *found)
{
	struct name_part bracket = name_part_find(functor, "<");
	struct template_args args;
	double bytes;

	if (!bracket.size || !template_args_list(bracket, &args) || !args.count)
		return false;
	bytes = bytes_of_type(args.arg[0]);
	*found = (struct operands){inputs, inputs * bytes, bytes, bytes};
	if (name_part_find(functor, "Compare").size)
		found->output_bytes = 1; /* bool */
	return bytes > 0;
}

/* `inputs` of the array argument. */
static bool functor_operands(struct name_part functor, unsigned inputs, struct operands *found)
{
	if (wrapper_operands(functor, found) || lambda_operands(functor, found))
		return found->inputs == inputs;
	return plain_operands(functor, inputs, found);
}

/* --- pointwise ----------------------------------------------------------------------------- */

/* "std::array<char*, 3ul>": 2 inputs. */
static bool array_inputs(struct name_part array, unsigned *inputs)
{
	struct template_args args;
	uint64_t tensors;

	if ((!template_args_of(array, "array", &args) &&
	     !template_args_of(array, "at::detail::Array", &args)) ||
	    args.count < 2 || !name_part_number(args.arg[1], &tensors) || !tensors || tensors > 64)
		return false;
	*inputs = (unsigned)tensors - 1;
	return true;
}

/* The last block may be nearly empty. */
static struct measure elements_of(const struct signature *s, double of_block)
{
	double most = (double)s->grid[0] * of_block;

	return between(most - of_block, most, most);
}

static struct measure plain_bytes(const struct operands *o, const struct measure *elements)
{
	return measure_scaled(*elements, o->input_bytes + o->output_bytes);
}

/* Some operand differs from the functor's type, and which is not told. */
static struct measure cast_bytes(const struct operands *o, const struct measure *elements)
{
	double all = o->input_bytes + o->output_bytes;

	return measure_product(*elements, between((o->inputs + 1) * TYPE_LEAST, all - o->widest / 2,
						  all + TYPE_MOST - fmin(o->widest, TYPE_MOST)));
}

static struct measure vectorized(struct name_part name, const struct signature *s)
{
	struct template_args args;
	struct operands operands;
	struct measure elements;
	unsigned inputs;

	if (!template_args_of(name, "vectorized_elementwise_kernel", &args) || args.count < 3 ||
	    !array_inputs(args.arg[2], &inputs) ||
	    !functor_operands(args.arg[1], inputs, &operands))
		return (struct measure){0};
	elements = elements_of(s, (double)s->block[0] *
					  (name_part_begins(args.arg[2], "at::detail") ? 4 : 8));
	return plain_bytes(&operands, &elements);
}

static struct measure unrolled(struct name_part name, const struct signature *s)
{
	struct template_args args;
	struct operands operands;
	struct measure elements;
	uint64_t of_thread = 4;
	unsigned inputs;

	if (!template_args_of(name, "unrolled_elementwise_kernel", &args) || args.count < 3 ||
	    !array_inputs(args.arg[1], &inputs) ||
	    !functor_operands(args.arg[0], inputs, &operands))
		return (struct measure){0};
	if (name_part_number(args.arg[2], &of_thread) && !of_thread)
		return (struct measure){0};
	elements = elements_of(s, (double)s->block[0] * (double)of_thread);
	return name_part_find(name, "LoadWithCast").size ? cast_bytes(&operands, &elements)
							 : plain_bytes(&operands, &elements);
}

/* Inputs may be broadcast (nothing of them is read again) or strided: sectors read in part. */
static struct measure strided(struct name_part name, const struct signature *s)
{
	struct template_args args, inner;
	struct operands o;
	struct measure elements;
	uint64_t threads, values;
	bool cast;

	if (!template_args_of(name, "::elementwise_kernel", &args) || args.count < 3 ||
	    !name_part_number(args.arg[0], &threads) || !name_part_number(args.arg[1], &values))
		return (struct measure){0};
	cast = template_args_of(args.arg[2], "gpu_kernel_impl", &inner);
	if (!cast && !template_args_of(args.arg[2], "gpu_kernel_impl_nocast", &inner))
		return (struct measure){0};
	if (!inner.count ||
	    (!wrapper_operands(inner.arg[0], &o) && !lambda_operands(inner.arg[0], &o)))
		return (struct measure){0};
	elements = elements_of(s, (double)threads * (double)values);
	return measure_product(elements,
			       between(o.output_bytes,
				       o.input_bytes + o.output_bytes - (cast ? o.widest / 2 : 0),
				       2 * (o.input_bytes + o.output_bytes)));
}

/* --- lists of tensors ---------------------------------------------------------------------- */

#define CHUNK 65536.0 /* MultiTensorApply.cuh: elements of a block */

/* Accesses of an element: "BinaryOpScalarFunctor<float, 1, 1, 0>" has type, depth, tensors read and
 * which is written; fused optimizers read all and write all but the gradient. */
static double list_bytes(struct name_part functor, uint64_t depth)
{
	struct name_part bracket = name_part_find(functor, "<");
	struct template_args args;
	uint64_t reads;
	double bytes;

	if (!bracket.size || !template_args_list(bracket, &args) || args.count < 2)
		return 0;
	bytes = bytes_of_type(args.arg[0]);
	if (name_part_find(functor, "Fused").size)
		return bytes * (double)(2 * depth - 1);
	if (args.count < 4 || !name_part_number(args.arg[2], &reads))
		return 0;
	return bytes * ((double)reads + 1);
}

static struct measure tensor_lists(struct name_part name, const struct signature *s)
{
	static const double most_tensors[] = {110, 64, 48, 36, 30}; /* by depth */
	double blocks = (double)s->grid[0], bytes, full;
	struct template_args args, metadata;
	uint64_t depth;

	if (!template_args_of(name, "multi_tensor_apply_kernel", &args) || args.count < 2)
		return (struct measure){0};
	if (!template_args_list(name_part_find(args.arg[0], "<"), &metadata) || !metadata.count ||
	    !name_part_number(metadata.arg[metadata.count - 1], &depth) || depth < 1 || depth > 5)
		return (struct measure){0};
	bytes = list_bytes(args.arg[1], depth);
	full = fmax(blocks - most_tensors[depth - 1], 0);
	if (bytes <= 0)
		return (struct measure){0};
	/* tensors of few elements are few: 0.93 to 0.97 full in the foreach and fused optimizers of
	 * BERT, GPT-2 and ResNet-50 */
	return measure_scaled(between(full, (full + 3 * blocks) / 4, blocks), CHUNK * bytes);
}

/* --- reductions and normalisations --------------------------------------------------------- */

/*
 * Reduce.cuh, setReduceConfig: an output's input is split over grid.y blocks, so that each thread
 * still has 16 values but not more blocks run than the device holds. Fewer blocks than that: it is
 * 16 (the last block's may be fewer).
 */
static struct measure reduction(struct name_part name, const struct signature *s,
				const struct device_shape *shape)
{
	double threads = (double)s->block[0] * (double)s->block[1], parts = (double)s->grid[1];
	double room, elements, bytes;
	struct template_args args, op;
	uint64_t outputs;

	if (!template_args_of(name, "reduce_kernel", &args) || args.count < 3 ||
	    !name_part_number(args.arg[1], &outputs) ||
	    !template_args_of(args.arg[2], "ReduceOp", &op) || !op.count || threads < 1 ||
	    !shape->sm_count || !shape->threads_per_sm || !s->grid[0])
		return (struct measure){0};
	bytes = bytes_of_type(op.arg[0]);
	room = (double)shape->sm_count * floor((double)shape->threads_per_sm / threads);
	if (parts < 2 || parts >= ceil(room / (double)s->grid[0]) || bytes <= 0)
		return (struct measure){0};
	elements = (double)s->grid[0] * threads * 16 * (double)outputs;
	return measure_scaled(
		between(elements * (parts - 1) / 2, elements * parts, elements * parts), bytes);
}

/* flexible_launch_configs of Normalization.cuh: ELEMENTS_PER_THREAD 16, MAX_H_BLOCK 128. */
bool batch_norm_grid_of(const struct signature *s, struct batch_norm_grid *grid)
{
	double rows = (double)s->block[1] * 16;

	if (!strstr(s->name, "batch_norm_") || !strstr(s->name, "_channels_last") || !s->grid[0] ||
	    !s->grid[1] || s->grid[1] > 128)
		return false;
	*grid = (struct batch_norm_grid){
		.channels_over = ((double)s->grid[0] - 1) * (double)s->block[0],
		.channels_most = (double)s->grid[0] * (double)s->block[0],
		.elements_over = ((double)s->grid[1] - 1) * rows,
		.elements_most = s->grid[1] < 128 ? (double)s->grid[1] * rows : HUGE_VAL,
	};
	return true;
}

/*
 * DilatedMaxPool2d.cu, channels last: blocks of block.x channels, each thread kernel_size_C of them,
 * which the shared memory tells, and two columns and rows; grid.x is images, or parts of their
 * channels. Forward the grid is of outputs, which take an index of 8 bytes and a window of inputs,
 * of which 4 are its own with the usual stride of 2, and hardly more than 9; backward it is of inputs, of
 * which at most each has an output.
 */
static struct measure max_pool(struct name_part name, const struct signature *s)
{
	double threads = (double)s->block[0] * (double)s->block[1] * (double)s->block[2];
	double positions = 4.0 * (double)s->grid[1] * (double)s->block[1] * (double)s->grid[2] *
			   (double)s->block[2];
	bool forward = true;
	struct template_args args;
	double bytes, elements;

	if (!template_args_of(name, "max_pool_forward_nhwc", &args)) {
		forward = false;
		if (!template_args_of(name, "max_pool_backward_nhwc", &args))
			return (struct measure){0};
	}
	bytes = args.count ? bytes_of_type(args.arg[0]) : 0;
	if (bytes <= 0 || threads < 1)
		return (struct measure){0};
	/* an entry of a channel: forward the largest value and its index, backward a float sum */
	elements = (double)s->shared_bytes / threads / (forward ? bytes + 4 : 4) *
		   (double)s->block[0] * (double)s->grid[0] * positions;
	if (forward)
		return measure_scaled(between(bytes, 5 * bytes + 8, 10 * bytes + 8), elements);
	return measure_scaled(between(bytes / 2, bytes + (bytes + 8) / 4, 2 * bytes + 8), elements);
}

/* Accesses of an element. */
static const struct {
	const char *family;
	unsigned accesses;
} batch_norms[] = {
	{"batch_norm_collect_statistics_channels_last_kernel", 1},
	{"batch_norm_transform_input_channels_last_kernel", 2},
	{"batch_norm_backward_reduce_channels_last_kernel", 2},
	{"batch_norm_backward_elemt_channels_last_kernel", 3},
};

/* Of the first argument that is an element type. */
static double first_type(const struct template_args *args)
{
	for (unsigned i = 0; i < args->count; i++)
		if (bytes_of_type(args->arg[i]) > 0)
			return bytes_of_type(args->arg[i]);
	return 0;
}

static struct measure batch_norm(struct name_part name, const struct signature *s,
				 const struct tensor_sizes *sizes)
{
	struct template_args args;
	struct batch_norm_grid grid;
	struct measure elements;
	double bytes = 0;

	if (!batch_norm_grid_of(s, &grid))
		return (struct measure){0};
	for (size_t i = 0; i < sizeof(batch_norms) / sizeof(batch_norms[0]) && bytes <= 0; i++)
		if (template_args_of(name, batch_norms[i].family, &args))
			bytes = first_type(&args) * batch_norms[i].accesses;
	if (bytes <= 0)
		return (struct measure){0};
	if (sizes->channel > 0)
		elements = between(grid.channels_over * sizes->channel,
				   grid.channels_most * sizes->channel,
				   grid.channels_most * sizes->channel);
	else if (isfinite(grid.elements_most))
		elements = between(grid.channels_over * grid.elements_over,
				   grid.channels_most * grid.elements_most,
				   grid.channels_most * grid.elements_most);
	else
		return (struct measure){0};
	return measure_scaled(elements, bytes);
}

/* A row for each block: bytes of an element read or written once, and what may be read again. */
static const struct {
	const char *family;
	unsigned type, accesses, again; /* argument of the type */
} rows[] = {
	{"vectorized_layer_norm_kernel", 0, 2, 0},
	{"layer_norm_grad_input_kernel_vectorized", 0, 3, 0},
	{"layer_norm_grad_input_kernel", 0, 3, 0},
	/* Passes for the maximum, the sum and the result; L2 has most of a row then. */
	{"cunn_SoftMaxForward", 1, 2, 2},
	/* A pass for the sum, one for the result. */
	{"cunn_SoftMaxBackward", 1, 3, 2},
};

static struct measure row_by_row(struct name_part name, const struct signature *s,
				 const struct tensor_sizes *sizes)
{
	struct template_args args;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double bytes, elements = (double)s->grid[0] * sizes->row;

		if (!template_args_of(name, rows[i].family, &args) || args.count <= rows[i].type)
			continue;
		bytes = bytes_of_type(args.arg[rows[i].type]);
		if (bytes <= 0 || elements <= 0)
			break;
		return measure_scaled(between(rows[i].accesses, rows[i].accesses,
					      rows[i].accesses + rows[i].again),
				      bytes * elements);
	}
	return (struct measure){0};
}

struct measure geometry_bytes_of(const char *name, const struct signature *s,
				 const struct device_shape *shape, const struct tensor_sizes *sizes)
{
	struct name_part whole = name_part_of(name);
	struct measure bytes;

	if (!s->known)
		return (struct measure){0};
	bytes = vectorized(whole, s);
	if (!bytes.known)
		bytes = unrolled(whole, s);
	if (!bytes.known)
		bytes = strided(whole, s);
	if (!bytes.known)
		bytes = tensor_lists(whole, s);
	if (!bytes.known)
		bytes = reduction(whole, s, shape);
	if (!bytes.known)
		bytes = batch_norm(whole, s, sizes);
	if (!bytes.known)
		bytes = max_pool(whole, s);
	if (!bytes.known)
		bytes = row_by_row(whole, s, sizes);
	return bytes;
}

struct measure geometry_dram_pct(const struct measure *bytes, double duration_ns,
				 const struct measure *peak, double l2_bytes, bool cold)
{
	double to_pct = peak->known && duration_ns > 0 ? 100e9 / duration_ns / peak->high : 0;
	double hits = cold ? 0 : fmin(L2_HITS * l2_bytes, bytes->value / 2);

	if (!bytes->known || to_pct <= 0)
		return (struct measure){0};
	return between(fmin(fmax(bytes->low - l2_bytes, 0) * to_pct, 100),
		       fmin((bytes->value - hits) * to_pct, 100), fmin(bytes->high * to_pct, 100));
}
