//! The verdict on the deliveries of webhooks: pure arithmetic over what customers received.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings, percentile};

use crate::cluster::millis;

/// Share of the customers that behave badly, as a divisor.
const TROUBLED_SHARE: usize = 10;
/// Times by which the others may become slower.
const SLOWER: u32 = 2;
/// Time below which a percentile says more of the machine than of the deliveries.
const NOISE: Duration = Duration::from_millis(250);
/// Kills that a drill shows at least.
pub(crate) const KILLS: usize = 3;

/// The behaviour of a customer once there is trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CustomerConduct {
    /// It answers at once.
    Sound,
    /// It never answers.
    Silent,
    /// It refuses everything.
    Failing,
    /// It takes its time.
    Slow,
    /// It accepts, and never sends the body that it announces.
    Lying,
}

impl CustomerConduct {
    pub(crate) const fn for_customer(customer: usize) -> Self {
        match (customer % TROUBLED_SHARE, customer / TROUBLED_SHARE % 4) {
            (0, 0) => Self::Silent,
            (0, 1) => Self::Failing,
            (0, 2) => Self::Slow,
            (0, _) => Self::Lying,
            _ => Self::Sound,
        }
    }

    /// Returns `true` for a customer that accepts events.
    pub(crate) const fn is_live(self) -> bool {
        matches!(self, Self::Sound | Self::Slow | Self::Lying)
    }
}

/// An attempt that a customer received. Times count from the start of the witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedAttempt {
    pub(crate) customer: usize,
    /// The `webhook-id`.
    pub(crate) id: String,
    /// The number of the event.
    pub(crate) number: usize,
    pub(crate) begin: Duration,
    /// Its answer, or its end by the customer.
    pub(crate) end: Duration,
    /// True if it was answered with a 2xx.
    pub(crate) is_accepted: bool,
}

/// An event whose task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentWebhook {
    pub(crate) number: usize,
    /// Begin of the request that sent it.
    pub(crate) at: Duration,
}

/// The events of one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookRound {
    pub(crate) sent: Vec<SentWebhook>,
    /// True if a tenth of the customers behaved badly.
    pub(crate) has_trouble: bool,
    /// Time until every event that could arrive had arrived.
    pub(crate) length: Duration,
}

/// The evidence to judge.
pub(crate) struct WebhookEvidence {
    pub(crate) customers: usize,
    pub(crate) calm: WebhookRound,
    pub(crate) troubled: WebhookRound,
    /// Trouble, and nodes that are killed.
    pub(crate) killed: WebhookRound,
    pub(crate) attempts: Vec<ReceivedAttempt>,
    pub(crate) kills: usize,
}

/// The outcomes of the deliveries of a round.
struct RoundOutcome {
    missing: Vec<String>,
    /// Times from the event to the arrival at sound customers, sorted.
    latencies: Vec<Duration>,
    arrived: usize,
}

/// The first acceptance of each event by each customer.
type Arrivals = BTreeMap<(usize, usize), Duration>;

pub(crate) fn judge(evidence: &WebhookEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let mut arrivals = Arrivals::new();
    for attempt in evidence.attempts.iter().filter(|attempt| attempt.is_accepted) {
        let first = arrivals.entry((attempt.customer, attempt.number)).or_insert(attempt.begin);
        *first = attempt.begin.min(*first);
    }
    let rounds = [&evidence.calm, &evidence.troubled, &evidence.killed];
    let outcomes = rounds.map(|round| follow(round, evidence.customers, &arrivals));
    for outcome in &outcomes {
        findings.expect_none("events never arrived at a customer that accepts them", &outcome.missing);
        findings.at_least("deliveries", outcome.latencies.len(), 1);
    }
    findings.expect_none("attempts at one event overlapped", &find_overlaps(&evidence.attempts));
    let again = find_repeats(&evidence.attempts, &[&evidence.calm, &evidence.troubled]);
    findings.expect_none("accepted events were sent again without a kill", &again);
    let [calm, troubled, _] = [0, 1, 2].map(|round: usize| percentile(&outcomes[round].latencies, 99));
    let most = calm.map(|calm| calm.max(NOISE) * SLOWER);
    let is_slower = troubled > most;
    let slower = is_slower.then(|| format!("{troubled:?} with trouble, {calm:?} without"));
    findings.expect_none("99th percentiles of sound customers more than doubled", slower.as_slice());
    findings.at_least("kills", evidence.kills, KILLS);
    let figures: Vec<Value> =
        rounds.iter().zip(&outcomes).map(|(round, outcome)| outcome.figures(round)).collect();
    let repeats = find_repeats(&evidence.attempts, &[&evidence.killed]).len();
    findings.into_verdict(json!({
        "customers": evidence.customers, "kills": evidence.kills, "attempts": evidence.attempts.len(),
        "repeats_after_kills": repeats, "calm": figures[0], "troubled": figures[1], "killed": figures[2],
    }))
}

