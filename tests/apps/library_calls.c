/* library_calls: every entry point of the math libraries that the shim hooks, called through the
 * dynamic linker on the stand-ins, with transposes, batches, strides, scalars on host and device.
 * Checks that each argument arrives as it was given, and prints what each call computes, worked out
 * here from the manuals: name, FLOPs, least bytes, m, n, k, batch ("-" where not to be known), and
 * where its two operands lie (0 = not said). */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <string.h>

#include "../sim/math_call.h"
#include "app.h"

typedef uint64_t W;
typedef int (*entry)(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
		     W, W, W, W, W, W, W, W);

struct sim_math_call *sim_math_cublas(void), *sim_math_cublaslt(void), *sim_math_cudnn(void),
	*sim_math_nccl(void);

/* Unprototyped: whatever the true prototype, words are passed; they are all of class INTEGER. */
#define ENTRY(name)                                                                                \
	int name(void);                                                                            \
	static const entry f_##name __attribute__((unused)) = (entry)(void *)name

#define ENTRY_64(name)                                                                             \
	ENTRY(name);                                                                               \
	ENTRY(name##_64)

static void *handle, *stream;
static bool capturing;

/* --- one call: its words, and what must come of it ------------------------------------------- */

struct call {
	W word[SIM_MATH_WORDS];
	bool narrow[SIM_MATH_WORDS]; /* an int: the upper half of its word is nobody's */
	unsigned count;
	bool sizes_are_wide; /* the _64 twin */
	W operand[2];
};

static void word(struct call *c, W value)
{
	c->word[c->count++] = value;
}

static void pointer(struct call *c, const void *p)
{
	word(c, (W)(uintptr_t)p);
}

static void number(struct call *c, int value)
{
	c->narrow[c->count] = true;
	word(c, (uint32_t)value | (W)0xdeadbeef << 32);
}

static void size(struct call *c, int64_t value)
{
	if (c->sizes_are_wide)
		word(c, (W)value);
	else
		number(c, (int)value);
}

/* A pointer to device memory: nobody may look there. */
static void device(struct call *c, unsigned which)
{
	word(c, 0x7f0000000000 + which * 0x10000);
}

/* The last word: of a `list` of pointers it is not told where it lies. */
static void is_operand(struct call *c, unsigned number, bool list)
{
	c->operand[number] = list ? 0 : c->word[c->count - 1];
}

struct expected {
	bool known;
	uint64_t flops, bytes, m, n, k, batch;
	bool no_bytes;
};

static void say_of(const char *name, const struct expected *x, W a, W b)
{
	if (!x->known)
		printf("%s - - - - - -", name);
	else if (x->no_bytes)
		printf("%s %" PRIu64 " - %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, name,
		       x->flops, x->m, x->n, x->k, x->batch);
	else
		printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		       name, x->flops, x->bytes, x->m, x->n, x->k, x->batch);
	printf(" %" PRIx64 " %" PRIx64 "\n", a, b);
}

static void say(const char *name, const struct expected *x)
{
	say_of(name, x, 0, 0);
}

static int make(const struct call *c, entry f)
{
	const W *w = c->word;

	return f(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
		 w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23], w[24],
		 w[25], w[26], w[27], w[28], w[29], w[30], w[31], w[32], w[33]);
}

static void check_arrived(const struct call *c, const struct sim_math_call *last, const char *name)
{
	if (strcmp(last->name, name)) {
		printf("%s went to %s\n", name, last->name);
		exit(1);
	}
	for (unsigned i = 0; i < c->count; i++) {
		W mask = c->narrow[i] ? UINT32_MAX : UINT64_MAX;

		if ((c->word[i] & mask) != (last->word[i] & mask)) {
			printf("%s: argument %u is %" PRIx64 ", expected %" PRIx64 "\n", name, i,
			       last->word[i], c->word[i]);
			exit(1);
		}
	}
}

static void call(const char *name, entry f, const struct call *c, const struct sim_math_call *last,
		 const struct expected *x)
{
	uint64_t before = last->count;
	int result = make(c, f);

	EXPECT(result, 0);
	EXPECT(last->count, before + 1);
	check_arrived(c, last, name);
	say_of(name, x, c->operand[0], c->operand[1]);
}

/* --- types -------------------------------------------------------------------------------- */

struct type {
	int cuda;
	unsigned bits;
	bool is_complex;
};

static const struct type F32 = {0, 32, false}, F64 = {1, 64, false}, F16 = {2, 16, false},
			 BF16 = {14, 16, false}, C32 = {4, 64, true}, C64 = {5, 128, true},
			 I8 = {3, 8, false}, I32 = {10, 32, false}, E4M3 = {28, 8, false},
			 E5M2 = {29, 8, false}, F4 = {33, 4, false};

static uint64_t bytes_of(uint64_t elements, struct type t)
{
	return (elements * t.bits + 7) / 8;
}

/* Scalars of every type, one and zero: alpha is never zero here. */
static union scalar {
	float f[2];
	double d[2];
	uint16_t h[2];
	int32_t i;
} values[12];

static const void *scalar(struct type t, bool one)
{
	union scalar *s = &values[(t.cuda % 6) * 2 + one];

	memset(s, 0, sizeof(*s));
	if (!one)
		return s;
	if (t.cuda == F64.cuda)
		s->d[0] = 1;
	else if (t.cuda == C64.cuda)
		s->d[1] = 1; /* i */
	else if (t.cuda == F16.cuda)
		s->h[0] = 0x3c00;
	else if (t.cuda == C32.cuda)
		s->f[1] = -1;
	else if (t.cuda == I32.cuda)
		s->i = 1;
	else
		s->f[0] = 1;
	return s;
}

/* --- GEMM --------------------------------------------------------------------------------- */

enum {
	TYPED = 1,   /* types beside the pointers */
	STRIDED = 2, /* strides and a count */
	LISTED = 4,  /* lists of pointers and a count */
	EX = 8,      /* compute type and algorithm at the end */
};

struct way {
	int trans_a, trans_b;
	bool beta, on_device, broadcast_a, broadcast_b;
};

