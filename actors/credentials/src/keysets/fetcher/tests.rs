//! The actor and its handle on a virtual clock, with a scripted issuer.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_supervision::{FaultKind, Placement, PlannedFault, Tree, Universe};
use futures_util::future::{BoxFuture, join_all};
use slog::{Drain, Never, OwnedKVList, Record, o};
use svc_auth::{Jwks, JwksError, KeySets};
use svc_outbound::Url;
use svc_testkit::state::eventually;
use tokio::time::advance;

use super::*;
use crate::keysets::KeySetCache;

const URL: &str = "https://issuer.example/keys?tenant=s3cret";

/// An address that never answers.
const SILENT: &str = "https://silent.example/keys";

/// A set of so many keys.
pub(super) fn keys(count: usize) -> Jwks {
    let key = |id| {
        format!(
            r#"{{"kty":"OKP","crv":"Ed25519","kid":"{id}","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}"#
        )
    };
    let all: Vec<_> = (0..count).map(key).collect();
    Jwks::parse(format!(r#"{{"keys":[{}]}}"#, all.join(",")).as_bytes()).unwrap()
}

#[derive(Clone, Copy)]
enum Mood {
    /// So many keys after a while.
    Answers {
        keys: usize,
        after: Duration,
    },
    Fails,
    Hangs,
    Panics,
}

struct Issuer {
    mood: Mutex<Mood>,
    hits: AtomicUsize,
}

impl Issuer {
    fn answering(keys: usize) -> Arc<Self> {
        Self::in_mood(Mood::Answers { keys, after: Duration::ZERO })
    }

    fn in_mood(mood: Mood) -> Arc<Self> {
        Arc::new(Self { mood: Mutex::new(mood), hits: AtomicUsize::new(0) })
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn rotate(&self, keys: usize) {
        self.set(Mood::Answers { keys, after: Duration::ZERO });
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

impl KeySetSource for Issuer {
    fn fetch(&self, url: &Url) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>> {
        self.hits.fetch_add(1, Ordering::SeqCst);
        let mood = if url.as_str() == SILENT { Mood::Hangs } else { *self.mood.lock().unwrap() };
        Box::pin(async move {
            match mood {
                Mood::Answers { keys: count, after } => {
                    let _ = timeout(after, pending::<()>()).await;
                    Ok(FetchedKeySet { keys: keys(count), max_age: None })
                }
                Mood::Fails => Err(KeySetFetchError::Jwks(JwksError::Malformed)),
                Mood::Hangs => pending().await,
                Mood::Panics => panic!("a bug in fetching"),
            }
        })
    }
}

/// The messages and values that were logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Drain for Lines {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        self.0.lock().unwrap().push(record.msg().to_string());
        Ok(())
    }
}

async fn cache(tree: &Tree, issuer: &Arc<Issuer>, lines: &Lines) -> KeySetCache {
    let log = Logger::root(lines.clone(), o!());
    let source = Arc::clone(issuer) as Arc<dyn KeySetSource>;
    KeySetCache::supervise_with_source(source, tree, "keysets", Placement::Here, false, log).await.unwrap()
}

/// A universe with a cache over this issuer.
fn with(issuer: &Arc<Issuer>, test: impl AsyncFnOnce(KeySetCache)) {
    Universe::new(1).run(async |tree| test(cache(&tree, issuer, &Lines::default()).await).await);
}

fn count(keys: Option<Arc<Jwks>>) -> Option<usize> {
    keys.map(|keys| keys.len())
}

#[test]
fn sixty_four_first_callers_share_one_fetch() {
    let issuer = Issuer::in_mood(Mood::Answers { keys: 2, after: Duration::from_secs(1) });
    with(&issuer, async |cache| {
        let sets: Vec<_> = (0..64).map(|_| cache.key_set(URL).unwrap()).collect();
        let all = join_all(sets.iter().map(|set| set.obtain())).await;
        let first = all[0].clone().unwrap();
        assert!(all.iter().flatten().all(|keys| Arc::ptr_eq(keys, &first)));
        assert_eq!((all.len(), first.len(), issuer.hits()), (64, 2, 1));
        assert!(Arc::ptr_eq(&sets[63].fresh().unwrap(), &first));
    });
}

#[test]
fn silent_issuer_costs_at_most_the_fetch_limit() {
    let issuer = Issuer::in_mood(Mood::Hangs);
    with(&issuer, async |cache| {
        let (set, start) = (cache.key_set(URL).unwrap(), Instant::now());
        assert!(join_all((0..64).map(|_| set.obtain())).await.iter().all(Option::is_none));
        assert!(start.elapsed() <= FETCH_LIMIT + Duration::from_millis(10));
        // And the next one does not even begin to wait.
        let start = Instant::now();
        assert!(set.obtain().await.is_none());
        assert_eq!((start.elapsed(), issuer.hits()), (Duration::ZERO, 1));
    });
}

#[test]
fn callers_of_one_issuer_delay_no_other() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let (silent, other) = (cache.key_set(SILENT).unwrap(), cache.key_set(URL).unwrap());
        let crowd = join_all((0..20_000).map(|_| silent.obtain()));
        let start = Instant::now();
        let prompt = async {
            // Behind the crowd.
            tokio::task::yield_now().await;
            let keys = other.obtain().await;
            (count(keys), start.elapsed())
        };
        let (crowd, prompt) = tokio::join!(crowd, prompt);
        assert_eq!((prompt, crowd.len()), ((Some(1), Duration::ZERO), 20_000));
        assert!(
            crowd.iter().all(Option::is_none) && start.elapsed() <= FETCH_LIMIT + Duration::from_millis(10)
        );
        assert_eq!(issuer.hits(), 2);
    });
}

