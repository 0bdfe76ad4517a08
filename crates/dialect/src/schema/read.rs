//! Reads and validates a schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::FieldError;

use super::{
    Declared, DeclaredColumn, DeclaredRelation, InElastic, InMongo, RelationCardinality, Schema,
    SchemaEntity, Through,
};
use crate::name;
use crate::reader::{DocumentReader, join};
use crate::schema::SchemaColumn;

const RELATION: [&str; 7] = ["to", "kind", "local", "foreign", "through", "mongo", "es"];
const KINDS: [(&str, RelationCardinality); 5] = [
    ("has_one", RelationCardinality::HasOne),
    ("has_many", RelationCardinality::HasMany),
    ("many_to_many", RelationCardinality::ManyToMany),
    ("one", RelationCardinality::HasOne),
    ("many", RelationCardinality::HasMany),
];

impl Schema {
    /// Reads a schema. Without one, every name means itself.
    pub(crate) fn read(schema: Option<&Value>, at: &str, reader: &mut DocumentReader) -> Self {
        let mut read = Self { entities: BTreeMap::new(), identity: true, given: false };
        let Some(schema) = schema.filter(|schema| !schema.is_null()) else { return read };
        let unmapped = [("reject", false), ("identity", true)];
        read.given = true;
        read.identity = false;
        let Some(members) = reader.object(schema, at, &["entities", "unmapped"]) else { return read };
        read.identity =
            reader.choice(members.get("unmapped"), &join(at, "unmapped"), &unmapped).unwrap_or(false);
        let at = join(at, "entities");
        if let Some(entities) = members.get("entities") {
            for (name, entity) in reader.members(entities, &at).into_iter().flatten() {
                let at = join(&at, name);
                if reader.accept(&at, name::check(name)).is_some()
                    && let Some(declared) = reader.read_entity(name, entity, &at)
                {
                    read.entities.insert(name.clone(), declared);
                }
            }
        }
        for (name, declared) in &read.entities {
            for (relation, to) in declared.relations.iter().map(|(name, relation)| (name, &relation.to)) {
                if let Err(why) = read.find(to) {
                    reader.invalid(&format!("{at}.{name}.relations.{relation}.to"), why);
                }
            }
        }
        read
    }
}

impl DocumentReader {
    fn read_entity(&mut self, name: &str, entity: &Value, at: &str) -> Option<Declared> {
        let members = self.object(entity, at, &["physical", "columns", "relations"])?;
        let physical = self.optional_name(members, "physical", at).unwrap_or(name);
        let entity = SchemaEntity { name: name.into(), physical: physical.into() };
        let mut declared = Declared { entity, columns: Vec::new(), relations: BTreeMap::new() };
        for (name, column, at) in self.named_members(members, "columns", at) {
            declared.columns.extend(self.declared_column(name, column, &at));
        }
        for (name, relation, at) in self.named_members(members, "relations", at) {
            if let Some(relation) = self.declared_relation(name, relation, &at) {
                declared.relations.insert(name.clone(), relation);
            }
        }
        Some(declared)
    }

    /// Returns the members of an object whose keys must be valid names.
    fn named_members<'v>(
        &mut self,
        members: &'v Map<String, Value>,
        what: &str,
        at: &str,
    ) -> Vec<(&'v String, &'v Value, String)> {
        let at = join(at, what);
        let Some(named) = members.get(what).and_then(|named| self.members(named, &at)) else {
            return Vec::new();
        };
        let mut fine = Vec::new();
        for (name, value) in named {
            let at = join(&at, name);
            if self.accept(&at, name::check(name)).is_some() {
                fine.push((name, value, at));
            }
        }
        fine
    }

    fn declared_column(&mut self, name: &str, column: &Value, at: &str) -> Option<DeclaredColumn> {
        let members = self.object(column, at, &["name", "type", "queryable", "writable"])?;
        let physical = self.optional_name(members, "name", at).unwrap_or(name);
        let kind = members.get("type").and_then(|kind| self.text(kind, &join(at, "type")));
        Some(DeclaredColumn {
            column: SchemaColumn { name: name.into(), physical: physical.into(), kind: kind.map(Arc::from) },
            queryable: self.flag(members.get("queryable"), &join(at, "queryable"), true),
            writable: self.flag(members.get("writable"), &join(at, "writable"), true),
        })
    }

    fn declared_relation(&mut self, name: &str, relation: &Value, at: &str) -> Option<DeclaredRelation> {
        let members = self.object(relation, at, &RELATION)?;
        let to = self.required_name(members, "to", at);
        let local = self.required_name(members, "local", at);
        let foreign = self.required_name(members, "foreign", at);
        let through =
            members.get("through").and_then(|through| self.read_through(through, &join(at, "through")));
        let kind = self.choice(members.get("kind"), &join(at, "kind"), &KINDS);
        let kind = kind.unwrap_or(if through.is_some() {
            RelationCardinality::ManyToMany
        } else {
            RelationCardinality::HasMany
        });
        if kind == RelationCardinality::ManyToMany && !members.contains_key("through") {
            self.errors.push(FieldError::required(join(at, "through")));
        }
        let mongo = [("embedded", InMongo::Embedded), ("referenced", InMongo::Referenced)];
        let elastic = [("nested", InElastic::Nested), ("child", InElastic::Child)];
        Some(DeclaredRelation {
            name: name.into(),
            kind,
            through,
            mongo: self.choice(members.get("mongo"), &join(at, "mongo"), &mongo),
            elastic: self.choice(members.get("es"), &join(at, "es"), &elastic),
            to: to?.to_owned(),
            local: local?.to_owned(),
            foreign: foreign?.to_owned(),
        })
    }

    fn read_through(&mut self, through: &Value, at: &str) -> Option<Through> {
        let members = self.object(through, at, &["table", "local", "foreign"])?;
        let table = self.required_name(members, "table", at);
        let local = self.required_name(members, "local", at);
        let foreign = self.required_name(members, "foreign", at);
        Some(Through { table: table?.into(), local: local?.into(), foreign: foreign?.into() })
    }

    fn optional_name<'v>(
        &mut self,
        members: &'v Map<String, Value>,
        name: &str,
        at: &str,
    ) -> Option<&'v str> {
        members.get(name).and_then(|value| self.name(value, &join(at, name)))
    }

    fn required_name<'v>(
        &mut self,
        members: &'v Map<String, Value>,
        name: &str,
        at: &str,
    ) -> Option<&'v str> {
        if !members.contains_key(name) {
            self.errors.push(FieldError::required(join(at, name)));
        }
        self.optional_name(members, name, at)
    }

    /// Reads one of a set of names; returns `None` if the value is missing or reported as wrong.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        value: Option<&Value>,
        at: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(value?, at)?;
        let names = || choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let choice = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        self.accept(at, choice.ok_or_else(|| format!("\"{text}\" is not one of {}", names())))
    }
}
