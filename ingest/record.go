package ingest

import "time"

// record is one journald entry while its fields come in, from JSON or from
// the export format. Only what an Entry needs is kept.
type record struct {
	recordTimes
	recordWriter
	host, boot, cursor string
	message            value
	fields             map[string]string // a client's own
	known              int               // how many of journald's own fields came in
}

// recordTimes are a record's times, in microseconds.
type recordTimes struct {
	real, mono       int64 // when journald stored it
	srcReal, srcMono int64 // when it was written
}

// recordWriter is what a record says of its writer.
type recordWriter struct {
	transport, ident  string
	unit, about, comm string
	uid, facility     string
	container         string // id of the container whose output a log driver sent here
	pid               bool
}

// set takes one field. Names are compared without making strings of them.
func (c *record) set(n *names, key []byte, v value) {
	if len(key) > 2 && key[0] == '_' {
		c.trusted(n, key, v)
		return
	}
	switch string(key) {
	case "MESSAGE":
		c.message = v
		c.known++
	case "SYSLOG_IDENTIFIER":
		c.ident = n.keep(v)
		c.known++
	case "UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT":
		c.about = n.keep(v)
	case "SYSLOG_FACILITY":
		c.facility = n.keep(v)
	case "CONTAINER_ID_FULL":
		c.container = v.text()
	case "CONTAINER_ID", "CONTAINER_NAME", "CONTAINER_TAG":
		if c.container == "" {
			c.container = v.text()
		}
	case "SYSLOG_PID":
		c.pid = true
	case "PRIORITY", "SYSLOG_TIMESTAMP", "SYSLOG_RAW", "TID", "INVOCATION_ID", "USER_INVOCATION_ID", "CODE_FILE", "CODE_LINE", "CODE_FUNC",
		"JOB_ID", "IMAGE_NAME", "COREDUMP_ENVIRON", "COREDUMP_PROC_MAPS", "COREDUMP_PROC_LIMITS", "COREDUMP_PROC_MOUNTINFO":
		// of no use, and in nearly every record
	default:
		c.extra(key, v)
	}
}

// trusted takes a field that journald adds itself; clients cannot set them.
func (c *record) trusted(n *names, key []byte, v value) {
	switch string(key) {
	case "__REALTIME_TIMESTAMP":
		c.real = v.int()
		c.known++
	case "__MONOTONIC_TIMESTAMP":
		c.mono = v.int()
	case "_SOURCE_REALTIME_TIMESTAMP":
		c.srcReal = v.int()
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		c.srcMono = v.int()
	case "__CURSOR":
		c.cursor = brief(v.text(), 512)
		c.known++
	case "_BOOT_ID":
		c.boot = n.keep(v)
		c.known++
	case "_TRANSPORT":
		c.transport = n.keep(v)
		c.known++
	case "_HOSTNAME":
		c.host = n.keep(v)
		c.known++
	case "_SYSTEMD_UNIT":
		c.unit = n.keep(v)
	case "_COMM":
		c.comm = n.keep(v)
	case "_UID":
		c.uid = n.keep(v)
	case "_PID":
		c.pid = true
	}
}

// extra keeps a client's own field: kata's runtime-rs says in fields what its
// message is about. Their names are upper case.
func (c *record) extra(key []byte, v value) {
	if len(c.fields) >= 40 || len(key) == 0 || len(key) > 64 || key[0] < 'A' || key[0] > 'Z' {
		return
	}
	for _, b := range key {
		if b >= 'a' && b <= 'z' {
			return
		}
	}
	if c.fields == nil {
		c.fields = make(map[string]string)
	}
	c.fields[string(key)] = brief(v.text(), 1<<10)
}

// time is when the record was written, as exactly as it says. Kernel records
// have only the source's monotonic time.
func (c *record) time() (at time.Time, mono time.Duration) {
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

// writer says which program wrote the record, and whether it could lie about
// it. A program's identifier is its own claim; unit and command are journald's.
func (c *record) writer() (Source, Trust) {
	named := programSource(c.ident)
	switch {
	case c.container != "":
		return Job, Claimed
	case c.transport == "kernel":
		if (c.facility == "" || c.facility == "0") && (c.ident == "" || c.ident == "kernel") {
			return Kernel, Attested
		}
		return deviceWriter(named), Claimed
	case c.transport == "driver":
		return Systemd, Attested
	case c.transport == "":
		if c.ident == "kernel" && !c.pid {
			return Kernel, Claimed
		}
		return c.firstSource(), Claimed
	}
	src := c.firstSource()
	if src == Unknown || !c.agrees(src) {
		return src, Claimed
	}
	return src, Attested
}

// deviceWriter is whose a record is that a process wrote to /dev/kmsg. systemd does
// before and after there is a journal; any other name there is whatever a
// privileged container chose.
func deviceWriter(named Source) Source {
	if named == Systemd {
		return named
	}
	return Job
}

// firstSource is the source by unit, then identifier, then command.
func (c *record) firstSource() Source {
	for _, name := range []string{c.unit, c.ident, c.comm} {
		if src := programSource(name); src != Unknown && !(src == Systemd && name == "init.scope" && c.ident != "systemd") {
			return src
		}
	}
	return Unknown
}

// agrees says whether nothing that journald knows contradicts the claim.
func (c *record) agrees(src Source) bool {
	unit, comm := programSource(c.unit), programSource(c.comm)
	if c.ident == "kernel" || c.unit != "" && unit != src && !related(unit, src) {
		return false
	}
	if c.ident != "" && programSource(c.ident) != src && !related(programSource(c.ident), src) {
		return false
	}
	if c.unit == "" && c.comm != "" && comm != src && !related(comm, src) {
		return false
	}
	if c.transport == "stdout" {
		return true
	}
	return c.uid == "" || c.uid == "0" || unit == src
}

// related: the kata shim writes through containerd's unit.
func related(a, b Source) bool {
	return a == Containerd && b == Kata || a == Kata && b == Containerd
}
