//! The table of field codes: the classes of problems that name a field.

use serde::{Serialize, Serializer};

use crate::code::{Code, CodeEntry};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $cause:literal, $remedy:literal;)*) => {
        /// The fault of a field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FieldCode { $($(#[$doc])* $variant,)* }

        impl FieldCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The row of the table. Every problem of a field is answered with 400.
            pub const fn entry(self) -> CodeEntry {
                let (cause, remedy) = match self { $(Self::$variant => ($cause, $remedy),)* };
                CodeEntry { name: self.name(), status: Code::ValidationError.status(), cause, remedy }
            }
        }
    };
}

codes! {
    /// A required field is absent.
    Required = "REQUIRED", "A required field is absent.", "Add the field at `path`.";
    /// The protocol of the channel needs this field.
    RequiredForProtocol = "REQUIRED_FOR_PROTOCOL",
        "The protocol of the channel needs a field that is absent.",
        "Add the field at `path`, or choose another `protocol`.";
    /// The value is wrong.
    Invalid = "INVALID", "The value is outside of what the field allows.",
        "Use a value that `message` or `expected` names.";
    /// The JSON type is wrong.
    TypeMismatch = "TYPE_MISMATCH", "The JSON type of the value is wrong.",
        "Send the type that `expected` names; `got` names the type that was sent.";
    /// The value is over its length.
    TooLong = "TOO_LONG", "The value is over its length.", "Shorten it to the length that `expected` names.";
    /// A strict object does not know this key.
    UnknownField = "UNKNOWN_FIELD", "The object has no such key.",
        "Use the key that the message names as the nearest, or remove it. Keys that begin with `x-` are free.";
    /// No operator has the name that an expression calls where only its truth counts.
    UnknownOperator = "UNKNOWN_OPERATOR", "An expression of which only the truth counts calls an operator that does not exist.",
        "Use the operator that the message names, or one that `GET /api/v1/admin/functions/operators` lists.";
    /// A value is built of an object that is likely a misspelt call of an operator.
    SuspectOperator = "logic.unknown_operator", "A warning: an object reads like the call of an operator and is data.",
        "Use the operator that the message names; leave it where the object is meant to be data.";
    /// A path writes outside of what is returned and kept.
    PathRoot = "path.root", "A warning: a path begins with none of `data`, `metadata` and `temp_data`.",
        "Begin the path with one of them; leave it where only later tasks are to read the value.";
    /// A field and its alias are both present.
    DuplicateField = "DUPLICATE_FIELD", "A field and its alias are both present.", "Keep one of the two.";
    /// Two tasks or groups share an id.
    DuplicateTaskId = "DUPLICATE_TASK_ID", "Two tasks or groups share an id.", "Give each an id of its own.";
    /// No function of that name.
    UnknownFunction = "UNKNOWN_FUNCTION", "There is no function of that name.",
        "Use a name that `GET /api/v1/admin/functions` lists.";
    /// Source that should have been compiled is still in the document.
    UncompiledSource = "UNCOMPILED_SOURCE", "The document holds source that has to be compiled first.",
        "Compile the sources first and send the compiled document.";
    /// A secret reference stands in a field that resolves none.
    UnresolvedSecretRef = "UNRESOLVED_SECRET_REF", "A secret reference stands in a field that resolves none.",
        "Move the secret to a field that takes references, or declare it and read it with `{\"secret\": name}`.";
    /// Something the document names, or the entity itself, does not exist (yet).
    NotFound = "NOT_FOUND", "The entity, a version of it, or something that it names does not exist or is not active.",
        "Create or activate what the message names first.";
    /// The state of the entity, or of another one, stands against the request.
    Conflict = "CONFLICT", "The state of the entity, or of another one, stands against the request.",
        "Do what the message names first.";
    /// The entity is not in the state that the request was based on.
    PreconditionFailed = "PRECONDITION_FAILED", "The entity is not in the state that `If-Match` names.",
        "Read it again, and repeat the change with the new `ETag`.";
    /// A document for a database lacks what its operation needs.
    MissingRequired = "missing_required", "A document for a database lacks what its operation needs.",
        "Add the member at `path`.";
    /// A document for a database has what its operation does not know.
    FieldNotApplicable = "field_not_applicable",
        "A document for a database has a member that its operation does not take.",
        "Remove the member at `path`, or choose the operation that takes it.";
    /// No operation or operator of that name.
    UnknownOp = "unknown_op", "A document for a database names no known operation or operator.",
        "Use an operation or operator that the message names.";
    /// An update that changes nothing.
    EmptyUpdate = "empty_update", "An update changes nothing.", "Name at least one field to be changed.";
    /// An update without update operators.
    UpdateRequiresOperators = "update_requires_operators", "An update has no update operators.",
        "Put the fields under `$set` or another update operator, or replace the document.";
    /// Array filters and the identifiers of the update do not fit each other.
    UnusableArrayFilters = "unusable_array_filters",
        "Array filters and the identifiers of the update do not fit each other.",
        "Give each identifier one filter, and use each filter.";
    /// A replacement with update operators.
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