#[test]
fn a_flood_without_keys_makes_ever_fewer_fetches() {
    for mood in [Mood::Fails, Mood::Hangs] {
        let issuer = Issuer::in_mood(mood);
        with(&issuer, async |cache| {
            let (set, start, mut hits) = (cache.key_set(URL).unwrap(), Instant::now(), Vec::new());
            for minute in 1..=10 {
                let before = issuer.hits();
                while start.elapsed() < Duration::from_secs(60 * minute) {
                    assert!(join_all((0..64).map(|_| set.obtain())).await.iter().all(Option::is_none));
                    advance(Duration::from_millis(100)).await;
                }
                hits.push(issuer.hits() - before);
            }
            assert!(hits[0] <= 6 && hits[1..].iter().all(|hits| (1..=3).contains(hits)), "{hits:?}");
        });
    }
}

#[test]
fn whoever_has_keys_never_waits_for_newer_ones() {
    let issuer = Issuer::in_mood(Mood::Answers { keys: 1, after: Duration::from_secs(3) });
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        set.obtain().await.unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3600) {
            assert!(set.fresh().is_some(), "at {:?}", start.elapsed());
            advance(Duration::from_secs(1)).await;
        }
        // Every 240 s, and 3 s for the answer.
        assert_eq!(issuer.hits(), 1 + 3600 / 243);
    });
}

#[test]
fn a_set_nobody_uses_is_not_fetched_again() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        cache.key_set(URL).unwrap().obtain().await.unwrap();
        assert_eq!(cache.sets(), 0);
        advance(Duration::from_secs(3600)).await;
        tokio::task::yield_now().await;
        assert_eq!(issuer.hits(), 1);
    });
}

#[test]
fn second_unknown_key_id_waits_thirty_seconds() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        let keys = set.obtain().await.unwrap();
        // The issuer has rotated between the two.
        issuer.rotate(2);
        let rotated = set.renew(&keys).await.unwrap();
        assert_eq!((rotated.len(), issuer.hits()), (2, 2));
        issuer.rotate(3);
        for _ in 0..64 {
            assert!(Arc::ptr_eq(&set.renew(&rotated).await.unwrap(), &rotated));
        }
        advance(Duration::from_secs(29)).await;
        assert_eq!((count(set.renew(&rotated).await), issuer.hits()), (Some(2), 2));
        advance(Duration::from_secs(1)).await;
        assert_eq!((count(set.renew(&rotated).await), issuer.hits()), (Some(3), 3));
    });
}

#[test]
fn crash_during_fetch_fails_waiting_callers() {
    let fault = PlannedFault {
        path: "keysets".to_owned(),
        message: "Refresh".to_owned(),
        nth: 2,
        kind: FaultKind::Panic,
    };
    let issuer = Issuer::answering(1);
    Universe::new(1).fault(fault).run(async |tree| {
        let cache = cache(&tree, &issuer, &Lines::default()).await;
        let (silent, other, start) =
            (cache.key_set(SILENT).unwrap(), cache.key_set(URL).unwrap(), Instant::now());
        let crash = async {
            eventually("the issuer is asked", async || issuer.hits() > 0).await;
            other.obtain().await
        };
        let (waiting, crashed) = tokio::join!(silent.obtain(), crash);
        assert!(waiting.is_none() && crashed.is_none());
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        tree.wait_until_running("keysets").await.unwrap();
        assert_eq!(count(other.obtain().await), Some(1));
    });
}

