//! Names and routes that channels of a package take from one another, and those that no order of the channels moves.

use std::collections::{BTreeMap, BTreeSet};

/// The part of a channel that only one active channel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MovedClaim {
    Name,
    Route,
}

impl MovedClaim {
    /// Returns the claim that a conflict about this field is over.
    pub(super) fn of_field(field: &str) -> Self {
        if field.ends_with("name") { Self::Name } else { Self::Route }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Route => "route",
        }
    }
}

/// A name or a route that a channel takes once another channel of the package has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChannelMove {
    /// Id of the channel that takes it.
    pub(super) taker: String,
    /// Id of the channel that has it now.
    pub(super) holder: String,
    pub(super) claim: MovedClaim,
}

/// The moves of a step of an apply, which has to find an order for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChannelMoves(Vec<ChannelMove>);

impl ChannelMoves {
    /// Adds a move.
    pub(super) fn add(&mut self, added: ChannelMove) {
        self.0.push(added);
    }

    /// Returns true for a channel that waits for itself, by way of others.
    pub(super) fn is_circular(&self, channel: &str) -> bool {
        self.reach(channel).contains(channel)
    }

    /// Returns the channels that one waits for, directly or by way of others.
    fn reach<'m>(&'m self, channel: &str) -> BTreeSet<&'m str> {
        let holders = |taker: &str| -> Vec<&'m str> {
            let own = self.0.iter().filter(|step| step.taker == taker);
            own.map(|step| step.holder.as_str()).collect()
        };
        let (mut reached, mut open) = (BTreeSet::new(), holders(channel));
        while let Some(holder) = open.pop() {
            if reached.insert(holder) {
                open.extend(holders(holder));
            }
        }
        reached
    }

    /// Returns the groups of channels that all wait for one another, with what they take.
    fn circles(&self) -> BTreeMap<BTreeSet<&str>, BTreeSet<MovedClaim>> {
        let mut circles: BTreeMap<BTreeSet<&str>, BTreeSet<MovedClaim>> = BTreeMap::new();
        for step in &self.0 {
            let reached = self.reach(&step.taker);
            if !reached.contains(step.taker.as_str()) {
                continue;
            }
            let is_mutual = |other: &&str| self.reach(other).contains(step.taker.as_str());
            let members: BTreeSet<_> = reached.into_iter().filter(is_mutual).collect();
            if members.contains(step.holder.as_str()) {
                circles.entry(members).or_default().insert(step.claim);
            }
        }
        circles
    }
}

/// Returns a text for each circle of channels in one of these steps.
pub(super) fn describe_circles(steps: [&ChannelMoves; 2]) -> Vec<String> {
    let mut circles: BTreeMap<BTreeSet<&str>, BTreeSet<MovedClaim>> = BTreeMap::new();
    for (members, claims) in steps.into_iter().flat_map(ChannelMoves::circles) {
        circles.entry(members).or_default().extend(claims);
    }
    let texts = circles.into_iter().map(|(members, claims)| {
        let members = members.into_iter().map(|id| format!("'{id}'")).collect();
        let claims: Vec<_> = claims.into_iter().map(MovedClaim::noun).collect();
        let (members, claims) = (join_with_and(members), claims.join(" and "));
        format!("channels {members} take each other's {claims}: put a version in between")
    });
    texts.collect()
}

fn join_with_and(mut parts: Vec<String>) -> String {
    match parts.pop() {
        Some(last) if !parts.is_empty() => format!("{} and {last}", parts.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(steps: &[(&str, &str, MovedClaim)]) -> ChannelMoves {
        let mut moves = ChannelMoves::default();
        for (taker, holder, claim) in steps {
            let (taker, holder) = ((*taker).to_owned(), (*holder).to_owned());
            moves.add(ChannelMove { taker, holder, claim: *claim });
        }
        moves
    }

    #[test]
    fn chain_of_moves_has_no_circle() {
        let chain = moves(&[("a", "b", MovedClaim::Name), ("b", "c", MovedClaim::Route)]);
        assert_eq!(describe_circles([&ChannelMoves::default(), &chain]), [""; 0]);
        assert!(!chain.is_circular("a"));
        // Names are stored before anything is activated, so that circles are of one step.
        let back = moves(&[("b", "a", MovedClaim::Route)]);
        assert_eq!(describe_circles([&chain, &back]), [""; 0]);
    }

    #[test]
    fn circle_is_described_without_its_followers() {
        let steps =
            [("a", "b", MovedClaim::Name), ("b", "a", MovedClaim::Route), ("z", "a", MovedClaim::Name)];
        let swap = moves(&steps);
        let names = moves(&[("a", "b", MovedClaim::Name), ("b", "a", MovedClaim::Name)]);
        let told = "channels 'a' and 'b' take each other's name and route: put a version in between";
        assert_eq!(describe_circles([&names, &swap]), [told]);
        assert!(swap.is_circular("a") && !swap.is_circular("z"));
        let longer = moves(&[
            ("a", "b", MovedClaim::Route),
            ("b", "c", MovedClaim::Route),
            ("c", "a", MovedClaim::Route),
        ]);
        let told = "channels 'a', 'b' and 'c' take each other's route: put a version in between";
        assert_eq!(describe_circles([&ChannelMoves::default(), &longer]), [told]);
    }
}
