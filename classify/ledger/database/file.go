package database

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// LockFile takes the lock that keeps a second server off the file. The system
// lets it go when the process ends, however it ends.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another server has it open"), f.Close())
	}
	return f, nil
}

// How many KiB of pages a connection keeps: a larger cache would spare few reads,
// and many commits look through all of it. There is one connection that writes and one
// that judges, and several others.
const (
	WriteCache = 16_000
	ReadCache  = 4_000
)

// OpenFile opens connections, each with a cache of so many KiB. What writes comes back
// to the same pages: it copies them from the write-ahead log less often, in pages of
// 4 KiB.
func OpenFile(path string, conns, cache int, more string) *Pool {
	const pragmas = "?_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_txlock=immediate"
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite", "file:"+path+pragmas+fmt.Sprintf("&_pragma=cache_size(-%d)", cache)+more)
	if err != nil { // only an unknown driver name is one, and it is known
		panic(err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns) // its statements are kept with it
	return &Pool{DB: db, Dialect: &Dialect{}}
}
