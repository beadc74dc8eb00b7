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

// library is libsystemd's functions, and the names of the fields that are read.
typedef struct {
  int (*open_directory)(sd_journal **, const char *, int);
  void (*close)(sd_journal *);
  int (*set_data_threshold)(sd_journal *, size_t);
  void (*flush_matches)(sd_journal *);
  int (*add_match)(sd_journal *, const void *, size_t);
  int (*seek_cursor)(sd_journal *, const char *);
  int (*seek_realtime_usec)(sd_journal *, uint64_t);
  int (*seek_tail)(sd_journal *);
  int (*previous)(sd_journal *);
  int (*next)(sd_journal *);
  int (*wait)(sd_journal *, uint64_t);
  int (*get_cursor)(sd_journal *, char **);
  void (*restart_data)(sd_journal *);
  int (*enumerate_data)(sd_journal *, const void **, size_t *);
  name names[MAX_NAMES]; // by bucket
  uint8_t first[BUCKETS + 1]; // of a bucket's names; one more closes the last
  size_t most, most_other; // bytes that are read of a message, and of what is none
} library;

// part is where something lies in a buffer.
typedef struct {
  uint32_t at, size;
} part;

// record is one that was fetched.
typedef struct {
  int32_t error;   // why the rest cannot be read, or 0
  uint32_t rare;   // ingest.RecordHead.Rare
  part cursor, fields, who;
  part values[WRITER]; // by use
} record;

typedef struct {
  char *data;
  size_t used, room;
  int count;
  record records[MAX_RECORDS];
} buffer;

// load loads libsystemd for good and finds its functions. It returns what is missing.
static const char *
load(library *l)
{
  static const char *const files[] = {"libsystemd.so.0", "libsystemd-journal.so.0", "libsystemd.so", "libsystemd-journal.so"};
  const struct { const char *name; void *to; } functions[] = {
    {"sd_journal_open_directory", &l->open_directory}, {"sd_journal_close", &l->close},
    {"sd_journal_set_data_threshold", &l->set_data_threshold}, {"sd_journal_add_match", &l->add_match},
    {"sd_journal_flush_matches", &l->flush_matches},
    {"sd_journal_seek_cursor", &l->seek_cursor}, {"sd_journal_seek_realtime_usec", &l->seek_realtime_usec},
    {"sd_journal_seek_tail", &l->seek_tail}, {"sd_journal_previous", &l->previous}, {"sd_journal_next", &l->next},
    {"sd_journal_wait", &l->wait}, {"sd_journal_get_cursor", &l->get_cursor},
    {"sd_journal_restart_data", &l->restart_data}, {"sd_journal_enumerate_data", &l->enumerate_data},
  };
  void *lib = NULL;
  for (size_t i = 0; lib == NULL && i < sizeof files / sizeof *files; i++)
    lib = dlopen(files[i], RTLD_LAZY);
  if (lib == NULL)
    return files[0];
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *f = dlsym(lib, functions[i].name);
    if (f == NULL)
      return functions[i].name;
    memcpy(functions[i].to, &f, sizeof f);
  }
  return NULL;
}

// Go cannot call a function by its pointer.

static int
open_directory(library *l, sd_journal **j, const char *path, size_t threshold)
{
  int r = l->open_directory(j, path, 0);
  if (r >= 0 && (r = l->set_data_threshold(*j, threshold)) < 0)
    l->close(*j);
  return r;
}

static void close_journal(library *l, sd_journal *j) { l->close(j); }
static void flush_matches(library *l, sd_journal *j) { l->flush_matches(j); }
static int add_match(library *l, sd_journal *j, const char *match, size_t n) { return l->add_match(j, match, n); }
static int seek_cursor(library *l, sd_journal *j, const char *cursor) { return l->seek_cursor(j, cursor); }
static int seek_realtime(library *l, sd_journal *j, uint64_t usec) { return l->seek_realtime_usec(j, usec); }
static int wait_change(library *l, sd_journal *j, uint64_t usec) { return l->wait(j, usec); }

// seek_last places j at the last record that fits its matches: 1, 0 if there is none.
static int
seek_last(library *l, sd_journal *j)
{
  int r = l->seek_tail(j);
  return r < 0 ? r : l->previous(j);
}

// bucket is where a name is looked for, by four bytes of those that begin with it and =.
static inline unsigned
bucket(const char *data)
{
  uint32_t few;
  memcpy(&few, data + 1, sizeof few);
  return few * 0x9E3779B1u >> (32 - BUCKET_BITS);
}

// sort_names puts n names into their buckets.
static void
sort_names(library *c, const name *names, int n)
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
known(const library *c, const char *data, size_t n)
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

// who is what tells one writer from another, as ingest.RecordHead.Who has it.
typedef struct {
  size_t size;
  char data[MAX_WHO];
} who;

// add_who adds a value to w; it is 0 where there is no room for it.
static inline int
add_who(who *w, uint8_t place, const char *value, size_t n)
{
  if (w->size + 3 + n > sizeof w->data)
    return 0;
  char head[3] = {place, n, n >> 8};
  memcpy(w->data + w->size, head, sizeof head);
  memcpy(w->data + w->size + sizeof head, value, n);
  w->size += sizeof head + n;
  return 1;
}

// note_head notes what ingest.RecordHead needs of the field called k.
static inline void
note_head(record *r, who *w, const name *k, const char *value, part p)
{
  if (k->use < WRITER)
    r->values[k->use] = p;
  else if (k->use == RARE || !add_who(w, k->place, value, k->use == WRITER ? p.size : 0))
    r->rare = 1;
}

// add_field adds a field, unless it is one of journald's own that is not read. Most are not.
static inline int
add_field(library *c, buffer *b, record *r, who *w, const char *data, size_t n)
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
    note_head(r, w, k, end + 1, p);
  return 0;
}

// fields adds what j has at its place.
static int
fields(library *c, sd_journal *j, buffer *b, record *r)
{
  who w;
  w.size = 0;
  r->fields.at = b->used;
  c->restart_data(j);
  for (;;) {
    const void *data;
    size_t n;
    int e = c->enumerate_data(j, &data, &n);
    if (e > 0)
      e = add_field(c, b, r, &w, data, n);
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
fetch(library *c, sd_journal *j, buffer *b)
{
  record *r = &b->records[b->count++];
  memset(r, 0, sizeof *r);
  char *cursor = NULL;
  if ((r->error = c->get_cursor(j, &cursor)) < 0)
    return r->error;
  r->error = put(b, cursor, strlen(cursor), &r->cursor);
  free(cursor);
  if (r->error == 0)
    r->error = fields(c, j, b, r);
  return r->error;
}

// current fetches the record at the place of j.
static void
current(library *c, sd_journal *j, buffer *b)
{
  b->used = b->count = 0;
  fetch(c, j, b);
}

// following moves j on and adds what it comes to, until there is no room or there
// are full bytes, one cannot be read, or there is none: 0, or what next said.
static int
following(library *c, sd_journal *j, buffer *b, size_t full)
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
