// The fetching of journal records: what runs once or more for each of them.

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>

// use is ingest.Use, in its order.
enum use { UNUSED, MESSAGE, SOURCE_REAL, SOURCE_MONO, WRITER, WRITER_HAS, RARE };

enum {
  MAX_RECORDS = 64, // fetched with one call
  MAX_NAMES = 32,
  MIN_NAME = 4, // bytes of the shortest name
  BUCKET_BITS = 6,
  BUCKETS = 1 << BUCKET_BITS,
  MAX_WHO = 1024 // bytes of what tells writers apart
};

// name is that of a field that is read, with what it is used for.
typedef struct {
  const char *text; // with = behind it
  uint32_t size;    // without
  uint8_t use;      // an enum use
  uint8_t place;    // in ingest.JournalFields
} name;

typedef struct {
  int (*next)(sd_journal *);
  int (*cursor)(sd_journal *, char **);
  void (*restart)(sd_journal *);
  int (*enumerate)(sd_journal *, const void **, size_t *);
  name names[MAX_NAMES]; // by bucket
  uint8_t first[BUCKETS + 1]; // of a bucket's names; one more closes the last
  size_t most, most_other; // bytes that are read of a message, and of what is none
} calls;

// part is where something lies in a buffer.
typedef struct {
  uint32_t at, size;
} part;

// record is one that was fetched.
typedef struct {
  int32_t error;   // why the rest cannot be read, or 0
  uint32_t rare;   // ingest.Glance.Rare
  part cursor, fields, who;
  part values[WRITER]; // by use
} record;

typedef struct {
  char *data;
  size_t used, room;
  int count;
  record records[MAX_RECORDS];
} buffer;

// load finds the functions in the library that sdjournal has loaded; the handle
// to it is kept for good. It returns what is missing.
static const char *
load(calls *c)
{
  static const char *const names[] = {"libsystemd.so.0", "libsystemd-journal.so.0", "libsystemd.so", "libsystemd-journal.so"};
  void *lib = NULL;
  for (size_t i = 0; lib == NULL && i < sizeof names / sizeof *names; i++)
    lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
  if (lib == NULL)
    return "libsystemd";
  if ((c->next = (int (*)(sd_journal *))dlsym(lib, "sd_journal_next")) == NULL)
    return "sd_journal_next";
  if ((c->cursor = (int (*)(sd_journal *, char **))dlsym(lib, "sd_journal_get_cursor")) == NULL)
    return "sd_journal_get_cursor";
  if ((c->restart = (void (*)(sd_journal *))dlsym(lib, "sd_journal_restart_data")) == NULL)
    return "sd_journal_restart_data";
  if ((c->enumerate = (int (*)(sd_journal *, const void **, size_t *))dlsym(lib, "sd_journal_enumerate_data")) == NULL)
    return "sd_journal_enumerate_data";
  return NULL;
}

// bucket is where a name is looked for, by four bytes of those that begin with it and =.
static inline unsigned
bucket(const char *data)
{
  uint32_t few;
  memcpy(&few, data + 1, sizeof few);
  return few * 0x9E3779B1u >> (32 - BUCKET_BITS);
}

// order puts n names into their buckets.
static void
order(calls *c, const name *names, int n)
{
  int next = 0;
  for (unsigned b = 0; b < BUCKETS; b++) {
    c->first[b] = next;
    for (int i = 0; i < n; i++)
      if (bucket(names[i].text) == b)
        c->names[next++] = names[i];
  }
  c->first[BUCKETS] = next;
}

// same says whether n bytes, MIN_NAME or more, are the same. Names are too short
// for a call of memcmp.
static inline int
same(const char *a, const char *b, size_t n)
{
  uint32_t x, y;
  for (size_t i = 0; i + sizeof x <= n; i += sizeof x) {
    memcpy(&x, a + i, sizeof x);
    memcpy(&y, b + i, sizeof y);
    if (x != y)
      return 0;
  }
  memcpy(&x, a + n - sizeof x, sizeof x);
  memcpy(&y, b + n - sizeof y, sizeof y);
  return x == y;
}

// known is the name that a field has, if it is one of names.
static inline const name *
known(const calls *c, const char *data, size_t n)
{
  if (n <= MIN_NAME)
    return NULL;
  unsigned b = bucket(data);
  for (const name *k = c->names + c->first[b]; k < c->names + c->first[b + 1]; k++)
    if (n > k->size && data[k->size] == '=' && same(data, k->text, k->size))
      return k;
  return NULL;
}

