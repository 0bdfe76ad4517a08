//! The block `for_each` of a task or group.

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

use crate::catalogue::{Catalogue, DefaultOutput};
use crate::path::{self, Path, Root};
use crate::workflow::authored::authored_input;
use crate::workflow::retry_spec::whole_number;

/// The most elements that run at once.
const MAX_CONCURRENCY: u64 = 256;
/// The key below `temp_data` that holds the element.
pub(crate) const DEFAULT_ELEMENT: &str = "item";

/// The block without its expression.
pub(crate) struct FanOutSpec<'d> {
    /// The expression of the list.
    pub(crate) over: &'d Value,
    pub(crate) element: Path,
    pub(crate) index: Option<Path>,
    pub(crate) max_concurrency: usize,
    pub(crate) collect: Path,
    pub(crate) into: Path,
    pub(crate) continue_on_error: bool,
}

impl<'d> FanOutSpec<'d> {
    /// Reads the block of a task or group, if it has one; every problem is added to `errors` at its path.
    pub(crate) fn parse(
        catalogue: &Catalogue,
        step: &'d Map<String, Value>,
        at: &str,
        errors: &mut Vec<FieldError>,
    ) -> Option<Self> {
        let block = step.get("for_each").filter(|block| !block.is_null())?;
        let at = format!("{at}.for_each");
        if !block.is_object() {
            errors.push(FieldError::type_mismatch(at, "object", block));
            return None;
        }
        let before = errors.len();
        match block.get("over") {
            None => errors.push(FieldError::required(format!("{at}.over"))),
            Some(over) => refuse_other_literal(over, &format!("{at}.over"), errors),
        }
        let (element, index) = parse_keys(block, &at, errors);
        let max_concurrency = match &block["max_concurrency"] {
            Value::Null => Some(1),
            value => whole_number(value, &format!("{at}.max_concurrency"), 1, MAX_CONCURRENCY, errors),
        };
        let into = parse_into(block, &at, errors);
        let collect = match &block["collect"] {
            Value::Null => default_collect(catalogue, step, &at, errors),
            value => source_path(value, &format!("{at}.collect"), errors),
        };
        let continue_on_error = parse_tolerance(block, &at, errors);
        let max_concurrency = usize::try_from(max_concurrency?).ok()?;
        let (element, collect, into) = (element?, collect?, into?);
        (errors.len() == before).then_some(Self {
            over: &block["over"],
            element,
            index,
            max_concurrency,
            collect,
            into,
            continue_on_error,
        })
    }
}

/// Reads the paths of the element and of its index.
fn parse_keys(block: &Value, at: &str, errors: &mut Vec<FieldError>) -> (Option<Path>, Option<Path>) {
    let element = match &block["as"] {
        Value::Null => below_temp_data(DEFAULT_ELEMENT),
        value => element_path(value, &format!("{at}.as"), errors),
    };
    let index = match &block["index_as"] {
        Value::Null => None,
        value => element_path(value, &format!("{at}.index_as"), errors),
    };
    if index.is_some() && index == element {
        errors.push(FieldError::invalid(format!("{at}.index_as"), "another key than that of 'as'"));
    }
    (element, index)
}

