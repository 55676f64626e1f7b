// Request and response, over loopback: the fewest instructions between two exchanges.
// build: cc -O2 -o rr rr.c
// use:   rr both|client|server tcp|udp block|spin STOP SIZE PORT [CLIENT_CPU SERVER_CPU]
// STOP is seconds of recording after 0.1 s of warm-up ("0.6"), or a count without warm-up ("10000x").
// spin receives with MSG_DONTWAIT in a loop, at either end. `server` ends with its TCP connection, for UDP by a signal.
// Prints `trans/s=` and the round trip's percentiles.
#include "lim.h"

#define WARM_UP_NS 100000000ull
#define KEPT (4u << 20)

static ssize_t get(int s, char *b, size_t n, int flags) {
  size_t got = 0;
  while (got < n) {
    ssize_t r = recv(s, b + got, n - got, flags);
    if (r < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (r <= 0) return r;
    got += r;
  }
  return got;
}

static void serve_tcp(int listener, char *b, size_t size, int flags) {
  int s = accept_one(listener);
  while (get(s, b, size, flags) > 0 && send(s, b, size, 0) > 0) {}
}

static void serve_udp(int s, char *b, size_t room, int flags) {
  struct sockaddr_in p;
  for (;;) {
    socklen_t length = sizeof p;
    ssize_t r = recvfrom(s, b, room, flags, (void *)&p, &length);
    if (r >= 0) sendto(s, b, r, 0, (void *)&p, length);
  }
}

struct seen { uint64_t first, last, count, kept, *took; };

// Not inlined, so that callgrind can count it without what comes before and after.
__attribute__((noinline)) static void exchange(int s, char *b, size_t size, int flags, uint64_t warm, uint64_t end,
                                               uint64_t count, struct seen *seen) {
  uint64_t a, z;
  do {
    a = now();
    if (send(s, b, size, 0) < 0) DIE("send");
    if (get(s, b, size, flags) <= 0) DIE("recv");
    z = now();
    if (a < warm) continue;
    if (!seen->first) seen->first = a;
    seen->last = z;
    seen->count++;
    if (seen->kept < KEPT) seen->took[seen->kept++] = z - a;
  } while (z < end && seen->count != count);
}

int main(int c, char **v) {
  if (c < 7) return fprintf(stderr, "use: rr both|client|server tcp|udp block|spin STOP SIZE PORT [CPU CPU]\n"), 2;
  static char b[65536];
  const char *role = v[1];
  int tcp = !strcmp(v[2], "tcp"), flags = strcmp(v[3], "spin") ? 0 : MSG_DONTWAIT, port = atoi(v[6]);
  int counted = strchr(v[4], 'x') != 0, client_cpu = c > 8 ? atoi(v[7]) : 0, server_cpu = c > 8 ? atoi(v[8]) : 1;
  size_t size = atoi(v[5]);
  if (!size || size > sizeof b) return fprintf(stderr, "SIZE is 1 to %zu\n", sizeof b), 2;

  pid_t child = 0;
  if (strcmp(role, "client")) {
    int s = server_socket(tcp, port); // before the fork: whoever connects finds it
    child = strcmp(role, "server") ? fork() : 0;
    if (!child) {
      if (strcmp(role, "server")) prctl(PR_SET_PDEATHSIG, SIGKILL);
      pin(server_cpu);
      if (!strcmp(role, "server")) printf("ready\n"), fflush(stdout);
      if (tcp) serve_tcp(s, b, size, flags); else serve_udp(s, b, sizeof b, flags);
      return 0;
    }
    close(s);
  }

  pin(client_cpu);
  int s = client_socket(tcp, port);
  struct seen seen = {.took = malloc(KEPT * sizeof(uint64_t))};
  memset(seen.took, 1, counted ? 1 : KEPT * sizeof(uint64_t)); // no page fault while it runs
  uint64_t start = now(), warm = counted ? 0 : start + WARM_UP_NS;
  uint64_t end = counted ? UINT64_MAX : warm + (uint64_t)(atof(v[4]) * 1e9);
  exchange(s, b, size, flags, warm, end, counted ? strtoull(v[4], 0, 10) : UINT64_MAX, &seen);
  double took = (seen.last - seen.first) / 1e9;
  printf("trans/s=%.1f\n", seen.count / took);
  report("rtt", seen.took, seen.kept);
  usage("client", took);
  close(s);
  if (child) kill(child, SIGKILL), waitpid(child, 0, 0);
  return 0;
}
