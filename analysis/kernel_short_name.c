/* Short names of kernels: what a person calls them. */
#include "kernel_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMANGLED_BYTES 16384 /* of a name that is looked at */
#define NESTING 24
#define DETAIL_LIMIT 6

/* --- a demangled name, read from the outside in --- */

struct span {
	const char *at;
	const char *end;
};

/* One `name<arguments>(call)` of a qualified name. */
struct component {
	struct span name;
	struct span arguments;
	struct span call;
	bool lambda; /* then `call` holds the lambda's parameters */
};

/* What is being written: cut at KERNEL_SHORT_COLUMNS by the caller, so a little more is kept. */
struct text {
	char bytes[512];
	size_t size;
	bool terse; /* leave out the template arguments of functors: the full form did not fit */
};

static void put(struct text *text, const char *bytes, size_t size)
{
	size_t room = sizeof(text->bytes) - 1 - text->size;

	size = size < room ? size : room;
	if (!size)
		return;
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

static void put_string(struct text *text, const char *string)
{
	put(text, string, strlen(string));
}

static bool span_is(struct span span, const char *word)
{
	size_t size = (size_t)(span.end - span.at);

	return size && size == strlen(word) && !memcmp(span.at, word, size);
}

static bool span_begins(struct span span, const char *word)
{
	size_t size = strlen(word);

	return (size_t)(span.end - span.at) >= size && !memcmp(span.at, word, size);
}

static bool span_in(struct span span, const char *const *words)
{
	for (; *words; words++)
		if (span_is(span, *words))
			return true;
	return false;
}

static struct span trim(struct span span)
{
	while (span.at < span.end && *span.at == ' ')
		span.at++;
	while (span.at < span.end && span.end[-1] == ' ')
		span.end--;
	return span;
}

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '{' || c == '[';
}

static bool closes(char c)
{
	return c == '>' || c == ')' || c == '}' || c == ']';
}

/* Behind the bracket that closes the one at span.at, or the end. */
static const char *behind_group(struct span span)
{
	unsigned depth = 0;

	for (const char *p = span.at; p < span.end; p++) {
		if (opens(*p))
			depth++;
		else if (closes(*p) && (*p != '>' || p == span.at || p[-1] != '-') && --depth == 0)
			return p + 1;
	}
	return span.end;
}

static struct span inside(const char *at, const char *behind)
{
	return (struct span){at + 1, behind > at + 1 ? behind - 1 : behind};
}

static bool at_colons(struct span span)
{
	return span_begins(span, "::");
}

/* Reads "{lambda(float)#1}"; returns what is behind it. */
static const char *read_lambda(struct span rest, struct component *c)
{
	const char *behind = behind_group(rest);
	const char *call = memchr(rest.at, '(', (size_t)(behind - rest.at));

	c->lambda = true;
	c->name = (struct span){rest.at, behind};
	if (call)
		c->call = inside(call, behind_group((struct span){call, behind}));
	return behind;
}

/* Reads "name<arguments>(call)"; returns what is behind it. */
static const char *read_name(struct span rest, struct component *c)
{
	const char *p = rest.at, *behind;

	if (span_begins(rest, "operator()"))
		p += strlen("operator()");
	while (p < rest.end && !opens(*p) && !at_colons((struct span){p, rest.end}))
		p++;
	c->name = trim((struct span){rest.at, p});
	if (p < rest.end && *p == '<') {
		behind = behind_group((struct span){p, rest.end});
		c->arguments = inside(p, behind);
		p = behind;
	}
	if (p < rest.end && *p == '(') {
		behind = behind_group((struct span){p, rest.end});
		c->call = inside(p, behind);
		p = behind;
	}
	return p;
}

