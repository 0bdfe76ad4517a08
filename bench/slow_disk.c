// Delays every sync of a file by SYNC_DELAY_US microseconds, as a slower disk would. Loaded with LD_PRELOAD.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void) {
    const char *text = getenv("SYNC_DELAY_US");
    long micros = text ? atol(text) : 0;
    struct timespec left = {micros / 1000000, micros % 1000000 * 1000};
    while (micros > 0 && nanosleep(&left, &left) != 0) {
    }
}

int fsync(int file) {
    wait_for_disk();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, file);
}
