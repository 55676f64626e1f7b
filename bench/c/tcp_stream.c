// Throughput of TCP connections one way, by the calls that carry it: the fewest instructions around them.
// build: cc -O2 -o tcp_stream tcp_stream.c
// use:   tcp_stream write|sendfile read|trunc SECONDS CHUNK STREAMS PORT [CLIENT_CPU SERVER_CPU [NEAR FAR ADDRESS]]
// A process for each end of each stream. sendfile sends from memory that is a file, so that no disk takes part; trunc drops what
// has come without copying it. NEAR and FAR are network namespaces, ADDRESS is FAR's. A tenth of a second is not counted.
// Prints `received_mbit/s=`, 10^6 bits of payload a second that were received, of all streams.
#include "lim.h"
#include <sys/sendfile.h>
#define MOST 64
#define WARM 100000000

static void receive(int s, int drop, volatile uint64_t *count) {
  static char buffer[1 << 20];
  for (;;) {
    ssize_t r = recv(s, buffer, sizeof buffer, drop ? MSG_TRUNC : 0);
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) _exit(0);
    *count += r;
  }
}

static void give(int s, int file, size_t chunk, uint64_t end) {
  static char buffer[1 << 20];
  int f = file ? memfd_create("payload", 0) : -1;
  if (file && (f < 0 || write(f, buffer, chunk) != (ssize_t)chunk)) DIE("memfd");
  while (now() < end) {
    off_t from = 0;
    ssize_t r = file ? sendfile(s, f, &from, chunk) : send(s, buffer, chunk, 0);
    if (r < 0 && errno != EINTR) DIE("send");
  }
  _exit(0);
}

int main(int c, char **v) {
  if (c < 7) {
    fprintf(stderr, "use: tcp_stream write|sendfile read|trunc SECONDS CHUNK STREAMS PORT [CLIENT_CPU SERVER_CPU [NEAR FAR ADDRESS]]\n");
    return 2;
  }
  int file = !strcmp(v[1], "sendfile"), drop = !strcmp(v[2], "trunc"), streams = atoi(v[5]), port = atoi(v[6]);
  double secs = atof(v[3]);
  size_t chunk = atol(v[4]);
  if (streams < 1 || streams > MOST || chunk < 1 || chunk > 1 << 20) return fprintf(stderr, "no such number of streams or chunk\n"), 2;
  if (c > 11) far_address = v[11];
  // A cache line each: the receivers count at once.
  volatile uint64_t *count = mmap(0, MOST * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t children[2 * MOST];
  int here = open("/proc/self/ns/net", O_RDONLY), n = 0, giving[MOST];
  enter(c > 10 ? v[10] : 0);
  int listener = server_socket(1, port);
  if (c > 10 && setns(here, CLONE_NEWNET)) DIE("setns");
  enter(c > 9 ? v[9] : 0);
  for (int i = 0; i < streams; i++) {
    giving[i] = client_socket(1, port);
    int taking = accept_one(listener);
    if (!(children[n] = fork())) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int k = 0; k <= i; k++) close(giving[k]);
      pin(c > 8 ? atoi(v[8]) : 1);
      receive(taking, drop, count + 8 * i);
    }
    n++, close(taking);
  }
  uint64_t begin = now() + WARM, end = begin + secs * 1e9, before = 0, after = 0;
  for (int i = 0; i < streams; i++, n++)
    if (!(children[n] = fork())) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      pin(c > 7 ? atoi(v[7]) : 0);
      give(giving[i], file, chunk, end + WARM);
    }
  sleep_until(begin);
  uint64_t from = now();
  for (int i = 0; i < streams; i++) before += count[8 * i];
  sleep_until(end);
  uint64_t to = now();
  for (int i = 0; i < streams; i++) after += count[8 * i];
  // Senders end first: nobody's connection is reset under them.
  while (n--) kill(children[n], SIGKILL), waitpid(children[n], 0, 0);
  printf("received_mbit/s=%.0f\n", (after - before) * 8e3 / (to - from));
  return 0;
}
