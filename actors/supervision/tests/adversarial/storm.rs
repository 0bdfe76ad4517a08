//! Random orders, exits and callers, some of whom leave in between; afterwards everything must serve again.

use super::*;

const NODES: [&str; 4] = ["g/a", "g/b", "g/c", "g/d"];

/// A seeded sequence (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Waits for `work`, looks at it once and leaves, or lets it go on by itself.
async fn follow(dice: &mut Dice, work: impl Future<Output = ()> + 'static) -> Option<Task> {
    match dice.roll(3) {
        0 => {
            within_an_hour(work).await;
            None
        }
        1 => {
            let _ = work.now_or_never();
            None
        }
        _ => Some(actix::spawn(work)),
    }
}

type Task = tokio::task::JoinHandle<()>;

async fn within_an_hour<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HOUR, work).await.unwrap_or_else(|_| panic!("it hangs"))
}

async fn replace(tree: Tree, address: Address<Victim>, commits: bool) {
    if let Ok(prepared) = tree.replace(&address, None, victims(Victim::default)).await
        && commits
    {
        let _ = prepared.commit().await;
    }
}

async fn storm(tree: &Tree, dice: &mut Dice) {
    let strategy = [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne][dice.roll(3) as usize];
    tree.add_group("g", GroupSpec::new().strategy(strategy)).await.unwrap();
    let spec = |number: usize| match number {
        1 => ChildSpec::new().needs(["a"]).mailbox(4),
        2 => ChildSpec::new().needs(["b"]).shared_budget(),
        _ => ChildSpec::new(),
    };
    let mut addresses = Vec::new();
    for (number, path) in NODES.into_iter().enumerate() {
        addresses.push(spawn(tree, path, spec(number)).await);
    }
    let mut tasks = Vec::new();
    for _ in 0..150 {
        let number = dice.roll(4) as usize;
        let (path, address, tree) = (NODES[number], addresses[number].clone(), tree.clone());
        let whole = dice.roll(8) == 0;
        let target = if whole { "g" } else { path };
        let task = match dice.roll(12) {
            0 => follow(dice, async move { drop(address.call_within(Name, SECOND).await) }).await,
            1 => follow(dice, async move { drop(address.call_within(Boom, SECOND).await) }).await,
            2 => follow(dice, async move { drop(address.cast(Work(1))) }).await,
            3 => follow(dice, async move { drop(address.ask_within(Stare, SECOND).await) }).await,
            4 => {
                follow(dice, async move {
                    let _ = tree.restart(target).await;
                })
                .await
            }
            5 => {
                follow(dice, async move {
                    let _ = tree.quarantine(target, "by hand").await;
                })
                .await
            }
            6 => follow(dice, replace(tree, address, true)).await,
            7 => follow(dice, replace(tree, address, false)).await,
            8 => {
                let end = Run(Box::new(if whole { |ctx| ctx.fail("given up") } else { |ctx| ctx.stop() }));
                follow(dice, async move { drop(address.call_within(end, SECOND).await) }).await
            }
            9 => {
                tokio::time::sleep(Duration::from_millis(dice.roll(40))).await;
                None
            }
            10 => {
                within_an_hour(tree.retire(path, SECOND)).await.ok();
                let respawned = tree.spawn(path, spec(number), Placement::Here, victims(Victim::default));
                addresses[number] = respawned.await.unwrap();
                None
            }
            _ => {
                tokio::task::yield_now().await;
                None
            }
        };
        tasks.extend(task);
    }
    for task in tasks {
        within_an_hour(task).await.unwrap();
    }
    within_an_hour(tree.restart("g")).await.unwrap();
    for (path, address) in NODES.into_iter().zip(&addresses) {
        within_an_hour(tree.wait_until_running(path)).await.unwrap_or_else(|end| panic!("{path}: {end}"));
        within_an_hour(address.call(Name)).await.unwrap();
    }
    within_an_hour(async {
        while addresses.iter().any(|address| address.vitals().mailbox_depth > 0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[test]
fn every_node_serves_after_any_storm() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        Universe::new(seed).run(async |tree| storm(&tree, &mut dice).await);
    }
}