fn follow(round: &WebhookRound, customers: usize, arrivals: &Arrivals) -> RoundOutcome {
    let mut outcome = RoundOutcome { missing: Vec::new(), latencies: Vec::new(), arrived: 0 };
    for customer in 0..customers {
        let conduct = match round.has_trouble {
            true => CustomerConduct::for_customer(customer),
            false => CustomerConduct::Sound,
        };
        if !conduct.is_live() {
            continue;
        }
        for event in &round.sent {
            let Some(arrival) = arrivals.get(&(customer, event.number)) else {
                outcome.missing.push(format!("{} at customer {customer}", event.number));
                continue;
            };
            outcome.arrived += 1;
            // Of the same customers in every round.
            if CustomerConduct::for_customer(customer) == CustomerConduct::Sound {
                outcome.latencies.push(arrival.saturating_sub(event.at));
            }
        }
    }
    outcome.latencies.sort_unstable();
    outcome
}

impl RoundOutcome {
    fn figures(&self, round: &WebhookRound) -> Value {
        let seconds = round.length.as_secs_f64().max(0.001);
        json!({
            "events": round.sent.len(), "deliveries": self.arrived,
            "deliveries_per_second": (self.arrived as f64 / seconds).round(),
            "latency_ms": {"p50": millis(percentile(&self.latencies, 50)),
                "p99": millis(percentile(&self.latencies, 99)), "max": millis(self.latencies.last().copied())},
        })
    }
}

