// Package database is the ledger's way to its database: a SQLite file that one process has
// for itself, or a PostgreSQL that several servers share. It has connections, transactions,
// texts in the words of either, and who may change what.
//
// Invariant: what one Write did is there wholly or not at all, also where a statement of it
// failed unnoticed. Who holds a name is alone with it until its write ends.
//
// Crash behaviour: a Write that returned survives. What a process held when it died is free
// once the database sees that it is gone, after idleFor at the latest; a lease ends by itself.
package database
