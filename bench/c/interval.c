// One exchange every interval: what an idle machine adds to a round trip, with nothing else in the way.
// build: cc -O2 -o interval interval.c
// use:   interval tcp|udp sleep|spin block|spin block|spin GAP_US COUNT SIZE PORT [CLIENT_CPU SERVER_CPU]
// The words say how the client waits for the next instant, how it waits for a reply, and how the server waits for a
// request. The first tenth is not reported. `intended` counts from the instant a request was due.
#include "lim.h"

static void serve(int tcp, int s, size_t size, int flags) {
  static char b[65536];
  struct sockaddr_in p;
  if (tcp) s = accept_one(s);
  for (;;) {
    socklen_t length = sizeof p;
    ssize_t r = recvfrom(s, b, size, flags, (void *)&p, &length);
    if (r < 0) continue;
    if (!r) return;
    if (tcp) send(s, b, r, 0); else sendto(s, b, r, 0, (void *)&p, length);
  }
}

int main(int c, char **v) {
  if (c < 9) return fprintf(stderr, "use: interval tcp|udp sleep|spin block|spin block|spin GAP_US COUNT SIZE PORT [CPU CPU]\n"), 2;
  static char b[65536];
  int tcp = !strcmp(v[1], "tcp"), spins = !strcmp(v[2], "spin"), ours = strcmp(v[3], "spin") ? 0 : MSG_DONTWAIT;
  int theirs = strcmp(v[4], "spin") ? 0 : MSG_DONTWAIT, client_cpu = c > 10 ? atoi(v[9]) : 0, server_cpu = c > 10 ? atoi(v[10]) : 1;
  uint64_t gap = atof(v[5]) * 1e3;
  size_t n = atol(v[6]), size = atol(v[7]);
  int listener = server_socket(tcp, atoi(v[8]));
  pid_t child = fork();
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(server_cpu);
    serve(tcp, listener, size, theirs);
    return 0;
  }
  close(listener);
  pin(client_cpu);
  prctl(PR_SET_TIMERSLACK, 1);
  int s = client_socket(tcp, atoi(v[8]));
  uint64_t *took = malloc(n * 8), *intended = malloc(n * 8);
  memset(took, 1, n * 8);
  memset(intended, 1, n * 8);
  uint64_t due = now() + 1000000;
  for (size_t i = 0; i < n; i++) {
    due += gap;
    if (spins) while (now() < due) {} else sleep_until(due);
    uint64_t a = now();
    if (send(s, b, size, 0) != (ssize_t)size) DIE("send");
    size_t got = 0;
    while (got < size) {
      ssize_t r = recv(s, b, size - got, ours);
      if (r > 0) got += r; else if (!r || errno != EAGAIN) DIE("recv");
    }
    uint64_t z = now();
    took[i] = z - a;
    intended[i] = z - due;
  }
  report("rtt", took + n / 10, n - n / 10);
  report("intended", intended + n / 10, n - n / 10);
  kill(child, SIGKILL);
  waitpid(child, 0, 0);
  return 0;
}
