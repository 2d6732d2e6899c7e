/* See faults.c. */
#ifndef FAULTS_H
#define FAULTS_H

#include "tigris_kernel.h"

/* `session` is the one that it will be given to. One fault a program. */
const tigris_backend *faulty_backend(const char *spec, const tigris_session *session);

#endif
