#include "drivers.h"
