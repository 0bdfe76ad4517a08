//! Schemas: map the names of a document to the names of the database.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use svc_model::nearest;

use crate::name;
use crate::reader::DocumentReader;

/// An entity: a table, an index or a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaEntity {
    /// The name in documents.
    pub name: Arc<str>,
    /// The name in the database.
    pub physical: Arc<str>,
}

/// A column or a member of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaColumn {
    /// The name in documents and results.
    pub name: Arc<str>,
    /// The name in the database.
    pub physical: Arc<str>,
    /// The type that the schema declares.
    pub kind: Option<Arc<str>>,
}

/// The cardinality of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationCardinality {
    /// At most one row.
    HasOne,
    /// Any number of rows.
    HasMany,
    /// Any number of rows, through a join table.
    ManyToMany,
}

/// The join table of a relation between two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// The name of the table in the database.
    pub table: Arc<str>,
    /// Its column that refers to the `local` column of the relation.
    pub local: Arc<str>,
    /// Its column that refers to the `foreign` column of the relation.
    pub foreign: Arc<str>,
}

/// The storage of related documents in MongoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMongo {
    /// Embedded in the document.
    Embedded,
    /// In a collection of their own.
    Referenced,
}

/// The storage of related documents in Elasticsearch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InElastic {
    /// As nested objects.
    Nested,
    /// As children of a join field.
    Child,
}

/// A declared relation from one entity to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRelation {
    /// The name in documents and results.
    pub name: Arc<str>,
    /// The entity of the related rows.
    pub target: SchemaEntity,
    /// The cardinality.
    pub kind: RelationCardinality,
    /// The column of this entity that is joined.
    pub local: SchemaColumn,
    /// The column of the target that is joined.
    pub foreign: SchemaColumn,
    /// The join table of a many-to-many relation.
    pub through: Option<Through>,
    /// The storage in MongoDB, if the schema declares it.
    pub mongo: Option<InMongo>,
    /// The storage in Elasticsearch, if the schema declares it.
    pub elastic: Option<InElastic>,
}

/// The entities that a document may name.
#[derive(Debug)]
pub(crate) struct Schema {
    entities: BTreeMap<String, Declared>,
    /// True if undeclared names are used as they are.
    identity: bool,
    given: bool,
}

#[derive(Debug)]
struct Declared {
    entity: SchemaEntity,
    columns: Vec<DeclaredColumn>,
    relations: BTreeMap<String, DeclaredRelation>,
}

#[derive(Debug)]
struct DeclaredColumn {
    column: SchemaColumn,
    queryable: bool,
    writable: bool,
}

#[derive(Debug)]
struct DeclaredRelation {
    name: Arc<str>,
    to: String,
    kind: RelationCardinality,
    local: String,
    foreign: String,
    through: Option<Through>,
    mongo: Option<InMongo>,
    elastic: Option<InElastic>,
}

/// The purpose for which a document names a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnUse {
    /// Reading or comparing it.
    Query,
    /// Assigning a value to it.
    Write,
    /// Identifying rows by it.
    Key,
}

/// One entity of a schema, in which columns and relations are looked up.
#[derive(Clone)]
pub(crate) struct SchemaScope<'s> {
    schema: &'s Schema,
    declared: Option<&'s Declared>,
    pub(crate) entity: SchemaEntity,
}

/// Returns `, did you mean "…"?` for a name that the schema does not declare, if one is near.
fn hint<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    nearest(name, known).map_or_else(String::new, |meant| format!(", did you mean \"{meant}\"?"))
}

impl Schema {
    /// Returns true if every name must be declared.
    pub(crate) fn maps_all(&self) -> bool {
        self.given && !self.identity
    }

    fn find(&self, name: &str) -> Result<SchemaScope<'_>, String> {
        let declared = self.entities.get(name);
        let entity = match declared {
            Some(declared) => declared.entity.clone(),
            None if self.identity => SchemaEntity { name: name.into(), physical: name.into() },
            None => {
                let hint = hint(name, self.entities.keys().map(String::as_str));
                return Err(format!("the schema declares no entity \"{name}\"{hint}"));
            }
        };
        Ok(SchemaScope { schema: self, declared, entity })
    }

    /// Looks up an entity and records that the document accesses it.
    pub(crate) fn entity(
        &self,
        name: &str,
        at: &str,
        reader: &mut DocumentReader,
    ) -> Option<SchemaScope<'_>> {
        let scope = reader.accept(at, self.find(name))?;
        reader.reach(&scope.entity.physical);
        Some(scope)
    }
}