/* Takes the first component of *rest off; false at the end. */
static bool next_component(struct span *rest, struct component *c)
{
	const char *p;

	memset(c, 0, sizeof(*c));
	*rest = trim(*rest);
	while (span_begins(*rest, "(anonymous namespace)::"))
		rest->at += strlen("(anonymous namespace)::");
	if (rest->at >= rest->end)
		return false;
	p = *rest->at == '{' ? read_lambda(*rest, c) : read_name(*rest, c);
	while (p < rest->end && !at_colons((struct span){p, rest->end}))
		p++;
	rest->at = p < rest->end ? p + 2 : p;
	return true;
}

/* Takes the first of the comma-separated arguments off. */
static bool next_argument(struct span *rest, struct span *argument)
{
	const char *p = rest->at;

	if (p >= rest->end)
		return false;
	while (p < rest->end && *p != ',') {
		if (opens(*p))
			p = behind_group((struct span){p, rest->end});
		else
			p++;
	}
	*argument = trim((struct span){rest->at, p});
	rest->at = p < rest->end ? p + 1 : p;
	return true;
}

/* Types that say how data is walked, not what is done with it. */
static const char *const noise[] = {
	"array",
	"TrivialOffsetCalculator",
	"OffsetCalculator",
	"LoadWithCast",
	"StoreWithCast",
	"LoadWithoutCast",
	"StoreWithoutCast",
	"TensorListMetadata",
	"TensorListScalarListMetadata",
	"Array",
	"use_default",
	"vsmem_t",
	"VSMemHelper",
	"identity_decomposer_t",
	"policy_hub",
	"Policy1000",
	"FusedOptimizerTensorListMetadata",
	"NullType",
	"CUDAGeneratorImpl",
	"ScanTileState",
	"SortOrder",
	"cublasGemvTensorStridedBatched",
	"cublasGemvParamsEx",
	"cublasGemmSmallNParams",
	NULL,
};

/* Wrappers: what they wrap is the point. */
static const char *const wrappers[] = {
	"gpu_kernel_impl_nocast",
	"gpu_kernel_impl",
	"BinaryFunctor",
	"BUnaryFunctor",
	"AUnaryFunctor",
	"ReduceOp",
	"func_wrapper_t",
	"UnaryOpFunctor",
	"normal_and_transform",
	"enable_sm90",
	"enable_sm80_to_sm89",
	"distribution_nullary_kernel",
	"_cuda_scatter_gather_internal_kernel",
	NULL,
};

static void put_type(struct text *text, struct span type, unsigned depth);

/* "cos_kernel_cuda" is "cos". */
static struct span without_suffix(struct span name)
{
	static const char *const suffixes[] = {"_kernel_cuda", "_kernel_impl", "CUDAKernelImpl",
					       "KernelImpl",   "_cuda_kernel", "_kernel",
					       "_cuda",        "_functor",     NULL};

	for (const char *const *suffix = suffixes; *suffix; suffix++) {
		size_t size = strlen(*suffix);

		if ((size_t)(name.end - name.at) > size + 1 &&
		    !memcmp(name.end - size, *suffix, size)) {
			name.end -= size;
			break;
		}
	}
	return name;
}

static void put_scalar(struct text *text, struct span name)
{
	static const char *const spelled[][2] = {
		{"c10::BFloat16", "bf16"},
		{"BFloat16", "bf16"},
		{"__nv_bfloat16", "bf16"},
		{"bfloat16_t", "bf16"},
		{"c10::Half", "half"},
		{"Half", "half"},
		{"__half", "half"},
		{"half_t", "half"},
		{"unsigned int", "uint"},
		{"unsigned long", "ulong"},
		{"unsigned long long", "ulong"},
		{"unsigned char", "uchar"},
	};

	for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		if (span_is(name, spelled[i][0])) {
			put_string(text, spelled[i][1]);
			return;
		}
	}
	put(text, name.at, (size_t)(name.end - name.at));
}

/* The name in which a type ends, without namespaces: "at::native::FillFunctor<float>" is
 * FillFunctor. */