static const struct way ways[] = {
	{0, 0, false, false, false, false}, {1, 0, true, false, false, false},
	{0, 1, false, true, true, false},   {2, 2, true, true, false, true},
	{1, 1, true, false, true, true},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

struct gemm {
	const char *name;
	entry f;
	bool wide;
	unsigned how;
	struct type a, b, c, scalar;
	int compute;
};

static void set_pointer_mode(bool on_device)
{
	int cublasSetPointerMode_v2(void *, int);

	CHECK(cublasSetPointerMode_v2(handle, on_device));
}

/* Which way an operand is stored changes its bytes not. */
static void gemm_one(const struct gemm *g, const struct way *way, int64_t m, int64_t n, int64_t k,
		     int64_t batch)
{
	bool many = g->how & (STRIDED | LISTED);
	uint64_t count = many ? (uint64_t)batch : 1, mn = (uint64_t)m * n, mk = (uint64_t)m * k,
		 kn = (uint64_t)k * n;
	bool once_a = g->how & STRIDED && way->broadcast_a,
	     once_b = g->how & STRIDED && way->broadcast_b;
	bool reads_c = way->beta && !way->on_device;
	struct expected x = {
		.known = true,
		.flops = (g->a.is_complex ? 8 : 2) * mn * k * count,
		.bytes = bytes_of(mk * (once_a ? 1 : count), g->a) +
			 bytes_of(kn * (once_b ? 1 : count), g->b) +
			 bytes_of(mn * count, g->c) * (reads_c ? 2 : 1),
		.m = m,
		.n = n,
		.k = k,
		.batch = count,
	};
	struct call c = {.sizes_are_wide = g->wide};
	int64_t ld_a = (way->trans_a ? k : m) + 3, ld_b = (way->trans_b ? n : k) + 5, ld_c = m + 7;

	if (!mn)
		x.bytes = 0;
	set_pointer_mode(way->on_device);
	pointer(&c, handle);
	number(&c, way->trans_a);
	number(&c, way->trans_b);
	size(&c, m);
	size(&c, n);
	size(&c, k);
	if (way->on_device)
		device(&c, 1);
	else
		pointer(&c, scalar(g->scalar, true));
	device(&c, 2);
	is_operand(&c, 0, g->how & LISTED);
	if (g->how & TYPED)
		number(&c, g->a.cuda);
	size(&c, ld_a);
	if (g->how & STRIDED)
		word(&c, once_a ? 0 : (W)ld_a * (way->trans_a ? m : k));
	device(&c, 3);
	is_operand(&c, 1, g->how & LISTED);
	if (g->how & TYPED)
		number(&c, g->b.cuda);
	size(&c, ld_b);
	if (g->how & STRIDED)
		word(&c, once_b ? 0 : (W)ld_b * (way->trans_b ? k : n));
	if (way->on_device)
		device(&c, 4);
	else
		pointer(&c, scalar(g->scalar, way->beta));
	device(&c, 5);
	if (g->how & TYPED)
		number(&c, g->c.cuda);
	size(&c, ld_c);
	if (g->how & STRIDED)
		word(&c, (W)ld_c * n);
	if (many)
		size(&c, batch);
	if (g->how & EX) {
		number(&c, g->compute);
		number(&c, -1);
	}
	call(g->name, g->f, &c, sim_math_cublas(), &x);
}

static void gemm(const struct gemm *g)
{
	/* beyond 32 bits where the entry point takes that */
	int64_t m = g->wide ? INT64_C(0x200000005) : 37;

	for (unsigned i = 0; i < WAYS; i++)
		gemm_one(g, &ways[i], m, 11 + i, 5 + 2 * i, 3 + i);
}

static void gemm_both(const char *name, entry narrow, const char *name_64, entry wide,
		      struct gemm g)
{
	g.name = name;
	g.f = narrow;
	gemm(&g);
	g.name = name_64;
	g.f = wide;
	g.wide = true;
	gemm(&g);
}

#define GEMM(name, ...)                                                                            \
	ENTRY_64(name);                                                                            \
	gemm_both(#name, f_##name, #name "_64", f_##name##_64, (struct gemm){.how = __VA_ARGS__})
#define SAME(t) .a = t, .b = t, .c = t, .scalar = t

static void plain_gemms(void)
{
	GEMM(cublasSgemm_v2, 0, SAME(F32));
	GEMM(cublasDgemm_v2, 0, SAME(F64));
	GEMM(cublasCgemm_v2, 0, SAME(C32));
	GEMM(cublasZgemm_v2, 0, SAME(C64));
	GEMM(cublasHgemm, 0, SAME(F16));
	GEMM(cublasCgemm3m, 0, SAME(C32));
	GEMM(cublasZgemm3m, 0, SAME(C64));
	GEMM(cublasSgemmEx, TYPED, F16, F16, F32, F32);
	GEMM(cublasCgemmEx, TYPED, SAME(C32));
	GEMM(cublasCgemm3mEx, TYPED, SAME(C32));
}

static void ex_gemms(void)
{
	GEMM(cublasGemmEx, TYPED | EX, BF16, BF16, F32, F32, .compute = 68);
}

static void more_ex_gemms(void)
{
	GEMM(cublasGemmEx, TYPED | EX, I8, I8, I32, I32, .compute = 72);
}

static void half_ex_gemms(void)
{
	GEMM(cublasGemmEx, TYPED | EX, SAME(F16), .compute = 64);
}

static void strided_gemms(void)
{
	GEMM(cublasHgemmStridedBatched, STRIDED, SAME(F16));
	GEMM(cublasSgemmStridedBatched, STRIDED, SAME(F32));
	GEMM(cublasDgemmStridedBatched, STRIDED, SAME(F64));
	GEMM(cublasCgemmStridedBatched, STRIDED, SAME(C32));
	GEMM(cublasZgemmStridedBatched, STRIDED, SAME(C64));
	GEMM(cublasCgemm3mStridedBatched, STRIDED, SAME(C32));
	GEMM(cublasGemmStridedBatchedEx, TYPED | EX | STRIDED, F16, F16, F32, F32, .compute = 77);
}

static void listed_gemms(void)
{
	GEMM(cublasHgemmBatched, LISTED, SAME(F16));
	GEMM(cublasSgemmBatched, LISTED, SAME(F32));
	GEMM(cublasDgemmBatched, LISTED, SAME(F64));
	GEMM(cublasCgemmBatched, LISTED, SAME(C32));
	GEMM(cublasZgemmBatched, LISTED, SAME(C64));
	GEMM(cublasCgemm3mBatched, LISTED, SAME(C32));
	GEMM(cublasGemmBatchedEx, TYPED | EX | LISTED, SAME(C64), .compute = 70);
}

/* The API of cublas.h: letters, scalars by value, no handle, nothing returned. */
struct c32 {
	float re, im;
};
struct c64 {
	double re, im;
};
void cublasSgemm(char, char, int, int, int, float, const void *, int, const void *, int, float,
		 void *, int);
void cublasDgemm(char, char, int, int, int, double, const void *, int, const void *, int, double,
		 void *, int);
void cublasCgemm(char, char, int, int, int, struct c32, const void *, int, const void *, int,
		 struct c32, void *, int);
void cublasZgemm(char, char, int, int, int, struct c64, const void *, int, const void *, int,
		 struct c64, void *, int);

static void old_gemms(void)
{
	void *a = (void *)0x1000, *b = (void *)0x2000, *c = (void *)0x3000;
	const W *got = sim_math_cublas()->word;

	cublasSgemm('n', 'T', 3, 5, 7, 2, a, 13, b, 17, 0, c, 19);
	EXPECT(got[0] & 255, 'n');
	EXPECT(got[1] & 255, 'T');
	EXPECT((int)got[4], 7);
	EXPECT(got[5], 0x1000);
	EXPECT((int)got[6], 13);
	EXPECT(got[9], 0x3000);
	EXPECT((int)got[10], 19);
	say_of("cublasSgemm",
	       &(struct expected){true, 2 * 105, 4 * (21 + 35 + 15), 3, 5, 7, 1, false}, 0x1000,
	       0x2000);
	cublasDgemm('C', 'N', 3, 5, 7, 2, a, 13, b, 17, 1, c, 19);
	say_of("cublasDgemm",
	       &(struct expected){true, 2 * 105, 8 * (21 + 35 + 30), 3, 5, 7, 1, false}, 0x1000,
	       0x2000);
	cublasCgemm('t', 'c', 3, 5, 7, (struct c32){0, 1}, a, 13, b, 17, (struct c32){0, 0}, c, 19);
	say_of("cublasCgemm",
	       &(struct expected){true, 8 * 105, 8 * (21 + 35 + 15), 3, 5, 7, 1, false}, 0x1000,
	       0x2000);
	cublasZgemm('N', 'N', 3, 5, 7, (struct c64){0, 1}, a, 13, b, 17, (struct c64){0, 2}, c, 19);
	say_of("cublasZgemm",
	       &(struct expected){true, 8 * 105, 16 * (21 + 35 + 30), 3, 5, 7, 1, false}, 0x1000,
	       0x2000);
}

/* Groups: {m, n, k, count}. */
static void grouped(const char *name, entry f, bool wide, struct type t, bool ex)
{
	static const int64_t groups[3][4] = {{4, 5, 6, 2}, {7, 8, 9, 1}, {10, 1, 3, 5}};
	static int trans_a[3] = {0, 1, 0}, trans_b[3] = {0, 0, 1}, narrow[4][3],
		   ld[3] = {64, 64, 64};
	static int64_t broad[4][3], ld_64[3] = {64, 64, 64};
	static double wide_one[3] = {1, 1, 1}, wide_beta[3] = {0, 1, 0};
	static float one[3] = {1, 1, 1}, beta[3] = {0, 1, 0};
	struct expected x = {.known = true, .m = 4, .n = 5, .k = 6};
	struct call c = {.sizes_are_wide = wide};
	const void *array[4];

	for (unsigned i = 0; i < 3; i++) {
		uint64_t m = groups[i][0], n = groups[i][1], k = groups[i][2], count = groups[i][3];

		x.flops += 2 * m * n * k * count;
		x.bytes += count * bytes_of(m * k + k * n + m * n * (i == 1 ? 2 : 1), t);
		x.batch += count;
		for (unsigned j = 0; j < 4; j++) {
			narrow[j][i] = (int)groups[i][j];
			broad[j][i] = groups[i][j];
		}
	}
	for (unsigned j = 0; j < 4; j++)
		array[j] = wide ? (void *)broad[j] : (void *)narrow[j];
	set_pointer_mode(false);
	pointer(&c, handle);
	pointer(&c, trans_a);
	pointer(&c, trans_b);
	for (unsigned j = 0; j < 3; j++)
		pointer(&c, array[j]);
	pointer(&c, t.bits == 64 ? (void *)wide_one : (void *)one);
	device(&c, 1);
	if (ex)
		number(&c, t.cuda);
	pointer(&c, wide ? (void *)ld_64 : (void *)ld);
	device(&c, 2);
	if (ex)
		number(&c, t.cuda);
	pointer(&c, wide ? (void *)ld_64 : (void *)ld);
	pointer(&c, t.bits == 64 ? (void *)wide_beta : (void *)beta);
	device(&c, 3);
	if (ex)
		number(&c, t.cuda);
	pointer(&c, wide ? (void *)ld_64 : (void *)ld);
	size(&c, 3);
	pointer(&c, array[3]);
	if (ex)
		number(&c, 68);
	call(name, f, &c, sim_math_cublas(), &x);
}

static void grouped_gemms(void)
{
	ENTRY_64(cublasSgemmGroupedBatched);
	ENTRY_64(cublasDgemmGroupedBatched);
	ENTRY_64(cublasGemmGroupedBatchedEx);
	grouped("cublasSgemmGroupedBatched", f_cublasSgemmGroupedBatched, false, F32, false);
	grouped("cublasSgemmGroupedBatched_64", f_cublasSgemmGroupedBatched_64, true, F32, false);
	grouped("cublasDgemmGroupedBatched", f_cublasDgemmGroupedBatched, false, F64, false);
	grouped("cublasDgemmGroupedBatched_64", f_cublasDgemmGroupedBatched_64, true, F64, false);
	grouped("cublasGemmGroupedBatchedEx", f_cublasGemmGroupedBatchedEx, false, BF16, true);
	grouped("cublasGemmGroupedBatchedEx_64", f_cublasGemmGroupedBatchedEx_64, true, BF16, true);
}

/* --- GEMV --------------------------------------------------------------------------------- */

struct gemv {
	unsigned how;
	struct type a, y, scalar;
};

static void gemv(const char *name, entry f, bool wide, const struct gemv *g)
{
	int64_t m = wide ? INT64_C(0x100000003) : 23, n = 9, count = 4;

	for (unsigned i = 0; i < WAYS; i++) {
		const struct way *way = &ways[i];
		bool once = g->how & STRIDED && way->broadcast_a;
		bool trans = way->trans_a != 0, reads = way->beta && !way->on_device;
		uint64_t many = g->how ? (uint64_t)count : 1, rows = trans ? n : m,
			 columns = trans ? m : n;
		struct expected x = {
			true,
			(g->a.is_complex ? 8 : 2) * (uint64_t)m * n * many,
			bytes_of((uint64_t)m * n * (once ? 1 : many) + columns * many, g->a) +
				bytes_of(rows * many, g->y) * (reads ? 2 : 1),
			m,
			n,
			0,
			many,
			false};
		struct call c = {.sizes_are_wide = wide};

		set_pointer_mode(way->on_device);
		pointer(&c, handle);
		number(&c, way->trans_a);
		size(&c, m);
		size(&c, n);
		if (way->on_device)
			device(&c, 1);
		else
			pointer(&c, scalar(g->scalar, true));
		device(&c, 2);
		is_operand(&c, 0, g->how & LISTED);
		size(&c, m);
		if (g->how & STRIDED)
			word(&c, once ? 0 : (W)m * n);
		device(&c, 3);
		is_operand(&c, 1, g->how & LISTED);
		size(&c, 1);
		if (g->how & STRIDED)
			word(&c, columns);
		if (way->on_device)
			device(&c, 4);
		else
			pointer(&c, scalar(g->scalar, way->beta));
		device(&c, 5);
		size(&c, 1);
		if (g->how & STRIDED)
			word(&c, rows);
		if (g->how)
			size(&c, count);
		call(name, f, &c, sim_math_cublas(), &x);
	}
}

#define GEMV(name, ...)                                                                            \
	ENTRY_64(name);                                                                            \
	gemv(#name, f_##name, false, &(struct gemv){__VA_ARGS__});                                 \
	gemv(#name "_64", f_##name##_64, true, &(struct gemv){__VA_ARGS__})

static void gemvs(void)
{
	GEMV(cublasSgemv_v2, 0, F32, F32, F32);
	GEMV(cublasDgemv_v2, 0, F64, F64, F64);
	GEMV(cublasCgemv_v2, 0, C32, C32, C32);
	GEMV(cublasZgemv_v2, 0, C64, C64, C64);
	GEMV(cublasSgemvBatched, LISTED, F32, F32, F32);
	GEMV(cublasDgemvBatched, LISTED, F64, F64, F64);
	GEMV(cublasCgemvBatched, LISTED, C32, C32, C32);
	GEMV(cublasZgemvBatched, LISTED, C64, C64, C64);
	GEMV(cublasHSHgemvBatched, LISTED, F16, F16, F32);
	GEMV(cublasHSSgemvBatched, LISTED, F16, F32, F32);
	GEMV(cublasTSTgemvBatched, LISTED, BF16, BF16, F32);
	GEMV(cublasTSSgemvBatched, LISTED, BF16, F32, F32);
	GEMV(cublasSgemvStridedBatched, STRIDED, F32, F32, F32);
	GEMV(cublasDgemvStridedBatched, STRIDED, F64, F64, F64);
	GEMV(cublasCgemvStridedBatched, STRIDED, C32, C32, C32);
	GEMV(cublasZgemvStridedBatched, STRIDED, C64, C64, C64);
	GEMV(cublasHSHgemvStridedBatched, STRIDED, F16, F16, F32);
	GEMV(cublasHSSgemvStridedBatched, STRIDED, F16, F32, F32);
	GEMV(cublasTSTgemvStridedBatched, STRIDED, BF16, BF16, F32);
	GEMV(cublasTSSgemvStridedBatched, STRIDED, BF16, F32, F32);
}

/* --- triangles and symmetric matrices -----------------------------------------------------------
 */

enum kind {
	GER,
	SYMM,
	SYRK,
	HERK,
	SYRK_TYPED,
	SYR2K,
	HER2K,
	SYRKX,
	HERKX,
	TRMM,
	TRSM,
	TRSM_LISTED,
};

static struct type real_of(struct type t)
{
	return t.cuda == C32.cuda ? F32 : t.cuda == C64.cuda ? F64 : t;
}

/* The arguments of each family, in the order of the manual. */
static void blas3_words(struct call *c, enum kind kind, struct type t, struct type alpha_type,
			bool beta, bool right)
{
	bool two_sides = kind == SYMM || kind >= TRMM, rank = kind >= SYRK && kind <= HERKX;
	struct type beta_type =
		kind == HERK || kind == HER2K || kind == HERKX ? real_of(t) : alpha_type;

	pointer(c, handle);
	if (two_sides)
		number(c, right);
	if (kind != GER)
		number(c, 1);
	if (rank || kind >= TRMM)
		number(c, kind >= TRMM ? 1 : 0);
	if (kind >= TRMM)
		number(c, 0);
	size(c, rank ? 9 : 12);
	size(c, rank ? 4 : 7);
	pointer(c, scalar(alpha_type, true));
	device(c, 1);
	if (kind == SYRK_TYPED)
		number(c, t.cuda);
	size(c, kind == GER ? 1 : 31);
	if (kind == GER) {
		device(c, 2);
		size(c, 1);
		device(c, 3);
		size(c, 12);
		return;
	}
	if (kind == SYMM || kind >= SYR2K) {
		device(c, 2);
		size(c, 33);
	}
	if (kind == TRMM) {
		device(c, 3);
		size(c, 35);
	}
	if (kind == TRSM_LISTED)
		size(c, 6);
	if (kind >= TRMM)
		return;
	pointer(c, scalar(beta_type, beta));
	device(c, 3);
	if (kind == SYRK_TYPED)
		number(c, t.cuda);
	size(c, 35);
}

static struct expected blas3_expected(enum kind kind, struct type t, bool beta, bool right)
{
	uint64_t side = right ? 7 : 12, mn = 12 * 7, triangle = side * (side + 1) / 2,
		 output = 9 * 10 / 2;
	uint64_t flop = t.is_complex ? 4 : 1;
	unsigned moves = beta ? 2 : 1;

	switch (kind) {
	case GER:
		return (struct expected){
			true, flop * 2 * mn, bytes_of(12 + 7 + 2 * mn, t), 12, 7, 0, 1, false};
	case SYMM:
		return (struct expected){true,
					 flop * 2 * mn * side,
					 bytes_of(triangle + mn + moves * mn, t),
					 12,
					 7,
					 0,
					 1,
					 false};
	case SYRK:
	case HERK:
	case SYRK_TYPED:
		return (struct expected){
			true, flop * 9 * 10 * 4, bytes_of(36 + moves * output, t), 9, 9, 4, 1,
			false};
	case SYR2K:
	case HER2K:
		return (struct expected){
			true, flop * 2 * 9 * 10 * 4, bytes_of(72 + moves * output, t), 9, 9, 4, 1,
			false};
	case SYRKX:
	case HERKX:
		return (struct expected){
			true, flop * 9 * 10 * 4, bytes_of(72 + moves * output, t), 9, 9, 4, 1,
			false};
	default:
		return (struct expected){
			true,
			flop * mn * side * (kind == TRSM_LISTED ? 6 : 1),
			bytes_of((triangle + 2 * mn) * (kind == TRSM_LISTED ? 6 : 1), t),
			12,
			7,
			0,
			kind == TRSM_LISTED ? 6 : 1,
			false};
	}
}

static void blas3(const char *name, entry f, bool wide, enum kind kind, struct type t,
		  struct type alpha)
{
	set_pointer_mode(false);
	for (int way = 0; way < 4; way++) {
		bool beta = way & 1, right = way & 2;
		struct expected x = blas3_expected(kind, t, beta, right);
		struct call c = {.sizes_are_wide = wide};

		blas3_words(&c, kind, t, alpha, beta, right);
		call(name, f, &c, sim_math_cublas(), &x);
	}
}

#define BLAS3(name, kind, t, alpha)                                                                \
	ENTRY_64(name);                                                                            \
	blas3(#name, f_##name, false, kind, t, alpha);                                             \
	blas3(#name "_64", f_##name##_64, true, kind, t, alpha)

static void triangles(void)
{
	BLAS3(cublasSger_v2, GER, F32, F32);
	BLAS3(cublasDger_v2, GER, F64, F64);
	BLAS3(cublasCgeru_v2, GER, C32, C32);
	BLAS3(cublasCgerc_v2, GER, C32, C32);
	BLAS3(cublasZgeru_v2, GER, C64, C64);
	BLAS3(cublasZgerc_v2, GER, C64, C64);
	BLAS3(cublasSsymm_v2, SYMM, F32, F32);
	BLAS3(cublasDsymm_v2, SYMM, F64, F64);
	BLAS3(cublasCsymm_v2, SYMM, C32, C32);
	BLAS3(cublasZsymm_v2, SYMM, C64, C64);
	BLAS3(cublasChemm_v2, SYMM, C32, C32);
	BLAS3(cublasZhemm_v2, SYMM, C64, C64);
	BLAS3(cublasSsyrk_v2, SYRK, F32, F32);
	BLAS3(cublasDsyrk_v2, SYRK, F64, F64);
	BLAS3(cublasCsyrk_v2, SYRK, C32, C32);
	BLAS3(cublasZsyrk_v2, SYRK, C64, C64);
	BLAS3(cublasCherk_v2, HERK, C32, F32);
	BLAS3(cublasZherk_v2, HERK, C64, F64);
	BLAS3(cublasCsyrkEx, SYRK_TYPED, C32, C32);
	BLAS3(cublasCsyrk3mEx, SYRK_TYPED, C32, C32);
	BLAS3(cublasCherkEx, SYRK_TYPED, C32, F32);
	BLAS3(cublasCherk3mEx, SYRK_TYPED, C32, F32);
	BLAS3(cublasSsyr2k_v2, SYR2K, F32, F32);
	BLAS3(cublasDsyr2k_v2, SYR2K, F64, F64);
	BLAS3(cublasCsyr2k_v2, SYR2K, C32, C32);
	BLAS3(cublasZsyr2k_v2, SYR2K, C64, C64);
	BLAS3(cublasCher2k_v2, HER2K, C32, C32);
	BLAS3(cublasZher2k_v2, HER2K, C64, C64);
	BLAS3(cublasSsyrkx, SYRKX, F32, F32);
	BLAS3(cublasDsyrkx, SYRKX, F64, F64);
	BLAS3(cublasCsyrkx, SYRKX, C32, C32);
	BLAS3(cublasZsyrkx, SYRKX, C64, C64);
	BLAS3(cublasCherkx, HERKX, C32, C32);
	BLAS3(cublasZherkx, HERKX, C64, C64);
	BLAS3(cublasStrmm_v2, TRMM, F32, F32);
	BLAS3(cublasDtrmm_v2, TRMM, F64, F64);
	BLAS3(cublasCtrmm_v2, TRMM, C32, C32);
	BLAS3(cublasZtrmm_v2, TRMM, C64, C64);
	BLAS3(cublasStrsm_v2, TRSM, F32, F32);
	BLAS3(cublasDtrsm_v2, TRSM, F64, F64);
	BLAS3(cublasCtrsm_v2, TRSM, C32, C32);
	BLAS3(cublasZtrsm_v2, TRSM, C64, C64);
	BLAS3(cublasStrsmBatched, TRSM_LISTED, F32, F32);
	BLAS3(cublasDtrsmBatched, TRSM_LISTED, F64, F64);
	BLAS3(cublasCtrsmBatched, TRSM_LISTED, C32, C32);
	BLAS3(cublasZtrsmBatched, TRSM_LISTED, C64, C64);
}

/* --- cuBLASLt ------------------------------------------------------------------------------- */

int cublasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulDescCreate(void **, int, int);
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t);

struct lt {
	struct type a, b, c, d, scale;
	int compute, trans_a, trans_b, order, pointer_mode, batch;
	bool beta, no_c, broadcast_b;
	uint64_t reads_c; /* 1 if C must be counted */
};

static void *lt_layout(struct type t, uint64_t rows, uint64_t columns, const struct lt *l,
		       bool broadcast)
{
	int64_t offset = broadcast ? 0 : (int64_t)(rows * columns);
	void *made;

	CHECK(cublasLtMatrixLayoutCreate(&made, t.cuda, rows, columns,
					 (int64_t)(l->order ? columns : rows)));
	CHECK(cublasLtMatrixLayoutSetAttribute(made, 1, &l->order, 4));
	CHECK(cublasLtMatrixLayoutSetAttribute(made, 5, &l->batch, 4));
	CHECK(cublasLtMatrixLayoutSetAttribute(made, 6, &offset, 8));
	return made;
}

static void lt_matmul(const struct lt *l)
{
	ENTRY(cublasLtMatmul);
	uint64_t m = 48, n = 40, k = 32, batch = (uint64_t)l->batch;
	struct expected x = {true,
			     2 * m * n * k * batch,
			     bytes_of(m * k * batch, l->a) +
				     bytes_of(k * n * (l->broadcast_b ? 1 : batch), l->b) +
				     bytes_of(m * n * batch, l->d) +
				     l->reads_c * bytes_of(m * n * batch, l->c),
			     m,
			     n,
			     k,
			     batch,
			     false};
	struct call c = {0};
	void *desc;

	CHECK(cublasLtMatmulDescCreate(&desc, l->compute, l->scale.cuda));
	CHECK(cublasLtMatmulDescSetAttribute(desc, 2, &l->pointer_mode, 4));
	CHECK(cublasLtMatmulDescSetAttribute(desc, 3, &l->trans_a, 4));
	CHECK(cublasLtMatmulDescSetAttribute(desc, 4, &l->trans_b, 4));
	word(&c, 0x1111);
	pointer(&c, desc);
	if (l->pointer_mode)
		device(&c, 1);
	else
		pointer(&c, scalar(l->scale, true));
	device(&c, 2);
	is_operand(&c, 0, false);
	pointer(&c, lt_layout(l->a, l->trans_a ? k : m, l->trans_a ? m : k, l, false));
	device(&c, 3);
	is_operand(&c, 1, false);
	pointer(&c, lt_layout(l->b, l->trans_b ? n : k, l->trans_b ? k : n, l, l->broadcast_b));
	if (l->pointer_mode && l->pointer_mode != 4)
		device(&c, 4);
	else
		pointer(&c, scalar(l->scale, l->beta));
	if (l->no_c)
		word(&c, 0);
	else
		device(&c, 5);
	pointer(&c, lt_layout(l->c, m, n, l, false));
	device(&c, 6);
	pointer(&c, lt_layout(l->d, m, n, l, false));
	word(&c, 0); /* no algorithm, as PyTorch calls for int8 */
	device(&c, 7);
	word(&c, 1 << 20);
	pointer(&c, stream);
	call("cublasLtMatmul", f_cublasLtMatmul, &c, sim_math_cublaslt(), &x);
}

static void lt_matmuls(void)
{
	lt_matmul(&(struct lt){BF16, BF16, BF16, BF16, F32, 68, 1, 0, 0, 0, 1, false, false, false,
			       0});
	lt_matmul(&(struct lt){F32, F32, F32, F32, F32, 77, 0, 1, 0, 0, 1, true, false, false, 1});
	/* row by row; scalars on the device */
	lt_matmul(&(struct lt){F16, F16, F16, F16, F32, 68, 0, 0, 1, 1, 1, true, false, false, 0});
	/* fp8 as PyTorch does: no C, its layout of the bias's type */
	lt_matmul(&(struct lt){E4M3, E5M2, BF16, E4M3, F32, 68, 1, 0, 0, 0, 1, false, true, false,
			       0});
	lt_matmul(&(struct lt){I8, I8, I32, I32, I32, 72, 1, 0, 0, 0, 1, false, false, false, 0});
	lt_matmul(&(struct lt){F4, F4, BF16, BF16, F32, 68, 1, 0, 0, 0, 1, false, true, false, 0});
	/* batches, one with the same B for all */
	lt_matmul(&(struct lt){F16, F16, F16, F16, F16, 64, 0, 0, 0, 0, 6, true, false, false, 1});
	lt_matmul(&(struct lt){F16, F16, F16, F16, F16, 64, 1, 1, 1, 0, 6, false, false, true, 0});
	/* alpha a vector on the device: beta zero, beta on the host */
	lt_matmul(&(struct lt){F16, F16, F16, F16, F32, 68, 0, 0, 0, 3, 1, true, false, false, 0});
	lt_matmul(&(struct lt){F16, F16, F32, F16, F32, 68, 0, 0, 0, 4, 1, true, false, false, 1});
}

/* --- cuDNN ---------------------------------------------------------------------------------- */

int cudnnCreate(void **);
int cudnnSetStream(void *, void *);
int cudnnCreateTensorDescriptor(void **);
int cudnnCreateFilterDescriptor(void **);
int cudnnCreateConvolutionDescriptor(void **);
int cudnnCreateRNNDescriptor(void **);
int cudnnCreateRNNDataDescriptor(void **);
int cudnnSetTensorNdDescriptor(void *, int, int, const int *, const int *);
int cudnnSetFilterNdDescriptor(void *, int, int, int, const int *);
int cudnnSetConvolutionNdDescriptor(void *, int, const int *, const int *, const int *, int, int);
int cudnnSetRNNDescriptor_v8(void *, int, int, int, int, int, int, int, int, int, int, int, int,
			     void *, unsigned);
int cudnnSetRNNDataDescriptor(void *, int, int, int, int, int, const int *, void *);

static void *cudnn;

/* A tensor of sizes; `channels_last` changes strides only. */
static void *tensor(int type, int dims, const int *sizes, bool channels_last)
{
	int stride[5], step = 1;
	void *made;

	for (int i = dims - 1; i >= 0; i--) {
		stride[i] = step;
		step *= sizes[i];
	}
	if (channels_last) {
		step = sizes[1];
		stride[1] = 1;
		for (int i = dims - 1; i >= 2; i--) {
			stride[i] = step;
			step *= sizes[i];
		}
	}
	CHECK(cudnnCreateTensorDescriptor(&made));
	CHECK(cudnnSetTensorNdDescriptor(made, type, dims, sizes, stride));
	return made;
}

struct convolution {
	int type, bits, dims;
	int x[5], w[5], y[5], stride;
};

static const struct convolution convolutions[] = {
	{0, 32, 4, {8, 16, 14, 14}, {32, 16, 3, 3}, {8, 32, 12, 12}, 1},  /* float */
	{2, 16, 4, {4, 24, 15, 15}, {48, 6, 5, 5}, {4, 48, 6, 6}, 2},     /* half, 4 groups */
	{9, 16, 4, {4, 10, 9, 9}, {10, 1, 3, 3}, {4, 10, 7, 7}, 1},       /* depthwise */
	{1, 64, 5, {2, 3, 6, 7, 8}, {5, 3, 2, 2, 2}, {2, 5, 5, 6, 7}, 1}, /* double, three
									     dimensions */
};

static uint64_t product(const int *size, int dims)
{
	uint64_t n = 1;

	for (int i = 0; i < dims; i++)
		n *= (uint64_t)size[i];
	return n;
}

static void convolve(const struct convolution *v, bool beta)
{
	ENTRY(cudnnConvolutionForward);
	ENTRY(cudnnConvolutionBackwardData);
	ENTRY(cudnnConvolutionBackwardFilter);
	ENTRY(cudnnConvolutionBiasActivationForward);
	int pad[3] = {0}, stride[3] = {v->stride, v->stride, v->stride}, dilation[3] = {1, 1, 1},
	    bias[5] = {1, v->w[0], 1, 1, 1};
	uint64_t x = product(v->x, v->dims), w = product(v->w, v->dims), y = product(v->y, v->dims);
	uint64_t window = w / (uint64_t)v->w[0], groups = (uint64_t)(v->x[1] / v->w[1]),
		 size = v->bits / 8;
	struct expected e = {true,
			     2 * y * window,
			     size * (x + w + y),
			     y / (uint64_t)v->y[1],
			     (uint64_t)v->w[0] / groups,
			     window,
			     groups,
			     false};
	struct type scale = v->type == 1 ? F64 : F32;
	void *xd = tensor(v->type, v->dims, v->x, v->type == 2),
	     *yd = tensor(v->type, v->dims, v->y, v->type == 2);
	void *bd = tensor(v->type, v->dims, bias, false), *wd, *desc;
	const uint64_t plain = e.bytes;
	struct call c;

	CHECK(cudnnCreateFilterDescriptor(&wd));
	CHECK(cudnnSetFilterNdDescriptor(wd, v->type, 0, v->dims, v->w));
	CHECK(cudnnCreateConvolutionDescriptor(&desc));
	CHECK(cudnnSetConvolutionNdDescriptor(desc, v->dims - 2, pad, stride, dilation, 1,
					      v->type == 1 ? 1 : 0));

	c = (struct call){.word = {(W)(uintptr_t)cudnn, (W)(uintptr_t)scalar(scale, true),
				   (W)(uintptr_t)xd, 0x100, (W)(uintptr_t)wd, 0x200,
				   (W)(uintptr_t)desc, 1, 0x300, 64,
				   (W)(uintptr_t)scalar(scale, beta), (W)(uintptr_t)yd, 0x400},
			  .count = 13,
			  .operand = {0x200, 0x100}};
	e.bytes = plain + (beta ? size * y : 0);
	call("cudnnConvolutionForward", f_cudnnConvolutionForward, &c, sim_math_cudnn(), &e);

	c = (struct call){.word = {(W)(uintptr_t)cudnn, (W)(uintptr_t)scalar(scale, true),
				   (W)(uintptr_t)wd, 0x100, (W)(uintptr_t)yd, 0x200,
				   (W)(uintptr_t)desc, 1, 0x300, 64,
				   (W)(uintptr_t)scalar(scale, beta), (W)(uintptr_t)xd, 0x400},
			  .count = 13,
			  .operand = {0x100, 0x200}};
	e.bytes = plain + (beta ? size * x : 0);
	call("cudnnConvolutionBackwardData", f_cudnnConvolutionBackwardData, &c, sim_math_cudnn(),
	     &e);

	c = (struct call){.word = {(W)(uintptr_t)cudnn, (W)(uintptr_t)scalar(scale, true),
				   (W)(uintptr_t)xd, 0x100, (W)(uintptr_t)yd, 0x200,
				   (W)(uintptr_t)desc, 1, 0x300, 64,
				   (W)(uintptr_t)scalar(scale, beta), (W)(uintptr_t)wd, 0x400},
			  .count = 13};
	e.bytes = plain + (beta ? size * w : 0);
	call("cudnnConvolutionBackwardFilter", f_cudnnConvolutionBackwardFilter, &c,
	     sim_math_cudnn(), &e);

	c = (struct call){.word = {(W)(uintptr_t)cudnn, (W)(uintptr_t)scalar(scale, true),
				   (W)(uintptr_t)xd, 0x100, (W)(uintptr_t)wd, 0x200,
				   (W)(uintptr_t)desc, 1, 0x300, 64,
				   (W)(uintptr_t)scalar(scale, beta), (W)(uintptr_t)yd, 0x500,
				   (W)(uintptr_t)bd, 0x600, 0x700, (W)(uintptr_t)yd, 0x400},
			  .count = 18,
			  .operand = {0x200, 0x100}};
	e.bytes = plain + size * (uint64_t)v->w[0] + (beta ? size * y : 0);
	call("cudnnConvolutionBiasActivationForward", f_cudnnConvolutionBiasActivationForward, &c,
	     sim_math_cudnn(), &e);
}

/* An LSTM of two layers, both directions; a GRU of one. */
static void recur(int cell, int layers, int directions)
{
	ENTRY(cudnnRNNForward);
	ENTRY(cudnnRNNBackwardData_v8);
	ENTRY(cudnnRNNBackwardWeights_v8);
	static const int lengths[3] = {7, 5, 4};
	uint64_t gates = cell == 2 ? 4 : 3, hidden = 20, input = 12, steps = 16, weights = 0;
	uint64_t ways = directions ? 2 : 1;
	struct expected e = {.known = true, .m = steps, .n = gates * hidden, .k = hidden};
	void *desc, *data;
	struct call c;

	for (int i = 0; i < layers; i++)
		weights += ways * gates * hidden * ((i ? ways * hidden : input) + hidden);
	e.flops = 2 * weights * steps;
	e.bytes = 4 * steps * (input + ways * hidden) + 4 * weights;
	e.batch = (uint64_t)layers * ways;
	CHECK(cudnnCreateRNNDescriptor(&desc));
	CHECK(cudnnSetRNNDescriptor_v8(desc, 0, cell, 0, directions, 0, 0, 0, 0, (int)input,
				       (int)hidden, (int)hidden, layers, NULL, 0));
	CHECK(cudnnCreateRNNDataDescriptor(&data));
	CHECK(cudnnSetRNNDataDescriptor(data, 0, 0, 7, 3, (int)input, lengths, NULL));
	c = (struct call){.word = {(W)(uintptr_t)cudnn,
				   (W)(uintptr_t)desc,
				   1,
				   0x10,
				   (W)(uintptr_t)data,
				   0x20,
				   0x30,
				   0x40,
				   0x50,
				   0x60,
				   0x70,
				   0x80,
				   0x90,
				   0xa0,
				   4 * weights,
				   0xb0,
				   0xc0,
				   0xd0,
				   0xe0,
				   0xf0},
			  .count = 20,
			  .operand = {0xb0, 0x20}};
	call("cudnnRNNForward", f_cudnnRNNForward, &c, sim_math_cudnn(), &e);
	c = (struct call){.word = {(W)(uintptr_t)cudnn,
				   (W)(uintptr_t)desc,
				   0x10,
				   0x20,
				   0x30,
				   0x40,
				   (W)(uintptr_t)data,
				   0x50,
				   0x60,
				   0x70,
				   0x80,
				   0x90,
				   0xa0,
				   0xb0,
				   0xc0,
				   0xd0,
				   4 * weights,
				   0xe0,
				   0xf0,
				   0x11,
				   0x12,
				   0x13},
			  .count = 22,
			  .operand = {0xe0, 0x40}};
	call("cudnnRNNBackwardData_v8", f_cudnnRNNBackwardData_v8, &c, sim_math_cudnn(), &e);
	c = (struct call){.word = {(W)(uintptr_t)cudnn, (W)(uintptr_t)desc, 0, 0x10,
				   (W)(uintptr_t)data, 0x20, 0x30, 0x40, 0x50, 0x60, 4 * weights,
				   0x70, 0x80, 0x90, 0xa0, 0xb0},
			  .count = 16};
	call("cudnnRNNBackwardWeights_v8", f_cudnnRNNBackwardWeights_v8, &c, sim_math_cudnn(), &e);
}

/* --- cuDNN's graph API ------------------------------------------------------------------------ */

int cudnnBackendCreateDescriptor(int, void **);
int cudnnBackendDestroyDescriptor(void *);
int cudnnBackendSetAttribute(void *, int, int, int64_t, const void *);
int cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *);
int cudnnBackendFinalize(void *);
int cudnnBackendExecute(void *, void *, void *);
int cudnnBackendPopulateCudaGraph(void *, void *, void *, void *);
int cudnnBackendUpdateCudaGraph(void *, void *, void *, void *);

static void *backend(int kind)
{
	void *made;

	CHECK(cudnnBackendCreateDescriptor(kind, &made));
	return made;
}

static void *backend_tensor(int64_t uid, int type, int dims, const int64_t *sizes, bool is_virtual)
{
	void *t = backend(17);
	int64_t stride[8];

	for (int i = dims - 1; i >= 0; i--)
		stride[i] = i == dims - 1 ? 1 : stride[i + 1] * sizes[i + 1];
	CHECK(cudnnBackendSetAttribute(t, 901, 1, 1, &type));
	CHECK(cudnnBackendSetAttribute(t, 902, 3, dims, sizes));
	CHECK(cudnnBackendSetAttribute(t, 903, 3, dims, stride));
	CHECK(cudnnBackendSetAttribute(t, 906, 3, 1, &uid));
	CHECK(cudnnBackendSetAttribute(t, 907, 2, 1, &is_virtual));
	CHECK(cudnnBackendFinalize(t));
	return t;
}

static void link_to(void *from, int attribute, void *to)
{
	CHECK(cudnnBackendSetAttribute(from, attribute, 15, 1, &to));
}

static void *rule(int kind, int attribute)
{
	void *made = backend(kind);
	int type = 0;

	CHECK(cudnnBackendSetAttribute(made, attribute, 1, 1, &type));
	CHECK(cudnnBackendFinalize(made));
	return made;
}

static void *matmul(void *a, void *b, void *c)
{
	void *op = backend(19);

	link_to(op, 1520, a);
	link_to(op, 1521, b);
	link_to(op, 1522, c);
	link_to(op, 1523, rule(18, 1500));
	CHECK(cudnnBackendFinalize(op));
	return op;
}

/* From operations to a plan, by heuristics as frontends do: the configuration comes back from the
 * library. */
static void *plan_of(void **operations, int count)
{
	void *graph = backend(15), *heuristic = backend(4), *config = backend(3),
	     *engine = backend(2), *plan = backend(5);
	int64_t got = 0;

	CHECK(cudnnBackendSetAttribute(graph, 801, 15, count, operations));
	CHECK(cudnnBackendFinalize(graph));
	link_to(heuristic, 201, graph);
	CHECK(cudnnBackendFinalize(heuristic));
	CHECK(cudnnBackendGetAttribute(heuristic, 202, 15, 1, &got, &config));
	EXPECT(got, 1);
	CHECK(cudnnBackendGetAttribute(config, 300, 15, 1, &got, &engine));
	link_to(plan, 401, config);
	CHECK(cudnnBackendFinalize(plan));
	/* frontends free all of these before the plan runs */
	CHECK(cudnnBackendDestroyDescriptor(graph));
	CHECK(cudnnBackendDestroyDescriptor(heuristic));
	CHECK(cudnnBackendDestroyDescriptor(config));
	CHECK(cudnnBackendDestroyDescriptor(engine));
	return plan;
}

static void execute(void *plan, const struct expected *x)
{
	void *pack = backend(16);

	CHECK(cudnnBackendExecute(cudnn, plan, pack));
	say("cudnnBackendExecute", x);
	CHECK(cudnnBackendDestroyDescriptor(pack));
}

/* relu(conv(x, w) + bias): the convolution's output is virtual. */
static void *plan_of_convolution(struct expected *x)
{
	int64_t xs[] = {8, 16, 14, 14}, ws[] = {32, 16, 3, 3}, ys[] = {8, 32, 12, 12},
		bs[] = {1, 32, 1, 1}, stride[] = {1, 1};
	void *conv = rule(1, 100), *op = backend(10), *add = backend(13), *relu = backend(13),
	     *ops[3] = {op, add, relu};
	void *tx = backend_tensor(1, 2, 4, xs, false), *tw = backend_tensor(2, 2, 4, ws, false);
	void *ty = backend_tensor(3, 0, 4, ys, true), *tb = backend_tensor(4, 2, 4, bs, false);
	void *ts = backend_tensor(5, 0, 4, ys, true), *tz = backend_tensor(6, 2, 4, ys, false);
	uint64_t y = 8 * 32 * 12 * 12;

	CHECK(cudnnBackendSetAttribute(conv, 103, 3, 2, stride));
	link_to(op, 702, conv);
	link_to(op, 704, tx);
	link_to(op, 703, tw);
	link_to(op, 705, ty);
	CHECK(cudnnBackendFinalize(op));
	link_to(add, 751, ty);
	link_to(add, 752, tb);
	link_to(add, 753, ts);
	link_to(relu, 751, ts);
	link_to(relu, 753, tz);
	*x = (struct expected){true,
			       2 * y * 16 * 9,
			       2 * (8 * 16 * 14 * 14 + 32 * 16 * 9 + 32 + y),
			       8 * 12 * 12,
			       32,
			       144,
			       1,
			       false};
	return plan_of(ops, 3);
}

static void *plan_of_gradient(int kind, struct expected *x)
{
	int64_t xs[] = {8, 16, 14, 14}, ws[] = {32, 16, 3, 3}, ys[] = {8, 32, 12, 12};
	int first =
		kind == 12 ? 706 : 712; /* of the attributes of backward data, of backward filter */
	void *op = backend(kind), *tx = backend_tensor(1, 2, 4, xs, false),
	     *tw = backend_tensor(2, 2, 4, ws, false);
	void *ty = backend_tensor(3, 2, 4, ys, false);
	float beta = kind == 12 ? 1 : 0;
	uint64_t y = 8 * 32 * 12 * 12, nx = 8 * 16 * 14 * 14;

	CHECK(cudnnBackendSetAttribute(op, first + 1, 4, 1, &beta));
	link_to(op, first + 2, rule(1, 100));
	link_to(op, first + 3, tw);
	link_to(op, first + 4, tx);
	link_to(op, first + 5, ty);
	CHECK(cudnnBackendFinalize(op));
	*x = (struct expected){
		true,    2 * y * 144, 2 * (nx + 32 * 144 + y) + (kind == 12 ? 2 * nx : 0),
		8 * 144, 32,          144,
		1,       false};
	return plan_of(&op, 1);
}

static void *plan_of_matmul(struct expected *x)
{
	int64_t as[] = {6, 20, 30}, bs[] = {1, 30, 40}, cs[] = {6, 20, 40};
	void *op = matmul(backend_tensor(1, 9, 3, as, false), backend_tensor(2, 9, 3, bs, false),
			  backend_tensor(3, 0, 3, cs, false));

	*x = (struct expected){true,
			       2 * 6 * 20 * 30 * 40,
			       2 * (6 * 20 * 30 + 30 * 40) + 4 * 6 * 20 * 40,
			       20,
			       40,
			       30,
			       6,
			       false};
	return plan_of(&op, 1);
}

/* softmax(Q K) V with fewer heads of K and V than of Q; scores and probabilities are virtual. */
static void *plan_of_attention(struct expected *x)
{
	int64_t q[] = {2, 8, 64, 32}, k[] = {2, 2, 32, 128}, s[] = {2, 8, 64, 128},
		v[] = {2, 2, 128, 16}, o[] = {2, 8, 64, 16};
	void *ts = backend_tensor(3, 0, 4, s, true), *tp = backend_tensor(4, 2, 4, s, true);
	void *first =
		matmul(backend_tensor(1, 2, 4, q, false), backend_tensor(2, 2, 4, k, false), ts);
	void *softmax = backend(13), *second = matmul(tp, backend_tensor(5, 2, 4, v, false),
						      backend_tensor(6, 2, 4, o, false));
	void *ops[3] = {first, softmax, second};

	link_to(softmax, 751, ts);
	link_to(softmax, 753, tp);
	*x = (struct expected){true,
			       2 * 16 * 64 * 128 * (32 + 16),
			       2 * (16 * 64 * 32 + 4 * 32 * 128 + 4 * 128 * 16 + 16 * 64 * 16),
			       64,
			       128,
			       32,
			       16,
			       false};
	return plan_of(ops, 3);
}

/* The one operation that newer versions have. */
static void *plan_of_sdpa(struct expected *x)
{
	int64_t q[] = {2, 8, 64, 32}, k[] = {2, 8, 128, 32}, v[] = {2, 8, 128, 16},
		o[] = {2, 8, 64, 16};
	void *op = backend(41);

	link_to(op, 2800, backend_tensor(1, 9, 4, q, false));
	link_to(op, 2801, backend_tensor(2, 9, 4, k, false));
	link_to(op, 2802, backend_tensor(3, 9, 4, v, false));
	link_to(op, 2803, backend_tensor(4, 9, 4, o, false));
	CHECK(cudnnBackendFinalize(op));
	*x = (struct expected){true,
			       2 * 16 * 64 * 128 * (32 + 16),
			       2 * 16 * (64 * 32 + 128 * 32 + 128 * 16 + 64 * 16),
			       64,
			       128,
			       32,
			       16,
			       false};
	return plan_of(&op, 1);
}

static void backend_graphs(void)
{
	struct expected x;
	void *plan = plan_of_convolution(&x), *pack = backend(16);

	execute(plan, &x);
	execute(plan, &x);
	CHECK(cudnnBackendPopulateCudaGraph(cudnn, plan, pack, stream));
	say("cudnnBackendPopulateCudaGraph", &x);
	CHECK(cudnnBackendUpdateCudaGraph(cudnn, plan, pack, stream));
	say("cudnnBackendUpdateCudaGraph", &x);
	execute(plan_of_gradient(12, &x), &x);
	plan = plan_of_gradient(11, &x);
	execute(plan, &x);
	plan = plan_of_matmul(&x);
	execute(plan, &x);
	plan = plan_of_attention(&x);
	execute(plan, &x);
	plan = plan_of_sdpa(&x);
	execute(plan, &x);
	/* a plan out of nowhere, as from JSON */
	execute(backend(5), &(struct expected){0});
}

/* --- NCCL ----------------------------------------------------------------------------------- */

int ncclCommInitAll(void **, int, const int *);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static void *comm;

struct collective {
	const char *name;
	entry f;
	const char *words; /* i, o: buffers; c: count; t: type; r: reduction; p: root or peer */
	bool per_rank;
};

static void collective(const struct collective *v, uint64_t count, int type, unsigned bytes,
		       bool waits)
{
	struct expected x = {true, 0, count * bytes * (v->per_rank ? 4 : 1), count, 4, 0, 1, false};
	struct call c = {0};

	for (const char *p = v->words; *p; p++) {
		if (*p == 'c')
			word(&c, count);
		else if (*p == 't')
			number(&c, type);
		else if (*p == 'r')
			number(&c, 2);
		else if (*p == 'p')
			number(&c, 1);
		else
			device(&c, (unsigned)*p);
	}
	x.k = strchr(v->words, 'p') ? 1 : 0;
	pointer(&c, comm);
	pointer(&c, stream);
	(void)waits;
	call(v->name, v->f, &c, sim_math_nccl(), &x);
}

#define COLLECTIVE(name, words, per_rank)                                                          \
	ENTRY(name);                                                                               \
	collective(&(struct collective){#name, f_##name, words, per_rank}, 1000, 7, 4, false)

static void collectives(void)
{
	static const struct collective in_group[2] = {{"ncclSend", NULL, "ictp", false},
						      {"ncclRecv", NULL, "octp", false}};
	struct collective v;

	COLLECTIVE(ncclAllReduce, "ioctr", false);
	COLLECTIVE(ncclReduceScatter, "ioctr", true);
	COLLECTIVE(ncclAllGather, "ioct", true);
	COLLECTIVE(ncclBroadcast, "ioctp", false);
	COLLECTIVE(ncclBcast, "octp", false);
	COLLECTIVE(ncclReduce, "ioctrp", false);
	COLLECTIVE(ncclSend, "ictp", false);
	COLLECTIVE(ncclRecv, "octp", false);
	COLLECTIVE(ncclAlltoAll, "ioct", true);
	COLLECTIVE(ncclGather, "ioctp", true);
	COLLECTIVE(ncclScatter, "ioctp", true);
	/* groups: one of two all-reduces inside another, one of a send and a receive, an empty one
	 */
	v = (struct collective){"ncclAllReduce", f_ncclAllReduce, "ioctr", false};
	CHECK(ncclGroupStart());
	CHECK(ncclGroupStart());
	collective(&v, 500, 9, 2, true);
	collective(&v, 300, 9, 2, true);
	CHECK(ncclGroupEnd());
	CHECK(ncclGroupEnd());
	say("ncclGroupEnd", &(struct expected){true, 0, 1600, 800, 4, 0, 2, false});
	CHECK(ncclGroupStart());
	v = in_group[0];
	v.f = f_ncclSend;
	collective(&v, 100, 7, 4, true);
	v = in_group[1];
	v.f = f_ncclRecv;
	collective(&v, 100, 7, 4, true);
	CHECK(ncclGroupEnd());
	say("ncclGroupEnd", &(struct expected){true, 0, 800, 200, 4, 0, 2, false});
	CHECK(ncclGroupStart());
	CHECK(ncclGroupEnd());
}

/* --- in a stream capture
 * -------------------------------------------------------------------------- */

/* Each library once inside a capture, then three replays. */
static void captured(void)
{
	ENTRY(cublasSgemm_v2);
	ENTRY(ncclAllReduce);
	const struct gemm g = {.name = "cublasSgemm_v2", .f = f_cublasSgemm_v2, SAME(F32)};
	const struct collective v = {"ncclAllReduce", f_ncclAllReduce, "ioctr", false};
	struct expected x;
	void *plan = plan_of_matmul(&x);
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudnnSetStream(cudnn, stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	capturing = true;
	gemm_one(&g, &ways[1], 64, 48, 32, 1);
	lt_matmuls();
	convolve(&convolutions[0], false);
	execute(plan, &x);
	collective(&v, 4096, 7, 4, false);
	capturing = false;
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

/* What must not be read, and calls that the library refuses. */
static void odd_calls(void)
{
	ENTRY(cublasSgemm_v2);
	const struct gemm none = {.name = "cublasSgemm_v2", .f = f_cublasSgemm_v2, SAME(F32)};
	struct call c = {0};
	int cublasSetPointerMode_v2(void *, int);

	/* nothing to do: sizes of zero */
	gemm_one(&none, &ways[0], 0, 5, 5, 1);
	gemm_one(&none, &ways[0], 5, 5, 0, 1);
	/* no handle: the scalars are left alone, and the error comes back */
	pointer(&c, NULL);
	number(&c, 0);
	number(&c, 0);
	for (int i = 0; i < 3; i++)
		size(&c, 8);
	for (int i = 0; i < 8; i++)
		word(&c, i % 2 || i == 0 || i == 5 ? 8 : 0x10);
	EXPECT(make(&c, f_cublasSgemm_v2), 1);
	say_of("cublasSgemm_v2", &(struct expected){true, 2 * 512, 4 * 192, 8, 8, 8, 1, false}, 8,
	       8);
	/* a negative size: of that nothing is known */
	CHECK(cublasSetPointerMode_v2(handle, 1));
	c.word[0] = (W)(uintptr_t)handle;
	c.word[3] = (uint32_t)-1;
	EXPECT(make(&c, f_cublasSgemm_v2), 0);
	say_of("cublasSgemm_v2", &(struct expected){0}, 8, 8);
}

/* Products of as many matrices with one, then of the first once more. */
static void many_addresses(long count)
{
	ENTRY(cublasHgemm);
	static const uint16_t one = 0x3c00, zero;
	struct call c = {0};

	set_pointer_mode(false);
	pointer(&c, handle);
	number(&c, 0);
	number(&c, 0);
	for (int i = 0; i < 3; i++)
		size(&c, 8);
	pointer(&c, &one);
	device(&c, 2);
	size(&c, 8);
	device(&c, 1);
	size(&c, 8);
	pointer(&c, &zero);
	device(&c, 1);
	size(&c, 8);
	for (long i = 0; i <= count; i++) {
		c.word[7] = 0x7f0000000000 + (W)(i % count + 2) * 0x10000;
		EXPECT(make(&c, f_cublasHgemm), 0);
	}
}

int main(int argc, char **argv)
{
	int cublasCreate_v2(void **), cublasSetStream_v2(void *, void *);
	long rounds = app_option(argc, argv, "rounds", 1);
	long addresses = app_option(argc, argv, "addresses", 0);

	CHECK(cudaStreamCreate((cudaStream_t *)&stream));
	CHECK(cublasCreate_v2(&handle));
	CHECK(cublasSetStream_v2(handle, stream));
	CHECK(cudnnCreate(&cudnn));
	CHECK(cudnnSetStream(cudnn, stream));
	CHECK(ncclCommInitAll(&comm, 4, NULL));
	for (long i = 0; i < rounds; i++) {
		plain_gemms();
		ex_gemms();
		more_ex_gemms();
		half_ex_gemms();
		strided_gemms();
		listed_gemms();
		old_gemms();
		grouped_gemms();
		gemvs();
		triangles();
		lt_matmuls();
		for (unsigned j = 0; j < sizeof(convolutions) / sizeof(convolutions[0]); j++) {
			convolve(&convolutions[j], false);
			convolve(&convolutions[j], true);
		}
		recur(2, 2, 1);
		recur(3, 1, 0);
		backend_graphs();
		collectives();
		odd_calls();
	}
	if (addresses)
		many_addresses(addresses);
	puts("captured");
	captured();
	CHECK(cudaDeviceSynchronize());
	return 0;
}
