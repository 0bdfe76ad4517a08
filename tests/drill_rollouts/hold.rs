//! A hold of the transaction that stores a decision, by a trigger of the database: while it is held, the deciding node
//! is in the middle of its decision, and can be killed there.

use std::io;

use svc_testkit::nodes::{expect_soon, read_number};
use svc_testkit::postgres::PostgresDatabase;

/// A sequence is read and written outside of transactions: `drill_reached` counts the decisions that came to the hold,
/// `drill_held` is 1 while it holds them. A hold that is forgotten ends after 20 seconds.
const SETUP: &str = "
    CREATE SEQUENCE IF NOT EXISTS drill_reached MINVALUE 0 START 0;
    CREATE SEQUENCE IF NOT EXISTS drill_held MINVALUE 0 START 0;
    SELECT setval('drill_reached', 0), setval('drill_held', 0);
    CREATE OR REPLACE FUNCTION drill_hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM nextval('drill_reached');
        FOR look IN 1..1000 LOOP
            EXIT WHEN (SELECT last_value FROM drill_held) = 0;
            PERFORM pg_sleep(0.02);
        END LOOP;
        RETURN NULL;
    END $$;
    DROP TRIGGER IF EXISTS drill_hold ON canary_rollouts;";

/// The rows of a decision: a rollout ends, or begins its next step.
const EACH_DECISION: &str = "FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.step <> NEW.step)
    EXECUTE FUNCTION drill_hold()";

/// The hold of a decision's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldPart {
    /// A statement: the node has not sent the commit.
    Statement,
    /// The commit: the node waits for its answer.
    Commit,
}

/// A trigger that holds decisions. It is removed when dropped.
pub(crate) struct DecisionHold<'d> {
    database: &'d PostgresDatabase,
}

impl<'d> DecisionHold<'d> {
    /// Installs an open hold.
    pub(crate) fn install(database: &'d PostgresDatabase, part: HeldPart) -> io::Result<Self> {
        let trigger = match part {
            HeldPart::Statement => "CREATE TRIGGER drill_hold AFTER UPDATE ON canary_rollouts",
            HeldPart::Commit => {
                "CREATE CONSTRAINT TRIGGER drill_hold AFTER UPDATE ON canary_rollouts \
                 DEFERRABLE INITIALLY DEFERRED"
            }
        };
        run(database, &format!("{SETUP} {trigger} {EACH_DECISION}"))?;
        Ok(Self { database })
    }

    /// Holds decisions from now on. Returns the number of those that came before.
    pub(crate) fn close(&self) -> io::Result<i64> {
        run(self.database, "SELECT setval('drill_held', 1)")?;
        self.count()
    }

    /// Waits until a decision is held after those that came before.
    pub(crate) fn wait(&self, before: i64) -> io::Result<()> {
        expect_soon("a decision is held", || Ok(self.count()? > before))
    }

    /// Lets decisions pass.
    pub(crate) fn open(&self) -> io::Result<()> {
        run(self.database, "SELECT setval('drill_held', 0)")
    }

    fn count(&self) -> io::Result<i64> {
        read_number(self.database, "SELECT last_value FROM drill_reached")
    }
}

impl Drop for DecisionHold<'_> {
    fn drop(&mut self) {
        // A database that is gone holds nothing.
        let _ = self.open();
        let _ = run(self.database, "DROP TRIGGER IF EXISTS drill_hold ON canary_rollouts");
    }
}

fn run(database: &PostgresDatabase, sql: &str) -> io::Result<()> {
    database.rows(sql).map(drop).map_err(io::Error::other)
}
