//! The schemas of config blocks, made from the reference that the manual is made from.

use serde_json::{Map, Value, json};
use svc_model::config::reference::BlockReference;

use super::nodes::{
    ObjectSchema, list, members, nullable, or_declared_value, or_shared_value, with_description,
};
use super::words::{Choices, value_schema};

/// The blocks of one config.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'b> {
    pub(super) references: &'b [BlockReference],
    pub(super) choices: Choices,
    /// True if the config itself accepts unknown keys.
    pub(super) is_open: bool,
}

impl Blocks<'_> {
    /// Returns the schema of the config.
    pub(super) fn schema(self) -> Value {
        self.block("")
    }

    /// Returns the schema of the block at a path, which may have several forms.
    fn block(self, path: &str) -> Value {
        let forms: Vec<_> = self.references.iter().filter(|block| block.path == path).collect();
        match forms.as_slice() {
            [only] if only.form.is_empty() => self.form(only),
            forms => self.choice_of_forms(forms),
        }
    }

    /// Returns the schema of a block whose form depends on one of its keys.
    fn choice_of_forms(self, forms: &[&BlockReference]) -> Value {
        let selected: Vec<(String, Value)> = forms.iter().filter_map(|block| selector(block)).collect();
        let Some((key, _)) = selected.first().cloned() else { return json!({"type": "object"}) };
        let words: Vec<_> = selected.iter().filter_map(|(_, word)| word.as_str()).collect();
        let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        let mut object = ObjectSchema::default().open();
        let choice = value_schema(&quoted.join(", "), self.choices).unwrap_or_default();
        let mut is_required = true;
        for (block, (_, word)) in forms.iter().zip(&selected) {
            let has_default = block.keys.iter().any(|one| one.name == key && !one.required);
            is_required &= !has_default;
            let selects = if has_default { json!([word, null]) } else { json!([word]) };
            let mut applies = json!({"type": "object", "properties": {&key: {"enum": selects}}});
            if !has_default {
                applies["required"] = json!([&key]);
            }
            object.rule(json!({"if": applies, "then": self.form(block)}));
        }
        let choice = if is_required { choice } else { nullable(choice) };
        object.property(&key, with_description("the form of this block", or_shared_value(choice)));
        if is_required {
            object.require(&key);
        }
        object.finish()
    }

    fn form(self, block: &BlockReference) -> Value {
        let mut object = ObjectSchema::default();
        for key in block.keys {
            let inner = |suffix: &str| match block.path {
                "" => self.block(&format!("{}{suffix}", key.name)),
                path => self.block(&format!("{path}.{}{suffix}", key.name)),
            };
            let value = match key.kind {
                "block" => inner(""),
                "list of blocks" => list(inner("[]")),
                "object of blocks" => members(inner(".*")),
                kind => or_declared_value(kind, value_schema(kind, self.choices).unwrap_or_default()),
            };
            object.key(key, value);
        }
        let is_open = self.is_open && block.path.is_empty();
        if is_open { object.open().finish() } else { object.finish() }
    }
}

/// Returns the key and the value that select a form.
fn selector(block: &BlockReference) -> Option<(String, Value)> {
    let form: Map<String, Value> = serde_json::from_str(block.form).ok()?;
    form.into_iter().next()
}