static struct component last_named(struct span type)
{
	struct component c, last = {0};

	while (next_component(&type, &c))
		if (!c.lambda && !span_begins(c.name, "operator()"))
			last = c;
	return last;
}

static bool is_noise(struct span argument)
{
	struct component c = last_named(argument);

	return argument.at >= argument.end || *argument.at == '(' || span_in(c.name, noise) ||
	       argument.end[-1] == '*' ||
	       memmem(argument.at, (size_t)(argument.end - argument.at), "policy_hub",
		      strlen("policy_hub"));
}

static bool is_number(struct span argument)
{
	return isdigit((unsigned char)*argument.at) || *argument.at == '-' ||
	       span_is(argument, "true") || span_is(argument, "false");
}

/* The arguments that matter, between two brackets; nothing if none does. */
static void put_arguments(struct text *text, struct span arguments, const char *brackets,
			  unsigned depth)
{
	struct span argument, last = {0};
	unsigned written = 0;

	while (!text->terse && next_argument(&arguments, &argument) && written < DETAIL_LIMIT) {
		if (is_noise(argument))
			continue;
		/* <float,float,float> says no more than <float>. */
		if (last.at && last.end - last.at == argument.end - argument.at &&
		    !memcmp(last.at, argument.at, (size_t)(last.end - last.at)) &&
		    !is_number(argument))
			continue;
		put(text, written++ ? "," : brackets, 1);
		put_type(text, argument, depth);
		last = argument;
	}
	if (written)
		put(text, brackets + 1, 1);
}

/* What a wrapper wraps: its last argument that is a functor, or else its first scalar. */
static struct span wrapped(struct span arguments)
{
	struct span argument, best = {0};

	while (next_argument(&arguments, &argument)) {
		bool functor = memchr(argument.at, ':', (size_t)(argument.end - argument.at)) ||
			       memchr(argument.at, '<', (size_t)(argument.end - argument.at));
		struct component c = last_named(argument);

		if (is_noise(argument) || is_number(argument) || span_is(c.name, "BFloat16") ||
		    span_is(c.name, "Half") || span_is(c.name, "complex"))
			continue;
		if (functor)
			best = argument;
	}
	return best;
}

/* A type or functor, short: namespaces gone, lambdas named after the function that holds them. */
static void put_type(struct text *text, struct span type, unsigned depth)
{
	struct component c, owner = {0}, lambda = {0};
	struct span rest = type, inner;
	bool found = false;

	if (depth > NESTING)
		return;
	if (is_number(type) || !memchr(type.at, ':', (size_t)(type.end - type.at))) {
		owner.name = type;
		rest.at = rest.end;
	}
	while (next_component(&rest, &c)) {
		if (c.lambda)
			lambda = c;
		else if (!found && !span_begins(c.name, "operator()"))
			owner = c;
		if (!c.lambda && c.call.at)
			found = true;
	}
	if (owner.name.at && memchr(owner.name.at, '<', (size_t)(owner.name.end - owner.name.at))) {
		rest = owner.name;
		next_component(&rest, &owner);
	}
	inner = wrapped(owner.arguments);
	if (inner.at && span_in(owner.name, wrappers)) {
		put_type(text, inner, depth + 1);
		return;
	}
	put_scalar(text, without_suffix(owner.name));
	if (owner.arguments.at)
		put_arguments(text, owner.arguments, "<>", depth + 1);
	else if (lambda.call.at && !span_is(lambda.call, "int"))
		put_arguments(text, lambda.call, "()", depth + 1);
}

/* --- short names --- */

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h;
}