impl<'s> SchemaScope<'s> {
    fn declared_column(&self, name: &str) -> Option<&'s DeclaredColumn> {
        self.declared?.columns.iter().find(|one| *one.column.name == *name)
    }

    /// Looks up a column of the entity and checks that the schema permits this use.
    pub(crate) fn column(&self, name: &str, wanted: ColumnUse) -> Result<SchemaColumn, String> {
        name::check(name)?;
        match (self.declared_column(name), wanted) {
            (Some(one), ColumnUse::Query) if !one.queryable => {
                Err(format!("the column \"{name}\" is not queryable"))
            }
            (Some(one), ColumnUse::Write) if !one.writable => {
                Err(format!("the column \"{name}\" is not writable"))
            }
            (Some(one), _) => Ok(one.column.clone()),
            (None, _) if self.schema.identity => Ok(Self::plain(name)),
            (None, _) => {
                let columns = self.declared.map_or(&[][..], |declared| &declared.columns);
                let hint = hint(name, columns.iter().map(|one| &*one.column.name));
                Err(format!("the schema declares no column \"{name}\" of \"{}\"{hint}", self.entity.name))
            }
        }
    }

    /// Returns a join column of a relation, which need not be declared.
    fn key(&self, name: &str) -> SchemaColumn {
        self.declared_column(name).map_or_else(|| Self::plain(name), |one| one.column.clone())
    }

    fn plain(name: &str) -> SchemaColumn {
        SchemaColumn { name: name.into(), physical: name.into(), kind: None }
    }

    /// Returns the columns of a result that names none; `None` means all columns of the row.
    pub(crate) fn all_columns(&self) -> Result<Option<Vec<SchemaColumn>>, String> {
        let declared = self.declared.map_or(&[][..], |declared| &declared.columns);
        if declared.is_empty() && self.schema.identity {
            return Ok(None);
        }
        let queryable = declared.iter().filter(|one| one.queryable).map(|one| one.column.clone());
        let columns: Vec<_> = queryable.collect();
        if columns.is_empty() {
            return Err(format!("the schema declares no queryable column of \"{}\"", self.entity.name));
        }
        Ok(Some(columns))
    }

    /// Returns the columns that the schema declares writable; empty if it declares none.
    pub(crate) fn writable(&self) -> Vec<SchemaColumn> {
        let declared = self.declared.map_or(&[][..], |declared| &declared.columns);
        declared.iter().filter(|one| one.writable).map(|one| one.column.clone()).collect()
    }

    /// Looks up a relation and the scope of its target, and records that the document accesses both.
    pub(crate) fn relation(
        &self,
        name: &str,
        at: &str,
        reader: &mut DocumentReader,
    ) -> Option<(Arc<SchemaRelation>, SchemaScope<'s>)> {
        let declared = self.declared.and_then(|declared| declared.relations.get(name));
        let declared_relation = declared.ok_or_else(|| {
            let relations = self.declared.into_iter().flat_map(|declared| declared.relations.keys());
            let hint = hint(name, relations.map(String::as_str));
            format!("the schema declares no relation \"{name}\" of \"{}\"{hint}", self.entity.name)
        });
        let declared = reader.accept(at, declared_relation)?;
        let target = self.schema.entity(&declared.to, at, reader)?;
        if let Some(through) = &declared.through {
            reader.reach(&through.table);
        }
        let relation = SchemaRelation {
            name: Arc::clone(&declared.name),
            target: target.entity.clone(),
            kind: declared.kind,
            local: self.key(&declared.local),
            foreign: target.key(&declared.foreign),
            through: declared.through.clone(),
            mongo: declared.mongo,
            elastic: declared.elastic,
        };
        Some((Arc::new(relation), target))
    }
}