#[test]
fn returned_issuer_is_seen_within_a_second() {
    let issuer = Issuer::in_mood(Mood::Fails);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        assert!(set.obtain().await.is_none());
        issuer.rotate(1);
        assert!(set.obtain().await.is_none());
        advance(Duration::from_secs(1)).await;
        assert_eq!(count(set.obtain().await), Some(1));
    });
}

#[test]
fn keys_serve_through_an_hour_without_the_issuer() {
    let issuer = Issuer::answering(1);
    for mood in [Mood::Fails, Mood::Hangs] {
        issuer.rotate(1);
        with(&issuer, async |cache| {
            let set = cache.key_set(URL).unwrap();
            set.obtain().await.unwrap();
            let (hits, start) = (issuer.hits(), Instant::now());
            issuer.set(mood);
            let mut waited = Duration::ZERO;
            while start.elapsed() < Duration::from_secs(3600) {
                let begin = Instant::now();
                assert_eq!(count(set.obtain().await), Some(1));
                waited += begin.elapsed();
                advance(Duration::from_millis(500)).await;
            }
            assert_eq!(waited, Duration::ZERO, "nobody waits");
            assert!(issuer.hits() - hits <= 3600 / 30, "{} fetches", issuer.hits() - hits);
            issuer.rotate(2);
            // A fetch that still fails, the longest pause, and one behind which the keys arrive.
            for _ in 0..10 {
                set.obtain().await.unwrap();
                advance(Duration::from_secs(5)).await;
            }
            assert_eq!(count(set.fresh()), Some(2));
        });
    }
}

#[test]
fn rotation_is_seen_at_first_unknown_key_id() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        let old = set.obtain().await.unwrap();
        issuer.rotate(2);
        advance(Duration::from_secs(1)).await;
        let new = set.renew(&old).await.unwrap();
        assert_eq!((new.len(), issuer.hits()), (2, 2));
        // Whoever still holds the old set gets the new one without a fetch.
        assert!(Arc::ptr_eq(&set.renew(&old).await.unwrap(), &new));
        issuer.rotate(3);
        assert_eq!((count(set.renew(&new).await), issuer.hits()), (Some(2), 2));
        advance(Duration::from_secs(30)).await;
        assert_eq!((count(set.renew(&new).await), issuer.hits()), (Some(3), 3));
    });
}

#[test]
fn invented_key_ids_make_three_fetches_a_minute() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        let (start, mut tokens) = (Instant::now(), 0);
        while tokens < 50_000 {
            let all = join_all((0..64).map(async |_| {
                let keys = match set.fresh() {
                    Some(keys) => keys,
                    None => set.obtain().await.unwrap(),
                };
                set.renew(&keys).await.unwrap()
            }));
            tokens += all.await.len();
            advance(Duration::from_millis(76)).await;
        }
        assert!(start.elapsed() > Duration::from_secs(59) && start.elapsed() < Duration::from_secs(60));
        assert_eq!(issuer.hits(), 3);
    });
}

#[test]
fn failed_key_id_fetch_uses_up_the_attempt() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        let keys = set.obtain().await.unwrap();
        issuer.set(Mood::Fails);
        for _ in 0..29 {
            assert!(set.renew(&keys).await.is_none(), "the issuer may have such a key");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(issuer.hits(), 2);
    });
}

#[test]
fn callers_of_unknown_key_id_join_the_fetch() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let set = cache.key_set(URL).unwrap();
        let keys = set.obtain().await.unwrap();
        advance(Duration::from_secs(1)).await;
        issuer.set(Mood::Answers { keys: 2, after: Duration::from_secs(2) });
        let all = join_all((0..64).map(|_| set.renew(&keys))).await;
        assert!(all.into_iter().all(|keys| count(keys) == Some(2)));
        assert_eq!(issuer.hits(), 2);
        // The same when what runs is an ordinary refresh.
        advance(Duration::from_secs(300)).await;
        let keys = set.obtain().await.unwrap();
        advance(Duration::from_secs(301)).await;
        let (refreshed, renewed) = tokio::join!(set.obtain(), set.renew(&keys));
        assert!(Arc::ptr_eq(&refreshed.unwrap(), &renewed.unwrap()));
        assert_eq!(issuer.hits(), 4);
    });
}

