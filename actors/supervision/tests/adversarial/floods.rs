//! Actors that keep themselves busy.

use super::*;

#[test]
fn messages_to_oneself_starve_no_neighbour() {
    for again in [Again::Cast, Again::Notify] {
        Universe::new(1).run(async |tree| {
            let victim = spawn(&tree, "v", ChildSpec::new()).await;
            let neighbour = spawn(&tree, "n", ChildSpec::new()).await;
            victim.call(again).await.unwrap();
            assert_eq!(neighbour.call(Name).await.unwrap(), 1);
            assert_eq!(victim.call(Name).await.unwrap(), 1);
            tree.retire("v", SECOND).await.unwrap();
        });
    }
}
