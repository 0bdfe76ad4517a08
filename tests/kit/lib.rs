//! The test kit shared by the black-box tests, the demo and the benches.
//!
//! Contains a small blocking HTTP/1.1 client ([`http`]), an HTTP/2 client of any frame ([`http2`]), the real `svc-server` as a child process ([`server`]), a
//! scripted HTTPS server ([`tls`]) and HTTP server ([`upstream`]), a secret store ([`vault`]), secrets that are
//! recognised wherever they appear ([`canary`]), addresses that must not be reached ([`spellings`]) and a listener
//! that counts who tries ([`trap`]), real servers as processes ([`daemon`]: [`postgres`], [`mariadb`], [`pgbouncer`]; [`redis`],
//! [`smtp`], [`s3`], an OpenID provider [`oidc`], a broker [`kafka`], a [`collector`] of spans), a server of MongoDB's protocol ([`mongo`]), a DNS server ([`dns`]),
//! a proxy that loses the answers to commits ([`commit_proxy`]), an address that leads to one server and later to
//! another ([`gateway`]), schedules ([`cron`]) and the witness of their runs
//! ([`witness`]), child processes that end with the test ([`process`]), and the loading
//! of an example directory through the admin API ([`example`]). It never links the service: everything goes over a
//! socket, like the client of a user.

pub mod canary;
pub mod collector;
pub mod commit_proxy;
pub mod cron;
pub mod daemon;
pub mod dns;
pub mod example;
pub mod findings;
pub mod gateway;
pub mod http;
pub mod http2;
pub mod kafka;
pub mod mariadb;
pub mod mongo;
pub mod oidc;
pub mod peer;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod project;
pub mod redis;
pub mod rollout;
pub mod s3;
pub mod server;
pub mod smtp;
pub mod spellings;
pub mod tls;
pub mod trap;
pub mod upstream;
pub mod vault;
pub mod witness;
