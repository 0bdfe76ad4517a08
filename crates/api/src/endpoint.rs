//! The description of one endpoint: everything that the OpenAPI document says about it, and the query parameters that the
//! server lets through to it.

use svc_model::{ChannelType, Protocol};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::entities::validation::ValidationResult;
use crate::envelope::{DataEnvelope, reference_to};
use crate::parameter::{ParameterKind, PathParameter, QueryParameter};

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Reads; answers `HEAD` as well.
    Get,
    /// Creates or acts.
    Post,
    /// Replaces.
    Put,
    /// Changes a part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// Returns the name in requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The area of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Channels,
    Workflows,
    Connectors,
    Consumers,
    Plugins,
    Engine,
    Functions,
    Audit,
    Traces,
    DeadLetters,
    Bulk,
    Webhooks,
    Backups,
    Packages,
    Cron,
    Data,
    Operational,
}

impl Tag {
    /// All tags, in the order of the document.
    pub const ALL: [Self; 17] = [
        Self::Channels,
        Self::Workflows,
        Self::Connectors,
        Self::Consumers,
        Self::Plugins,
        Self::Engine,
        Self::Functions,
        Self::Audit,
        Self::Traces,
        Self::DeadLetters,
        Self::Bulk,
        Self::Webhooks,
        Self::Backups,
        Self::Packages,
        Self::Cron,
        Self::Data,
        Self::Operational,
    ];

    /// Returns the name in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Channels => "Channels",
            Self::Workflows => "Workflows",
            Self::Connectors => "Connectors",
            Self::Consumers => "Consumers",
            Self::Plugins => "Plugins",
            Self::Engine => "Engine",
            Self::Functions => "Functions",
            Self::Audit => "Audit",
            Self::Traces => "Traces",
            Self::DeadLetters => "Trace DLQ",
            Self::Bulk => "Bulk",
            Self::Webhooks => "Webhooks",
            Self::Backups => "Backups",
            Self::Packages => "Packages",
            Self::Cron => "Cron",
            Self::Data => "Data",
            Self::Operational => "Operational",
        }
    }
}

/// The credential that an endpoint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// None.
    Open,
    /// An admin key, if admin authentication is on.
    Admin,
    /// An admin key for details; the response without one is shorter.
    Optional,
    /// An admin key, or the token that came with the trace.
    TraceToken,
    /// The token that came with the trace, and nothing else.
    Token,
    /// The credential that the channel asks for.
    Channel,
    /// An API key of a consumer.
    Consumer,
}

/// The schema of a body.
#[derive(Clone, Copy)]
pub struct SchemaSource {
    /// Returns the reference to the schema.
    pub(crate) reference: fn() -> RefOr<Schema>,
    /// Collects the schema and those it refers to, by their names.
    pub(crate) collect: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl SchemaSource {
    /// Returns the schema of a type.
    pub const fn for_type<T: ToSchema>() -> Self {
        Self { reference: reference_to::<T>, collect: collect::<T> }
    }
}

fn collect<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

/// The body of a request.
#[derive(Clone, Copy)]
pub struct BodySchema {
    /// Its schema.
    pub(crate) schema: SchemaSource,
    /// An example that runs, as JSON.
    pub example: &'static str,
    /// `true` if the request cannot do without it.
    pub required: bool,
}

/// The body of a response.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// None.
    Empty,
    /// JSON of one of these schemas.
    Json(&'static [SchemaSource]),
    /// A body of one of these media types.
    Other(&'static [&'static str]),
}

/// A response that is no refusal.
#[derive(Clone, Copy)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its meaning.
    pub description: &'static str,
    pub(crate) content: Content,
    /// The schemas of the data of its events, if it is a stream of them.
    pub(crate) events: &'static [SchemaSource],
    /// `true` if it carries the header `ETag`.
    pub(crate) tagged: bool,
}

impl Answer {
    /// A response with JSON of one of these schemas.
    pub const fn json(status: u16, description: &'static str, schemas: &'static [SchemaSource]) -> Self {
        Self { status, description, content: Content::Json(schemas), events: &[], tagged: false }
    }

    /// A response without a body.
    pub const fn empty(status: u16, description: &'static str) -> Self {
        Self { status, description, content: Content::Empty, events: &[], tagged: false }
    }

