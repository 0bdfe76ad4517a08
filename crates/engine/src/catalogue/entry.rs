//! The catalogue entry of one function.

use serde_json::{Value, json};
use svc_model::{ConnectorType, content_hash};

use super::field::InputField;

/// The origin of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionSource {
    /// Built into the engine; its inputs are listed only on request.
    Engine,
    /// Registered by the service.
    Service,
    /// Of a plugin, or registered by the application that embeds the service.
    Plugin,
}

impl FunctionSource {
    /// Returns the name that the function list shows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Service => "orion",
            Self::Plugin => "plugin",
        }
    }
}

/// The plugin that has a function, or the application that registered one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Its id, the same for all of its functions.
    pub id: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// The query language of a function that speaks one language only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryLanguage {
    /// SQL.
    Sql,
    /// Commands of MongoDB.
    MongoDb,
}

/// The connectors that a function accepts in its input `connector`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectorRequirement {
    /// Accepted connector types.
    pub types: &'static [ConnectorType],
    /// The language of the function; `None` if it works with every system of its types.
    pub language: Option<QueryLanguage>,
    /// An input that falls back to a setting of the connector.
    pub inherited_input: Option<&'static str>,
    /// An input with a whole address, which only connectors that list such addresses accept.
    pub address_input: Option<&'static str>,
}

impl ConnectorRequirement {
    /// Accepts every connector of these types.
    pub const fn new(types: &'static [ConnectorType]) -> Self {
        Self { types, language: None, inherited_input: None, address_input: None }
    }

    /// Restricts the connectors to systems that speak `language`.
    #[must_use]
    pub const fn speaking(self, language: QueryLanguage) -> Self {
        Self { language: Some(language), ..self }
    }

    /// Names an input that falls back to a setting of the connector.
    #[must_use]
    pub const fn inheriting(self, input: &'static str) -> Self {
        Self { inherited_input: Some(input), ..self }
    }

    /// Names an input with a whole address, which only connectors that list such addresses accept.
    #[must_use]
    pub const fn addressed_by(self, input: &'static str) -> Self {
        Self { address_input: Some(input), ..self }
    }
}

/// The system outside the engine that a function calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionTarget {
    /// None: the function stays inside the process.
    None,
    /// The channel that the input `channel` names.
    Channel,
    /// The connector that the input `connector` names.
    Connector(ConnectorRequirement),
    /// The webhook endpoints of the topic that the input `topic` names.
    Topic,
}

impl FunctionTarget {
    /// Returns the input that names the target.
    pub const fn input(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Channel => Some("channel"),
            Self::Connector(_) => Some("connector"),
            Self::Topic => Some("topic"),
        }
    }
}

/// The use of a result for which a task names no `output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultOutput {
    /// The result replaces the whole of `data`.
    ReplacesData,
    /// Members of the result are merged into `data`.
    MergesIntoData,
    /// The result is discarded.
    Discarded,
}

/// The description of one function: its names, its inputs and the systems that it calls.
///
/// Authors are checked against it before a workflow is stored, and every task again when its workflow is
/// compiled. Entries are constants: start from [`plugin`](Self::plugin) and set the other fields.
///
/// ```
/// use svc_engine::catalogue::{FunctionEntry, InputField};
///
/// static ENTRY: FunctionEntry = FunctionEntry {
///     retry_safety: "pure",
///     fields: &[InputField::number("net", "Amount before tax").required().resolvable(), InputField::output()],
///     ..FunctionEntry::plugin("vat", "Adds the value-added tax")
/// };
/// assert_eq!(ENTRY.to_json(false)["source"], "plugin");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FunctionEntry {
    /// The name that workflows use.
    pub name: &'static str,
    /// `connector`, `control`, `data`, `compute` or `utility`.
    pub category: &'static str,
    /// The origin of the function.
    pub source: FunctionSource,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// The effect of a second run: `pure`, `read`, `idempotent_write`, `unsafe_write`, `depends_on:<input>`.
    pub retry_safety: &'static str,
    /// One line.
    pub description: &'static str,
    /// True if a stored task with an unknown input is refused too, and not only an author's.
    pub strict: bool,
    /// True if inputs beyond `fields` are accepted unchecked.
    pub accepts_any_input: bool,
    /// The inputs.
    pub fields: &'static [InputField],
    /// The inputs of each value of the input `op`; empty if no input depends on another.
    pub cases: &'static [OperationCase],
    /// The system that the function calls.
    pub target: FunctionTarget,
    /// The use of a result without an `output`.
    pub default_output: DefaultOutput,
    /// The plugin of the function, or the application that registered it; `None` for functions of the service.
    pub plugin: Option<PluginIdentity>,
    /// The digest of the component that runs the function; `None` for one that is linked in.
    pub component_digest: Option<&'static str>,
}

