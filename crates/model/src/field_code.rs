//! The table of field codes: the classes of validation problems of a field.

use serde::{Serialize, Serializer};

use crate::code::{Code, CodeEntry};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $cause:literal, $remedy:literal;)*) => {
        /// The class of a validation problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FieldCode { $($(#[$doc])* $variant,)* }

        impl FieldCode {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in responses.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the row of the table. Problems of fields are always reported with status 400.
            pub const fn entry(self) -> CodeEntry {
                let (cause, remedy) = match self { $(Self::$variant => ($cause, $remedy),)* };
                CodeEntry { name: self.name(), status: Code::ValidationError.status(), cause, remedy }
            }
        }
    };
}

impl FieldCode {
    /// Returns `true` for a problem of the key at a path, whatever its value is.
    pub const fn is_about_key(self) -> bool {
        matches!(
            self,
            Self::UnknownField
                | Self::DuplicateField
                | Self::FieldNotApplicable
                | Self::UnknownOperator
                | Self::SuspectOperator
        )
    }
}

codes! {
    /// A required field is missing.
    Required = "REQUIRED", "A required field is absent.", "Add the field at `path`.";
    /// A field that the protocol of the channel requires is missing.
    RequiredForProtocol = "REQUIRED_FOR_PROTOCOL",
        "The protocol of the channel needs a field that is absent.",
        "Add the field at `path`, or choose another `protocol`.";
    /// The value is not allowed.
    Invalid = "INVALID", "The value is outside of what the field allows.",
        "Use a value that `message` or `expected` names.";
    /// The value has the wrong JSON type.
    TypeMismatch = "TYPE_MISMATCH", "The JSON type of the value is wrong.",
        "Send the type that `expected` names; `got` names the type that was sent.";
    /// The value is too long.
    TooLong = "TOO_LONG", "The value is over its length.", "Shorten it to the length that `expected` names.";
    /// Two members of a parallel group write the same place.
    ConflictingWrites = "CONFLICTING_WRITES",
        "Two members of a group with `parallel` write the same path, or one a path below that of the other.",
        "Let each member write a path of its own, and join the results in a task after the group.";
    /// The object has a key that is not known.
    UnknownField = "UNKNOWN_FIELD", "The object has no such key.",
        "Use the key that the message names as the nearest, or remove it. Keys that begin with `x-` are free.";
    /// An expression calls an operator that does not exist, in a place that uses only its truth value.
    UnknownOperator = "UNKNOWN_OPERATOR", "An expression of which only the truth counts calls an operator that does not exist.",
        "Use the operator that the message names, or one that `GET /api/v1/admin/functions/operators` lists.";
    /// A value that calls no operator is used as a condition.
    NotAnExpression = "NOT_AN_EXPRESSION",
        "An object of several members, an empty one or a list stands where only the truth of an expression counts: its truth is the same for every message.",
        "Write an object with one member, the operator; combine several conditions with `and` or `or`.";
    /// An object in an expression is probably a misspelt operator call; it is evaluated as data.
    SuspectOperator = "logic.unknown_operator", "A warning: an object reads like the call of an operator and is data.",
        "Use the operator that the message names; leave it where the object is meant to be data.";
    /// An expression is in a field that folds only reads of the message; it is kept as data.
    UnresolvableLogic = "logic.unresolvable",
        "A warning: an expression stands in a field that folds only `{\"var\": path}`; it is kept as data.",
        "Compute the value with `map` before, and read it in the field with `{\"var\": path}`.";
    /// An expression or task writes outside of the parts of the message that are returned and stored.
    PathRoot = "path.root", "A warning: a path begins with none of `data`, `metadata` and `temp_data`.",
        "Begin the path with one of them; leave it where only later tasks are to read the value.";
    /// A field and its alias are both present.
    DuplicateField = "DUPLICATE_FIELD", "A field and its alias are both present.", "Keep one of the two.";
    /// Two tasks or groups have the same id.
    DuplicateTaskId = "DUPLICATE_TASK_ID", "Two tasks or groups share an id.", "Give each an id of its own.";
    /// A task names a function that does not exist.
    UnknownFunction = "UNKNOWN_FUNCTION", "There is no function of that name.",
        "Use a name that `GET /api/v1/admin/functions` lists.";
    /// The document contains source that must be compiled before it is sent.
    UncompiledSource = "UNCOMPILED_SOURCE", "The document holds source that has to be compiled first.",
        "Compile the sources first and send the compiled document.";
    /// A secret reference occurs in a field that does not resolve references.
    UnresolvedSecretRef = "UNRESOLVED_SECRET_REF", "A secret reference stands in a field that resolves none.",
        "Move the secret to a field that takes references, or declare it and read it with `{\"secret\": name}`.";
    /// A secret reference is a part of a longer text.
    EmbeddedReference = "env.embedded",
        "A warning: a secret reference stands inside of a longer text, or with capital letters, and is kept as text.",
        "Let the reference be the whole text, and put what stands around it into the secret; a connector takes `${VAR}` \
         inside of a text.";
    /// The definition is accepted, and this process could not load it now.
    NotLoadable = "NOT_LOADABLE",
        "A warning: the definition is accepted, but this server could not load it, for instance because a variable is not set.",
        "Give the server what the message names, or change the definition.";
    /// The entity, or one that the document names, does not exist yet.
    NotFound = "NOT_FOUND", "The entity, a version of it, or something that it names does not exist or is not active.",
        "Create or activate what the message names first.";
    /// The state of the entity, or of another one, does not allow the request.
    Conflict = "CONFLICT", "The state of the entity, or of another one, stands against the request.",
        "Do what the message names first.";
    /// The entity is not in the state that the request is based on.
    PreconditionFailed = "PRECONDITION_FAILED", "The entity is not in the state that `If-Match` names.",
        "Read it again, and repeat the change with the new `ETag`.";
    /// A database document lacks a member that its operation requires.
    MissingRequired = "missing_required", "A document for a database lacks what its operation needs.",
        "Add the member at `path`.";
    /// A database document has a member that does not apply to its operation.
    FieldNotApplicable = "field_not_applicable",
        "A document for a database has a member that its operation does not take.",
        "Remove the member at `path`, or choose the operation that takes it.";
    /// A database document names an unknown operation or operator.
    UnknownOp = "unknown_op", "A document for a database names no known operation or operator.",
        "Use an operation or operator that the message names.";
    /// An update has no changes.
    EmptyUpdate = "empty_update", "An update changes nothing.", "Name at least one field to be changed.";
    /// An update has no update operators.
    UpdateRequiresOperators = "update_requires_operators", "An update has no update operators.",
        "Put the fields under `$set` or another update operator, or replace the document.";
    /// The array filters do not match the identifiers of the update.
    UnusableArrayFilters = "unusable_array_filters",
        "Array filters and the identifiers of the update do not fit each other.",
        "Give each identifier one filter, and use each filter.";
    /// A replacement document contains update operators.
    ReplaceDocumentIsPlain = "replace_document_is_plain", "A replacement holds update operators.",
        "Send the plain document, or use an update.";
    /// A pipeline that may not run.
    InvalidPipeline = "invalid_pipeline", "A pipeline has a stage that may not run.",
        "Remove the stage that the message names.";
}

impl Serialize for FieldCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
