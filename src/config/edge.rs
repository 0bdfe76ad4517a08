//! The HTTP edge: `[server]`, `[ingest]`, `[admin_auth]`, `[cors]`, `[rate_limit]`, `[channel_filter]`.

use std::collections::BTreeSet;

use svc_model::{ClientNetworks, is_token, origin_problem};

use super::admin_key::AdminKey;
use super::network::Network;
use super::problem::Diagnostics;
use super::setting::section;
use super::tls::TlsSection;

section! {
    /// The main listener and what it answers.
    pub struct ServerSection {
        /// Address to listen on: an IP address or a host name. Unset: every interface (`0.0.0.0`) where
        /// `admin_auth.enabled` is true, `127.0.0.1` alone otherwise, because anybody could use the admin
        /// API.
        pub host: Option<String> = None,
        /// TCP port to listen on.
        pub port: u16 = 8080,
        /// Seconds during which requests are still taken after the signal to end; `/readyz` answers 503 at
        /// once. A Ctrl-C at a terminal skips them.
        pub shutdown_drain_secs: u64 = 30,
        /// Seconds that everything in flight gets after that: requests, requests taken for later, runs of
        /// schedules. What is left is cut, and the process ends within two seconds more. 0 sets no bound on
        /// what runs; a body that is still arriving gets 30 seconds.
        pub shutdown_force_timeout_secs: u64 = 30,
        /// Connections that the kernel keeps until they are accepted.
        pub backlog: u32 = 1024,
        /// Connections served at once; fewer if the limit of open files asks for it. One more gets 503.
        pub max_connections: usize = 10_000,
        /// Connections of one address, or of one IPv6 network (`rate_limit.ipv6_prefix`), served at once; at most half of
        /// those served in all. One more gets 429. Addresses in `rate_limit.trusted_proxies` are not counted.
        pub max_connections_per_address: usize = 2_000,
        /// Seconds that the head of a request may take, from the connection or its first byte; then 408.
        pub head_timeout_secs: u64 = 10,
        /// Seconds that a connection is kept open between an answer and the next request.
        pub keep_alive_secs: u64 = 75,
        /// Seconds that a body may take in all; then 408.
        pub body_timeout_secs: u64 = 300,
        /// Bytes per second at which a body must arrive and an answer must be read; 0 asks for one byte per
        /// period.
        pub min_transfer_rate: u64 = 512,
        /// Seconds over which that rate is measured; a body below it gets 408, a reader below it is cut off.
        pub transfer_window_secs: u64 = 30,
        /// Largest body of an admin request in bytes; a larger one gets 413.
        pub max_admin_body_size: usize = 8_388_608,
        /// Bytes that requests in flight may hold in memory, all together: the head, the body, what is made of it and
        /// its answer; a request beyond gets 503, one that is alone is always taken. 0 sets no bound.
        pub max_in_flight_bytes: usize = 268_435_456,
        /// Further path prefixes of the data plane, next to `/api/v1/data`.
        pub data_mounts: Vec<String> = Vec::new(),
        /// Shows internal detail in errors. Unset: everywhere but in production, which refuses `true`.
        pub verbose_errors: Option<bool> = None,
        /// The served API documentation.
        pub docs: DocsSection = DocsSection::default(),
        /// The console of operators.
        pub console: ConsoleSection = ConsoleSection::default(),
        /// Compression of responses.
        pub compression: CompressionSection = CompressionSection::default(),
        /// TLS on the main listener.
        pub tls: TlsSection = TlsSection::default(),
        /// The served documents of channels, for their callers.
        pub data_docs: DataDocsSection = DataDocsSection::default(),
    }
}

section! {
    /// `/api/v1/data/openapi.json` and `/api/v1/data/docs`: the channels that take requests, for their callers.
    pub struct DataDocsSection {
        /// Serves them, without a key. A channel of such a path wins.
        pub enabled: bool = false,
    }
}

section! {
    /// `/docs` and `/api/v1/openapi.json`.
    pub struct DocsSection {
        /// Serves them. Unset: everywhere but in production.
        pub enabled: Option<bool> = None,
    }
}

