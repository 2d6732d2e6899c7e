#include "../drivers.h"
