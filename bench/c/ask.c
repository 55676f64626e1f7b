// A program at work is asked over one connection, each time when its reply has come whole: the fewest instructions between two.
// build: cc -O2 -o ask ask.c
// use:   ask SECONDS PORT CPU REQUEST
// REQUEST has \r and \n for the ends of lines, and _ for a space. A reply is as long as the first one, which has to come in one piece, and begins
// as it does. Records SECONDS after 0.1 s of warm-up. Prints `trans/s=` and the round trip's percentiles.
#include "lim.h"

#define WARM_UP_NS 100000000ull
#define KEPT (4u << 20)
#define SAME 4

int main(int c, char **v) {
  if (c != 5) return fprintf(stderr, "use: ask SECONDS PORT CPU REQUEST\n"), 2;
  pin(atoi(v[3]));
  char *request = v[4];
  size_t length = 0, reply = 0;
  for (char *p = request; *p; p++, length++) {
    int escape = p[0] == '\\' && (p[1] == 'r' || p[1] == 'n');
    request[length] = escape ? (p[1] == 'r' ? '\r' : '\n') : *p == '_' ? ' ' : *p;
    p += escape;
  }
  int s = client_socket(1, atoi(v[2]));
  uint64_t *took = malloc(KEPT * sizeof(uint64_t)), first = 0, last = 0, count = 0, kept = 0;
  memset(took, 1, KEPT * sizeof(uint64_t)); // no page fault while it runs
  uint64_t warm = now() + WARM_UP_NS, end = warm + (uint64_t)(atof(v[1]) * 1e9), a, z;
  char b[4096], begin[SAME] = "";
  do {
    size_t got = 0;
    a = now();
    if (send(s, request, length, 0) < 0) DIE("send");
    do {
      ssize_t r = recv(s, b + got, sizeof b - got, 0);
      if (r <= 0) DIE("recv");
      got += r;
    } while (got < reply);
    z = now();
    if (!reply) {
      if (got < SAME) return fprintf(stderr, "a reply of %zu octets\n", got), 1;
      memcpy(begin, b, SAME);
      reply = got;
    }
    if (got != reply || memcmp(b, begin, SAME)) return fprintf(stderr, "this reply is not as the first\n"), 1;
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