section! {
    /// The console of operators: its page, the live data of the page, and the figures that each node stores for it.
    pub struct ConsoleSection {
        /// Serves it; else its paths answer 404. Unset: not in production, and elsewhere only if `admin_auth.enabled` is
        /// true or the service listens on loopback alone.
        pub enabled: Option<bool> = None,
        /// Path of the page, without a slash at its end. No data mount may be it or lie under it; it wins over the mount
        /// `/`.
        pub path: String = "/console".into(),
        /// Streams of live data that this node serves at once, from 1 to 1000; one more gets 503.
        pub max_viewers: usize = 50,
    }
}

section! {
    /// Compression of responses.
    pub struct CompressionSection {
        /// Compresses responses with gzip for clients that accept it.
        pub enabled: bool = false,
    }
}

section! {
    /// Limits of the data plane.
    pub struct IngestSection {
        /// Largest body of a data request in bytes; a larger one gets 413.
        pub max_payload_size: usize = 1_048_576,
        /// Most members of one object in a body; more get 400.
        pub max_object_members: usize = 10_000,
        /// Most elements of one array in a body; more get 400.
        pub max_array_elements: usize = 100_000,
    }
}

section! {
    /// Access to the admin API.
    pub struct AdminAuthSection {
        /// Requires a key. Production refuses to start without.
        pub enabled: bool = false,
        /// Keys with all rights: plain text of 32 characters or more, or `sha256:` and 64 hexadecimal digits; or `file://…`,
        /// the file that holds one. A table `{name, key}`, in the file alone, names the holder in the audit log; each name
        /// occurs once in both lists.
        pub api_keys: Vec<AdminKey> = Vec::new(),
        /// Keys that may only read (GET and HEAD), written alike.
        pub read_only_api_keys: Vec<AdminKey> = Vec::new(),
        /// A further header that carries a raw key, looked at before `x-api-key` and `Authorization`.
        pub header: String = "Authorization".into(),
        /// Host names by which the admin API may be called while no key is required, next to `server.host`, `localhost`
        /// and every IP address: what a compose file or a cluster calls the service. Another name in `Host` gets 403,
        /// because a web page can give its own name the address of this host.
        pub allowed_hosts: Vec<String> = Vec::new(),
    }
}

section! {
    /// Browsers of other origins.
    pub struct CorsSection {
        /// Origins that may read answers; `*` alone allows any, but not at the admin API, and is refused in
        /// production; an empty list allows none.
        pub allowed_origins: Vec<String> = vec!["*".into()],
        /// Request headers allowed in addition to content-type, authorization, accept, x-api-key, idempotency-key,
        /// x-request-id, x-trace-token.
        pub additional_allowed_headers: Vec<String> = Vec::new(),
        /// Response headers exposed in addition to x-request-id, x-trace-id, retry-after and location.
        pub additional_exposed_headers: Vec<String> = Vec::new(),
        /// Allows credentials; not together with `*`.
        pub allow_credentials: bool = false,
        /// Seconds a browser may keep a preflight answer, at most 86400. Unset: the browser's own default.
        pub max_age_secs: Option<u64> = None,
    }
}

section! {
    /// The limit on requests of one client address to this node, before any credential or channel is looked
    /// at.
    pub struct RateLimitSection {
        /// Limits requests.
        pub enabled: bool = false,
        /// Requests per second of one client, to each class of paths without a number of its own.
        pub default_rps: u32 = 100,
        /// Requests a client may send at once.
        pub default_burst: u32 = 50,
        /// Proxies (IP addresses or networks) whose forwarded headers name the client; used whether limited
        /// or not.
        pub trusted_proxies: Vec<Network> = Vec::new(),
        /// Bits of an IPv6 address by which a client is counted, used whether limited or not: in rate limits, those of
        /// channels included, in lock-outs, in guesses of keys and in connections of one address. 128 counts each address.
        pub ipv6_prefix: u32 = 64,
        /// Limits of single classes of paths.
        pub endpoints: RateLimitEndpointsSection = RateLimitEndpointsSection::default(),
    }
}

section! {
    /// Requests per second by class of path; the burst is half of it and one.
    pub struct RateLimitEndpointsSection {
        /// The admin API, reads and refused keys included.
        pub admin_rps: u32 = 20,
        /// The data plane, mounts included. Unset: the default limit.
        pub data_rps: Option<u32> = None,
    }
}

section! {
    /// The channels that this node serves, by name; `*` matches any characters.
    pub struct ChannelFilterSection {
        /// Names served; empty serves all.
        pub include: Vec<String> = Vec::new(),
        /// Names not served, whatever `include` says.
        pub exclude: Vec<String> = Vec::new(),
    }
}

