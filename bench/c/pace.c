// Lateness of "send at time T": of absolute deadlines, kept by sleeping, sleeping and then spinning, or spinning.
// build: cc -O2 -o pace pace.c
// use:   pace INTERVAL_US slack50|slack1|hybrid|spin [COUNT] [CPU] [MARGIN_US]
// hybrid wakes MARGIN_US (60) before the deadline, timer slack 1 ns, and spins the rest. Deadlines are t0 + k * interval and
// are never moved: a late one does not delay the next, and one already past when we came to it counts as behind.
#include "lim.h"

int main(int c, char **v) {
  if (c < 3) return fprintf(stderr, "use: pace INTERVAL_US slack50|slack1|hybrid|spin [COUNT] [CPU] [MARGIN_US]\n"), 2;
  uint64_t interval = atof(v[1]) * 1e3, margin = (c > 5 ? atof(v[5]) : 60) * 1e3;
  size_t n = c > 3 ? atol(v[3]) : 2000, behind = 0, slept = 0;
  int sleeps = !strncmp(v[2], "slack", 5), hybrid = !strcmp(v[2], "hybrid");
  pin(c > 4 ? atoi(v[4]) : 0);
  prctl(PR_SET_TIMERSLACK, strcmp(v[2], "slack50") ? 1 : 50000);
  uint64_t *late = malloc(n * sizeof *late);
  memset(late, 1, n * sizeof *late);
  uint64_t t0 = now() + 2000000, due = t0, t;
  for (size_t i = 0; i < n; i++, due += interval) {
    t = now();
    behind += t > due;
    uint64_t wake = sleeps ? due : hybrid && due > margin + t ? due - margin : 0;
    if (wake > t) sleep_until(wake), slept++;
    while ((t = now()) < due) {}
    late[i] = t - due;
  }
  double took = (now() - t0) / 1e9;
  report("late", late, n);
  printf("slept=%zu behind=%.2f%% achieved=%.0f/s of %.0f/s\n", slept, 100.0 * behind / n, n / took, 1e9 / interval);
  usage("pace", took);
  return 0;
}
