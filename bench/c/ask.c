// A Redis is pinged with a number over one connection, each time when its reply has come whole: the fewest instructions between two.
// build: cc -O2 -o ask ask.c
// use:   ask SECONDS PORT CPU
// Records SECONDS after 0.1 s of warm-up. Prints `trans/s=` and the round trip's percentiles.
#include "lim.h"

#define WARM_UP_NS 100000000ull
#define KEPT (4u << 20)
#define REPLY "$8\r\n00000001\r\n"

static const char request[] = "*2\r\n$4\r\nPING\r\n$8\r\n00000001\r\n";

int main(int c, char **v) {
  if (c != 4) return fprintf(stderr, "use: ask SECONDS PORT CPU\n"), 2;
  pin(atoi(v[3]));
  int s = client_socket(1, atoi(v[2]));
  uint64_t *took = malloc(KEPT * sizeof(uint64_t)), first = 0, last = 0, count = 0, kept = 0;
  memset(took, 1, KEPT * sizeof(uint64_t)); // no page fault while it runs
  uint64_t warm = now() + WARM_UP_NS, end = warm + (uint64_t)(atof(v[1]) * 1e9), a, z;
  char b[4096];
  do {
    size_t got = 0;
    a = now();
    if (send(s, request, sizeof request - 1, 0) < 0) DIE("send");
    while (got < sizeof REPLY - 1) {
      ssize_t r = recv(s, b + got, sizeof b - got, 0);
      if (r <= 0) DIE("recv");
      got += r;
    }
    z = now();
    if (memcmp(b, REPLY, sizeof REPLY - 1)) return fprintf(stderr, "this is no Redis\n"), 1;
    if (a < warm) continue;
    if (!first) first = a;
    last = z;
    count++;
    if (kept < KEPT) took[kept++] = z - a;
  } while (z < end);
  printf("trans/s=%.1f\n", count / ((last - first) / 1e9));
  report("rtt", took, kept);
  return 0;
}