/* Printable ASCII, at most KERNEL_SHORT_COLUMNS: the middle goes, the ends tell kernels apart. */
static char *finished(struct text *text)
{
	const size_t tail = 18;
	char *out = malloc(KERNEL_SHORT_COLUMNS + 1);

	if (!out)
		return NULL;
	for (size_t i = 0; i < text->size; i++)
		if (text->bytes[i] < 0x20 || text->bytes[i] > 0x7e)
			text->bytes[i] = '?';
	if (text->size <= KERNEL_SHORT_COLUMNS)
		memcpy(out, text->bytes, text->size + 1);
	else
		snprintf(out, KERNEL_SHORT_COLUMNS + 1, "%.*s..%s",
			 (int)(KERNEL_SHORT_COLUMNS - 2 - tail), text->bytes,
			 text->bytes + text->size - tail);
	return out;
}

/* Takes `part` out, and what follows it up to the next '_' if it ends in '='. */
static void drop(struct text *text, const char *part)
{
	size_t size = strcspn(part, "=");
	char *at = memmem(text->bytes, text->size, part, size);

	if (!at || text->size == size)
		return;
	if (part[size])
		size += strcspn(at + size, "_");
	memmove(at, at + size, strlen(at + size) + 1);
	text->size -= size;
}

/* nvjet_..., sm80_xmma_..., triton_...: kept but for words that all of them carry. */
static void put_plain(struct text *text, struct span name)
{
	put(text, name.at, (size_t)(name.end - name.at));
	drop(text, "_execute_kernel__5x_=");
	drop(text, "_execute_segment_k_off_kernel__5x_=");
	drop(text, "_generated_fort_native");
	drop(text, "_kernel0_0");
	drop(text, "_cga1x1x1");
	drop(text, "_aligna=");
	drop(text, "_alignc=");
	drop(text, "_warpgroupsize=");
	drop(text, "_warpsize=");
	drop(text, "tilesize");
	drop(text, "_tensorop");
	drop(text, "_optimized");
}

/*
 * A name that libstdc++ does not take: the outermost names, which stand before the first template
 * argument, the first long name inside, and a hash that keeps such kernels apart.
 */
static void put_mangled(struct text *text, const char *name)
{
	static const char *const dull[] = {"enable_sm90", "device_kernel", "kernel_impl", NULL};
	char head[128];
	char *readable = NULL;
	const char *p = name + (strncmp(name, "_ZN", 3) ? 2 : 3), *first = p;
	struct span word = {0};
	char tail[12];

	for (unsigned guard = 0; guard < 64 && *p && !word.at; guard++) {
		unsigned long size = 0;

		p += strcspn(p, "0123456789");
		for (unsigned digits = 0; digits < 4 && isdigit((unsigned char)*p); digits++)
			size = size * 10 + (unsigned long)(*p++ - '0');
		if (size == 0 || size > strnlen(p, size))
			continue;
		if (size >= 8 && isalpha((unsigned char)*p))
			word = (struct span){p, p + size};
		if (word.at && (span_in(word, dull) || memmem(p, size, "detail", strlen("detail"))))
			word.at = NULL;
		p += size;
	}
	for (p = first; isdigit((unsigned char)*p);) {
		unsigned long size = strtoul(p, (char **)&p, 10);

		if (size > strnlen(p, 96))
			break;
		p += size;
	}
	if (*p == 'I' && p - name < (long)sizeof(head) - 2) {
		snprintf(head, sizeof(head), "%.*s%s", (int)(p - name), name,
			 name[2] == 'N' ? "E" : "v");
		readable = kernel_demangle(head);
	}
	if (readable && strncmp(readable, "_Z", 2)) {
		struct component c = last_named((struct span){readable, strchr(readable, 0)});

		put(text, c.name.at, (size_t)(c.name.end - c.name.at));
		put_string(text, " ");
	}
	if (word.at)
		put(text, word.at, (size_t)(word.end - word.at));
	else if (!text->size)
		put(text, name, strnlen(name, 40));
	snprintf(tail, sizeof(tail), " #%04x", (unsigned)(hash(name) & 0xffff));
	put_string(text, tail);
	free(readable);
}

