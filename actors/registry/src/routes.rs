//! The routes of all channels.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::{CALLBACK_METHOD, ClaimedRoute, RoutePattern};

use crate::sharded_map::ShardedMap;
use crate::snapshot::LoadedChannel;

/// The text of a parameter in a shape.
const PARAM: &str = "{}";

/// The positions of the parameters of a pattern: its segment count and a bit for each parameter. A pattern
/// has at most 255 characters, so at most 127 segments.
type Mask = (usize, u128);

/// The routes of all channels, found by shape: a lookup costs one hash per distinct [`Mask`] in use, whatever
/// the number of routes. A clone shares everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteTable {
    /// Routes of one shape, first choice first.
    shapes: ShardedMap<String, Vec<Arc<Route>>>,
    /// Masks in use, with the number of routes that have them.
    masks: Arc<BTreeMap<Mask, usize>>,
}

#[derive(Debug)]
struct Route {
    pattern: RoutePattern,
    entry: Arc<LoadedChannel>,
    /// Set for the callback of a sign-in.
    is_callback: bool,
}

/// The route of a path.
#[derive(Clone, Debug)]
pub(crate) struct RouteMatch<'t> {
    pub(crate) entry: &'t Arc<LoadedChannel>,
    /// Values of the parameters, by name.
    pub(crate) params: Map<String, Value>,
    /// Set for the callback of a sign-in.
    pub(crate) is_callback: bool,
}

impl Route {
    /// Builds the routes of a channel: its own, and that of the callback of its sign-in. Channels of other protocols, and
    /// rows whose patterns do not parse, have none.
    fn of_channel(entry: &Arc<LoadedChannel>) -> impl Iterator<Item = Self> {
        let claims = ClaimedRoute::of_channel(&entry.row.content);
        claims.into_iter().filter_map(move |claim| {
            let pattern = RoutePattern::parse(claim.pattern).ok()?;
            let is_short = pattern.segment_count() < 128;
            is_short.then(|| Self { pattern, entry: Arc::clone(entry), is_callback: claim.is_callback })
        })
    }

    /// Returns `true` if it takes a method. A provider sends browsers back by GET alone.
    fn takes(&self, method: &str) -> bool {
        match self.is_callback {
            true => method.eq_ignore_ascii_case(CALLBACK_METHOD),
            false => takes(self.entry.methods(), method),
        }
    }

    fn methods(&self) -> Vec<String> {
        match self.is_callback {
            true => vec![CALLBACK_METHOD.to_owned()],
            false => with_head(self.entry.methods()),
        }
    }

    /// Returns the rank; the smallest is tried first. All candidates for a path have the same number of
    /// segments.
    fn rank(&self) -> (std::cmp::Reverse<i64>, &str) {
        (std::cmp::Reverse(self.entry.row.content.priority), self.entry.name())
    }
}

/// Returns `true` if a method is declared. An empty list takes all methods; GET includes HEAD.
pub(crate) fn takes(declared: &[String], method: &str) -> bool {
    let listed = |method: &str| declared.iter().any(|listed| listed.eq_ignore_ascii_case(method));
    declared.is_empty() || listed(method) || (method.eq_ignore_ascii_case("HEAD") && listed("GET"))
}

/// Returns the declared methods in upper case, with the HEAD that GET includes.
pub(crate) fn with_head(declared: &[String]) -> Vec<String> {
    let mut methods: Vec<_> = declared.iter().map(|method| method.to_ascii_uppercase()).collect();
    if methods.iter().any(|method| method == "GET") {
        methods.push("HEAD".to_owned());
    }
    methods
}

impl RouteTable {
    pub(crate) fn insert(&mut self, entry: &Arc<LoadedChannel>) {
        for route in Route::of_channel(entry) {
            let shape = route.pattern.shape();
            *Arc::make_mut(&mut self.masks).entry(mask(&shape)).or_default() += 1;
            let add = |routes: &mut Vec<Arc<Route>>| {
                let at = routes.partition_point(|other| other.rank() <= route.rank());
                routes.insert(at, Arc::new(route));
            };
            self.shapes.update(shape, add, Vec::is_empty);
        }
    }