/// Returns the attempts by customer and `webhook-id`, in the order of their beginnings.
fn by_delivery<'a>(
    attempts: impl Iterator<Item = &'a ReceivedAttempt>,
) -> BTreeMap<(usize, &'a str), Vec<&'a ReceivedAttempt>> {
    let mut deliveries = BTreeMap::<_, Vec<_>>::new();
    for attempt in attempts {
        deliveries.entry((attempt.customer, attempt.id.as_str())).or_default().push(attempt);
    }
    deliveries.values_mut().for_each(|attempts| attempts.sort_by_key(|attempt| attempt.begin));
    deliveries
}

fn find_overlaps(attempts: &[ReceivedAttempt]) -> Vec<String> {
    let deliveries = by_delivery(attempts.iter());
    let overlapping = deliveries.iter().filter(|(_, attempts)| {
        attempts.windows(2).any(|pair| matches!(pair, [first, next] if next.begin < first.end))
    });
    overlapping.map(|((customer, id), _)| format!("{id} at customer {customer}")).collect()
}

/// Returns the deliveries of rounds that had another attempt after one that was accepted.
fn find_repeats(attempts: &[ReceivedAttempt], rounds: &[&WebhookRound]) -> Vec<String> {
    let is_of_rounds =
        |number: usize| rounds.iter().any(|round| round.sent.iter().any(|event| event.number == number));
    let deliveries = by_delivery(attempts.iter().filter(|attempt| attempt.is_accepted));
    let repeated = deliveries.iter().filter(|(_, attempts)| attempts.len() > 1);
    let repeated =
        repeated.filter(|(_, attempts)| attempts.first().is_some_and(|first| is_of_rounds(first.number)));
    repeated.map(|((customer, id), _)| format!("{id} at customer {customer}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUSTOMERS: usize = 40;

    fn round(first: usize, has_trouble: bool) -> WebhookRound {
        let event = |number: usize| SentWebhook { number, at: Duration::from_secs(number as u64) };
        WebhookRound {
            sent: (first..first + 2).map(event).collect(),
            has_trouble,
            length: Duration::from_secs(2),
        }
    }

    /// Two events a round, each of which arrives within ten milliseconds at every customer that is alive.
    fn clean() -> WebhookEvidence {
        let attempt = |customer: usize, number: usize| {
            let begin = Duration::from_secs(number as u64) + Duration::from_millis(10);
            ReceivedAttempt {
                customer,
                id: format!("msg_{number}"),
                number,
                begin,
                end: begin + Duration::from_millis(1),
                is_accepted: number < 2 || CustomerConduct::for_customer(customer).is_live(),
            }
        };
        let attempts = (0..CUSTOMERS).flat_map(|customer| (0..6).map(move |number| (customer, number)));
        WebhookEvidence {
            customers: CUSTOMERS,
            calm: round(0, false),
            troubled: round(2, true),
            killed: round(4, true),
            attempts: attempts.map(|(customer, number)| attempt(customer, number)).collect(),
            kills: KILLS,
        }
    }

    fn failures(change: impl FnOnce(&mut WebhookEvidence)) -> String {
        let mut evidence = clean();
        change(&mut evidence);
        judge(&evidence).failures.join("\n")
    }

    /// An attempt of the first customer, which is sound, at an event.
    fn find(evidence: &WebhookEvidence, number: usize) -> usize {
        let of_first = |attempt: &ReceivedAttempt| attempt.customer == 1 && attempt.number == number;
        evidence.attempts.iter().position(of_first).unwrap()
    }

    #[test]
    fn conduct_spares_nine_customers_of_ten() {
        let sound = (0..CUSTOMERS)
            .filter(|customer| CustomerConduct::for_customer(*customer) == CustomerConduct::Sound);
        assert_eq!(sound.count(), 36);
        assert_eq!(
            [0, 10, 20, 30].map(|customer| CustomerConduct::for_customer(customer).is_live()),
            [false, false, true, true]
        );
    }

    #[test]
    fn lost_events_and_few_kills_are_found() {
        assert_eq!(failures(|_| {}), "");
        let lost = failures(|evidence| {
            let at = find(evidence, 5);
            evidence.attempts.remove(at);
        });
        assert!(lost.contains("never arrived") && lost.contains("5 at customer 1"), "{lost}");
        assert!(failures(|evidence| evidence.kills = 1).contains("too little was shown: 1 kills"));
    }

    #[test]
    fn overlapping_attempts_are_found() {
        let twice = |begin: u64| {
            failures(|evidence| {
                let at = find(evidence, 4);
                let first = evidence.attempts[at].clone();
                let begin = first.begin + Duration::from_micros(begin);
                evidence.attempts.push(ReceivedAttempt { begin, end: begin, ..first });
            })
        };
        assert!(twice(999).contains("overlapped"));
        assert_eq!(twice(1000), "", "after a kill an event may come again");
    }

    #[test]
    fn repeats_without_kill_are_found() {
        let again = failures(|evidence| {
            let at = find(evidence, 3);
            let first = evidence.attempts[at].clone();
            evidence.attempts.push(ReceivedAttempt { begin: first.end, end: first.end, ..first });
        });
        assert!(again.contains("without a kill"), "{again}");
    }

    #[test]
    fn slower_sound_customers_are_found() {
        let delay = |evidence: &mut WebhookEvidence, numbers: [usize; 2], delay: Duration| {
            for attempt in evidence.attempts.iter_mut().filter(|attempt| numbers.contains(&attempt.number)) {
                (attempt.begin, attempt.end) = (attempt.begin + delay, attempt.end + delay);
            }
        };
        let second = Duration::from_secs(1);
        assert!(failures(|evidence| delay(evidence, [2, 3], second)).contains("more than doubled"));
        assert_eq!(failures(|evidence| delay(evidence, [0, 1], second)), "");
        assert_eq!(failures(|evidence| delay(evidence, [2, 3], NOISE)), "");
    }
}
