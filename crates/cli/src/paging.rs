//! Options of lists.

use clap::{Args, ValueEnum};
use svc_client::ApiRequest;

/// The part of a list to show.
#[derive(Args, Clone, Debug)]
pub(crate) struct PageArgs {
    /// Show at most this many rows
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) limit: u64,
    /// Skip this many rows
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
}

/// The order of a list.
#[derive(Args, Clone, Debug)]
pub(crate) struct SortArgs {
    /// Sort by this column
    #[arg(long, value_name = "COLUMN")]
    sort_by: Option<String>,
    /// Sort in this direction
    #[arg(long, value_enum, value_name = "ORDER")]
    sort_order: Option<SortDirection>,
}

/// The direction of a list that has one order.
#[derive(Args, Clone, Debug)]
pub(crate) struct OrderArgs {
    /// Show the rows in this direction
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<SortDirection>,
}

/// The counts of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CountArgs {
    /// Count the rows by status, too
    #[arg(long)]
    include_counts: bool,
}

/// A direction of sorting.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortDirection {
    /// Smallest first
    Asc,
    /// Largest first
    Desc,
}

impl PageArgs {
    /// Adds limit and offset to a request.
    pub(crate) fn add_to(&self, request: ApiRequest) -> ApiRequest {
        request.query("limit", self.limit).optional("offset", self.offset)
    }
}

impl OrderArgs {
    /// Adds the direction to a request.
    pub(crate) fn add_to(&self, request: ApiRequest) -> ApiRequest {
        request.optional("order", self.order.map(SortDirection::name))
    }
}

impl CountArgs {
    /// Adds the order to count to a request.
    pub(crate) fn add_to(self, request: ApiRequest) -> ApiRequest {
        request.optional("include_counts", self.include_counts.then_some(true))
    }
}

impl SortDirection {
    const fn name(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

impl SortArgs {
    /// Adds the sort column and direction to a request.
    pub(crate) fn add_to(&self, request: ApiRequest) -> ApiRequest {
        let order = self.sort_order.map(SortDirection::name);
        request.optional("sort_by", self.sort_by.as_deref()).optional("sort_order", order)
    }
}
