//! The check of names when they are resolved: inside the client, between the lookup and the dial.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::AddressError;
use crate::ranges::is_public;

/// Looks up the addresses of a name.
pub(crate) trait AddressLookup: Send + Sync {
    fn lookup(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
pub(crate) struct SystemLookup;

impl AddressLookup for SystemLookup {
    fn lookup(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        Box::pin(async move {
            // The port is of no account: the client puts in that of the URL.
            let addresses = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver that admits only checked addresses.
pub(crate) struct CheckedResolver {
    pub(crate) lookup: Arc<dyn AddressLookup>,
    pub(crate) allow_private: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (found, allow_private) = (self.lookup.lookup(&host), self.allow_private);
        Box::pin(async move {
            let addresses = admit(host, found.await, allow_private)?;
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Admits all addresses of a lookup or none: a name that mixes public and private addresses is suspicious,
/// and the client chooses which of them it dials.
pub(crate) fn admit(
    host: String,
    found: io::Result<Vec<IpAddr>>,
    allow_private: bool,
) -> Result<Vec<IpAddr>, AddressError> {
    let addresses = match found {
        Err(error) => return Err(AddressError::Unresolved { host, cause: error.to_string() }),
        Ok(none) if none.is_empty() => {
            return Err(AddressError::Unresolved { host, cause: "no address".to_owned() });
        }
        Ok(some) => some,
    };
    match addresses.iter().find(|address| !allow_private && !is_public(**address)) {
        Some(&address) => Err(AddressError::Forbidden { host, address }),
        None => Ok(addresses),
    }
}

#[cfg(test)]
mod tests;
