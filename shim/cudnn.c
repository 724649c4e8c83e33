/* Reading cuDNN's descriptors. */
#include "cudnn.h"

#include "api.h"
#include "data_type.h"
#include "real.h"
#include "trace/format.h"

#define FMA_MATH 3 /* cudnnMathType_t */
#define BATCH_MOST                                                                                 \
	1024 /* sequences whose lengths are asked for; a larger batch counts as all of full length \
	      */

typedef int (*get_tensor)(const void *, int, int *, int *, int *, int *);
typedef int (*get_filter)(const void *, int, int *, int *, int *, int *);
typedef int (*get_conv)(const void *, int, int *, int *, int *, int *, int *, int *);
typedef int (*get_math)(const void *, int *);
typedef int (*get_rnn)(void *, int *, int *, int *, int *, int *, int *, int *, int *, int32_t *,
		       int32_t *, int32_t *, int32_t *, void **, uint32_t *);
typedef int (*get_rnn_data)(void *, int *, int *, int *, int *, int *, int, int *, void *);

static bool read_tensor(const void *caller, const void *desc, struct tensor *tensor)
{
	get_tensor get = (get_tensor)real_function(API_cudnnGetTensorNdDescriptor, caller);
	int type = -1, dims = 0, size[TENSOR_DIMS] = {0}, stride[TENSOR_DIMS] = {0};

	if (!get || !desc || get(desc, TENSOR_DIMS, &type, &dims, size, stride) != 0 || dims < 1 ||
	    dims > TENSOR_DIMS)
		return false;
	*tensor = (struct tensor){
		.type = data_type_of_cudnn(type), .dims = (uint8_t)dims, .strided = true};
	for (int i = 0; i < dims; i++) {
		tensor->size[i] = size[i];
		tensor->stride[i] = stride[i];
	}
	return true;
}

static bool read_filter(const void *caller, const void *desc, struct tensor *tensor)
{
	get_filter get = (get_filter)real_function(API_cudnnGetFilterNdDescriptor, caller);
	int type = -1, format = 0, dims = 0, size[TENSOR_DIMS] = {0};

	if (!get || !desc || get(desc, TENSOR_DIMS, &type, &format, &dims, size) != 0 || dims < 1 ||
	    dims > TENSOR_DIMS)
		return false;
	*tensor = (struct tensor){.type = data_type_of_cudnn(type), .dims = (uint8_t)dims};
	for (int i = 0; i < dims; i++)
		tensor->size[i] = size[i];
	return true;
}

uint8_t cudnn_compute(int compute_type, uint8_t operand_type, bool fma_only)
{
	switch (data_type_of_cudnn(compute_type)) {
	case BST_ENUM_DATA_TYPE_F16:
		return BST_ENUM_COMPUTE_F16;
	case BST_ENUM_DATA_TYPE_F64:
		return BST_ENUM_COMPUTE_F64;
	case BST_ENUM_DATA_TYPE_I32:
		return BST_ENUM_COMPUTE_I32;
	case BST_ENUM_DATA_TYPE_F32:
		return operand_type == BST_ENUM_DATA_TYPE_F32 && !fma_only
			       ? BST_ENUM_COMPUTE_F32_OR_TF32
			       : BST_ENUM_COMPUTE_F32;
	default:
		return BST_ENUM_COMPUTE_UNKNOWN;
	}
}

/* Strides and in what it sums. */
static void read_conv(const void *caller, const void *desc, uint8_t operand_type, int64_t *stride,
		      uint8_t *compute)
{
	get_conv get = (get_conv)real_function(API_cudnnGetConvolutionNdDescriptor, caller);
	get_math math = (get_math)real_function(API_cudnnGetConvolutionMathType, caller);
	int dims = 0, mode = 0, type = -1, math_type = 0;
	int pad[TENSOR_DIMS] = {0}, step[TENSOR_DIMS] = {0}, dilation[TENSOR_DIMS] = {0};

	if (!get || !desc ||
	    get(desc, TENSOR_DIMS - 2, &dims, pad, step, dilation, &mode, &type) != 0)
		return;
	for (int i = 0; i < TENSOR_DIMS - 2; i++)
		stride[i] = step[i];
	if (math && math(desc, &math_type) != 0)
		math_type = 0;
	*compute = cudnn_compute(type, operand_type, math_type == FMA_MATH);
}

/* alpha and beta are double where the data is, else float. */
static enum scalar scalar_for(const void *p, uint8_t data_type)
{
	return scalar_at(p, data_type == BST_ENUM_DATA_TYPE_F64 ? BST_ENUM_DATA_TYPE_F64
								: BST_ENUM_DATA_TYPE_F32);
}

static uint64_t fused_bytes(const struct cudnn_conv *call, uint8_t data_type)
{
	struct tensor tensor;
	uint64_t bytes = 0;

	if (call->bias_desc && read_tensor(call->caller, call->bias_desc, &tensor))
		bytes = tensor_bytes(&tensor);
	if (call->z_desc && scalar_for(call->alpha2, data_type) != SCALAR_ZERO &&
	    read_tensor(call->caller, call->z_desc, &tensor))
		bytes = shape_plus(bytes, tensor_bytes(&tensor));
	return bytes;
}