/// Reads the path of the list of values, which is required.
fn parse_into(block: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<Path> {
    match &block["into"] {
        Value::Null => {
            errors.push(FieldError::required(format!("{at}.into")));
            None
        }
        value => target_path(value, &format!("{at}.into"), errors),
    }
}

fn parse_tolerance(block: &Value, at: &str, errors: &mut Vec<FieldError>) -> bool {
    match &block["continue_on_error"] {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        other => {
            errors.push(FieldError::type_mismatch(format!("{at}.continue_on_error"), "boolean", other));
            false
        }
    }
}

/// Refuses a literal that is no list: every run would fail by it. Mostly it is a path that was meant to be read.
pub(crate) fn refuse_other_literal(over: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let is_other = match over {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        // An object of one member calls an operator.
        Value::Object(members) => members.len() != 1,
        Value::Array(_) => false,
    };
    if is_other {
        let message = "an expression that gives a list, such as {\"var\": \"payload.items\"}";
        errors.push(FieldError::invalid(at, message));
    }
}

fn below_temp_data(key: &str) -> Option<Path> {
    Path::parse(&format!("temp_data.{key}")).ok()
}

/// Reads a plain key below `temp_data`.
pub(crate) fn element_path(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<Path> {
    let Some(key) = value.as_str() else {
        errors.push(FieldError::type_mismatch(at, "string", value));
        return None;
    };
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let path = below_temp_data(key).filter(|_| is_plain && !key.bytes().all(|byte| byte.is_ascii_digit()));
    if path.is_none() {
        let message = "a plain key below temp_data: letters, digits, '_' and '-', not digits alone";
        errors.push(FieldError::invalid(at, message));
    }
    path
}

fn target_path(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<Path> {
    let Some(text) = value.as_str() else {
        errors.push(FieldError::type_mismatch(at, "string", value));
        return None;
    };
    let path = Path::parse_target(text).map_err(|error| error.to_string()).and_then(|path| {
        if *path.root() == Root::Metadata && path.segments().is_empty() {
            return Err("metadata itself is no list; name a path below it".to_owned());
        }
        path::check(None, path.segments(), &Value::Null, usize::MAX).map_err(|error| error.to_string())?;
        Ok(path)
    });
    path.map_err(|reason| errors.push(FieldError::invalid(at, reason))).ok()
}

fn source_path(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<Path> {
    let Some(text) = value.as_str() else {
        errors.push(FieldError::type_mismatch(at, "string", value));
        return None;
    };
    Path::parse(text).map_err(|reason| errors.push(FieldError::invalid(at, reason.to_string()))).ok()
}

/// Returns the path of the output of a task, which is collected unless the block names another.
fn default_collect(
    catalogue: &Catalogue,
    step: &Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) -> Option<Path> {
    let output = step.get("function").and_then(|function| output_path(catalogue, function));
    let path = output.and_then(|output| Path::parse(&output).ok());
    if path.is_none() {
        let message = "required: the path of the value that is kept of each element";
        errors.push(FieldError::new(format!("{at}.collect"), FieldCode::Required, message));
    }
    path
}

/// Returns the one path that a task writes its result to, if its document says so.
fn output_path(catalogue: &Catalogue, function: &Value) -> Option<String> {
    let input = authored_input(function);
    let name = function["name"].as_str()?;
    match name {
        "map" => match input["mappings"].as_array()?.as_slice() {
            [only] if only["unset"] != true => only["path"].as_str().map(str::to_owned),
            _ => None,
        },
        "parse_csv" | "parse_json" | "parse_xml" | "publish_csv" | "publish_json" | "publish_xml" => {
            input["target"].as_str().map(|target| format!("data.{target}"))
        }
        name => {
            let entry = catalogue.find(name)?;
            let Some(output) = entry.field("output") else {
                return entry
                    .accepts_any_input
                    .then(|| input["output"].as_str().unwrap_or("data").to_owned());
            };
            let named = std::iter::once(output.name).chain(output.alias).find_map(|key| input[key].as_str());
            match named {
                Some(path) => Some(path.to_owned()),
                None => (entry.default_output != DefaultOutput::Discarded).then(|| "data".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::Engine;

    fn problems(block: Value) -> Vec<String> {
        let engine = Engine::builder().build();
        let step = json!({"id": "t", "for_each": block, "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": 1}]}}});
        let mut errors = Vec::new();
        let spec = FanOutSpec::parse(engine.catalogue(), step.as_object().unwrap(), "tasks[0]", &mut errors);
        assert_eq!(spec.is_some(), errors.is_empty());
        errors.into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn bounds_of_concurrency_are_kept() {
        let block = |n: i64| json!({"over": [1], "into": "data.list", "max_concurrency": n});
        for (n, is_valid) in [(-1, false), (0, false), (1, true), (256, true), (257, false)] {
            assert_eq!(problems(block(n)).is_empty(), is_valid, "{n}");
        }
    }

    #[test]
    fn output_of_a_task_is_collected() {
        let engine = Engine::builder().build();
        let collected = |name: &str, input: Value| {
            let step = json!({"for_each": {"over": [1], "into": "data.list"},
                "function": {"name": name, "input": input}});
            let mut errors = Vec::new();
            let spec =
                FanOutSpec::parse(engine.catalogue(), step.as_object().unwrap(), "tasks[0]", &mut errors);
            spec.map(|spec| spec.collect.to_string())
        };
        let target = |name: &str| collected(name, json!({"source": "temp_data.item", "target": "x"}));
        for name in ["parse_csv", "parse_json", "parse_xml", "publish_csv", "publish_json", "publish_xml"] {
            assert_eq!(target(name).as_deref(), Some("data.x"), "{name}");
        }
        let map = |mappings: Value| collected("map", json!({"mappings": mappings}));
        assert_eq!(map(json!([{"path": "temp_data.a", "logic": 1}])).as_deref(), Some("temp_data.a"));
        assert_eq!(map(json!([{"path": "temp_data.a", "unset": true}])), None);
        assert_eq!(map(json!([{"path": "data.a", "logic": 1}, {"path": "data.b", "logic": 1}])), None);
        assert_eq!(collected("log", json!({"message": "m"})), None);
    }

    #[test]
    fn null_as_list_is_no_missing_key() {
        let code = |block: Value| {
            let (engine, mut errors) = (Engine::builder().build(), Vec::new());
            let step = json!({"function": {"name": "log", "input": {"message": "m"}}, "for_each": block});
            FanOutSpec::parse(engine.catalogue(), step.as_object().unwrap(), "tasks[0]", &mut errors);
            errors.into_iter().find(|error| error.path == "tasks[0].for_each.over").unwrap().code
        };
        assert_eq!(code(json!({"over": null, "into": "data.x"})), FieldCode::Invalid);
        assert_eq!(code(json!({"into": "data.x"})), FieldCode::Required);
    }

    #[test]
    fn missing_collect_is_a_missing_key() {
        let step = json!({"function": {"name": "log", "input": {}}});
        let mut errors = Vec::new();
        let path = default_collect(&Catalogue::default(), step.as_object().unwrap(), "t", &mut errors);
        assert!(path.is_none());
        assert_eq!((&*errors[0].path, errors[0].code.name()), ("t.collect", "REQUIRED"));
    }

    #[test]
    fn malformed_blocks_are_refused_at_their_path() {
        for (block, path) in [
            (json!([]), "tasks[0].for_each"),
            (json!({"into": "data.list"}), "tasks[0].for_each.over"),
            (json!({"over": "payload.items", "into": "data.x"}), "tasks[0].for_each.over"),
            (json!({"over": []}), "tasks[0].for_each.into"),
            (json!({"over": {"a": 1, "b": []}, "into": "data.x"}), "tasks[0].for_each.over"),
            (json!({"over": {}, "into": "data.x"}), "tasks[0].for_each.over"),
            (json!({"over": [], "into": "payload.x"}), "tasks[0].for_each.into"),
            (json!({"over": [], "into": "metadata"}), "tasks[0].for_each.into"),
            (json!({"over": [], "into": "data.x", "as": "a.b"}), "tasks[0].for_each.as"),
            (json!({"over": [], "into": "data.x", "as": "7"}), "tasks[0].for_each.as"),
            (json!({"over": [], "into": "data.x", "index_as": "item"}), "tasks[0].for_each.index_as"),
            (json!({"over": [], "into": "data.x", "collect": 1}), "tasks[0].for_each.collect"),
            (
                json!({"over": [], "into": "data.x", "continue_on_error": 1}),
                "tasks[0].for_each.continue_on_error",
            ),
        ] {
            assert_eq!(problems(block.clone()), [path], "{block}");
        }
    }
}
