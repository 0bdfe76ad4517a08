// queues.mjs worker|producer graphile|pgboss default|best URL SECONDS DIRECTORY_OF_PACKAGES
// A worker runs jobs that do nothing until it is killed. A producer puts jobs on record for so long, 50 at a time and
// each in a transaction of its own, waits until all have ended, and prints how many there were and how long it took.
import { createRequire } from "node:module";

const [role, kind, settings, url, seconds, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const pg = require("pg");
const best = settings === "best";
const PRODUCERS = 50;
// No peer waits longer for its backlog.
const LONGEST = 20_000;

const graphile = {
  preset: best
    ? { concurrentJobs: 24, maxPoolSize: 26, localQueue: { size: 200 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
    : {},
  async prepare() {
    const { makeWorkerUtils } = require("graphile-worker");
    const utils = await makeWorkerUtils({ connectionString: url, preset: { worker: { maxPoolSize: 20 } } });
    await utils.migrate();
    return () => utils.addJob("note", { n: 1 });
  },
  async work() {
    const { run, Logger } = require("graphile-worker");
    const preset = { worker: { ...this.preset, logger: new Logger(() => () => {}) } };
    const taskList = { note: async () => {} };
    await run({ connectionString: url, taskList, preset });
  },
  left: "SELECT count(*)::int AS n FROM graphile_worker.jobs",
};

const pgboss = {
  async open() {
    const module = require("pg-boss");
    const boss = new (module.PgBoss ?? module)({ connectionString: url, max: best ? 20 : 10 });
    boss.on("error", (error) => console.error(error));
    await boss.start();
    await boss.createQueue("note").catch(() => {});
    return boss;
  },
  async prepare() {
    const boss = await this.open();
    return () => boss.send("note", { n: 1 });
  },
  async work() {
    const boss = await this.open();
    const options = best
      ? { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 2 }
      : {};
    await boss.work("note", options, async () => {});
  },
  left: "SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'note' AND state < 'completed'",
};

const peer = { graphile, pgboss }[kind];

async function produce() {
  const add = await peer.prepare();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const begin = performance.now();
  const stop = begin + Number(seconds) * 1000;
  let added = 0;
  const one = async () => {
    while (performance.now() < stop) {
      await add();
      added++;
    }
  };
  await Promise.all(Array.from({ length: PRODUCERS }, one));
  let left = added;
  while (left > 0 && performance.now() < stop + LONGEST) {
    left = (await pool.query(peer.left)).rows[0].n;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const took = (performance.now() - begin) / 1000;
  console.log(JSON.stringify({ ended: added - left, added, took }));
  process.exit(0);
}

if (role === "worker") {
  await peer.work();
  console.log("works");
} else {
  await produce();
}
