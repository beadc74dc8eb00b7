CREATE TABLE cases (
	pod       INTEGER PRIMARY KEY AUTOINCREMENT, -- its number in this file, which none that is gone had
	id        TEXT NOT NULL UNIQUE,
	namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL,
	runner    INTEGER NOT NULL,
	opened    INTEGER NOT NULL, heard INTEGER NOT NULL,
	state     TEXT NOT NULL,     -- open, ending, judged
	died      INTEGER NOT NULL,  -- ending: the latest time that it is known of
	due       INTEGER NOT NULL,  -- ending: judged at the latest then
	revision  INTEGER NOT NULL);
INSERT INTO "cases" VALUES(1,'1','arc','p','u','n1',1,1777888791123456789,1777888800123456789,'ending',1777888795123456789,1777888860123456789,1);
INSERT INTO "cases" VALUES(2,'gone','arc','forgotten','uid-forgotten','n1',1,1777888803123456789,1777888803123456789,'judged',0,0,1);
CREATE TABLE evidence (
	id       INTEGER PRIMARY KEY,
	hash     BLOB NOT NULL UNIQUE,
	node     TEXT NOT NULL,
	at       INTEGER NOT NULL,   -- nanoseconds; 0 = the record has no time
	wide     INTEGER NOT NULL,   -- speaks of everything on its node
	received INTEGER NOT NULL,
	entry    BLOB NOT NULL,
	names    BLOB NOT NULL DEFAULT x'');
INSERT INTO "evidence" VALUES(1,x'69f86e20affb7fc779416d357113b52236a2eb50','n1',1777888800123456789,0,1777888800123456789,CAST('{"at":"2026-05-04T10:00:00.123456789Z","clock":1,"source":"runner","node":"n1","boot":"b","namespace":"arc","pod":"p","pod_uid":"u","container":"runner","container_id":"c","unit":"x.service","text":"evidence","fields":{"k":"v","l":"v","m":"v"},"doc":"0.log","line":7,"cursor":"s=1"}' AS BLOB),x'bb30174e777833961a2934dd99d25859');
INSERT INTO "evidence" VALUES(2,x'69f86e204df8f4ba0bae640844776830bed50992','n1',1777888800123456789,1,1777888800123456789,CAST('{"at":"2026-05-04T10:00:00.123456789Z","mono":5,"source":"kernel","trust":1,"node":"n1","text":"panic"}' AS BLOB),CAST('' AS BLOB));
CREATE TABLE marks (
	hash     BLOB PRIMARY KEY,
	owner    TEXT NOT NULL,      -- the pod's key, "node:NAME", or "controller"
	reached  INTEGER NOT NULL,   -- nanoseconds; the end of what it states
	received INTEGER NOT NULL,
	entry    BLOB NOT NULL);
INSERT INTO "marks" VALUES(x'c9c88bcc24af89d8894b2ed13fe80060','node:n1',1777888800123456789,1777888800123456789,CAST('{"source":"kubelet","node":"n1","mark":{"from":"2026-05-04T09:59:00.123456789Z","to":"2026-05-04T10:00:00.123456789Z","lines":3}}' AS BLOB));
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE names (
	name     INTEGER NOT NULL,   -- see number
	evidence INTEGER NOT NULL,
	PRIMARY KEY (name, evidence)) WITHOUT ROWID;
