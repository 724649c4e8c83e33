/*
 * Profilers that look CUPTI up by handle, so that it cannot be shared with them (cupti_share.h), and that fail, perhaps their program
 * with them, where CUPTI has a user. They are told by the libraries that they are loaded as.
 */
#ifndef RIVAL_H
#define RIVAL_H

/* The name of one that is loaded, with its library; NULL if none is. Static. Any thread. */
const char *rival_loaded(void);

/* The same, NULL too if no library was loaded since the last call. Cheap. Writer thread. */
const char *rival_came(void);

#endif