#[test]
fn panic_over_an_answer_is_a_failed_fetch() {
    let issuer = Issuer::answering(1);
    Universe::new(1).run(async |tree| {
        let cache = cache(&tree, &issuer, &Lines::default()).await;
        let set = cache.key_set(URL).unwrap();
        set.obtain().await.unwrap();
        issuer.set(Mood::Panics);
        advance(Duration::from_secs(300)).await;
        for _ in 0..60 {
            assert_eq!(count(set.obtain().await), Some(1));
            advance(Duration::from_secs(5)).await;
        }
        assert!(issuer.hits() > 10);
        let restarts: Vec<_> = tree.snapshot().nodes.iter().map(|node| node.restarts).collect();
        assert!(!restarts.is_empty() && restarts.iter().all(|restarts| *restarts == 0), "{restarts:?}");
    });
}

#[test]
fn a_crash_loses_no_key_and_leaves_nobody_waiting() {
    let fault = PlannedFault {
        path: "keysets".to_owned(),
        message: "Refresh".to_owned(),
        nth: 2,
        kind: FaultKind::Panic,
    };
    let issuer = Issuer::answering(1);
    Universe::new(1).fault(fault).run(async |tree| {
        let set = cache(&tree, &issuer, &Lines::default()).await.key_set(URL).unwrap();
        let keys = set.obtain().await.unwrap();
        advance(Duration::from_secs(1)).await;
        let start = Instant::now();
        assert!(Arc::ptr_eq(&set.renew(&keys).await.unwrap(), &keys));
        assert!(start.elapsed() < Duration::from_secs(1));
        issuer.rotate(2);
        tree.wait_until_running("keysets").await.unwrap();
        assert_eq!(count(set.renew(&keys).await), Some(2));
    });
}

#[test]
fn hung_fetcher_delays_callers_by_one_fetch() {
    for (kind, limit) in [(FaultKind::Hang, FETCH_LIMIT), (FaultKind::Panic, Duration::ZERO)] {
        let fault = PlannedFault { path: "keysets".to_owned(), message: "Refresh".to_owned(), nth: 1, kind };
        let issuer = Issuer::answering(1);
        Universe::new(1).fault(fault).run(async |tree| {
            let cache = cache(&tree, &issuer, &Lines::default()).await;
            let (set, start) = (cache.key_set(URL).unwrap(), Instant::now());
            assert!(set.obtain().await.is_none());
            assert!(start.elapsed() <= limit + Duration::from_millis(10));
            tree.restart("keysets").await.unwrap();
            tree.wait_until_running("keysets").await.unwrap();
            assert_eq!(count(set.obtain().await), Some(1));
        });
    }
}

#[test]
fn set_lives_as_long_as_its_users() {
    let issuer = Issuer::answering(1);
    with(&issuer, async |cache| {
        let (one, same) = (cache.key_set(URL).unwrap(), cache.key_set(URL).unwrap());
        let other = cache.key_set("https://other.example/").unwrap();
        one.obtain().await.unwrap();
        assert!(same.fresh().is_some() && other.fresh().is_none());
        drop((one, other));
        assert_eq!((cache.sets(), same.fresh().is_some()), (1, true));
        drop(same);
        assert_eq!(cache.sets(), 0);
        assert!(cache.key_set(URL).unwrap().fresh().is_none());
    });
}

#[test]
fn unusable_address_is_refused_with_the_reason() {
    with(&Issuer::answering(1), async |cache| {
        for (url, why) in [
            (
                "https://127.0.0.1/keys",
                "SSRF protection: '127.0.0.1' leads to 127.0.0.1, which is not a public address",
            ),
            (
                "https://0x7f.1/keys",
                "SSRF protection: '127.0.0.1' leads to 127.0.0.1, which is not a public address",
            ),
            ("http://issuer.example/keys", "key sets are fetched over https only"),
            (
                "https://a:s3cret@issuer.example/",
                "SSRF protection: a URL with credentials before its host is not allowed",
            ),
        ] {
            let refused = cache.key_set(url).err().unwrap();
            assert!(refused.starts_with(why), "{refused}");
        }
    });
}

#[test]
fn failure_is_logged_at_begin_and_end() {
    let (issuer, lines) = (Issuer::in_mood(Mood::Fails), Lines::default());
    Universe::new(1).run(async |tree| {
        let set = cache(&tree, &issuer, &lines).await.key_set(URL).unwrap();
        for _ in 0..10 {
            assert!(set.obtain().await.is_none());
            advance(Duration::from_secs(2)).await;
        }
        issuer.rotate(1);
        advance(Duration::from_secs(30)).await;
        set.obtain().await.unwrap();
    });
    assert_eq!(issuer.hits(), 6);
    let said = lines.0.lock().unwrap().clone();
    assert_eq!(said, ["the key set cannot be fetched", "the key set is fetched again"]);
}