INSERT INTO "names" VALUES(-4958437563955661930,1);
INSERT INTO "names" VALUES(1885096045404379225,1);
CREATE TABLE nodes (
	node       TEXT PRIMARY KEY,
	reached    INTEGER NOT NULL, -- everything on it up to here was read
	heard      INTEGER NOT NULL, -- when its agent last pushed
	controller INTEGER NOT NULL, -- its agent reads a controller's log
	silent     INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "nodes" VALUES('n1',1777888799123456789,1777888800123456789,1,1);
CREATE TABLE outbox (
	pod INTEGER NOT NULL, revision INTEGER NOT NULL, stamp INTEGER NOT NULL,
	due INTEGER NOT NULL, attempts INTEGER NOT NULL,
	PRIMARY KEY (pod, revision)) WITHOUT ROWID;
INSERT INTO "outbox" VALUES(1,1,1777888795123456789,0,0);
INSERT INTO "outbox" VALUES(1,2,1777888795123456789,0,0);
CREATE TABLE tails (
	stream   TEXT PRIMARY KEY,
	owner    TEXT NOT NULL,
	received INTEGER NOT NULL,
	entries  BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO "tails" VALUES('uid:u/runner','uid:u',1777888800123456789,CAST('[{"at":"2026-05-04T10:00:01.123456789Z","clock":1,"source":"runner","node":"n1","boot":"b","namespace":"arc","pod":"p","pod_uid":"u","container":"runner","container_id":"c","unit":"x.service","text":"last words","fields":{"k":"v","l":"v","m":"v"},"doc":"0.log","line":7,"cursor":"s=1"}]' AS BLOB));
CREATE TABLE ties (
	id  TEXT PRIMARY KEY,
	pod INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "ties" VALUES('container',1);
CREATE TABLE verdicts (
	number   INTEGER PRIMARY KEY,
	pod      INTEGER NOT NULL, revision INTEGER NOT NULL,
	member   TEXT NOT NULL,      -- the id of its case
	runner   TEXT NOT NULL,      -- where it is not the case's name, which only records may give it
	uid      TEXT NOT NULL,      -- the same
	recorded INTEGER NOT NULL, died INTEGER NOT NULL,
	namespace TEXT NOT NULL, node TEXT NOT NULL, label TEXT NOT NULL,
	pool     TEXT NOT NULL, repository TEXT NOT NULL, run TEXT NOT NULL, job TEXT NOT NULL, -- ids as GitHub has them
	last     INTEGER NOT NULL,   -- no later revision is known
	verdict  BLOB NOT NULL,
	UNIQUE (pod, revision));
INSERT INTO "verdicts" VALUES(1,1,1,'1','','uid-p',1777888800123456789,1777888795123456789,'arc','n1','cgroup-OOM','','','','',0,CAST('{"runner":"p","namespace":"arc","node":"n1","pod_uid":"uid-p","verdict":"cgroup-OOM","confidence":"confirmed","domain":"","initiator":"","retry":"","rule":"","rulebook":"","revision":1,"died_at":"2026-05-04T09:59:55.123456789Z","exit":{"code":137,"reason":"OOMKilled","signal":0},"job":{"name":"","id":"","run_id":"","repository":"","step":""},"summary":"limit","evidence":[{"at":"2026-05-04T09:59:55.123456789Z","source":"","node":"","signal":"","text":"oom","decisive":true,"mine":true}],"ruled_out":[],"open":[],"missing":["the kubelet: not read"]}' AS BLOB));
INSERT INTO "verdicts" VALUES(2,1,2,'1','','uid-p',1777888802123456789,1777888795123456789,'arc','n1','cgroup-OOM','','','','',1,CAST('{"runner":"p","namespace":"arc","node":"n1","pod_uid":"uid-p","verdict":"cgroup-OOM","confidence":"confirmed","domain":"","initiator":"","retry":"","rule":"","rulebook":"","revision":2,"died_at":"2026-05-04T09:59:55.123456789Z","exit":{"code":137,"reason":"OOMKilled","signal":0},"job":{"name":"","id":"","run_id":"","repository":"","step":""},"summary":"limit","evidence":[{"at":"2026-05-04T09:59:55.123456789Z","source":"","node":"","signal":"","text":"oom","decisive":true,"mine":true}],"ruled_out":[],"open":[],"missing":["the kubelet: not read"]}' AS BLOB));
INSERT INTO "verdicts" VALUES(3,2,1,'gone','','',1777888803123456789,1777888795123456789,'arc','n1','cgroup-OOM','','','','',1,CAST('{"runner":"forgotten","namespace":"arc","node":"n1","pod_uid":"uid-forgotten","verdict":"cgroup-OOM","confidence":"confirmed","domain":"","initiator":"","retry":"","rule":"","rulebook":"","revision":1,"died_at":"2026-05-04T09:59:55.123456789Z","exit":{"code":137,"reason":"OOMKilled","signal":0},"job":{"name":"","id":"","run_id":"","repository":"","step":""},"summary":"limit","evidence":[{"at":"2026-05-04T09:59:55.123456789Z","source":"","node":"","signal":"","text":"oom","decisive":true,"mine":true}],"ruled_out":[],"open":[],"missing":["the kubelet: not read"]}' AS BLOB));
CREATE INDEX evidence_wide ON evidence (node, at) WHERE wide;
CREATE INDEX evidence_received ON evidence (received);
CREATE INDEX marks_owner ON marks (owner, reached);
CREATE INDEX marks_received ON marks (received);
CREATE INDEX tails_owner ON tails (owner);
CREATE INDEX tails_received ON tails (received);
CREATE INDEX cases_uid ON cases (uid);
CREATE INDEX cases_name ON cases (name);
CREATE INDEX cases_node ON cases (node, state);
CREATE INDEX cases_heard ON cases (heard, runner, name, namespace);
CREATE INDEX cases_waiting ON cases (state, due, runner) WHERE runner;
CREATE INDEX ties_pod ON ties (pod);
CREATE INDEX verdicts_runner ON verdicts (runner) WHERE runner <> '';
CREATE INDEX verdicts_uid ON verdicts (uid) WHERE uid <> '';
CREATE INDEX verdicts_run ON verdicts (run);
CREATE INDEX verdicts_job ON verdicts (job);
CREATE INDEX last_recorded ON verdicts (last, recorded, label, node);
CREATE INDEX last_died ON verdicts (last, died, node);
CREATE INDEX last_label ON verdicts (last, label, recorded);
CREATE INDEX last_node ON verdicts (last, node, recorded, label);
CREATE INDEX last_pool ON verdicts (last, pool, recorded, label, node);
CREATE INDEX last_repository ON verdicts (last, repository, recorded, label, node);
CREATE INDEX outbox_due ON outbox (due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('cases',2);
PRAGMA user_version = 3;