    /// A response with a body of one of these media types, none of which is JSON.
    pub const fn other(status: u16, description: &'static str, media_types: &'static [&'static str]) -> Self {
        Self { status, description, content: Content::Other(media_types), events: &[], tagged: false }
    }

    /// A stream of server-sent events, whose data are JSON of these schemas. The document has them as components.
    pub const fn events(status: u16, description: &'static str, schemas: &'static [SchemaSource]) -> Self {
        let content = Content::Other(&["text/event-stream"]);
        Self { status, description, content, events: schemas, tagged: false }
    }

    /// Collects the schemas of the body and of the data of its events, by their names.
    pub(crate) fn collect_schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let body: &[SchemaSource] = match self.content {
            Content::Json(sources) => sources,
            Content::Empty | Content::Other(_) => &[],
        };
        body.iter().chain(self.events).for_each(|source| (source.collect)(schemas));
    }

    /// Adds the header `ETag`.
    #[must_use]
    pub const fn with_tag(mut self) -> Self {
        self.tagged = true;
        self
    }
}

/// The report of a dry run, which answers in the place of the real response.
pub(crate) const DRY_RUN_REPORT: SchemaSource = SchemaSource::for_type::<DataEnvelope<ValidationResult>>();

/// The response to the dry run of a request whose real response has another status than 200.
pub(crate) const DRY_RUN: Answer =
    Answer::json(200, "With `dry_run=true`: the report; nothing was written", &[DRY_RUN_REPORT]);

/// The parameter of every request that can be tried without its effect.
pub(crate) const DRY_RUN_PARAMETER: QueryParameter = QueryParameter::new(
    "dry_run",
    ParameterKind::Boolean,
    "`true` answers 200 with the report of the checks and writes nothing",
);

/// The same for a request whose body is an authored document, which a dry run judges like a validation.
pub(crate) const DOCUMENT_DRY_RUN: QueryParameter = DRY_RUN_PARAMETER.in_text_alone();

/// The parameter of a request that refuses to be tried.
pub(crate) const NO_DRY_RUN: QueryParameter = QueryParameter::new(
    "dry_run",
    ParameterKind::Boolean,
    "Only `false`: this request has no dry run, and `true` is refused with 400",
);

/// The node that a request is for, because its effect is on one node.
pub(crate) const NODE: QueryParameter = QueryParameter::new(
    "node",
    ParameterKind::Text,
    "Id of the node that the request is for; another node refuses it with 421",
);

/// The limit of a list that has no pages.
pub(crate) const NO_LIMIT: QueryParameter =
    QueryParameter::new("limit", ParameterKind::Text, "Of no effect: the response has no pages");

/// The offset of a list that has no pages.
pub(crate) const NO_OFFSET: QueryParameter =
    QueryParameter::new("offset", ParameterKind::Text, "Of no effect: the response has no pages");

/// The time at which a committed change is served.
pub(crate) const RELOAD: QueryParameter = QueryParameter::new(
    "reload",
    ParameterKind::OneOf(&["now", "defer"]),
    "`now`, the default, serves the change before the response; `defer` with the next reload of the engine",
);

/// The deletion of something in use.
pub(crate) const FORCE: QueryParameter = QueryParameter::new(
    "force",
    ParameterKind::Boolean,
    "`true` deletes although active definitions need it",
);

/// The treatment of keys of a batch that exist.
pub(crate) const ON_CONFLICT: QueryParameter = QueryParameter::new(
    "on_conflict",
    ParameterKind::OneOf(&["fail", "skip", "new_version"]),
    "The action for a key that exists; `fail` by default",
);

/// The order of a list.
pub(crate) const SORT_ORDER: QueryParameter =
    QueryParameter::new("sort_order", ParameterKind::OneOf(&["asc", "desc"]), "The direction of the order");

/// The label of the rows of a list.
pub(crate) const TAG: QueryParameter =
    QueryParameter::new("tag", ParameterKind::Text, "Only rows with exactly this label");

/// The delivery mode of the rows of a list of channels or workflows.
pub(crate) const CHANNEL_TYPE: QueryParameter = QueryParameter::new(
    "channel_type",
    ParameterKind::OneOf(ChannelType::NAMES),
    "Only channels of this delivery mode; of no effect on workflows",
);

/// The transport of the rows of a list of channels or workflows.
pub(crate) const PROTOCOL: QueryParameter = QueryParameter::new(
    "protocol",
    ParameterKind::OneOf(Protocol::NAMES),
    "Only channels of this transport; of no effect on workflows",
);

/// Returns the parameter that names the column by which a list is ordered; the first is the default.
pub(crate) const fn sort_by(columns: &'static [&'static str]) -> QueryParameter {
    QueryParameter::new(
        "sort_by",
        ParameterKind::OneOf(columns),
        "The column that orders the list; the first by default",
    )
}

