// UDP datagrams a second one way, by the calls that carry them: the fewest instructions around them.
// build: cc -O2 -o udp_rate udp_rate.c
// use:   udp_rate sendto|mmsg|gso recv|mmsg|gro SECONDS SIZE BATCH PORT [CLIENT_CPU SERVER_CPU [NEAR FAR ADDRESS]]
// NEAR and FAR are network namespaces, ADDRESS is FAR's. mmsg takes up to BATCH datagrams a call, gso sends one buffer that is cut into BATCH segments (128 and 65507 bytes at the
// most), gro takes such a buffer whole; sendto and recv take one. As fast as it goes: what the receiver cannot take is lost.
// Prints `sent/s=`, `received/s=` and `lost=`, the share in percent.
#include "lim.h"
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define MOST 1024
#define ROOM 2048

static volatile sig_atomic_t stop;
static void on(int s) { (void)s; stop = 1; }

// The size of the segments a message came in; 0: it came alone.
static int segment_of(struct msghdr *h) {
  for (struct cmsghdr *k = CMSG_FIRSTHDR(h); k; k = CMSG_NXTHDR(h, k))
    if (k->cmsg_level == IPPROTO_UDP && k->cmsg_type == UDP_GRO) return *(int *)CMSG_DATA(k);
  return 0;
}

// Counts into *count until told to stop.
static void receive(int s, const char *how, int batch, volatile uint64_t *count) {
  static char many[MOST][ROOM], one[65536], control[256];
  static struct mmsghdr m[MOST];
  static struct iovec io[MOST];
  for (int i = 0; i < batch; i++) {
    io[i] = (struct iovec){many[i], ROOM};
    m[i].msg_hdr.msg_iov = io + i, m[i].msg_hdr.msg_iovlen = 1;
  }
  while (!stop) {
    if (!strcmp(how, "mmsg")) {
      int r = recvmmsg(s, m, batch, MSG_WAITFORONE, 0);
      if (r > 0) *count += r;
    } else if (!strcmp(how, "gro")) {
      struct iovec v = {one, sizeof one};
      struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
      ssize_t r = recvmsg(s, &h, 0);
      int segment = r > 0 ? segment_of(&h) : 0;
      if (r >= 0) *count += segment ? (r + segment - 1) / segment : 1;
    } else if (recv(s, one, sizeof one, 0) >= 0) ++*count;
  }
}

int main(int c, char **v) {
  if (c < 7) {
    fprintf(stderr, "use: udp_rate sendto|mmsg|gso recv|mmsg|gro SECONDS SIZE BATCH PORT [CLIENT_CPU SERVER_CPU [NEAR FAR ADDRESS]]\n");
    return 2;
  }
  const char *tx = v[1], *rx = v[2];
  double secs = atof(v[3]);
  int size = atoi(v[4]), batch = atoi(v[5]), port = atoi(v[6]), room = 4 << 20, one = 1, ready[2];
  int gso = !strcmp(tx, "gso"), mm = !strcmp(tx, "mmsg");
  if (size < 1 || size > (gso || !strcmp(rx, "gro") ? 65507 : ROOM) || batch < 1 || batch > MOST) return fprintf(stderr, "no such size or batch\n"), 2;
  while (gso && ((long)size * batch > 65507 || batch > 128)) batch--;
  volatile uint64_t *count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char junk;
  if (c > 11) far_address = v[11];
  if (pipe(ready)) DIE("pipe");
  pid_t child = fork();
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    enter(c > 10 ? v[10] : 0);
    pin(c > 8 ? atoi(v[8]) : 1);
    struct sigaction action = {.sa_handler = on};
    sigaction(SIGTERM, &action, 0);
    int s = server_socket(0, port);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (!strcmp(rx, "gro") && setsockopt(s, IPPROTO_UDP, UDP_GRO, &one, sizeof one)) DIE("UDP_GRO");
    struct timeval glance = {0, 50000};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &glance, sizeof glance);
    if (write(ready[1], "x", 1) < 0) DIE("write");
    receive(s, rx, batch, count);
    _exit(0);
  }
  if (read(ready[0], &junk, 1) != 1) DIE("the receiver");
  enter(c > 9 ? v[9] : 0);
  pin(c > 7 ? atoi(v[7]) : 0);
  int s = client_socket(0, port);
  if (gso && setsockopt(s, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size)) DIE("UDP_SEGMENT");
  static char payload[65536];
  static struct mmsghdr m[MOST];
  struct iovec io = {payload, size};
  for (int i = 0; i < batch; i++) m[i].msg_hdr.msg_iov = &io, m[i].msg_hdr.msg_iovlen = 1;
  uint64_t begin = now(), t = begin, end = begin + secs * 1e9, sent = 0;
  while (t < end) {
    for (int k = 0; k < 16; k++) {
      if (mm) {
        int r = sendmmsg(s, m, batch, 0);
        if (r > 0) sent += r;
      } else if (send(s, payload, gso ? (size_t)size * batch : (size_t)size, 0) >= 0) sent += gso ? batch : 1;
    }
    t = now();
  }
  double took = (t - begin) / 1e9;
  usleep(100000);  // What is still in the receiver's buffer was received.
  uint64_t got = *count;
  kill(child, SIGTERM);
  waitpid(child, 0, 0);
  printf("sent/s=%.0f received/s=%.0f lost=%.4f%%\n", sent / took, got / took, 100.0 * (sent - got) / sent);
  return 0;
}
