/* Independent chains of fused multiply-adds, in the type asked for. */
#ifndef FMA_CHAINS_H
#define FMA_CHAINS_H

/*
 * Every chain begins as thread + its number and becomes scale * itself + offset, `steps` times; the
 * sum of the chains. With scale -1 and an odd number of steps a chain ends at offset - what it
 * began as: exact for small whole numbers, and wrong if a step is left out. The compiler sees
 * neither.
 */
template <typename T, unsigned CHAINS>
static __device__ T fma_chains(T first, T scale, T offset, unsigned steps)
{
	T chain[CHAINS], sum = 0;

#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		chain[j] = first + (T)j;
#pragma unroll 4
	for (unsigned step = 0; step < steps; step++) {
#pragma unroll
		for (unsigned j = 0; j < CHAINS; j++)
			chain[j] = chain[j] * scale + offset;
	}
#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		sum += chain[j];
	return sum;
}

/* What it returns for scale -1 and odd steps. */
template <typename T, unsigned CHAINS> static T fma_chains_expected(T first, T offset)
{
	return CHAINS * (offset - first) - (T)(CHAINS * (CHAINS - 1) / 2);
}

#endif
