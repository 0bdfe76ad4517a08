//! Plugins that do harm, next to plugins in JavaScript and Python that work, and a channel that calls none.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::plugins::{assemble_component, build_guest, describe_plugin, serve_plugin};

use crate::Attack;
use crate::target::{AttackTarget, resident_mib, serve, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "plugins",
        text: "while plugins trap, loop and ask for 2 GiB, neighbours have a p99 below 50 ms and memory stays flat",
        before: "no plugins",
    },
    attack,
);

/// The channel that calls no plugin.
const NEIGHBOUR: &str = "neighbour";
/// The function of every plugin.
const FUNCTION: &str = "slug";
/// The text that plugins get.
const TEXT: &str = "Hello World";
const P99: Duration = Duration::from_millis(50);
/// Threads that call what works, that call what does harm, and that ask the neighbour.
const CALLERS: usize = 4;
const ATTACKERS: usize = 2;
const PROBERS: usize = 2;
/// Time between two questions of a prober, and between two looks at the memory.
const PAUSE: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(250);
/// Questions to the neighbour before the attack.
const PROBES_ALONE: usize = 200;
/// Memory by which the last quarter of the time may exceed the first: calls in progress hold up to 64 MiB each.
const GROWTH_MIB: u64 = 32;

/// A plugin with a channel of its name, and its answer: the status, and words that the body has.
#[derive(Clone, Copy)]
struct CalledPlugin {
    name: &'static str,
    status: u16,
    words: &'static str,
}

const fn expect_failure(name: &'static str, words: &'static str) -> CalledPlugin {
    CalledPlugin { name, status: 500, words }
}

const fn expect_success(name: &'static str, words: &'static str) -> CalledPlugin {
    CalledPlugin { name, status: 200, words }
}

/// The guests, and how many of five calls each gets: a call of Python takes ten times as long.
const GUESTS: [(CalledPlugin, usize); 2] =
    [(expect_success("javascript", "\"hello-world\""), 4), (expect_success("python", "\"hello-world\""), 1)];

/// Answers with its input.
const ECHO: &str = "(i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $input_length)) (i32.const 16)";

/// Plugins that do harm, with the bodies of their functions. Memory begins as zeros: a result at 16 is no error.
const HOSTILE: [(CalledPlugin, &str); 10] = [
    (expect_failure("trap", "PLUGIN_TRAP"), "unreachable"),
    (expect_failure("endless", "TIMEOUT_ERROR"), "(loop $again (br $again)) (i32.const 16)"),
    // Two gibibytes.
    (expect_failure("greedy", "PLUGIN_LIMIT"), "(drop (memory.grow (i32.const 32768))) (i32.const 16)"),
    (
        expect_failure("recursion", "PLUGIN_TRAP"),
        "(call $self (local.get $name) (local.get $name_length) (local.get $input) (local.get $input_length))",
    ),
    // The text abcd.
    (
        expect_failure("no_json", "PLUGIN_ERROR"),
        "(i32.store (i32.const 64) (i32.const 0x64636261)) (i32.store (i32.const 20) (i32.const 64))
            (i32.store (i32.const 24) (i32.const 4)) (i32.const 16)",
    ),
    // 400,000 arrays, each in the one before.
    (
        expect_failure("nested", "PLUGIN_ERROR"),
        "(drop (memory.grow (i32.const 16)))
            (memory.fill (i32.const 65536) (i32.const 91) (i32.const 400000))
            (memory.fill (i32.const 465536) (i32.const 93) (i32.const 400000))
            (i32.store (i32.const 20) (i32.const 65536)) (i32.store (i32.const 24) (i32.const 800000))
            (i32.const 16)",
    ),
    // Three million characters.
    (
        expect_failure("huge", "PLUGIN_LIMIT"),
        "(drop (memory.grow (i32.const 48))) (i32.store (i32.const 20) (i32.const 65536))
            (i32.store (i32.const 24) (i32.const 3000000)) (i32.const 16)",
    ),
    // A result outside of its memory.
    (
        expect_failure("outside", "PLUGIN_TRAP"),
        "(i32.store (i32.const 20) (i32.const -65536)) (i32.store (i32.const 24) (i32.const 1000))
            (i32.const 16)",
    ),
    // A byte that begins no character.
    (
        expect_failure("no_text", "PLUGIN_TRAP"),
        "(i32.store8 (i32.const 64) (i32.const 255)) (i32.store (i32.const 20) (i32.const 64))
            (i32.store (i32.const 24) (i32.const 1)) (i32.const 16)",
    ),
    // Writes to each page of the memory that it may have, and answers 1.
    (
        expect_success("hoarder", "\"result\":1"),
        "(local $at i32) (drop (memory.grow (i32.const 900))) (local.set $at (i32.const 65536))
            (loop $next (i32.store8 (local.get $at) (i32.const 49))
                (local.set $at (i32.add (local.get $at) (i32.const 4096)))
                (br_if $next (i32.lt_u (local.get $at) (i32.const 59000000))))
            (i32.store (i32.const 20) (i32.const 65536)) (i32.store (i32.const 24) (i32.const 1))
            (i32.const 16)",
    ),
];

