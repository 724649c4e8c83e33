/* CUPTI stand-in: subscriber, and callbacks for driver and runtime functions and for resources. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CBIDS 1024

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *data;
};

static struct CUpti_Subscriber_st *_Atomic subscriber;
static _Atomic uint8_t enabled[CUPTI_CB_DOMAIN_SIZE][CBIDS];

static bool wanted(uint32_t domain, uint32_t cbid)
{
	return cbid < CBIDS && atomic_load_explicit(&enabled[domain][cbid], memory_order_relaxed);
}

static void tell(uint32_t domain, uint32_t cbid, const void *data)
{
	struct CUpti_Subscriber_st *s = atomic_load(&subscriber);

	if (!s || !wanted(domain, cbid))
		return;
	cupti_core()->charge(cupti_core()->cupti->callback_cost_ns);
	s->callback(s->data, (CUpti_CallbackDomain)domain, cbid, data);
}

void callback_api(struct sim_call *call, bool exit)
{
	CUpti_CallbackData data = {0};

	if (!atomic_load_explicit(&subscriber, memory_order_relaxed) ||
	    !wanted(call->api->domain, call->api->cbid))
		return;
	data.callbackSite = exit ? CUPTI_API_EXIT : CUPTI_API_ENTER;
	data.functionName = call->api->domain == SIM_DRIVER ? call->api->name : call->api->function;
	data.functionParams = call->params;
	data.functionReturnValue = exit ? &call->ret : NULL;
	data.symbolName = call->symbol;
	data.context = cupti_core()->current_context();
	data.contextUid = cupti_core()->context_id(data.context);
	data.correlationData = &call->correlation_data;
	data.correlationId = call->correlation;
	tell(call->api->domain, call->api->cbid, &data);
}

void callback_resource(uint32_t cbid, const void *data)
{
	tell(CUPTI_CB_DOMAIN_RESOURCE, cbid, data);
}

void callback_synchronized(uint32_t cbid, const void *data)
{
	tell(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, data);
}

static void note(const char *call, uint32_t domain, uint32_t cbid, uint32_t enable)
{
	cupti_core()->truth("{\"t\":\"cupti\",\"pid\":%d,\"call\":\"%s\",\"domain\":%u,\"cbid\":%u,"
			    "\"enable\":%u,\"time\":%" PRIu64 "}",
			    getpid(), call, domain, cbid, enable, cupti_core()->clock->now());
}

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *data)
{
	struct CUpti_Subscriber_st *s;

	if (!out)
		return CUPTI_ERROR_INVALID_PARAMETER;
	/* One subscriber a process, whichever libcupti it came through. */
	if (!cupti_core()->claim_subscriber(&subscriber))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	s->callback = callback;
	s->data = data;
	atomic_store(&subscriber, s);
	cupti_listen();
	*out = s;
	note("cuptiSubscribe", 0, 0, 1);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiSubscribe)
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *data)
{
	CUptiResult err = cupti_enter("cuptiSubscribe");

	return err ? err : subscribe(out, callback, data);
}

/* New in CUDA 13. */
#if SIM_CUPTI >= 13
EXPORTED(cuptiSubscribe_v2)
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *data,
			      CUpti_SubscriberParams *params)
{
	CUptiResult err = cupti_enter("cuptiSubscribe_v2");

	if (!err)
		err = subscribe(out, callback, data);
	if (err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
	    params->oldSubscriberName)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize,
			 "CUPTI for another tool");
	return err;
}
#endif

EXPORTED(cuptiUnsubscribe)
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	CUptiResult err = cupti_enter("cuptiUnsubscribe");

	if (err)
		return err;
	if (!handle || handle != atomic_load(&subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	/* Leaked: a callback may be running on another thread. */
	atomic_store(&subscriber, NULL);
	memset((void *)enabled, 0, sizeof(enabled));
	cupti_core()->release_subscriber(&subscriber);
	note("cuptiUnsubscribe", 0, 0, 0);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiEnableCallback)
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult err = cupti_enter("cuptiEnableCallback");

	if (err)
		return err;
	if (!handle || handle != atomic_load(&subscriber) || domain <= 0 ||
	    domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&enabled[domain][cbid], enable != 0);
	note("cuptiEnableCallback", domain, cbid, enable);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiEnableDomain)
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
			      CUpti_CallbackDomain domain)
{
	CUptiResult err = cupti_enter("cuptiEnableDomain");

	if (err)
		return err;
	if (!handle || handle != atomic_load(&subscriber) || domain <= 0 ||
	    domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset((void *)enabled[domain], enable != 0, sizeof(enabled[domain]));
	note("cuptiEnableDomain", domain, 0, enable);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiEnableAllDomains)
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	CUptiResult err = cupti_enter("cuptiEnableAllDomains");

	if (err)
		return err;
	if (!handle || handle != atomic_load(&subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset((void *)enabled, enable != 0, sizeof(enabled));
	note("cuptiEnableAllDomains", 0, 0, enable);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiGetCallbackState)
CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult err = cupti_enter("cuptiGetCallbackState");

	if (err)
		return err;
	if (!enable || !handle || domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = wanted(domain, cbid);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiSupportedDomains)
CUptiResult cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = {
		CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE,
	};
	CUptiResult err = cupti_enter("cuptiSupportedDomains");

	if (err)
		return err;
	if (!count || !table)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*count = sizeof(domains) / sizeof(domains[0]);
	*table = domains;
	return CUPTI_SUCCESS;
}

#define NAME(cbid, name) [cbid] = name,
static const char *const driver_names[CBIDS] = {SIM_DRIVER_CBIDS(NAME)};
static const char *const runtime_names[CBIDS] = {SIM_RUNTIME_CBIDS(NAME)};
#undef NAME

EXPORTED(cuptiGetCallbackName)
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	CUptiResult err = cupti_enter("cuptiGetCallbackName");
	const char *const *names = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? driver_names
				   : domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_names
									   : NULL;

	if (err)
		return err;
	if (!name || !names || cbid >= CBIDS || !names[cbid])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = names[cbid];
	return CUPTI_SUCCESS;
}
