// Common parts of the C loops: clocks, pinning, addresses, exact percentiles. Each program is one .c file and this.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DIE(x) do { fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, x, strerror(errno)); exit(1); } while (0)

static inline uint64_t ns_of(clockid_t c) {
  struct timespec t;
  clock_gettime(c, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static inline uint64_t now(void) { return ns_of(CLOCK_MONOTONIC); }
static inline uint64_t wall(void) { return ns_of(CLOCK_REALTIME); }

static inline void sleep_until(uint64_t t) {
  struct timespec ts = {t / 1000000000, t % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, 0);
}

// A negative CPU: run where the scheduler likes.
static inline void pin(int cpu) {
  cpu_set_t s;
  CPU_ZERO(&s);
  if (cpu < 0) return;
  CPU_SET(cpu, &s);
  if (sched_setaffinity(0, sizeof s, &s)) DIE("sched_setaffinity");
}

// Goes into the network namespace of this name; none, or "-": stays.
static inline void enter(const char *name) {
  char path[256];
  if (!name || !strcmp(name, "-")) return;
  snprintf(path, sizeof path, "/run/netns/%s", name);
  int f = open(path, O_RDONLY | O_CLOEXEC);
  if (f < 0 || setns(f, CLONE_NEWNET)) DIE(path);
  close(f);
}

// Where the far end is; IPv4.
static const char *far_address = "127.0.0.1";

static inline struct sockaddr_in far_end(int port) {
  return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(far_address)};
}

// A socket that listens (TCP) or receives (UDP) at the far end.
static inline int server_socket(int tcp, int port) {
  struct sockaddr_in a = far_end(port);
  int one = 1, s = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
  if (s < 0) DIE("socket");
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(s, (void *)&a, sizeof a) || (tcp && listen(s, 64))) DIE("bind");
  return s;
}

static inline int client_socket(int tcp, int port) {
  struct sockaddr_in a = far_end(port);
  int one = 1, s = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
  if (s < 0 || connect(s, (void *)&a, sizeof a)) DIE("connect");
  if (tcp) setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return s;
}

static inline int accept_one(int listener) {
  int one = 1, s = accept(listener, 0, 0);
  if (s < 0) DIE("accept");
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return s;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

// Nearest rank, x_(ceil(q n)), as sonde computes it: with few values any other rule compares different things.
static inline double quantile_us(const uint64_t *v, size_t n, double q) {
  size_t rank = (size_t)(q * n);
  if (rank < q * n) rank++;
  return v[rank ? rank - 1 : 0] / 1e3;
}

// Exact percentiles of v[0..n), nanoseconds, which is sorted in place. Printed in microseconds to the nanosecond.
static inline void report(const char *tag, uint64_t *v, size_t n) {
  if (!n) { printf("%s n=0\n", tag); return; }
  qsort(v, n, sizeof *v, ascending);
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += v[i];
  printf("%s n=%zu min=%.3f p50=%.3f p90=%.3f p99=%.3f p99.9=%.3f max=%.3f mean=%.3f us\n", tag, n, v[0] / 1e3,
         quantile_us(v, n, .5), quantile_us(v, n, .9), quantile_us(v, n, .99), quantile_us(v, n, .999), v[n - 1] / 1e3,
         sum / n / 1e3);
}

// CPU time of this process and its involuntary switches: a run with many of those was disturbed.
static inline void usage(const char *tag, double secs) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  printf("%s cpu user=%.0f%% sys=%.0f%% invol_switches=%ld\n", tag,
         100 * (r.ru_utime.tv_sec + r.ru_utime.tv_usec / 1e6) / secs,
         100 * (r.ru_stime.tv_sec + r.ru_stime.tv_usec / 1e6) / secs, r.ru_nivcsw);
}
