// Cost and resolution of reading a clock.
// build: cc -O2 -o clockcost clockcost.c
// use:   clockcost [CPU]
#include "lim.h"
#include <sys/syscall.h>
#define READS 2000000

static uint64_t by_system_call(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_nsec;
}

#define COST(name, read, n) do { \
  uint64_t best = UINT64_MAX; volatile uint64_t sink; \
  for (int round = 0; round < 5; round++) { \
    uint64_t a = now(); \
    for (int i = 0; i < (n); i++) sink = (read); \
    uint64_t took = now() - a; \
    if (took < best) best = took; \
  } \
  (void)sink; printf("%s=%.1f ns\n", name, (double)best / (n)); } while (0)

int main(int c, char **v) {
  pin(c > 1 ? atoi(v[1]) : 0);
  COST("monotonic", now(), READS);
  COST("realtime", wall(), READS);
  COST("system_call", by_system_call(), READS / 10);
  uint64_t least = UINT64_MAX, gaps = 0, last = now();
  for (int i = 0; i < READS; i++) {
    uint64_t t = now(), d = t - last;
    last = t;
    if (d && d < least) least = d;
    gaps += d > 10000;
  }
  printf("smallest_step=%lu ns\ngaps_over_10us=%lu of %d\n", (unsigned long)least, (unsigned long)gaps, READS);
  return 0;
}
