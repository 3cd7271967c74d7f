/* SPDX-License-Identifier: GPL-2.0-only */
#include "sideband.h"

#include "perf_open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 64 /* 256 KiB: some thousand mappings between two polls */
#define RECORD_MAX 8192

struct cpu_ring {
    int fd;
    struct perf_event_mmap_page *page;
};

struct queued {
    struct sideband_event event;
    size_t path; /* offset in `paths` */
};

struct sideband {
    int epoll;
    size_t page_size, bytes; /* of the data area */
    struct cpu_ring *rings;
    int n_rings;
    uint64_t lost;
    struct queued *queue;
    size_t n, cap;
    char *paths;
    size_t n_paths, cap_paths;
};

static void init_attr(struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(*attr),
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = 1,
    };
}

static int open_cpu(struct sideband *s, int cpu, struct err *err)
{
    struct perf_event_attr attr;
    struct cpu_ring *r = &s->rings[s->n_rings];

    init_attr(&attr);
    r->fd = perf_open(&attr, -1, cpu, -1);
    if (r->fd < 0 && (errno == ENODEV || errno == ENXIO))
        return 0; /* this CPU is offline */
    if (r->fd < 0)
        return err__set(err, errno, "cannot watch mappings on CPU %d: %s%s", cpu, strerror(errno),
                        errno == EACCES || errno == EPERM ? " (run it with sudo; see `scope-bpf --check`)" : "");
    r->page = mmap(NULL, s->page_size + s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->page == MAP_FAILED) {
        int code = errno;
        close(r->fd);
        return err__set(err, code, "cannot map the side-band of CPU %d: %s", cpu, strerror(code));
    }
    s->n_rings++;
    struct epoll_event event = { .events = EPOLLIN };
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, r->fd, &event);
    return 0;
}

int sideband__create(struct sideband **ret, struct err *err)
{
    struct sideband *s = calloc(1, sizeof(*s));
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int r = 0;

    if (!s)
        return err__set(err, ENOMEM, "out of memory");
    s->page_size = (size_t)sysconf(_SC_PAGESIZE);
    s->bytes = RING_PAGES * s->page_size;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->rings = calloc((size_t)cpus, sizeof(*s->rings));
    if (!s->rings || s->epoll < 0)
        r = err__set(err, ENOMEM, "cannot make the side-band: %s", strerror(errno));
    for (int cpu = 0; !r && cpu < cpus; cpu++)
        r = open_cpu(s, cpu, err);
    if (r) {
        sideband__destroy(s);
        return r;
    }
    *ret = s;
    return 0;
}

void sideband__destroy(struct sideband *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_rings; i++) {
        munmap(s->rings[i].page, s->page_size + s->bytes);
        close(s->rings[i].fd);
    }
    if (s->epoll >= 0)
        close(s->epoll);
    free(s->rings);
    free(s->queue);
    free(s->paths);
    free(s);
}

int sideband__epoll_fd(const struct sideband *s)
{
    return s->epoll;
}

uint64_t sideband__lost(const struct sideband *s)
{
    return s->lost;
}

static struct queued *enqueue(struct sideband *s, const char *path, size_t len)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 256;
        struct queued *queue = realloc(s->queue, cap * sizeof(*queue));
        if (!queue)
            return NULL;
        s->queue = queue;
        s->cap = cap;
    }
    if (s->n_paths + len + 1 > s->cap_paths) {
        size_t cap = 2 * (s->n_paths + len + 1) + 4096;
        char *paths = realloc(s->paths, cap);
        if (!paths)
            return NULL;
        s->paths = paths;
        s->cap_paths = cap;
    }
    struct queued *q = &s->queue[s->n++];
    *q = (struct queued){ .path = s->n_paths };
    memcpy(s->paths + s->n_paths, path, len);
    s->paths[s->n_paths + len] = '\0';
    s->n_paths += len + 1;
    return q;
}

/* Behind every record stand pid, tid (u32 each) and time (u64): sample_id_all with the bits above. */
static uint64_t record_time(const struct perf_event_header *h)
{
    uint64_t time;

    memcpy(&time, (const char *)h + h->size - sizeof(time), sizeof(time));
    return time;
}

