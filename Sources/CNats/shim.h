#ifndef NEWSWIRE_CNATS_SHIM_H
#define NEWSWIRE_CNATS_SHIM_H

#include <nats/nats.h>

#endif
