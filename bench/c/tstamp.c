// Where a round trip spends its time: kernel timestamps of every exchange at both ends, and what taking them costs.
// build: cc -O2 -o tstamp tstamp.c
// use:   tstamp tcp|udp on|off COUNT SIZE PORT [CLIENT_CPU SERVER_CPU]
// Both ends are processes of this program, so all stamps are CLOCK_REALTIME of one clock and the one-way parts are
// exact. `off` runs the same loop without SO_TIMESTAMPING. The first tenth is not reported.
#include "lim.h"
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#define MOST 200000
#ifndef SOF_TIMESTAMPING_OPT_ID_TCP
#define SOF_TIMESTAMPING_OPT_ID_TCP (1u << 16) // Linux 6.2: the id is the byte offset from the setsockopt on
#endif

enum { A_SEND, C_SCHED, C_SND, S_RX, S_RECV, S_SEND, S_SCHED, S_SND, C_RX, A_RECV, STAMPS };
static uint64_t (*table)[STAMPS];
static size_t count, size;
static int tcp, on;

static uint64_t ns(const struct timespec *t) { return t->tv_sec * 1000000000ull + t->tv_nsec; }

// One whole message, and the receive stamp of its last part.
static ssize_t receive(int s, char *b, uint64_t *rx, struct sockaddr_in *from) {
  size_t got = 0;
  while (got < size) {
    char control[512];
    struct iovec io = {b + got, size - got};
    struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
                       .msg_name = from, .msg_namelen = from ? sizeof *from : 0};
    ssize_t r = recvmsg(s, &h, 0);
    if (r < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (r <= 0) return r;
    got += r;
    for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k))
      if (k->cmsg_level == SOL_SOCKET && k->cmsg_type == SCM_TIMESTAMPING) *rx = ns((void *)CMSG_DATA(k));
  }
  return got;
}

// Takes everything off the error queue; a TCP id is a byte, so the message's size turns it into a message number.
static void drain(int s, int sched, int snd) {
  for (;;) {
    char control[512];
    struct msghdr h = {.msg_control = control, .msg_controllen = sizeof control};
    struct timespec *stamp = 0;
    struct sock_extended_err *e = 0;
    if (recvmsg(s, &h, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k)) {
      if (k->cmsg_level == SOL_SOCKET && k->cmsg_type == SCM_TIMESTAMPING) stamp = (void *)CMSG_DATA(k);
      else if (k->cmsg_type == IP_RECVERR) e = (void *)CMSG_DATA(k);
    }
    if (!stamp || !e || e->ee_origin != SO_EE_ORIGIN_TIMESTAMPING) continue;
    size_t id = e->ee_data / (tcp ? size : 1);
    int which = e->ee_info == SCM_TSTAMP_SCHED ? sched : e->ee_info == SCM_TSTAMP_SND ? snd : -1;
    if (id < count && which >= 0) table[id][which] = ns(stamp);
  }
}

static void arm(int s) {
  unsigned flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
                   SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
  if (tcp) flags |= SOF_TIMESTAMPING_OPT_ID_TCP;
  if (on && setsockopt(s, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags)) DIE("SO_TIMESTAMPING");
}

static void part(const char *name, int from, int to) {
  static uint64_t v[MOST];
  size_t n = 0, negative = 0;
  for (size_t i = count / 10; i < count; i++) {
    if (!table[i][from] || !table[i][to]) continue;
    if (table[i][to] >= table[i][from]) v[n++] = table[i][to] - table[i][from]; else negative++;
  }
  report(name, v, n);
  if (negative) printf("%s negative=%zu\n", name, negative);
}

static void serve(int listener, char *b) {
  if (!tcp) arm(listener);
  int s = tcp ? accept_one(listener) : listener;
  if (tcp) arm(s);
  struct sockaddr_in p;
  for (size_t i = 0; i < count; i++) {
    uint64_t rx = 0;
    uint32_t id;
    if (receive(s, b, &rx, tcp ? 0 : &p) <= 0) break;
    memcpy(&id, b, sizeof id);
    table[id][S_RECV] = wall();
    table[id][S_RX] = rx;
    table[id][S_SEND] = wall();
    if (tcp) send(s, b, size, 0); else sendto(s, b, size, 0, (void *)&p, sizeof p);
    if (on) drain(s, S_SCHED, S_SND);
  }
  usleep(20000);
  if (on) drain(s, S_SCHED, S_SND);
}

int main(int c, char **v) {
  if (c < 6) return fprintf(stderr, "use: tstamp tcp|udp on|off COUNT SIZE PORT [CPU CPU]\n"), 2;
  static char b[65536];
  tcp = !strcmp(v[1], "tcp"), on = !strcmp(v[2], "on"), count = atol(v[3]), size = atol(v[4]);
  if (count > MOST || size < 16 || size > sizeof b) return fprintf(stderr, "COUNT at most %d, SIZE 16 to %zu\n", MOST, sizeof b), 2;
  int client_cpu = c > 7 ? atoi(v[6]) : 0, server_cpu = c > 7 ? atoi(v[7]) : 1;
  table = mmap(0, sizeof *table * MOST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (table == MAP_FAILED) DIE("mmap");
  int listener = server_socket(tcp, atoi(v[5]));
  pid_t child = fork();
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(server_cpu);
    serve(listener, b);
    _exit(0);
  }
  close(listener);
  pin(client_cpu);
  int s = client_socket(tcp, atoi(v[5]));
  arm(s);
  usleep(50000); // the static key behind receive stamps is switched on from a work item: earlier ones are taken at recvmsg
  for (size_t i = 0; i < count; i++) {
    uint32_t id = i;
    uint64_t rx = 0;
    memcpy(b, &id, sizeof id);
    table[i][A_SEND] = wall();
    if (send(s, b, size, 0) != (ssize_t)size) DIE("send");
    if (receive(s, b, &rx, 0) <= 0) DIE("recv");
    table[i][A_RECV] = wall();
    table[i][C_RX] = rx;
    if (on) drain(s, C_SCHED, C_SND);
  }
  usleep(20000);
  if (on) drain(s, C_SCHED, C_SND);
  waitpid(child, 0, 0);
  size_t first = count / 10;
  printf("trans/s=%.1f\n", (count - first) * 1e9 / (table[count - 1][A_RECV] - table[first][A_SEND]));
  part("rtt", A_SEND, A_RECV);
  if (!on) return 0;
  part("send_to_sched", A_SEND, C_SCHED);
  part("sched_to_driver", C_SCHED, C_SND);
  part("outside", C_SND, C_RX);
  part("peer_wake_up", S_RX, S_RECV);
  part("peer_hold", S_RECV, S_SEND);
  part("peer_send", S_SEND, S_SND);
  part("wake_up", C_RX, A_RECV);
  return 0;
}