/// The calls that are made, and the end of all others.
struct PluginTraffic {
    address: SocketAddr,
    working: Vec<CalledPlugin>,
    calls: usize,
    begun: AtomicUsize,
    is_over: AtomicBool,
}

/// Calls, and the answers to them that are not the expected ones.
#[derive(Default)]
struct CallTally {
    calls: usize,
    wrong: usize,
    first_wrong: Option<String>,
}

/// Questions to the neighbour.
#[derive(Default)]
struct NeighbourTimes {
    lost: usize,
    answered: Vec<Duration>,
}

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    let mut client = server.client().keep_alive();
    serve_echo(&mut client, NEIGHBOUR, &json!({}))?;
    let (working, missing) = serve_working(&mut client, target)?;
    for (plugin, body) in HOSTILE {
        serve_function(&mut client, plugin.name, &assemble_component(body)?)?;
    }
    for plugin in working.iter().copied().chain(HOSTILE.map(|(plugin, _)| plugin)) {
        if let Some(problem) = find_problem(&mut client, plugin) {
            return Err(io::Error::other(problem));
        }
    }
    let calls = target.calls.unwrap_or_else(|| target.pick_size(2_000, 100_000));
    let (begun, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let load = PluginTraffic { address: server.address(), working, calls, begun, is_over };
    let alone = load.ask_neighbour(|count| count >= PROBES_ALONE).p99();
    let (worked, harmed, neighbour, memory) = load.run(server.pid());
    let (first, last) = (median(&memory, Quarter::First), median(&memory, Quarter::Last));
    let p99 = neighbour.p99();
    let is_quick = target.short || (p99 < P99 && last <= first + GROWTH_MIB);
    let held = is_quick && neighbour.lost == 0 && worked.wrong == 0 && harmed.wrong == 0;
    let figure = format!(
        "p99 {:.1} ms of {} requests ({:.1} ms before), {} lost; {} calls of plugins that work, {} that harm, {} \
         with another answer than documented{}; {first} MiB, at the end {last}{missing}",
        p99.as_secs_f64() * 1e3,
        neighbour.answered.len(),
        alone.as_secs_f64() * 1e3,
        neighbour.lost,
        worked.calls,
        harmed.calls,
        worked.wrong + harmed.wrong,
        worked.first_wrong.or(harmed.first_wrong).map(|first| format!(" ({first})")).unwrap_or_default(),
    );
    Ok(AttackOutcome::new(held, figure))
}

/// Serves the guests, or a plugin that answers with its input if none can be built. Returns them as often as they are
/// called, with the reasons for those that are missing.
fn serve_working(client: &mut HttpClient, target: &AttackTarget) -> io::Result<(Vec<CalledPlugin>, String)> {
    let (mut working, mut missing) = (Vec::new(), String::new());
    // An unoptimised binary takes minutes to compile an engine of JavaScript.
    for (guest, share) in GUESTS.into_iter().filter(|_| !target.short) {
        match build_guest(&target.binary, guest.name) {
            Ok(component) => {
                serve_function(client, guest.name, &component)?;
                working.extend([guest].repeat(share));
            }
            Err(reason) => missing.push_str(&format!("; without {}: {reason}", guest.name)),
        }
    }
    if working.is_empty() {
        let echo = expect_success("echo", TEXT);
        serve_function(client, echo.name, &assemble_component(ECHO)?)?;
        working.push(echo);
    }
    Ok((working, missing))
}

/// Serves a plugin, and the channel of its name that calls it.
fn serve_function(client: &mut HttpClient, name: &str, component: &[u8]) -> io::Result<()> {
    // Only the endless one may take as long as it can.
    let limits = if name == "endless" { json!({"timeout_ms": 50}) } else { json!({}) };
    serve_plugin(client, &describe_plugin(name, FUNCTION, &limits), component)?;
    let input = json!({"text": {"var": "payload.text"}, "output": "data.result"});
    let function = json!({"name": format!("{name}.{FUNCTION}"), "input": input});
    serve(client, name, &json!({}), &json!([{"id": "call", "name": "Call", "function": function}]))
}

/// Calls a plugin, and returns the problem of an answer that is not the expected one.
fn find_problem(client: &mut HttpClient, plugin: CalledPlugin) -> Option<String> {
    let CalledPlugin { name, status, words } = plugin;
    match client.json("POST", &format!("/api/v1/data/{name}"), &json!({"text": TEXT})) {
        Ok(answer) if answer.status == status && answer.text().contains(words) => None,
        Ok(answer) => Some(format!("{name} answered {}: {}", answer.status, answer.text())),
        Err(error) => Some(format!("{name} did not answer: {error}")),
    }
}