/// The remedy for a path that [`is_plain_path`] refuses.
const PLAIN_PATH: &str = "write a path like \"/hooks\", without blanks, %, braces or a slash at its end";

/// Returns `true` for an absolute path whose text is the same on its way through every client and proxy.
fn is_plain_path(path: &str) -> bool {
    let illegal = |c: char| c.is_whitespace() || c.is_control() || "%{}?#".contains(c);
    path.starts_with('/') && !path.ends_with('/') && !path.contains("//") && !path.contains(illegal)
}

/// Returns `true` for a path that is another one or lies under it.
fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Paths of the service itself, which no data mount may cover.
const OWN_PATHS: [&str; 6] = ["/api", "/health", "/healthz", "/readyz", "/metrics", "/docs"];

impl ServerSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if let Some(host) = &self.host {
            diagnostics.require_filled("server.host", host);
        }
        diagnostics.require_positive("server.port", self.port);
        diagnostics.require_within("server.backlog", self.backlog, 1..=65_535);
        diagnostics.require_positive("server.max_connections", self.max_connections);
        diagnostics.require_positive("server.max_connections_per_address", self.max_connections_per_address);
        diagnostics.require_within("server.head_timeout_secs", self.head_timeout_secs, 1..=3_600);
        diagnostics.require_within("server.keep_alive_secs", self.keep_alive_secs, 1..=86_400);
        diagnostics.require_within("server.body_timeout_secs", self.body_timeout_secs, 1..=86_400);
        diagnostics.require_within("server.min_transfer_rate", self.min_transfer_rate, 0..=1_073_741_824);
        diagnostics.require_within("server.transfer_window_secs", self.transfer_window_secs, 1..=3_600);
        diagnostics.require_positive("server.max_admin_body_size", self.max_admin_body_size);
        self.check_mounts(diagnostics);
        self.console.check(diagnostics);
        self.tls.check(diagnostics);
    }

    fn check_mounts(&self, diagnostics: &mut Diagnostics) {
        const KEY: &str = "server.data_mounts";
        for (index, mount) in self.data_mounts.iter().enumerate() {
            if mount == "/" {
                diagnostics.note(format!("{KEY}: \"/\" makes every path that is no other a data path"));
            } else if !is_plain_path(mount) {
                diagnostics.refuse(KEY, format!("{mount:?}: {PLAIN_PATH}"));
            } else if let Some(own) = OWN_PATHS.iter().find(|own| is_below(mount, own)) {
                diagnostics
                    .refuse(KEY, format!("{mount:?}: {own} belongs to the service; choose another path"));
            }
            let nested = |other: &&String| {
                mount == "/" || *other == "/" || is_below(mount, other) || is_below(other, mount)
            };
            if let Some(other) = self.data_mounts[..index].iter().find(nested) {
                diagnostics
                    .refuse(KEY, format!("{mount:?} and {other:?} cover one another; keep one of them"));
            }
        }
    }
}

impl ConsoleSection {
    /// Returns the problem of a data mount that the console would hide, or that would hide the console.
    pub(crate) fn mount_problem(&self, mount: &str) -> Option<String> {
        let clashes = is_plain_path(mount) && (is_below(mount, &self.path) || is_below(&self.path, mount));
        clashes.then(|| {
            let path = &self.path;
            format!(
                "{mount:?}: {path} is the console; choose another path, another server.console.path, or set \
                 server.console.enabled = false"
            )
        })
    }

    fn check(&self, diagnostics: &mut Diagnostics) {
        const KEY: &str = "server.console.path";
        let path = &self.path;
        if !is_plain_path(path) {
            diagnostics.refuse(KEY, format!("{path:?}: {PLAIN_PATH}"));
        } else if let Some(own) = OWN_PATHS.iter().find(|own| is_below(path, own)) {
            diagnostics.refuse(KEY, format!("{path:?}: {own} belongs to the service; choose another path"));
        }
        diagnostics.require_within("server.console.max_viewers", self.max_viewers, 1..=1_000);
    }
}

impl IngestSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("ingest.max_payload_size", self.max_payload_size);
        diagnostics.require_positive("ingest.max_object_members", self.max_object_members);
        diagnostics.require_positive("ingest.max_array_elements", self.max_array_elements);
    }
}