struct mmap2_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t addr, len, pgoff;
    uint32_t maj, min;
    uint64_t ino, ino_generation;
    uint32_t prot, flags;
    char filename[];
};

struct task_record {
    struct perf_event_header header;
    uint32_t pid, ppid, tid, ptid;
    uint64_t time;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
};

#define ID_BYTES 16

static void take_mmap(struct sideband *s, const struct perf_event_header *h)
{
    const struct mmap2_record *m = (const void *)h;

    if (h->size < sizeof(*m) + ID_BYTES || h->misc & PERF_RECORD_MISC_MMAP_DATA)
        return;
    size_t room = h->size - sizeof(*m) - ID_BYTES;
    struct queued *q = enqueue(s, m->filename, strnlen(m->filename, room));
    if (!q) {
        s->lost++;
        return;
    }
    q->event = (struct sideband_event){ .kind = SIDEBAND_MAP, .pid = m->pid, .tid = m->tid, .time = record_time(h),
                                        .start = m->addr, .len = m->len, .offset = m->pgoff,
                                        .dev = makedev(m->maj, m->min), .ino = m->ino };
}

static void take_record(struct sideband *s, const struct perf_event_header *h)
{
    struct queued *q;

    switch (h->type) {
    case PERF_RECORD_MMAP2:
        take_mmap(s, h);
        break;
    case PERF_RECORD_COMM:
        if (!(h->misc & PERF_RECORD_MISC_COMM_EXEC) || h->size < sizeof(struct comm_record) + ID_BYTES)
            break;
        q = enqueue(s, "", 0);
        if (q)
            q->event = (struct sideband_event){ .kind = SIDEBAND_EXEC, .time = record_time(h),
                                                .pid = ((const struct comm_record *)(const void *)h)->pid };
        break;
    case PERF_RECORD_FORK: {
        const struct task_record *t = (const void *)h;
        if (h->size < sizeof(*t) || t->pid == t->ppid)
            break;
        q = enqueue(s, "", 0);
        if (q)
            q->event = (struct sideband_event){ .kind = SIDEBAND_FORK, .time = t->time, .pid = t->pid, .parent = t->ppid };
        break;
    }
    case PERF_RECORD_LOST:
        if (h->size >= sizeof(*h) + 16) {
            uint64_t lost;
            memcpy(&lost, (const char *)(h + 1) + 8, sizeof(lost));
            s->lost += lost;
        }
        break;
    }
}

static void read_ring(struct sideband *s, struct cpu_ring *r)
{
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), tail = r->page->data_tail;
    const char *data = (const char *)r->page + s->page_size;
    union {
        struct perf_event_header header;
        char bytes[RECORD_MAX];
    } copy;

    while (tail < head) {
        struct perf_event_header h;
        size_t at = tail % s->bytes;
        memcpy(&h, data + at, sizeof(h)); /* headers are 8 bytes and aligned: never split */
        if (h.size < sizeof(h) || h.size > head - tail)
            break;
        if (h.size <= sizeof(copy)) {
            size_t first = s->bytes - at < h.size ? s->bytes - at : h.size;
            memcpy(copy.bytes, data + at, first);
            memcpy(copy.bytes + first, data, h.size - first);
            take_record(s, &copy.header);
        } else {
            s->lost++;
        }
        tail += h.size;
    }
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

static int compare_time(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;

    if (x->event.time != y->event.time)
        return x->event.time < y->event.time ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

void sideband__read(struct sideband *s, sideband_fn fn, void *arg)
{
    s->n = s->n_paths = 0;
    for (int i = 0; i < s->n_rings; i++)
        read_ring(s, &s->rings[i]);
    if (!s->n)
        return;
    qsort(s->queue, s->n, sizeof(*s->queue), compare_time);
    for (size_t i = 0; i < s->n; i++) {
        s->queue[i].event.path = s->paths + s->queue[i].path;
        fn(arg, &s->queue[i].event);
    }
}
