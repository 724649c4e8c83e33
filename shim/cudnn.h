/* What a call of cuDNN's descriptor API computes, from what cuDNN's own getters say of the
 * descriptors. */
#ifndef CUDNN_H
#define CUDNN_H

#include "shape.h"

struct cudnn_conv {
	const void *caller; /* an address in the code that made the call: the getters are asked in
			       its library */
	uint8_t operation;  /* BST_ENUM_OPERATION_CONV_* */
	void *x_desc, *w_desc, *y_desc, *desc;
	const void *beta; /* NULL = 0. cuDNN's scalars always lie on the host */
	/* of the fused call, else NULL */
	const void *alpha2;
	void *z_desc, *bias_desc;
};
void cudnn_conv(struct shape *shape, const struct cudnn_conv *call);

/* `operation` is BST_ENUM_OPERATION_RNN_*. */
void cudnn_rnn(struct shape *shape, uint8_t operation, const void *caller, void *desc, void *x_desc,
	       size_t weight_bytes);

/* In what sums are made, from a cudnnDataType_t and the type of the operands; tf32 may be used
 * unless `fma_only`. */
uint8_t cudnn_compute(int compute_type, uint8_t operand_type, bool fma_only);

#endif
