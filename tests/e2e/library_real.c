/* library_real: calls of NVIDIA's own libraries on a machine without a GPU. Descriptors live on the
 * host, so the libraries' getters answer; the calls themselves are refused, and say so as they do
 * alone. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <stdio.h>

static cublasLtMatrixLayout_t layout(cudaDataType type, uint64_t rows, uint64_t columns, int batch,
				     int64_t stride, int order)
{
	cublasLtMatrixLayout_t made;

	cublasLtMatrixLayoutCreate(&made, type, rows, columns,
				   order ? (int64_t)columns : (int64_t)rows);
	cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
	cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
					 sizeof(batch));
	cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
					 sizeof(stride));
	return made;
}

static void matmul(cudaDataType type, cudaDataType out, cublasComputeType_t compute, int transpose,
		   int batch, float beta, int order)
{
	float alpha = 1;
	int64_t m = 48, n = 40, k = 32;
	cublasOperation_t op = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
	cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a =
		layout(type, transpose ? k : m, transpose ? m : k, batch, m * k, order);
	cublasLtMatrixLayout_t b = layout(type, k, n, batch, 0, order),
			       c = layout(CUDA_R_32F, m, n, batch, m * n, order);
	cublasLtMatrixLayout_t d = layout(out, m, n, batch, m * n, order);
	int status;

	cublasLtMatmulDescCreate(&desc, compute, CUDA_R_32F);
	cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op));
	cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
				       sizeof(epilogue));
	status = cublasLtMatmul(NULL, desc, &alpha, (void *)0x1000, a, (void *)0x2000, b, &beta,
				beta != 0 ? (void *)0x3000 : NULL, c, (void *)0x4000, d, NULL, NULL,
				0, 0);
	printf("cublasLtMatmul %d\n", status);
}

static cudnnTensorDescriptor_t tensor(cudnnDataType_t type, int n, int c, int h, int w)
{
	int size[4] = {n, c, h, w}, stride[4] = {c * h * w, 1, w * c, c};
	cudnnTensorDescriptor_t made;

	cudnnCreateTensorDescriptor(&made);
	cudnnSetTensorNdDescriptor(made, type, 4, size, stride);
	return made;
}

static void convolve(void)
{
	int pad[2] = {0, 0}, step[2] = {2, 2}, dilation[2] = {1, 1}, window[4] = {48, 6, 5, 5};
	float alpha = 1, beta = 1;
	cudnnFilterDescriptor_t w;
	cudnnConvolutionDescriptor_t desc;

	cudnnCreateFilterDescriptor(&w);
	cudnnSetFilterNdDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 4, window);
	cudnnCreateConvolutionDescriptor(&desc);
	cudnnSetConvolutionNdDescriptor(desc, 2, pad, step, dilation, CUDNN_CROSS_CORRELATION,
					CUDNN_DATA_FLOAT);
	cudnnSetConvolutionGroupCount(desc, 4);
	printf("cudnnConvolutionForward %d\n",
	       (int)cudnnConvolutionForward(
		       NULL, &alpha, tensor(CUDNN_DATA_HALF, 4, 24, 15, 15), (void *)0x1000, w,
		       (void *)0x2000, desc, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0,
		       &beta, tensor(CUDNN_DATA_HALF, 4, 48, 6, 6), (void *)0x3000));
}

static cudnnBackendDescriptor_t backend_tensor(int64_t uid, const int64_t *size)
{
	int64_t stride[3] = {size[1] * size[2], size[2], 1}, alignment = 16;
	cudnnDataType_t type = CUDNN_DATA_HALF;
	cudnnBackendDescriptor_t t;

	cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &t);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, size);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, stride);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
				 &alignment);
	printf("tensor %d\n", (int)cudnnBackendFinalize(t));
	return t;
}

/* The graph of one matmul, up to what the library does without a device; then a plan that is not
 * ready. */
static void backend(void)
{
	int64_t as[3] = {6, 20, 32}, bs[3] = {6, 32, 40}, cs[3] = {6, 20, 40};
	cudnnBackendDescriptor_t a = backend_tensor(1, as), b = backend_tensor(2, bs),
				 c = backend_tensor(3, cs), rule, op, graph;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	cudnnBackendCreateDescriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, &rule);
	cudnnBackendSetAttribute(rule, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	printf("matmul %d\n", (int)cudnnBackendFinalize(rule));
	cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &op);
	cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
				 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &a);
	cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
				 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
	cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC,
				 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c);
	cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_MATMUL_DESC,
				 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &rule);
	printf("operation %d\n", (int)cudnnBackendFinalize(op));
	cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph);
	printf("graph %d\n", (int)cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
							   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op));
	/* the shim knows of a graph what it knows of a plan; the library refuses both here */
	printf("cudnnBackendExecute %d\n", (int)cudnnBackendExecute(NULL, graph, graph));
}

static void gemm(void)
{
	float one = 1, zero = 0;

	printf("cublasSgemm_v2 %d\n", (int)cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_T, 3, 5, 7,
						       &one, NULL, 3, NULL, 5, &zero, NULL, 3));
	printf("cublasHgemmBatched_64 %d\n",
	       (int)cublasHgemmBatched_64(NULL, CUBLAS_OP_N, CUBLAS_OP_T, 3, 5, 7, NULL, NULL, 3,
					  NULL, 5, NULL, NULL, 3, 9));
}

int main(void)
{
	matmul(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 1, 0, 0);
	matmul(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 0, 6, 1, 1);
	matmul(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 1, 0, 0);
	convolve();
	backend();
	gemm();
	return 0;
}