impl PluginTraffic {
    /// Runs the attack until all calls have been made. Returns the calls of what works and of what does harm, the times
    /// of the neighbour, and the memory of the process in MiB at regular instants.
    #[expect(
        clippy::disallowed_methods,
        reason = "the memory of another process is looked at from time to time"
    )]
    fn run(&self, pid: u32) -> (CallTally, CallTally, NeighbourTimes, Vec<u64>) {
        thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(|| self.call_working())).collect();
            let attackers: Vec<_> =
                (0..ATTACKERS).map(|number| scope.spawn(move || self.call_hostile(number))).collect();
            let is_over = |_: usize| self.is_over.load(Ordering::Relaxed);
            let probers: Vec<_> =
                (0..PROBERS).map(|_| scope.spawn(move || self.ask_neighbour(is_over))).collect();
            let mut memory = Vec::new();
            while !callers.iter().all(ScopedJoinHandle::is_finished) {
                memory.extend(resident_mib(pid));
                thread::sleep(LOOK);
            }
            self.is_over.store(true, Ordering::Relaxed);
            let (mut worked, mut harmed) = (CallTally::default(), CallTally::default());
            callers.into_iter().filter_map(|caller| caller.join().ok()).for_each(|tally| worked.add(tally));
            attackers.into_iter().filter_map(|one| one.join().ok()).for_each(|tally| harmed.add(tally));
            let mut neighbour = NeighbourTimes::default();
            for times in probers.into_iter().filter_map(|prober| prober.join().ok()) {
                neighbour.lost += times.lost;
                neighbour.answered.extend(times.answered);
            }
            (worked, harmed, neighbour, memory)
        })
    }

    fn call_working(&self) -> CallTally {
        let (mut client, mut tally) = (HttpClient::new(self.address).keep_alive(), CallTally::default());
        loop {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            if number >= self.calls {
                return tally;
            }
            tally.note(find_problem(&mut client, self.working[number % self.working.len()]));
        }
    }

    fn call_hostile(&self, first: usize) -> CallTally {
        let (mut client, mut tally) = (HttpClient::new(self.address).keep_alive(), CallTally::default());
        // Each attacker begins elsewhere.
        let begin = first * HOSTILE.len() / ATTACKERS;
        for (plugin, _) in HOSTILE.iter().cycle().skip(begin) {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            tally.note(find_problem(&mut client, *plugin));
        }
        tally
    }

    /// Asks the neighbour until the number of questions, or something else, ends it.
    #[expect(clippy::disallowed_methods, reason = "the latency of another process is what is measured")]
    fn ask_neighbour(&self, is_over: impl Fn(usize) -> bool) -> NeighbourTimes {
        let (mut client, mut times) = (HttpClient::new(self.address).keep_alive(), NeighbourTimes::default());
        let path = format!("/api/v1/data/{NEIGHBOUR}");
        for count in 0.. {
            if is_over(count) {
                break;
            }
            let begin = Instant::now();
            match client.json("POST", &path, &json!({"n": count})) {
                Ok(answer) if answer.status == 200 => times.answered.push(begin.elapsed()),
                _ => times.lost += 1,
            }
            thread::sleep(PAUSE);
        }
        times
    }
}

impl CallTally {
    fn note(&mut self, problem: Option<String>) {
        self.calls += 1;
        self.wrong += usize::from(problem.is_some());
        self.first_wrong = self.first_wrong.take().or(problem);
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
    }
}

impl NeighbourTimes {
    /// Returns the time that 99 of a hundred answers did not exceed.
    fn p99(&self) -> Duration {
        let mut sorted = self.answered.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(Duration::MAX)
    }
}

/// A part of the time of the attack.
#[derive(Clone, Copy)]
enum Quarter {
    First,
    Last,
}

/// Returns the median of the values of a quarter.
fn median(values: &[u64], quarter: Quarter) -> u64 {
    let count = values.len().div_ceil(4);
    let part = match quarter {
        Quarter::First => &values[..count],
        Quarter::Last => &values[values.len() - count..],
    };
    let mut sorted = part.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_have_their_own_medians() {
        let values = [10, 30, 20, 1, 2, 3, 4, 5, 6, 70, 90, 80];
        assert_eq!((median(&values, Quarter::First), median(&values, Quarter::Last)), (20, 80));
        assert_eq!((median(&[7], Quarter::First), median(&[], Quarter::Last)), (7, 0));
    }

    #[test]
    fn hostile_components_are_components() {
        for (plugin, body) in HOSTILE {
            assert!(assemble_component(body).is_ok(), "{}", plugin.name);
        }
    }
}