void cudnn_conv(struct shape *shape, const struct cudnn_conv *call)
{
	int64_t stride[TENSOR_DIMS] = {0};
	struct tensor x, w, y;
	struct conv c = {.operation = call->operation, .x = &x, .w = &w, .y = &y, .stride = stride};

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, call->operation);
	if (!read_tensor(call->caller, call->x_desc, &x) ||
	    !read_filter(call->caller, call->w_desc, &w) ||
	    !read_tensor(call->caller, call->y_desc, &y))
		return;
	read_conv(call->caller, call->desc, x.type, stride, &c.compute);
	c.beta = call->beta ? scalar_for(call->beta, x.type) : SCALAR_ZERO;
	c.more_bytes = fused_bytes(call, x.type);
	shape_of_conv(shape, &c);
}

/* What the RNN descriptor says, by the order of the getter's arguments. */
struct rnn {
	int algo, cell, bias, directions, input_mode, type, precision, math;
	int32_t input, hidden, projected, layers;
};

static bool read_rnn(const void *caller, void *desc, struct rnn *r)
{
	get_rnn get = (get_rnn)real_function(API_cudnnGetRNNDescriptor_v8, caller);
	uint32_t flags = 0;
	void *dropout = NULL;

	return get && desc &&
	       get(desc, &r->algo, &r->cell, &r->bias, &r->directions, &r->input_mode, &r->type,
		   &r->precision, &r->math, &r->input, &r->hidden, &r->projected, &r->layers,
		   &dropout, &flags) == 0 &&
	       r->input >= 0 && r->hidden > 0 && r->projected > 0 && r->layers > 0;
}

/* cudnnRNNMode_t: RELU, TANH, LSTM, GRU */
static uint32_t gates_of(int cell)
{
	return cell == 2 ? 4 : cell == 3 ? 3 : 1;
}

/* Weights that one element of the batch meets in one time step. */
static uint64_t rnn_weights(const struct rnn *r)
{
	uint64_t directions = r->directions ? 2 : 1, gates = gates_of(r->cell), sum = 0;
	uint64_t hidden = (uint64_t)r->hidden, projected = (uint64_t)r->projected;
	uint64_t projection = projected < hidden ? projected * hidden : 0;

	for (int32_t layer = 0; layer < r->layers; layer++) {
		uint64_t input = layer ? projected * directions : (uint64_t)r->input;

		if (layer == 0 && r->input_mode == 1) /* CUDNN_SKIP_INPUT */
			input = 0;
		sum = shape_plus(sum,
				 directions * (gates * hidden * (input + projected) + projection));
	}
	return sum;
}

struct rnn_data {
	int steps, batch;
	uint64_t total; /* time steps of all sequences */
};

static bool read_rnn_data(const void *caller, void *desc, struct rnn_data *data)
{
	get_rnn_data get = (get_rnn_data)real_function(API_cudnnGetRNNDataDescriptor, caller);
	int type = 0, layout = 0, vector = 0, length[BATCH_MOST];
	double fill = 0;

	if (!get || !desc ||
	    get(desc, &type, &layout, &data->steps, &data->batch, &vector, BATCH_MOST, length,
		&fill) != 0 ||
	    data->steps < 0 || data->batch < 0)
		return false;
	data->total = 0;
	for (int i = 0; i < data->batch && i < BATCH_MOST; i++)
		data->total += length[i] > 0 ? (uint64_t)length[i] : 0;
	if (data->batch > BATCH_MOST)
		data->total = shape_times((uint64_t)data->steps, (uint64_t)data->batch);
	return true;
}

void cudnn_rnn(struct shape *shape, uint8_t operation, const void *caller, void *desc, void *x_desc,
	       size_t weight_bytes)
{
	uint64_t outputs, moved;
	struct rnn_data data;
	struct rnn r;

	shape_clear(shape, BST_ENUM_LIBRARY_CUDNN, operation);
	if (!read_rnn(caller, desc, &r) || !read_rnn_data(caller, x_desc, &data))
		return;
	shape->type[0] = shape->type[1] = shape->type[2] = data_type_of_cudnn(r.type);
	shape->compute = cudnn_compute(r.precision, shape->type[0], r.math == FMA_MATH);
	shape->m = data.total;
	shape->n = gates_of(r.cell) * (uint64_t)r.hidden;
	shape->k = (uint64_t)r.hidden;
	shape->batch = (uint64_t)r.layers * (r.directions ? 2 : 1);
	shape->extent[RNN_LAYERS] = (uint32_t)r.layers;
	shape->extent[RNN_DIRECTIONS] = r.directions ? 2 : 1;
	shape->extent[RNN_STEPS] = (uint32_t)data.steps;
	shape->extent[RNN_BATCH] = (uint32_t)data.batch;
	shape->extent[RNN_INPUT] = (uint32_t)r.input;
	shape->extent[RNN_HIDDEN] = (uint32_t)r.hidden;
	shape->extent[RNN_GATES] = gates_of(r.cell);
	shape->extent[RNN_PROJECTED] = r.projected < r.hidden ? (uint32_t)r.projected : 0;
	shape->flops = shape_times(2, shape_times(rnn_weights(&r), data.total));
	shape->flags |= BST_ENUM_SHAPE_FLAG_FLOPS;
	if (!data_type_bits(shape->type[0]))
		return;
	outputs = (uint64_t)r.projected * (r.directions ? 2 : 1);
	moved = shape_times(data.total, (uint64_t)r.input + outputs);
	shape->bytes = shape_plus(shape_bytes(moved, shape->type[0]), weight_bytes);
	shape->flags |= BST_ENUM_SHAPE_FLAG_BYTES;
}