/* Cuts the return type off: what stands before the last blank outside brackets, ahead of the
 * parameters. */
static struct span without_return_type(struct span name)
{
	const char *p = name.at;

	while (p < name.end) {
		struct span here = {p, name.end};

		if (span_begins(here, "(anonymous namespace)"))
			p += strlen("(anonymous namespace)");
		else if (*p == '(')
			break;
		else if (opens(*p))
			p = behind_group(here);
		else if (*p++ == ' ')
			name.at = p;
	}
	return name;
}

/* Scalars and functors in full, and the numbers where nothing else tells the instances apart. */
static void put_details(struct text *text, struct span arguments)
{
	struct span argument, all = arguments, last = {0};
	unsigned written = 0;
	bool numbers = true;

	while (next_argument(&all, &argument))
		if (!is_number(argument) && !is_noise(argument))
			numbers = false;
	while (next_argument(&arguments, &argument) && written < DETAIL_LIMIT) {
		if (is_noise(argument) || (is_number(argument) && !numbers))
			continue;
		if (last.at && last.end - last.at == argument.end - argument.at && !numbers &&
		    !memcmp(last.at, argument.at, (size_t)(last.end - last.at)))
			continue;
		put_string(text, written++ ? "," : " ");
		put_type(text, argument, 0);
		last = argument;
	}
}

/* cutlass::Kernel2<cutlass_80_...>: its argument is the name. A hash keeps apart what does not fit.
 */
static void put_shell(struct text *text, struct span arguments, const char *name)
{
	char tail[12];

	if (!memchr(arguments.at, '<', (size_t)(arguments.end - arguments.at))) {
		put_plain(text, arguments);
		return;
	}
	put_type(text, arguments, 0);
	if (text->terse) {
		snprintf(tail, sizeof(tail), " #%04x", (unsigned)(hash(name) & 0xffff));
		put_string(text, tail);
	}
}

static void put_demangled(struct text *text, const char *name)
{
	struct span rest = {name, name + strnlen(name, DEMANGLED_BYTES)};
	static const char *const generic[] = {"kernel", "Kernel", "globalKernel",
					      "run",    "impl",   NULL};
	static const char *const inner[] = {"impl", "detail", "internal", "native", NULL};
	static const char *const shells[] = {"Kernel", "Kernel2", "device_kernel", NULL};
	struct component c, before = {0}, kernel = {0};

	rest = without_return_type(rest);
	while (next_component(&rest, &c)) {
		if (c.lambda || span_begins(c.name, "operator()"))
			break;
		if (!span_in(kernel.name, inner))
			before = kernel;
		kernel = c;
		if (c.call.at)
			break;
	}
	if (!kernel.name.at) {
		put(text, name, strnlen(name, sizeof(text->bytes)));
		return;
	}
	if (span_in(kernel.name, shells) && kernel.arguments.at) {
		put_shell(text, kernel.arguments, name);
		return;
	}
	if (before.name.at && span_in(kernel.name, generic)) {
		put(text, before.name.at, (size_t)(before.name.end - before.name.at));
		put_string(text, "::");
	}
	kernel.name = without_suffix(kernel.name);
	put(text, kernel.name.at, (size_t)(kernel.name.end - kernel.name.at));
	put_details(text, kernel.arguments);
}

char *kernel_short_name(const char *demangled)
{
	struct text text = {0};

	if (!strncmp(demangled, "_Z", 2)) {
		put_mangled(&text, demangled);
	} else if (!demangled[strcspn(demangled, "<(:")]) {
		put_plain(&text, (struct span){demangled, strchr(demangled, 0)});
	} else {
		put_demangled(&text, demangled);
		if (text.size > KERNEL_SHORT_COLUMNS) {
			text = (struct text){.terse = true};
			put_demangled(&text, demangled);
		}
	}
	if (!text.size)
		put_string(&text, "(no name)");
	return finished(&text);
}
