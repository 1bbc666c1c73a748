#include "CCommit.h"

// Package.swift defines NEWSWIRE_COMMIT. Only this file depends on it, so a new commit compiles one file and links again.
#define TEXT_OF(token) #token
#define TEXT(token) TEXT_OF(token)

const char *newswire_commit(void) { return TEXT(NEWSWIRE_COMMIT); }
