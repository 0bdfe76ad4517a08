//! Observers that misbehave.

use super::*;

/// Looks at the tree from inside an event, and panics.
struct Rude(std::sync::OnceLock<Tree>);

impl Observer for Rude {
    fn on_event(&self, event: &LifecycleEvent) {
        if let Some(tree) = self.0.get() {
            drop((tree.snapshot(), tree.history()));
        }
        panic!("boom at event {}", event.seq);
    }
}

#[test]
fn an_observer_may_look_at_the_tree_and_panic() {
    actix::System::new().block_on(async {
        let rude = Arc::new(Rude(std::sync::OnceLock::new()));
        let tree = Tree::builder("test").observer(rude.clone()).build();
        rude.0.set(tree.clone()).ok().unwrap();
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let _ = victim.call(Boom).await;
        assert_eq!(victim.call(Name).await.unwrap(), 2);
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
    });
}

#[test]
fn a_log_may_fail() {
    struct Broken;
    impl slog::Drain for Broken {
        type Ok = ();
        type Err = slog::Never;

        fn log(&self, _: &slog::Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Never> {
            panic!("boom in the log")
        }
    }
    actix::System::new().block_on(async {
        let tree = Tree::builder("test").log(slog::Logger::root(Broken, slog::o!())).build();
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let _ = victim.call(Boom).await;
        assert_eq!(victim.call(Name).await.unwrap(), 2);
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
    });
}
