//! The test kit shared by the black-box tests, the demo and the benches.
//!
//! Contains a small blocking HTTP/1.1 client ([`http`]), an HTTP/2 client of any frame ([`http2`]), the real `svc-server` as a child process ([`server`]), a
//! scripted HTTPS server ([`tls`]) and HTTP server ([`upstream`]), a secret store ([`vault`]), secrets that are
//! recognised wherever they appear ([`canary`]), addresses that must not be reached ([`spellings`]) and a listener
//! that counts who tries ([`trap`]), real servers as processes ([`daemon`]: [`postgres`], [`mariadb`], [`pgbouncer`]; [`redis`],
//! [`smtp`], [`s3`], an OpenID provider [`oidc`], a broker [`kafka`], a [`collector`] of spans), a server of MongoDB's protocol ([`mongo`]), a DNS server ([`dns`]),
//! a receiver of webhooks ([`standard_webhooks`]),
//! a reader of server-sent events ([`events`]), a proxy that loses the answers to commits ([`commit_proxy`]), an
//! address that leads to one server and later to another ([`gateway`]), schedules ([`cron`]) and the witness of runs
//! ([`witness`]) with the definitions that report to it ([`reporting`]), several servers on one database ([`nodes`]), child processes that end with the test ([`process`]), waiting for a state ([`state`]), and the loading
//! of an example directory through the admin API ([`example`]); components of [`plugins`]. It never links the service: everything goes over a
//! socket, like the client of a user.
//!
//! Without the feature `peers` it has what the demo needs: [`http`], [`server`] and [`example`].

#[cfg(feature = "peers")]
pub mod canary;
#[cfg(feature = "peers")]
pub mod collector;
#[cfg(feature = "peers")]
pub mod commit_proxy;
#[cfg(feature = "peers")]
pub mod cron;
#[cfg(feature = "peers")]
pub mod daemon;
#[cfg(feature = "peers")]
pub mod dns;
#[cfg(feature = "peers")]
pub mod events;
pub mod example;
#[cfg(feature = "peers")]
pub mod findings;
#[cfg(feature = "peers")]
pub mod gateway;
pub mod http;
#[cfg(feature = "peers")]
pub mod http2;
#[cfg(feature = "peers")]
pub mod kafka;
#[cfg(feature = "peers")]
pub mod mariadb;
#[cfg(feature = "peers")]
pub mod mongo;
#[cfg(feature = "peers")]
pub mod nodes;
#[cfg(feature = "peers")]
pub mod oidc;
#[cfg(feature = "peers")]
pub mod peer;
#[cfg(feature = "peers")]
pub mod pgbouncer;
#[cfg(feature = "peers")]
pub mod plugins;
#[cfg(feature = "peers")]
pub mod postgres;
#[cfg(feature = "peers")]
pub mod process;
#[cfg(feature = "peers")]
pub mod project;
#[cfg(feature = "peers")]
pub mod redis;
#[cfg(feature = "peers")]
pub mod reporting;
#[cfg(feature = "peers")]
pub mod rollout;
#[cfg(feature = "peers")]
pub mod s3;
pub mod server;
#[cfg(feature = "peers")]
pub mod smtp;
#[cfg(feature = "peers")]
pub mod spellings;
#[cfg(feature = "peers")]
pub mod standard_webhooks;
#[cfg(feature = "peers")]
pub mod state;
#[cfg(feature = "peers")]
pub mod tls;
#[cfg(feature = "peers")]
pub mod trap;
#[cfg(feature = "peers")]
pub mod upstream;
#[cfg(feature = "peers")]
pub mod vault;
#[cfg(feature = "peers")]
pub mod witness;