    pub(crate) fn remove(&mut self, entry: &Arc<LoadedChannel>) {
        for route in Route::of_channel(entry) {
            let shape = route.pattern.shape();
            let masks = Arc::make_mut(&mut self.masks);
            let mask = mask(&shape);
            if let Some(count) = masks.get_mut(&mask) {
                *count -= 1;
                if *count == 0 {
                    masks.remove(&mask);
                }
            }
            self.shapes.update(
                shape,
                |routes| routes.retain(|other| other.entry.id != entry.id),
                Vec::is_empty,
            );
        }
    }

    /// Finds the first choice for decoded segments and a method, with the values of its parameters.
    pub(crate) fn find(&self, path: &[String], method: &str) -> Option<RouteMatch<'_>> {
        self.find_where(path, |route| route.takes(method))
    }

    /// Finds the route that takes submissions: the first choice for POST, else the first choice for any method.
    pub(crate) fn find_for_submission(&self, path: &[String]) -> Option<RouteMatch<'_>> {
        self.find(path, "POST").or_else(|| self.find_where(path, |route| !route.is_callback))
    }

    fn find_where(&self, path: &[String], is_candidate: impl Fn(&Route) -> bool) -> Option<RouteMatch<'_>> {
        // No pattern has an empty segment, and a parameter stands for something.
        if path.iter().any(String::is_empty) {
            return None;
        }
        let count = path.len();
        let mut shape = String::with_capacity(path.iter().map(|segment| segment.len() + 2).sum());
        let mut best: Option<(&Route, Vec<(&str, String)>)> = None;
        for (&(_, mask), _) in self.masks.range((count, 0)..=(count, u128::MAX)) {
            write_shape(&mut shape, path, mask);
            for route in self.shapes.get(&shape).into_iter().flatten() {
                if best.as_ref().is_some_and(|(best, _)| best.rank() <= route.rank()) {
                    break;
                }
                // A segment can hold an encoded '/' or "{}", so equal shapes alone prove nothing.
                if let Some(params) = is_candidate(route).then(|| route.pattern.matches(path)).flatten() {
                    best = Some((route, params));
                    break;
                }
            }
        }
        let (route, params) = best?;
        let params =
            params.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
        Some(RouteMatch { entry: &route.entry, params, is_callback: route.is_callback })
    }
}

impl RouteTable {
    /// Returns the methods of every route that matches decoded segments, possibly repeated.
    pub(crate) fn methods(&self, path: &[String]) -> Vec<String> {
        self.matching(path).iter().flat_map(|route| route.methods()).collect()
    }

    /// Returns every route that matches decoded segments.
    fn matching(&self, path: &[String]) -> Vec<&Route> {
        if path.iter().any(String::is_empty) {
            return Vec::new();
        }
        let (count, mut shape, mut matching) = (path.len(), String::new(), Vec::new());
        for (&(_, mask), _) in self.masks.range((count, 0)..=(count, u128::MAX)) {
            write_shape(&mut shape, path, mask);
            let fitting = self.shapes.get(&shape).into_iter().flatten();
            matching
                .extend(fitting.filter(|route| route.pattern.matches(path).is_some()).map(|route| &**route));
        }
        matching
    }
}

fn mask(shape: &str) -> Mask {
    let segments = shape.split('/').skip(1);
    segments
        .fold((0, 0), |(count, mask), segment| (count + 1, mask | (u128::from(segment == PARAM) << count)))
}

fn write_shape(shape: &mut String, path: &[String], mask: u128) {
    shape.clear();
    for (at, segment) in path.iter().enumerate() {
        shape.push('/');
        shape.push_str(if mask >> at & 1 == 1 { PARAM } else { segment });
    }
}

#[cfg(test)]
mod tests;
