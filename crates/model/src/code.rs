//! The table of error codes with name, status, cause and remedy. Responses and the error reference are
//! generated from it.

use std::fmt;

/// A row of a table of codes, as the documentation shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeEntry {
    /// The stable name in responses.
    pub name: &'static str,
    /// The HTTP status of the response.
    pub status: u16,
    /// The conditions under which the service returns the code.
    pub cause: &'static str,
    /// The next step for the client.
    pub remedy: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $status:literal, $text:literal, $cause:literal, $remedy:literal;)*) => {
        /// An error code. Names and statuses are stable, because clients branch on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// All codes, ordered by status.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in responses.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// Returns the default message, which discloses nothing beyond the code.
            pub const fn public_text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the row of the table.
            pub const fn entry(self) -> CodeEntry {
                let (cause, remedy) = match self { $(Self::$variant => ($cause, $remedy),)* };
                CodeEntry { name: self.name(), status: self.status(), cause, remedy }
            }
        }
    };
}

codes! {
    /// The request violates a documented rule.
    ValidationError = "VALIDATION_ERROR", 400, "Request validation failed",
        "The request, its query or its body breaks a rule, or a task of the workflow refused the data.",
        "Correct what `message` and `details` name. A repetition without a change is refused again.";
    /// The request has no acceptable credential.
    Unauthorized = "UNAUTHORIZED", 401, "Unauthorized",
        "The credential is missing, malformed or wrong. The answer is the same for every reason.",
        "Send a valid credential. The operator finds the reason in the log of the service and in \
         `svc_channel_auth_rejections_total`.";
    /// The credential is valid, but the operation is not allowed.
    Forbidden = "FORBIDDEN", 403, "Forbidden",
        "The credential is valid and does not allow this: a read-only admin key, claims that the channel refuses, \
         or an origin outside `origin_allow_list`.",
        "Use a credential with the right, or have the operator extend `authorization_logic`, `origin_allow_list` or the key.";
    /// No trusted key has signed what was to be imported.
    UntrustedPackage = "UNTRUSTED_PACKAGE", 403, "The package is not trusted",
        "The server imports packages alone that a key of `packages.trust.public_keys` has signed \
         (`packages.trust.required`); this one has no signature, or one that does not fit.",
        "Sign the file with `package sign` and apply it again with the file of the signature, or have the operator add \
         the key of its author.";
    /// The requested resource does not exist.
    NotFound = "NOT_FOUND", 404, "Not found",
        "No route, channel or stored entity has that path, name or id.",
        "Check the spelling. A channel answers only while it is active.";
    /// The path exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, "Method not allowed",
        "The path exists and does not take this method, or the channel runs on a schedule.",
        "Use a method that the header `Allow` lists.";
    /// The request was not received completely in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408, "The request did not arrive in time",
        "The body came too slowly.",
        "Send the request again, faster, or have the operator raise the time limits of connections.";
    /// The current state of the resource does not allow the request.
    Conflict = "CONFLICT", 409, "Conflict",
        "The state of the resource stands against the request: a name that is taken, a second draft, a key that was \
         seen already, a row that the database has.",
        "Read the resource, resolve what `message` names, and send the request again.";
    /// The first request with this idempotency key is still running.
    IdempotencyInProgress = "IDEMPOTENCY_IN_PROGRESS", 409, "The first request with this idempotency key is running",
        "The channel gives repeats the answer of the first run (`on_duplicate: replay`), and that run has not ended.",
        "Wait for the seconds of `Retry-After` and send the request again: the answer of the run is its answer.";
    /// The resource is not in the state that `If-Match` names.
    PreconditionFailed = "PRECONDITION_FAILED", 412, "The resource has changed",
        "The entity has changed since it was read: none of the tags of `If-Match` is its current one.",
        "Read it again, apply the change to what it is now, and send the new `ETag`.";
    /// The body is larger than the limit.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, "Payload too large",
        "The body is larger than the setting that `message` names: `ingest.max_payload_size`, for the admin API \
         `server.max_admin_body_size`.",
        "Send less, or have the operator raise the setting.";
    /// The content type or the encoding of the body is not taken.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, "Unsupported media type",
        "The channel or endpoint does not take the content type or the content encoding of the body.",
        "Send a content type that the message names (`application/json` where nothing else is configured), \
         uncompressed unless `request.decompress` of the channel names the encoding.";
    /// The request names another node than the one that it reached.
    MisdirectedRequest = "MISDIRECTED_REQUEST", 421, "The request is for another node",
        "The request carries `node`, and another node has received it. `message` names both.",
        "Send it to the node that it is for, or again until the load balancer chooses that node. `GET /api/v1/admin/nodes` lists \
         them.";
    /// The idempotency key was used for another request.
    IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED", 422, "The idempotency key was used for another request",
        "The channel gives repeats the answer of the first run (`on_duplicate: replay`), and this key came before with \
         another body.",
        "Send the bytes of the first request again, or choose a new key for a new request.";
    /// The caller exceeded a rate limit.
    RateLimited = "RATE_LIMITED", 429, "Too many requests",
        "A rate limit of the service, of the channel or of the caller is reached.",
        "Wait for the seconds of `Retry-After`, then send the request again.";
    /// The caller used up its quota.
    QuotaExceeded = "QUOTA_EXCEEDED", 429, "The quota is used up",
        "The requests that `quota` of the channel allows within a minute, hour, day or month are used up.",
        "Wait for the seconds of `Retry-After`, to the end of the window, or ask the operator for a higher quota.";
    /// The request head is larger than the limit.
    HeadTooLarge = "REQUEST_HEADER_FIELDS_TOO_LARGE", 431, "The head of the request is too large",
        "The request line and the headers are larger than the limit, or there are too many headers.",
        "Send fewer or shorter headers.";
    /// An unexpected fault.
    InternalError = "INTERNAL_ERROR", 500, "An internal error occurred",
        "The service met a fault of its own.",
        "Report it with `request_id`: the log of the service has the cause under that id.";
    /// A configuration fault that is detected at run time.
    ConfigError = "CONFIG_ERROR", 500, "A configuration error occurred",
        "Not in use: a fault of the configuration stops the start or quarantines the channel. Kept for one that is met \
         at run time.",
        "The operator finds the setting in the log of the service under `request_id`.";
    /// The database rejected or lost a statement.
    StorageError = "STORAGE_ERROR", 500, "An internal storage error occurred",
        "The database of the service refused a statement.",
        "The operator finds the reason in the log of the service under `request_id`.";
    /// A value could not be serialized to JSON or deserialized from it.
    SerializationError = "SERIALIZATION_ERROR", 500, "An internal serialization error occurred",
        "A value could not be written as JSON or read from it.",
        "Report it with `request_id`: the log of the service has the cause under that id.";
    /// A task failed and stopped its workflow.
    EngineError = "ENGINE_ERROR", 500, "A task of the workflow failed",
        "A task failed and stopped its workflow. `message` names the task and the code of its error.",
        "Look the task code up in the table of task errors. The cause is in the trace of the run; \
         with `server.verbose_errors` it is in the message too.";
    /// The result is larger than the limit.
    ResponseTooLarge = "RESPONSE_TOO_LARGE", 500, "The result is too large",
        "The result of the run is larger than `trace_queue.max_result_size_bytes`.",
        "Let the workflow answer with less, or have the operator raise the setting.";
    /// The channel is quarantined, a capacity is exhausted, or a required component is unavailable.
    ServiceUnavailable = "SERVICE_UNAVAILABLE", 503, "Service unavailable",
        "The channel is quarantined or at capacity, the queue is full, or the database is away.",
        "With `Retry-After`: wait so long and send the request again. Without: the operator finds the reason in \
         `GET /health` and in the log.";
    /// The component of a plugin that the workflow calls is still being compiled.
    PluginCompiling = "PLUGIN_COMPILING", 503, "A plugin is still being compiled",
        "The workflow calls a function of a plugin whose component this node has not compiled yet, after a start or \
         an activation.",
        "Wait for the seconds of `Retry-After` and send the request again.";
    /// An operator has paused the channel, or it has paused itself.
    ChannelPaused = "CHANNEL_PAUSED", 503, "Channel is paused",
        "An operator has paused the channel, or it paused itself after repeated failures (`on_repeated_failure`). \
         Asynchronous submissions are accepted meanwhile.",
        "Wait for the seconds of `Retry-After` and send the request again. The operator finds the reason in \
         `GET /health` and resumes with `POST /api/v1/admin/channels/{id}/resume`.";
    /// A submission began before its row was on disk, and the row was refused.
    SubmissionUncertain = "SUBMISSION_UNCERTAIN", 503, "The submission began and could not be stored",
        "The submission began while its row was being written, and the database then refused the row or did not \
         answer: the run may have had its effects, and there is nothing to poll. `details.began` is true.",
        "Send it again only if its effects may come twice, or under the idempotency key of the channel, which stays \
         claimed for its window. `trace_queue.early_start = false` has every submission wait for its row.";
    /// The circuit breaker of a connector is open.
    CircuitOpen = "CIRCUIT_OPEN", 503, "A circuit breaker is open",
        "The system behind a connector failed repeatedly, and calls of it are held back for a while.",
        "Wait for the seconds of `Retry-After`. The operator restores the system, or resets the breaker with \
         `POST /api/v1/admin/connectors/circuit-breakers/{key}`.";
    /// A deadline expired.
    Timeout = "TIMEOUT", 504, "The deadline passed",
        "The run used up the time of its channel (`timeout_ms`) or its processor time.",
        "Send the request again if that is safe. The operator finds the slow task in the trace, and raises \
         `timeout_ms` or makes the workflow faster.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_their_statuses_are_errors() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!((names.len(), Code::ALL.len()), (29, 29));
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{code}");
            assert!(!code.public_text().is_empty(), "{code}");
        }
    }
}