/// Leaves out the total, which costs a walk over all that matches.
pub(crate) const TOTAL: QueryParameter = QueryParameter::new(
    "include_total",
    ParameterKind::Boolean,
    "`false` leaves out `total`, whose count takes long among very many rows",
);

/// Maximum number of rows of a page.
pub(crate) const LIMIT: QueryParameter = QueryParameter::new(
    "limit",
    ParameterKind::Integer,
    "Maximum number of rows; 50 by default, moved into 1 to 1000",
);

/// Number of rows before the page.
pub(crate) const OFFSET: QueryParameter =
    QueryParameter::new("offset", ParameterKind::Integer, "Number of rows to skip; 0 by default");

/// A method and a path of the API, and its description.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// Its method.
    pub method: Method,
    /// Its path, with `{name}` for parameters.
    pub path: &'static str,
    /// Its name in the document, by which generated clients call it.
    pub id: &'static str,
    /// Its area.
    pub tag: Tag,
    /// A short description.
    pub summary: &'static str,
    /// A longer description.
    pub description: &'static str,
    /// The credential it asks for.
    pub access: Access,
    /// The parameters of its path, in their order.
    pub path_parameters: &'static [PathParameter],
    /// The parameters of its query; the server refuses any other.
    pub query: &'static [QueryParameter],
    /// `true` if it honours `If-Match`.
    pub precondition: bool,
    /// `true` if it takes the signature of its body.
    pub signed: bool,
    /// The body of its requests.
    pub body: Option<BodySchema>,
    /// Its responses.
    pub answers: &'static [Answer],
    /// Statuses of refusals, besides those that every endpoint of its kind has.
    pub refusals: &'static [u16],
}

impl Endpoint {
    /// Starts the description of an endpoint.
    pub const fn new(
        method: Method,
        path: &'static str,
        id: &'static str,
        tag: Tag,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            id,
            tag,
            summary,
            description: "",
            access: Access::Admin,
            path_parameters: &[],
            query: &[],
            precondition: false,
            signed: false,
            body: None,
            answers: &[],
            refusals: &[],
        }
    }

    /// Adds a longer description.
    #[must_use]
    pub const fn describes(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Sets another credential than an admin key.
    #[must_use]
    pub const fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Adds the parameters of the path. An endpoint that has some can answer 404.
    #[must_use]
    pub const fn path_parameters(mut self, parameters: &'static [PathParameter]) -> Self {
        self.path_parameters = parameters;
        self
    }

    /// Adds the parameters of the query.
    #[must_use]
    pub const fn with_query(mut self, parameters: &'static [QueryParameter]) -> Self {
        self.query = parameters;
        self
    }

    /// Makes the endpoint honour `If-Match`.
    #[must_use]
    pub const fn with_precondition(mut self) -> Self {
        self.precondition = true;
        self
    }

    /// Makes the endpoint take the signature of its body.
    #[must_use]
    pub const fn with_signature(mut self) -> Self {
        self.signed = true;
        self
    }

    /// Adds the body of requests, with an example that runs.
    #[must_use]
    pub const fn takes<T: ToSchema>(mut self, example: &'static str) -> Self {
        self.body = Some(BodySchema { schema: SchemaSource::for_type::<T>(), example, required: true });
        self
    }

    /// Adds the body of requests that may do without it.
    #[must_use]
    pub const fn may_take<T: ToSchema>(mut self, example: &'static str) -> Self {
        self.body = Some(BodySchema { schema: SchemaSource::for_type::<T>(), example, required: false });
        self
    }

    /// Adds the responses.
    #[must_use]
    pub const fn answers(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers;
        self
    }

    /// Adds statuses of refusals.
    #[must_use]
    pub const fn refuses(mut self, statuses: &'static [u16]) -> Self {
        self.refusals = statuses;
        self
    }

    /// Lists the statuses of all refusals, in their order.
    pub fn refusal_statuses(&self) -> Vec<u16> {
        // A head that is no HTTP, comes too slowly or is too large; the platform rate limit; a fault; a node that
        // stops, is full, or has no database.
        let mut statuses = vec![400, 408, 429, 431, 500, 503];
        if matches!(self.access, Access::Admin | Access::TraceToken) {
            statuses.push(401);
            if self.method != Method::Get {
                statuses.push(403);
            }
        }
        if !self.path_parameters.is_empty() {
            statuses.push(404);
        }
        if self.precondition {
            statuses.push(412);
        }
        if self.body.is_some() {
            statuses.extend([413, 415]);
        }
        statuses.extend(self.refusals);
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }
}
