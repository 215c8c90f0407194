/* Switches callgrind's counting on and off from Python. cc -O2 -shared -fPIC -o callgrind.so callgrind.c */
#include <valgrind/callgrind.h>

void count_on(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void count_off(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
