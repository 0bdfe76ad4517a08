//! How the names of a document map to what a database calls them.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::name;
use crate::reader::DocumentReader;

/// An entity: a table, an index or a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaEntity {
    /// What documents call it.
    pub name: Arc<str>,
    /// What the database calls it.
    pub physical: Arc<str>,
}

/// A column or a member of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaColumn {
    /// What documents and results call it.
    pub name: Arc<str>,
    /// What the database calls it.
    pub physical: Arc<str>,
    /// What the schema says it holds.
    pub kind: Option<Arc<str>>,
}

/// How many rows a relation leads to, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// One row at most.
    HasOne,
    /// Any number of rows.
    HasMany,
    /// Any number of rows, through a table of pairs.
    ManyToMany,
}

/// The table of pairs between two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// What the database calls it.
    pub table: Arc<str>,
    /// Its column that holds the relation's `local`.
    pub local: Arc<str>,
    /// Its column that holds the relation's `foreign`.
    pub foreign: Arc<str>,
}

/// Where MongoDB keeps related documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMongo {
    /// Inside the document.
    Embedded,
    /// In a collection of their own.
    Referenced,
}

/// How Elasticsearch keeps related documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InElastic {
    /// As nested objects.
    Nested,
    /// As children of a join field.
    Child,
}

/// A declared way from one entity to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRelation {
    /// What documents call it.
    pub name: Arc<str>,
    /// Where it leads.
    pub target: SchemaEntity,
    /// How many rows it leads to.
    pub kind: ColumnKind,
    /// The column it starts from.
    pub local: SchemaColumn,
    /// The column of the target it leads to.
    pub foreign: SchemaColumn,
    /// The table of pairs, if there is one.
    pub through: Option<Through>,
    /// Where MongoDB keeps the related documents, if the schema says so.
    pub mongo: Option<InMongo>,
    /// How Elasticsearch keeps them, if the schema says so.
    pub elastic: Option<InElastic>,
}

/// The entities a document may name.
#[derive(Debug)]
pub(crate) struct Schema {
    entities: BTreeMap<String, Declared>,
    /// Whether what is not declared is called as it is named.
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
    kind: ColumnKind,
    local: String,
    foreign: String,
    through: Option<Through>,
    mongo: Option<InMongo>,
    elastic: Option<InElastic>,
}

/// What a column is named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnUse {
    /// To be read or compared.
    Query,
    /// To be given a value.
    Write,
    /// To tell rows apart.
    Key,
}

/// One entity, where names are looked up.
#[derive(Clone)]
pub(crate) struct SchemaScope<'s> {
    schema: &'s Schema,
    declared: Option<&'s Declared>,
    pub(crate) entity: SchemaEntity,
}

impl Schema {
    /// Whether every name is declared.
    pub(crate) fn maps_all(&self) -> bool {
        self.given && !self.identity
    }

    fn find(&self, name: &str) -> Result<SchemaScope<'_>, String> {
        let declared = self.entities.get(name);
        let entity = match declared {
            Some(declared) => declared.entity.clone(),
            None if self.identity => SchemaEntity { name: name.into(), physical: name.into() },
            None => return Err(format!("the schema declares no entity \"{name}\"")),
        };
        Ok(SchemaScope { schema: self, declared, entity })
    }

    /// An entity that the document reaches.
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

    /// A column of the entity.
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
            (None, _) => Err(format!("the schema declares no column \"{name}\" of \"{}\"", self.entity.name)),
        }
    }

    /// A column that relations are joined by, which need not be declared.
    fn key(&self, name: &str) -> SchemaColumn {
        self.declared_column(name).map_or_else(|| Self::plain(name), |one| one.column.clone())
    }

    fn plain(name: &str) -> SchemaColumn {
        SchemaColumn { name: name.into(), physical: name.into(), kind: None }
    }

    /// The columns of a result that names none; `None` for all there are.
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

    /// The columns the schema lets be written; none when it declares none.
    pub(crate) fn writable(&self) -> Vec<SchemaColumn> {
        let declared = self.declared.map_or(&[][..], |declared| &declared.columns);
        declared.iter().filter(|one| one.writable).map(|one| one.column.clone()).collect()
    }

    /// A relation of the entity, and where it leads; the document then reaches that.
    pub(crate) fn relation(
        &self,
        name: &str,
        at: &str,
        reader: &mut DocumentReader,
    ) -> Option<(Arc<SchemaRelation>, SchemaScope<'s>)> {
        let declared = self.declared.and_then(|declared| declared.relations.get(name));
        let known = declared
            .ok_or_else(|| format!("the schema declares no relation \"{name}\" of \"{}\"", self.entity.name));
        let declared = reader.accept(at, known)?;
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
