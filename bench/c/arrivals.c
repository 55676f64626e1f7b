// Distance of sockperf's messages from their sender's schedule, by the kernel's receive stamps of those that arrive.
// build: cc -O2 -o arrivals arrivals.c
// use:   arrivals PORT INTERVAL_NS SPAN_MS [CPU]
// Takes datagrams on 127.0.0.1:PORT until SIGTERM, answers those that ask for it, as sockperf's server does, and prints how
// far arrivals are from a schedule of one message each INTERVAL_NS by their sequence numbers. Of what came only those count
// that were due within SPAN_MS of the first: senders that run for different times are seen for the same. The schedule's beginning is
// fitted (the median), and so is its pace (from the medians of the first and the last third), so that neither a late start
// nor a clock that is off by some millionths counts: what is left is jitter. Distances count whichever their sign.
#include "lim.h"

#define KEPT (1u << 20)

static volatile sig_atomic_t stop;
static void on(int s) { (void)s; stop = 1; }

static int rising(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(const double *v, size_t n) {
  double *copy = malloc(n * sizeof *copy);
  memcpy(copy, v, n * sizeof *copy);
  qsort(copy, n, sizeof *copy, rising);
  double middle = copy[n / 2];
  free(copy);
  return middle;
}

// SO_TIMESTAMPNS of what was received, ns; 0: none.
static uint64_t stamp_of(struct msghdr *h) {
  for (struct cmsghdr *k = CMSG_FIRSTHDR(h); k; k = CMSG_NXTHDR(h, k))
    if (k->cmsg_level == SOL_SOCKET && k->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec t;
      memcpy(&t, CMSG_DATA(k), sizeof t);
      return t.tv_sec * 1000000000ull + t.tv_nsec;
    }
  return 0;
}

static uint64_t big_endian(const unsigned char *b, int octets) {
  uint64_t value = 0;
  while (octets--) value = value << 8 | *b++;
  return value;
}

int main(int c, char **v) {
  if (c < 4) return fprintf(stderr, "use: arrivals PORT INTERVAL_NS SPAN_MS [CPU]\n"), 2;
  double interval = atof(v[2]), span = atof(v[3]) * 1e6;
  int room = 4 << 20, one = 1, s = server_socket(0, atoi(v[1]));
  pin(c > 4 ? atoi(v[4]) : 1);
  struct sigaction action = {.sa_handler = on};
  sigaction(SIGTERM, &action, 0);
  sigaction(SIGINT, &action, 0);
  setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  if (setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) DIE("SO_TIMESTAMPNS");
  struct timeval glance = {0, 50000};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &glance, sizeof glance);
  // `off`: arrival less schedule, ns, seen from the first message; `at`: its number.
  double *off = malloc(KEPT * sizeof *off), *at = malloc(KEPT * sizeof *at);
  uint64_t *error = malloc(KEPT * sizeof *error), first_stamp = 0, first_number = 0;
  memset(off, 1, KEPT * sizeof *off), memset(at, 1, KEPT * sizeof *at);
  size_t n = 0;
  printf("ready\n");
  fflush(stdout);
  while (!stop) {
    static unsigned char b[65536], control[256];
    struct sockaddr_in from;
    struct iovec io = {b, sizeof b};
    struct msghdr h = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &io, .msg_iovlen = 1,
                       .msg_control = control, .msg_controllen = sizeof control};
    ssize_t r = recvmsg(s, &h, 0);
    if (r < 14) continue;
    uint64_t stamp = stamp_of(&h), number = big_endian(b, 8), flags = big_endian(b + 8, 2);
    if (!(flags & 1)) continue;
    if (flags & 2) b[9] &= ~1, sendto(s, b, r, 0, (void *)&from, h.msg_namelen);
    if (!stamp || !number || flags & 4 || n == KEPT) continue;
    if (!n) first_stamp = stamp, first_number = number;
    at[n] = (double)number - first_number;
    if (at[n] * interval >= span) continue;
    off[n] = (double)(int64_t)(stamp - first_stamp) - at[n] * interval;
    n++;
  }
  if (n < 30) return fprintf(stderr, "%zu messages came with a stamp\n", n), 1;
  size_t third = n / 3;
  double pace = (median(off + n - third, third) - median(off, third)) / (median(at + n - third, third) - median(at, third));
  for (size_t i = 0; i < n; i++) off[i] -= pace * at[i];
  double begin = median(off, n);
  for (size_t i = 0; i < n; i++) error[i] = (uint64_t)(off[i] < begin ? begin - off[i] : off[i] - begin);
  report("error", error, n);
  printf("pace=%+.3f millionths\n", pace / interval * 1e6);
  return 0;
}
