/*
 * A clock moved by hand, for programs that read the system's clock themselves: preload it (`LD_PRELOAD`), and write
 * microseconds since 1970, 8 bytes in the machine's order, into the file that `CONFORM_CLOCK` names.
 *
 * The wall clock is always that number. With `CONFORM_CLOCK_MONOTONIC=1` the monotonic clocks are it too; without it they run
 * on, as threads that wait need them to.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const uint64_t *now_us;
static int is_monotonic_moved;

__attribute__((constructor)) static void open_clock(void) {
  const char *path = getenv("CONFORM_CLOCK");
  const char *monotonic = getenv("CONFORM_CLOCK_MONOTONIC");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return;
  is_monotonic_moved = monotonic && monotonic[0] == '1';
  now_us = page;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  int is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
  if (!now_us || !(is_wall || (is_monotonic && is_monotonic_moved))) return (int)syscall(SYS_clock_gettime, clock, time);
  uint64_t us = *now_us;
  time->tv_sec = (time_t)(us / 1000000);
  time->tv_nsec = (long)(us % 1000000 * 1000);
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec spec;
  clock_gettime(CLOCK_REALTIME, &spec);
  time->tv_sec = spec.tv_sec;
  time->tv_usec = spec.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec spec;
  clock_gettime(CLOCK_REALTIME, &spec);
  if (seconds) *seconds = spec.tv_sec;
  return spec.tv_sec;
}
