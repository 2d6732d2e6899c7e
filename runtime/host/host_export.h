/* Marks the functions that Python calls; all others stay inside the library. */
#ifndef TIGRIS_HOST_EXPORT_H
#define TIGRIS_HOST_EXPORT_H

#if defined(_WIN32)
#define TIGRIS_HOST_API __declspec(dllexport)
#else
#define TIGRIS_HOST_API __attribute__((visibility("default")))
#endif

#endif