/// The inputs that belong to one value of the input `op`.
#[derive(Debug)]
pub struct OperationCase {
    /// The value of `op`.
    pub op: &'static str,
    /// Required inputs.
    pub required: &'static [&'static str],
    /// Optional inputs. An input that only other cases name is refused.
    pub optional: &'static [&'static str],
    /// Accepted values of `algorithm`, the default first; empty if the operation has none.
    pub algorithms: &'static [&'static str],
}

impl FunctionEntry {
    /// Starts the entry of a function of the engine itself.
    pub(crate) const fn built_in(name: &'static str, description: &'static str) -> Self {
        Self {
            category: "data",
            source: FunctionSource::Engine,
            retry_safety: "pure",
            ..Self::utility(name, description)
        }
    }

    /// Starts the entry of a function of the service that calls no other system.
    pub const fn utility(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            category: "utility",
            source: FunctionSource::Service,
            aliases: &[],
            retry_safety: "pure",
            description,
            strict: false,
            accepts_any_input: false,
            fields: &[],
            cases: &[],
            target: FunctionTarget::None,
            default_output: DefaultOutput::ReplacesData,
            plugin: None,
            component_digest: None,
        }
    }

    /// Starts the entry of a function of the service that calls a connector.
    pub const fn connector(
        name: &'static str,
        description: &'static str,
        accepts: ConnectorRequirement,
    ) -> Self {
        Self {
            category: "connector",
            target: FunctionTarget::Connector(accepts),
            ..Self::utility(name, description)
        }
    }

    /// Starts the entry of a function of an embedding application.
    ///
    /// It accepts every input, and a second run of it counts as an unsafe write. Set `fields` and
    /// `accepts_any_input: false` to have the inputs of its tasks checked. Set `plugin` to the id and the
    /// version of the application; without it, the function is a plugin of its own name and version 0.0.0.
    pub const fn plugin(name: &'static str, description: &'static str) -> Self {
        Self {
            source: FunctionSource::Plugin,
            retry_safety: "unsafe_write",
            accepts_any_input: true,
            plugin: Some(PluginIdentity { id: name, version: "0.0.0" }),
            ..Self::utility(name, description)
        }
    }

    /// Returns the input of this name or alias.
    pub fn field(&self, name: &str) -> Option<&'static InputField> {
        self.fields.iter().find(|field| field.name == name || field.alias == Some(name))
    }

    /// Returns `true` if stubs answer for the function: it reaches outside the engine, or is one of a plugin.
    pub fn is_stubbable(&self) -> bool {
        self.target != FunctionTarget::None || self.component_digest.is_some()
    }

    /// Lists the name and the aliases of the function.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Lists the names of the inputs, aliases included.
    pub fn input_names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().flat_map(|field| std::iter::once(field.name).chain(field.alias))
    }

    /// Returns the inputs of a value of `op`.
    pub fn case(&self, op: &str) -> Option<&'static OperationCase> {
        self.cases.iter().find(|case| case.op == op)
    }

    /// Returns `true` if an input is allowed in a case: the case names it, or no case does.
    pub fn applies(&self, case: &OperationCase, input: &str) -> bool {
        case.names(input) || !self.cases.iter().any(|other| other.names(input))
    }

    /// Returns the row of the function list; the inputs of a built-in are included only if `all` is set.
    pub fn to_json(&self, all: bool) -> Value {
        let mut entry = json!({
            "name": self.name,
            "category": self.category,
            "source": self.source.name(),
            "aliases": self.aliases,
            "retry_safety": self.retry_safety,
            "description": self.description,
        });
        if all || self.source != FunctionSource::Engine {
            entry["input_fields"] = self.fields.iter().flat_map(InputField::to_json).collect();
        }
        if let Some(PluginIdentity { id, version }) = self.plugin {
            let mut plugin = json!({"id": id, "version": version});
            plugin["digest"] = match self.component_digest {
                Some(digest) => digest.into(),
                // The code of a linked function has no bytes of its own: the digest stands for what it declares.
                None => content_hash(&json!([plugin, entry])).into(),
            };
            entry["plugin"] = plugin;
        }
        entry
    }
}

impl OperationCase {
    /// Returns `true` if the case requires or allows an input.
    pub fn names(&self, input: &str) -> bool {
        self.required.contains(&input) || self.optional.contains(&input)
    }
}
