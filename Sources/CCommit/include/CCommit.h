#ifndef NEWSWIRE_COMMIT_H
#define NEWSWIRE_COMMIT_H

/// The commit that the program was built from: 12 hexadecimal digits, with "-dirty" if files differed; else "unknown".
const char *_Nonnull newswire_commit(void);

#endif
