// Package journald tells from the fields of one journald record who wrote it, and
// when.
//
// Invariant: what a client can set itself proves nothing. A record is attested
// only where nothing that journald knows of the writer contradicts its name.
//
// Crash behaviour: the package holds no state but copies of strings and writers
// that it saw, both bounded.
package journald

import (
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Record is one journald entry while its fields come in, from JSON or from
// the export format. Only what an Entry needs is kept.
type Record struct {
	recordTimes
	recordWriter
	Host, Boot, Cursor string
	Message            logtext.Value
	Fields             map[string]string // a client's own
	Known              int               // how many of journald's own fields came in
}

// recordTimes are a record's times, in microseconds.
type recordTimes struct {
	real, mono       int64 // when journald stored it
	srcReal, srcMono int64 // when it was written
}

// recordWriter is what a record says of its writer.
type recordWriter struct {
	transport, Ident  string
	Unit, About, comm string
	uid, facility     string
	Container         string // id of the container whose output a log driver sent here
	pid               bool
}

// Set takes one field. Names are compared without making strings of them.
func (c *Record) Set(n *Names, key []byte, v logtext.Value) {
	if len(key) > 2 && key[0] == '_' {
		c.setTrusted(n, key, v)
		return
	}
	switch string(key) {
	case "MESSAGE":
		c.Message = v
		c.Known++
	case "SYSLOG_IDENTIFIER":
		c.Ident = n.keepText(v)
		c.Known++
	case "UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT":
		c.About = n.keepText(v)
	case "SYSLOG_FACILITY":
		c.facility = n.keepText(v)
	case "CONTAINER_ID_FULL":
		c.Container = v.Text()
	case "CONTAINER_ID", "CONTAINER_NAME", "CONTAINER_TAG":
		if c.Container == "" {
			c.Container = v.Text()
		}
	case "SYSLOG_PID":
		c.pid = true
	case "PRIORITY", "SYSLOG_TIMESTAMP", "SYSLOG_RAW", "TID", "INVOCATION_ID", "USER_INVOCATION_ID", "CODE_FILE",
		"CODE_LINE", "CODE_FUNC",
		"JOB_ID", "IMAGE_NAME", "COREDUMP_ENVIRON", "COREDUMP_PROC_MAPS", "COREDUMP_PROC_LIMITS",
		"COREDUMP_PROC_MOUNTINFO":
		// of no use, and in nearly every record
	default:
		c.setExtra(key, v)
	}
}

// setTrusted takes a field that journald adds itself; clients cannot set them.
func (c *Record) setTrusted(n *Names, key []byte, v logtext.Value) {
	switch string(key) {
	case "__REALTIME_TIMESTAMP":
		c.real = v.Int()
		c.Known++
	case "__MONOTONIC_TIMESTAMP":
		c.mono = v.Int()
	case "_SOURCE_REALTIME_TIMESTAMP":
		c.srcReal = v.Int()
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		c.srcMono = v.Int()
	case "__CURSOR":
		c.Cursor = logtext.Brief(v.Text(), 512)
		c.Known++
	case "_BOOT_ID":
		c.Boot = n.keepText(v)
		c.Known++
	case "_TRANSPORT":
		c.transport = n.keepText(v)
		c.Known++
	case "_HOSTNAME":
		c.Host = n.keepText(v)
		c.Known++
	case "_SYSTEMD_UNIT":
		c.Unit = n.keepText(v)
	case "_COMM":
		c.comm = n.keepText(v)
	case "_UID":
		c.uid = n.keepText(v)
	case "_PID":
		c.pid = true
	}
}

// setExtra keeps a client's own field: kata's runtime-rs says in fields what its
// message is about. Their names are upper case.
func (c *Record) setExtra(key []byte, v logtext.Value) {
	if len(c.Fields) >= 40 || len(key) == 0 || len(key) > 64 || key[0] < 'A' || key[0] > 'Z' {
		return
	}
	for _, b := range key {
		if b >= 'a' && b <= 'z' {
			return
		}
	}
	if c.Fields == nil {
		c.Fields = make(map[string]string)
	}
	c.Fields[string(key)] = logtext.Brief(v.Text(), 1<<10)
}

// Time is when the record was written, as exactly as it says. Kernel records
// have only the source's monotonic time.
func (c *Record) Time() (at time.Time, mono time.Duration) {
	mono = time.Duration(c.mono) * time.Microsecond
	real := c.real
	switch {
	case c.srcReal > 0:
		real = c.srcReal
	case c.srcMono > 0 && c.mono >= c.srcMono && c.real > 0:
		real -= c.mono - c.srcMono
	}
	if c.srcMono > 0 {
		mono = time.Duration(c.srcMono) * time.Microsecond
	}
	if real <= 0 {
		return time.Time{}, mono
	}
	return time.UnixMicro(real).UTC(), mono
}

// Writer says which program wrote the record, and whether it could lie about
// it. A program's identifier is its own claim; unit and command are journald's.
func (c *Record) Writer() (ingest.Source, ingest.Trust) {
	named := ingest.ProgramSource(c.Ident)
	switch {
	case c.Container != "":
		return ingest.Job, ingest.Claimed
	case c.transport == "kernel":
		if (c.facility == "" || c.facility == "0") && (c.Ident == "" || c.Ident == "kernel") {
			return ingest.Kernel, ingest.Attested
		}
		return deviceWriter(named), ingest.Claimed
	case c.transport == "driver":
		return ingest.Systemd, ingest.Attested
	case c.transport == "":
		if c.Ident == "kernel" && !c.pid {
			return ingest.Kernel, ingest.Claimed
		}
		return c.firstSource(), ingest.Claimed
	}
	src := c.firstSource()
	if src == ingest.Unknown || !c.agreesWith(src) {
		return src, ingest.Claimed
	}
	return src, ingest.Attested
}

// deviceWriter is whose a record is that a process wrote to /dev/kmsg. systemd does
// before and after there is a journal; any other name there is whatever a
// privileged container chose.
func deviceWriter(named ingest.Source) ingest.Source {
	if named == ingest.Systemd {
		return named
	}
	return ingest.Job
}

// firstSource is the source by unit, then identifier, then command.
func (c *Record) firstSource() ingest.Source {
	for _, name := range []string{c.Unit, c.Ident, c.comm} {
		if src := ingest.ProgramSource(name); src != ingest.Unknown &&
			!(src == ingest.Systemd && name == "init.scope" && c.Ident != "systemd") {
			return src
		}
	}
	return ingest.Unknown
}

// agreesWith says whether nothing that journald knows contradicts the claim.
func (c *Record) agreesWith(src ingest.Source) bool {
	unit, comm := ingest.ProgramSource(c.Unit), ingest.ProgramSource(c.comm)
	if c.Ident == "kernel" || c.Unit != "" && unit != src && !relatedSources(unit, src) {
		return false
	}
	if c.Ident != "" && ingest.ProgramSource(c.Ident) != src && !relatedSources(ingest.ProgramSource(c.Ident), src) {
		return false
	}
	if c.Unit == "" && c.comm != "" && comm != src && !relatedSources(comm, src) {
		return false
	}
	if c.transport == "stdout" {
		return true
	}
	return c.uid == "" || c.uid == "0" || unit == src
}

// relatedSources: the kata shim writes through containerd's unit.
func relatedSources(a, b ingest.Source) bool {
	return a == ingest.Containerd && b == ingest.Kata || a == ingest.Kata && b == ingest.Containerd
}
