#ifndef NEWSWIRE_CLIBXML2_H
#define NEWSWIRE_CLIBXML2_H

/* Debian builds libxml2 with ICU; its headers clash with the copy inside Foundation. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <libxml/xmlerror.h>

#endif
