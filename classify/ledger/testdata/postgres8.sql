-- A database that a program of schema version 8 made and wrote to, as pg_dump --column-inserts
-- has it: each table with its columns, and each statement with all that it fills in.
CREATE TABLE cases (
    pod bigint NOT NULL,
    id text NOT NULL COLLATE "C",
    cluster text DEFAULT ''::text NOT NULL COLLATE "C",
    namespace text NOT NULL COLLATE "C",
    name text NOT NULL COLLATE "C",
    uid text NOT NULL COLLATE "C",
    node text NOT NULL COLLATE "C",
    runner boolean NOT NULL,
    opened bigint NOT NULL,
    heard bigint NOT NULL,
    state text NOT NULL COLLATE "C",
    died bigint NOT NULL,
    due bigint NOT NULL,
    revision bigint NOT NULL,
    kind text DEFAULT ''::text NOT NULL COLLATE "C",
    episodes bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    claimed bigint DEFAULT 0 NOT NULL
);
CREATE TABLE deliveries (
    receiver text NOT NULL COLLATE "C",
    pod bigint NOT NULL,
    revision bigint NOT NULL,
    due bigint NOT NULL,
    attempts bigint NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    note text DEFAULT ''::text NOT NULL COLLATE "C"
);
CREATE TABLE evidence (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    node text NOT NULL COLLATE "C",
    at bigint NOT NULL,
    wide boolean NOT NULL,
    received bigint NOT NULL,
    entry bytea NOT NULL,
    names bytea DEFAULT '\x'::bytea NOT NULL
);
CREATE TABLE gates (
    name text NOT NULL COLLATE "C"
);
CREATE TABLE leases (
    task text NOT NULL COLLATE "C",
    holder text NOT NULL COLLATE "C",
    until bigint NOT NULL
);
CREATE TABLE marks (
    hash bytea NOT NULL,
    owner text NOT NULL COLLATE "C",
    reached bigint NOT NULL,
    received bigint NOT NULL,
    entry bytea NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE meta (
    name text NOT NULL COLLATE "C",
    value bigint NOT NULL
);
CREATE TABLE names (
    name bigint NOT NULL,
    evidence bigint NOT NULL
);
CREATE TABLE nodes (
    cluster text NOT NULL COLLATE "C",
    node text NOT NULL COLLATE "C",
    reached bigint NOT NULL,
    heard bigint NOT NULL,
    controller boolean NOT NULL,
    silent boolean NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE outbox (
    pod bigint NOT NULL,
    revision bigint NOT NULL,
    stamp bigint NOT NULL,
    due bigint NOT NULL,
    attempts bigint NOT NULL
);
CREATE TABLE tails (
    stream text NOT NULL COLLATE "C",
    owner text NOT NULL COLLATE "C",
    received bigint NOT NULL,
    entries bytea NOT NULL
);
CREATE TABLE ties (
    id text NOT NULL COLLATE "C",
    pod bigint NOT NULL
);
CREATE TABLE verdicts (
    number bigint NOT NULL,
    pod bigint NOT NULL,
    revision bigint NOT NULL,
    member text NOT NULL COLLATE "C",
    runner text NOT NULL COLLATE "C",
    uid text NOT NULL COLLATE "C",
    recorded bigint NOT NULL,
    died bigint NOT NULL,
    cluster text DEFAULT ''::text NOT NULL COLLATE "C",
    namespace text NOT NULL COLLATE "C",
    node text NOT NULL COLLATE "C",
    label text NOT NULL COLLATE "C",
    pool text NOT NULL COLLATE "C",
    repository text NOT NULL COLLATE "C",
    run text NOT NULL COLLATE "C",
    job text NOT NULL COLLATE "C",
    last bigint NOT NULL,
    verdict bytea NOT NULL,
    kind text DEFAULT ''::text NOT NULL COLLATE "C",
    state text DEFAULT ''::text NOT NULL COLLATE "C",
    alike bigint DEFAULT 0 NOT NULL
);
INSERT INTO cases (pod, id, cluster, namespace, name, uid, node, runner, opened, heard, state, died, due, revision, kind, episodes, version, claimed) VALUES (3765996089986685567, '4d078e077171ee55', 'east', 'ci', 'p8', 'u8', 'n1', true, 1772359200000000000, 1772359200000000000, 'judged', 1772359200000000000, 0, 1, '', 0, 0, 0);
INSERT INTO cases (pod, id, cluster, namespace, name, uid, node, runner, opened, heard, state, died, due, revision, kind, episodes, version, claimed) VALUES (3765996089993163843, '30888c60f579162a', 'east', 'ci', 'q8', 'v8', 'n1', true, 1772359200000000000, 1772359200000000000, 'ending', 1772359200000000000, 1772359200000000000, 0, '', 0, 0, 0);
INSERT INTO evidence (id, hash, node, at, wide, received, entry, names) VALUES (3765996089967151474, '\x69a40e20d55834fdeaef5035a1fbc5676d49398c', E'east\x1fn1', 1772359200000000000, true, 1772359200000000000, '\x7b226174223a22323032362d30332d30315431303a30303a30305a222c22736f75726365223a226b7562656c6574222c227472757374223a312c22636c7573746572223a2265617374222c226e6f6465223a226e31222c2274657874223a2276657273696f6e203820736169642074686973227d', '\x3450b0a078946ed61fbb501c4cd102f7');
INSERT INTO gates (name) VALUES ('east');
INSERT INTO marks (hash, owner, reached, received, entry) VALUES ('\x4ed6f8840bbd311dc2fc804708c5631b', E'east\x1fnode:n1', 1772359200000000000, 1772359200000000000, '\x7b226174223a22323032362d30332d30315431303a30303a30305a222c22736f75726365223a226b65726e656c222c22636c7573746572223a2265617374222c226e6f6465223a226e31222c226d61726b223a7b2266726f6d223a22323032362d30332d30315430393a30303a30305a222c22746f223a22323032362d30332d30315431303a30303a30305a227d7d');
INSERT INTO meta (name, value) VALUES ('schema', 8);
INSERT INTO meta (name, value) VALUES ('least', 7);
INSERT INTO names (name, evidence) VALUES (3769707091373354710, 3765996089967151474);
INSERT INTO names (name, evidence) VALUES (2286509318298731255, 3765996089967151474);
INSERT INTO nodes (cluster, node, reached, heard, controller, silent) VALUES ('east', 'n1', 1772359200000000000, 1772359200000000000, false, false);
INSERT INTO outbox (pod, revision, stamp, due, attempts) VALUES (3765996089986685567, 1, 1772359200000000000, 0, 0);
INSERT INTO tails (stream, owner, received, entries) VALUES (E'east\x1fuid:u8/runner', E'east\x1fuid:u8', 1772359200000000000, '\x5b7b226174223a22323032362d30332d30315431303a30303a30305a222c22736f75726365223a2272756e6e6572222c22636c7573746572223a2265617374222c226e616d657370616365223a226369222c22706f64223a227038222c22706f645f756964223a227538222c22636f6e7461696e6572223a2272756e6e6572222c2274657874223a226c61737420776f726473227d5d');
INSERT INTO ties (id, pod) VALUES (E'east\x1fc0ffee', 3765996089986685567);
INSERT INTO verdicts (number, pod, revision, member, runner, uid, recorded, died, cluster, namespace, node, label, pool, repository, run, job, last, verdict, kind, state, alike) VALUES (3765996089998739421, 3765996089986685567, 1, '4d078e077171ee55', '', '', 1772359200000000000, 1772359200000000000, 'east', 'ci', 'n1', 'cgroup-OOM', 'big', '', '', '', 1, '\x7b22636c7573746572223a2265617374222c2272756e6e6572223a227038222c226e616d657370616365223a226369222c226e6f6465223a226e31222c22706f645f756964223a227538222c22706f6f6c223a22626967222c2276657264696374223a226367726f75702d4f4f4d222c22636f6e666964656e6365223a22636f6e6669726d6564222c22646f6d61696e223a22222c22696e69746961746f72223a22222c227265747279223a22222c2272756c65223a22222c2272756c65626f6f6b223a22222c227265766973696f6e223a312c22646965645f6174223a22323032362d30332d30315431303a30303a30305a222c2265786974223a7b22636f6465223a6e756c6c2c22726561736f6e223a22222c227369676e616c223a307d2c226a6f62223a7b226e616d65223a22222c226964223a22222c2272756e5f6964223a22222c227265706f7369746f7279223a22222c2273746570223a22227d2c2273756d6d617279223a22222c226b696e64223a2272756e6e6572222c2265766964656e6365223a6e756c6c2c2272756c65645f6f7574223a6e756c6c2c226f70656e223a6e756c6c2c226d697373696e67223a6e756c6c7d', '', '', 7940984811893783192);
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_id_key UNIQUE (id);
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (pod);
ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (receiver, pod, revision);
ALTER TABLE ONLY evidence
    ADD CONSTRAINT evidence_hash_key UNIQUE (hash);
ALTER TABLE ONLY evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gates
    ADD CONSTRAINT gates_pkey PRIMARY KEY (name);
ALTER TABLE ONLY leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (task);
ALTER TABLE ONLY marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY names
    ADD CONSTRAINT names_pkey PRIMARY KEY (name, evidence);
ALTER TABLE ONLY nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (cluster, node);
ALTER TABLE ONLY outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (pod, revision);
ALTER TABLE ONLY tails
    ADD CONSTRAINT tails_pkey PRIMARY KEY (stream);
ALTER TABLE ONLY ties
    ADD CONSTRAINT ties_pkey PRIMARY KEY (id);
ALTER TABLE ONLY verdicts
    ADD CONSTRAINT verdicts_pkey PRIMARY KEY (number);
ALTER TABLE ONLY verdicts
    ADD CONSTRAINT verdicts_pod_revision_key UNIQUE (pod, revision);
CREATE INDEX cases_heard ON cases USING btree (heard, runner, name, namespace, cluster);
CREATE INDEX cases_name ON cases USING btree (name);
CREATE INDEX cases_node ON cases USING btree (node, state);
CREATE INDEX cases_standing ON cases USING btree (due) WHERE (kind <> ''::text);
CREATE INDEX cases_uid ON cases USING btree (uid);
CREATE INDEX cases_waiting ON cases USING btree (state, due, runner) WHERE runner;
CREATE INDEX deliveries_due ON deliveries USING btree (receiver, due) WHERE (done = 0);
CREATE INDEX evidence_received ON evidence USING btree (received);
CREATE INDEX evidence_wide ON evidence USING btree (node, at) WHERE wide;
CREATE INDEX last_alike ON verdicts USING btree (last, pool, recorded, label, node, cluster, alike);
CREATE INDEX last_cluster ON verdicts USING btree (last, cluster, recorded, label, node);
CREATE INDEX last_died ON verdicts USING btree (last, died, node);
CREATE INDEX last_label ON verdicts USING btree (last, label, recorded);
CREATE INDEX last_node ON verdicts USING btree (last, node, recorded, label, cluster);
CREATE INDEX last_open ON verdicts USING btree (last, recorded) WHERE (state = 'open'::text);
CREATE INDEX last_recorded ON verdicts USING btree (last, recorded, label, node, cluster);
CREATE INDEX last_repository ON verdicts USING btree (last, repository, recorded, label, node, cluster);
CREATE INDEX marks_of ON marks USING btree (owner);
CREATE INDEX marks_received ON marks USING btree (received);
CREATE INDEX outbox_due ON outbox USING btree (due);
CREATE INDEX tails_owner ON tails USING btree (owner);
CREATE INDEX tails_received ON tails USING btree (received);
CREATE INDEX ties_pod ON ties USING btree (pod);
CREATE UNIQUE INDEX verdicts_current ON verdicts USING btree (pod) WHERE (last = 1);
CREATE INDEX verdicts_job ON verdicts USING btree (job);
CREATE INDEX verdicts_run ON verdicts USING btree (run);
CREATE INDEX verdicts_runner ON verdicts USING btree (runner) WHERE (runner <> ''::text);
CREATE INDEX verdicts_uid ON verdicts USING btree (uid) WHERE (uid <> ''::text);
