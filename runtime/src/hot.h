/* TIGRIS_HOT, before the functions that an inference calls again and again. With TIGRIS_HOT_IN_IRAM an ESP32 keeps them
 * in internal memory, where no cache must fetch them from flash. Elsewhere it says nothing. */
#ifndef TIGRIS_HOT_H
#define TIGRIS_HOT_H

#if defined(TIGRIS_HOT_IN_IRAM) && defined(__GNUC__)
#define TIGRIS_HOT_SECTION(number) TIGRIS_HOT_SECTION_OF(number)
#define TIGRIS_HOT_SECTION_OF(number) ".iram1.tigris." #number
/* A section for each, so that a program has only those it calls. */
#define TIGRIS_HOT __attribute__((section(TIGRIS_HOT_SECTION(__COUNTER__))))
#else
#define TIGRIS_HOT
#endif

#endif
