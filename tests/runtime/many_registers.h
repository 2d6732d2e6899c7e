/* Included before all else: convolutions take four pixels at a time, as on machines with the registers for it. */
#define TIGRIS_MANY_REGISTERS