impl AdminAuthSection {
    /// Returns the lists of keys, each with the name of its setting.
    pub(crate) fn key_lists(&self) -> [(&'static str, &[AdminKey]); 2] {
        [("admin_auth.api_keys", &self.api_keys), ("admin_auth.read_only_api_keys", &self.read_only_api_keys)]
    }

    /// Puts the content of the files in place of the references to them.
    pub(crate) fn read_files(
        &mut self,
        lookup: impl Fn(&str) -> Option<String>,
        diagnostics: &mut Diagnostics,
    ) {
        let lists = [
            ("admin_auth.api_keys", &mut self.api_keys),
            ("admin_auth.read_only_api_keys", &mut self.read_only_api_keys),
        ];
        for (list, keys) in lists {
            for (index, key) in keys.iter_mut().enumerate() {
                if let Err(problem) = key.read_file(&lookup) {
                    diagnostics.refuse_unreadable(list, list, format!("entry {}: {problem}", index + 1));
                }
            }
        }
    }

    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.enabled && self.api_keys.iter().all(|key| key.key.expose().trim().is_empty()) {
            diagnostics
                .refuse("admin_auth.api_keys", "needs at least one key when admin_auth.enabled is true");
        }
        for (name, keys) in self.key_lists() {
            for (index, _) in keys.iter().enumerate().filter(|(_, key)| key.is_malformed()) {
                diagnostics.refuse(
                    name,
                    format!("entry {}: a digest is sha256: and 64 hexadecimal digits", index + 1),
                );
            }
        }
        let is_name = |host: &String| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        for host in self.allowed_hosts.iter().filter(|host| !is_name(host)) {
            let why = format!("{host:?} is no host name; write the name alone, without scheme and port");
            diagnostics.refuse("admin_auth.allowed_hosts", why);
        }
        let mut names = BTreeSet::new();
        for (list, keys) in self.key_lists() {
            for (index, key) in keys.iter().enumerate() {
                let problem = key.name_problem().or_else(|| {
                    let name = key.name.as_deref()?;
                    (!names.insert(name)).then_some("another key has this name: one of each")
                });
                if let Some(problem) = problem {
                    diagnostics.refuse(list, format!("entry {}: {problem}", index + 1));
                }
            }
        }
        if !is_token(&self.header) {
            diagnostics.refuse("admin_auth.header", format!("{:?} is no header name", self.header));
        }
    }
}

impl CorsSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        let wildcard = self.allowed_origins.iter().any(|origin| origin == "*");
        if wildcard && self.allowed_origins.len() > 1 {
            diagnostics.refuse("cors.allowed_origins", "\"*\" stands alone; remove it or the other origins");
        }
        for problem in
            self.allowed_origins.iter().filter(|origin| *origin != "*").filter_map(|one| origin_problem(one))
        {
            diagnostics.refuse("cors.allowed_origins", problem);
        }
        if wildcard && self.allow_credentials {
            diagnostics
                .refuse("cors.allow_credentials", "not together with the origin \"*\"; list the origins");
        }
        for (key, headers) in [
            ("cors.additional_allowed_headers", &self.additional_allowed_headers),
            ("cors.additional_exposed_headers", &self.additional_exposed_headers),
        ] {
            for header in headers.iter().filter(|header| *header == "*" || !is_token(header)) {
                diagnostics.refuse(key, format!("{header:?} is no header name; list the names one by one"));
            }
        }
        diagnostics.require_within("cors.max_age_secs", self.max_age_secs.unwrap_or_default(), 0..=86_400);
    }
}

impl RateLimitSection {
    /// Returns the networks that count as one client.
    pub(crate) fn client_networks(&self) -> ClientNetworks {
        ClientNetworks::new(self.ipv6_prefix)
    }

    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("rate_limit.ipv6_prefix", self.ipv6_prefix, 1..=128);
        if self.enabled {
            diagnostics.require_positive("rate_limit.default_rps", self.default_rps);
            diagnostics.require_positive("rate_limit.default_burst", self.default_burst);
            diagnostics.require_positive("rate_limit.endpoints.admin_rps", self.endpoints.admin_rps);
            diagnostics
                .require_positive("rate_limit.endpoints.data_rps", self.endpoints.data_rps.unwrap_or(1));
        }
    }
}
