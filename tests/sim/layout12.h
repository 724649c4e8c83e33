/* Sizes and offsets of CUDA 12.9's structures that the stand-ins of major 12 produce. Both sides
 * assert them: the stand-ins, which are built from CUDA 13 headers, and layout12.c, built from CUDA
 * 12's. */
#pragma once

#define KERNEL12_BYTES 208
#define KERNEL12_NAME 104
#define KERNEL12_GRAPH_NODE 144
#define KERNEL12_GRAPH 156
#define KERNEL12_CLUSTER 176
#define COPY12_BYTES 96
#define COPY12_GRAPH 72
#define COPY12_COUNT 88
#define PEER12_BYTES 96
#define PEER12_GRAPH_NODE 72
#define SET12_BYTES 88
#define SET12_GRAPH_NODE 64
#define OVERHEAD12_BYTES 56
#define PROP12_BYTES 1032
#define PROP12_MAJOR 360
#define PROP12_SMS 388
#define PROP12_L2 616
#define PROP12_SM_SHARED 640
#define PROP12_BLOCKS_PER_SM 712