// room makes place for n bytes more.
static inline int
room(buffer *b, size_t n)
{
  if (b->room - b->used >= n)
    return 0;
  size_t want = b->room * 2 > b->used + n ? b->room * 2 : b->used + n;
  char *data = want > UINT32_MAX ? NULL : realloc(b->data, want);
  if (data == NULL)
    return -ENOMEM;
  b->data = data;
  b->room = want;
  return 0;
}

// put adds n bytes.
static inline int
put(buffer *b, const void *data, size_t n, part *p)
{
  if (room(b, n) < 0)
    return -ENOMEM;
  memcpy(b->data + b->used, data, n);
  *p = (part){b->used, n};
  b->used += n;
  return 0;
}

// field adds a field, with its size and that of its name in front; p is its value.
static inline int
field(buffer *b, const char *data, size_t n, size_t name, part *p)
{
  uint32_t head[2] = {n, name};
  if (room(b, sizeof head + n) < 0)
    return -ENOMEM;
  char *to = b->data + b->used;
  memcpy(to, head, sizeof head);
  memcpy(to + sizeof head, data, n);
  *p = (part){b->used + sizeof head + name + 1, n - name - 1};
  b->used += sizeof head + n;
  return 0;
}

// who is what tells one writer from another, as ingest.Glance.Who has it.
typedef struct {
  size_t size;
  char data[MAX_WHO];
} who;

// about adds a value to w; it says whether there is room for it.
static inline int
about(who *w, uint8_t place, const char *value, size_t n)
{
  if (w->size + 3 + n > sizeof w->data)
    return 0;
  char head[3] = {place, n, n >> 8};
  memcpy(w->data + w->size, head, sizeof head);
  memcpy(w->data + w->size + sizeof head, value, n);
  w->size += sizeof head + n;
  return 1;
}

// look notes of the field called k what a glance needs.
static inline void
look(record *r, who *w, const name *k, const char *value, part p)
{
  if (k->use < WRITER)
    r->values[k->use] = p;
  else if (k->use == RARE || !about(w, k->place, value, k->use == WRITER ? p.size : 0))
    r->rare = 1;
}

// one adds a field, unless it is one of journald's own that is not read. Most are not.
static inline int
one(calls *c, buffer *b, record *r, who *w, const char *data, size_t n)
{
  const name *k = known(c, data, n);
  size_t most = k != NULL && k->use == MESSAGE ? c->most : c->most_other;
  if (n > most)
    n = most;
  if (k == NULL && n > 2 && data[0] == '_')
    return 0;
  const char *end = k != NULL ? data + k->size : memchr(data, '=', n);
  if (end == NULL)
    return -EBADMSG;
  part p;
  if (field(b, data, n, end - data, &p) < 0)
    return -ENOMEM;
  if (k != NULL)
    look(r, w, k, end + 1, p);
  return 0;
}

// fields adds what j has at its place.
static int
fields(calls *c, sd_journal *j, buffer *b, record *r)
{
  who w;
  w.size = 0;
  r->fields.at = b->used;
  c->restart(j);
  for (;;) {
    const void *data;
    size_t n;
    int e = c->enumerate(j, &data, &n);
    if (e > 0)
      e = one(c, b, r, &w, data, n);
    else if (e == 0)
      break;
    if (e < 0)
      return e;
  }
  r->fields.size = b->used - r->fields.at;
  return put(b, w.data, w.size, &r->who);
}

// fetch adds what j has at its place: the cursor, the fields.
static int
fetch(calls *c, sd_journal *j, buffer *b)
{
  record *r = &b->records[b->count++];
  memset(r, 0, sizeof *r);
  char *cursor = NULL;
  if ((r->error = c->cursor(j, &cursor)) < 0)
    return r->error;
  r->error = put(b, cursor, strlen(cursor), &r->cursor);
  free(cursor);
  if (r->error == 0)
    r->error = fields(c, j, b, r);
  return r->error;
}

// current fetches the record at the place of j.
static void
current(calls *c, sd_journal *j, buffer *b)
{
  b->used = b->count = 0;
  fetch(c, j, b);
}

// following moves j on and adds what it comes to, until there is no room or there
// are full bytes, one cannot be read, or there is none: 0, or what next said.
static int
following(calls *c, sd_journal *j, buffer *b, size_t full)
{
  b->used = b->count = 0;
  while (b->count < MAX_RECORDS && b->used < full) {
    int r = c->next(j);
    if (r <= 0)
      return r;
    if (fetch(c, j, b) < 0)
      break;
  }
  return 0;
}
