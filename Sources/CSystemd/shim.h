#ifndef NEWSWIRE_CSYSTEMD_SHIM_H
#define NEWSWIRE_CSYSTEMD_SHIM_H

/* sd-bus(3) alone, and of that what is not variadic, which Swift can call as it stands. */
#include <systemd/sd-bus.h>

#endif
