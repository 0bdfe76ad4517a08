//! Tests of the SQL statements for each database.

use serde_json::{Map, Value, json};
use svc_dialect::sql::{self, SqlFlavour, SqlStatement};
use svc_dialect::{Bindings, QueryBounds, QueryDocument, Select, WriteDocument, WriteLimits};

const BOUNDS: QueryBounds = QueryBounds { default_limit: 100, max_limit: 1000, max_skip: 100 };
const LIMITS: WriteLimits = WriteLimits { max_rows: 100_000, allow_unfiltered: true };
const FLAVOURS: [SqlFlavour; 3] = [SqlFlavour::Postgres, SqlFlavour::MySql, SqlFlavour::Sqlite];
const EXACT: &str = " /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */";

fn shop() -> Value {
    json!({"entities": {
        "client": {"physical": "clients",
            "columns": {"id": {}, "name": {}, "created": {"name": "created_at"}},
            "relations": {
                "orders": {"to": "order", "kind": "many", "local": "id", "foreign": "client_id"},
                "tags": {"to": "tag", "local": "id", "foreign": "key",
                         "through": {"table": "client_tags", "local": "client", "foreign": "tag"}}}},
        "order": {"physical": "orders", "columns": {"id": {}, "total": {}}},
        "tag": {"physical": "tags", "columns": {"name": {}, "key": {"name": "tag_id"}}}
    }})
}

fn bind(query: Value) -> Select {
    let query = QueryDocument::read(&query, Some(&shop()), "").unwrap();
    query.bind(&Bindings { params: &Map::new(), folded: &[] }, BOUNDS).unwrap()
}

fn condition(filter: Value, flavour: SqlFlavour) -> (String, Vec<Value>) {
    let select = bind(json!({"source": "client", "fields": ["id"], "filter": filter}));
    let SqlStatement { sql, params } = sql::select(&select, flavour).unwrap();
    let condition = sql.split_once(" WHERE ").unwrap().1.strip_suffix(" LIMIT 100").unwrap().to_owned();
    (in_short(&condition, &["t0.`name`", "t0.`id`"]), params)
}

/// Returns the condition that a column of MySQL holds numbers.
fn number(column: &str) -> String {
    format!("HEX({column}) <> HEX(CONCAT({column})) AND CAST({column} AS CHAR) NOT REGEXP '.-.*-|:|[.].*[.]'")
}

/// Abbreviates the type conditions of MySQL statements.
fn in_short(sql: &str, columns: &[&str]) -> String {
    columns.iter().fold(sql.replace(EXACT, "†"), |sql, column| {
        sql.replace(&number(column), &format!("number({column})"))
            .replace(&format!("COERCIBILITY({column}) = 5"), &format!("typed({column})"))
    })
}

fn change(write: Value, flavour: SqlFlavour) -> Vec<SqlStatement> {
    let write = WriteDocument::read(&write, Some(&shop()), "").unwrap();
    let change = write.bind(&Bindings { params: &Map::new(), folded: &[] }, LIMITS).unwrap();
    sql::change(&change, flavour).unwrap()
}

#[test]
fn a_read_is_one_statement_with_logical_names() {
    let query = json!({"source": "client", "fields": ["id", "created", "id"], "skip": 5, "limit": 20,
                       "sort": [{"created": "desc"}, {"id": "asc"}]});
    let select = bind(query);
    let sql = FLAVOURS.map(|flavour| sql::select(&select, flavour).unwrap().sql);
    assert_eq!(
        sql,
        [
            "SELECT t0.\"id\" AS \"id\", t0.\"created_at\" AS \"created\" FROM \"clients\" AS t0 \
             ORDER BY t0.\"created_at\" DESC NULLS LAST, t0.\"id\" ASC NULLS FIRST LIMIT 20 OFFSET 5",
            "SELECT t0.`id` AS `id`, t0.`created_at` AS `created` FROM `clients` AS t0 \
             ORDER BY t0.`created_at` DESC, t0.`id` ASC LIMIT 20 OFFSET 5",
            "SELECT t0.`id` AS `id`, t0.`created_at` AS `created` FROM `clients` AS t0 \
             ORDER BY t0.`created_at` DESC, t0.`id` ASC LIMIT 20 OFFSET 5",
        ]
    );
}

#[test]
fn page_is_compared_in_the_order_of_its_sort() {
    let select = bind(json!({"source": "client", "fields": ["name"], "sort": [{"name": "asc"}], "limit": 2,
        "after": {"name": "b"}}));
    let sql = FLAVOURS.map(|flavour| sql::select(&select, flavour).unwrap().sql);
    assert!(sql[0].contains(" WHERE t0.\"name\" > $1 ORDER BY "), "{}", sql[0]);
    assert!(!sql[1].contains(EXACT) && sql[1].contains("t0.`name` > ?"), "{}", sql[1]);
    assert!(sql[2].contains(" WHERE t0.`name` > ? ORDER BY "), "{}", sql[2]);
}

#[test]
fn count_is_one_number_of_the_filtered_rows() {
    let select = bind(json!({"source": "client", "count": true, "filter": {"==": [{"field": "id"}, 1]}}));
    let sql = FLAVOURS.map(|flavour| sql::count(&select, flavour).unwrap().sql);
    assert_eq!(sql[0], "SELECT COUNT(*) AS \"count\" FROM \"clients\" AS t0 WHERE t0.\"id\" = $1::bigint");
    assert_eq!(sql[2], "SELECT COUNT(*) AS `count` FROM `clients` AS t0 WHERE t0.`id` = ?");
}

#[test]
fn values_are_parameters_of_their_type() {
    let (name, id) = (json!({"field": "name"}), json!({"field": "id"}));
    for (filter, due) in [
        (
            json!({"==": [name, "o'x"]}),
            [
                ("t0.\"name\" = $1", json!(["o'x"])),
                (
                    "(t0.`name` IN (?) AND CASE WHEN number(t0.`name`) THEN FALSE ELSE t0.`name` IN (?†) END)",
                    json!(["o'x", "o'x"]),
                ),
                ("t0.`name` = ? COLLATE BINARY", json!(["o'x"])),
            ],
        ),
        (
            json!({"and": [{">": [id, 1]}, {"<": [id, 2.5e-7]}, {"!=": [id, true]}]}),
            [
                (
                    "(t0.\"id\" > $1::bigint AND (t0.\"id\" < $2::numeric AND t0.\"id\" <> $3::boolean))",
                    json!([1, 2.5e-7, true]),
                ),
                (
                    "((t0.`id` >= ?† AND CASE WHEN number(t0.`id`) THEN t0.`id` > CAST(? AS DECIMAL(65,30)) \
                     ELSE t0.`id` > ?† END) AND \
                     ((t0.`id` <= ?† AND CASE WHEN number(t0.`id`) THEN t0.`id` < ? ELSE t0.`id` < ?† END) AND \
                     (CASE WHEN number(t0.`id`) THEN t0.`id` NOT IN (CAST(? AS DECIMAL(65,30))) \
                     ELSE t0.`id` NOT IN (?†) END)))",
                    json!(["1", "1", "1", "2.5e-7", "2.5e-7", "2.5e-7", "1", "1"]),
                ),
                ("(t0.`id` > ? AND (t0.`id` < ? AND t0.`id` <> ?))", json!([1, 2.5e-7, 1])),
            ],
        ),
        (
            json!({"in": [name, ["a", 1]]}),
            [
                ("t0.\"name\" IN ($1, $2::bigint)", json!(["a", 1])),
                (
                    "(t0.`name` IN (?, ?) AND CASE WHEN number(t0.`name`) THEN t0.`name` IN (CAST(? AS DECIMAL(65,30))) \
                     ELSE t0.`name` IN (?†, ?†) END)",
                    json!(["a", "1", "1", "a", "1"]),
                ),
                ("t0.`name` COLLATE BINARY IN (? COLLATE BINARY, ?)", json!(["a", 1])),
            ],
        ),
        (
            json!({"<": [name, "2024-02-29T03:02:03+02:00"]}),
            [
                ("t0.\"name\" < $1", json!(["2024-02-29T03:02:03+02:00"])),
                (
                    "((NOT typed(t0.`name`) OR t0.`name` <= ?) AND CASE WHEN number(t0.`name`) THEN FALSE \
                     WHEN typed(t0.`name`) THEN t0.`name` < ? ELSE t0.`name` < ?† END)",
                    json!(["2024-02-29T01:02:03", "2024-02-29T01:02:03", "2024-02-29T03:02:03+02:00"]),
                ),
                ("t0.`name` < ? COLLATE BINARY", json!(["2024-02-29T03:02:03+02:00"])),
            ],
        ),
        (
            json!({"in": ["10%_!*?[", name]}),
            [
                ("CAST(t0.\"name\" AS text) LIKE $1 ESCAPE '!'", json!(["%10!%!_!!*?[%"])),
                ("t0.`name` LIKE (?†) ESCAPE '!'", json!(["%10!%!_!!*?[%"])),
                ("t0.`name` GLOB ?", json!(["*10%_![*][?][[]*"])),
            ],
        ),
        (
            json!({"!": {"starts_with": [name, "x"]}}),
            [
                ("CAST(t0.\"name\" AS text) NOT LIKE $1 ESCAPE '!'", json!(["x%"])),
                ("t0.`name` NOT LIKE (?†) ESCAPE '!'", json!(["x%"])),
                ("t0.`name` NOT GLOB ?", json!(["x*"])),
            ],
        ),
        (
            json!({"missing": ["name", "created"]}),
            [
                ("(t0.\"name\" IS NULL OR t0.\"created_at\" IS NULL)", json!([])),
                ("(t0.`name` IS NULL OR t0.`created_at` IS NULL)", json!([])),
                ("(t0.`name` IS NULL OR t0.`created_at` IS NULL)", json!([])),
            ],
        ),
    ] {
        for (flavour, (sql, params)) in FLAVOURS.into_iter().zip(due) {
            assert_eq!(
                condition(filter.clone(), flavour),
                (sql.to_owned(), params.as_array().unwrap().clone())
            );
        }
    }
}

#[test]
fn relations_are_asked_for_by_exists() {
    let total = json!({">": [{"field": "total"}, 5]});
    let over = |quantifier: &str, relation: &str, filter: Value| {
        condition(json!({ quantifier: [{"field": relation}, filter] }), SqlFlavour::Sqlite).0
    };
    let rows = "EXISTS (SELECT 1 FROM `orders` AS t1 WHERE (t1.`client_id` = t0.`id` AND t1.`client_id` = t0.`id` COLLATE BINARY)";
    assert_eq!(over("some", "orders", total.clone()), format!("{rows} AND (t1.`total` > ?))"));
    assert_eq!(over("none", "orders", total.clone()), format!("NOT {rows} AND (t1.`total` > ?))"));
    let second = rows.replace("t1", "t2");
    assert_eq!(
        over("all", "orders", total),
        format!("({rows}) AND NOT {second} AND (t2.`total` > ?) IS NOT TRUE))")
    );
    assert_eq!(
        over("some", "tags", json!({"==": [{"field": "key"}, 1]})),
        "EXISTS (SELECT 1 FROM `client_tags` AS t2 JOIN `tags` AS t1 ON \
         (t1.`tag_id` = t2.`tag` AND t1.`tag_id` = t2.`tag` COLLATE BINARY) WHERE \
         (t2.`client` = t0.`id` AND t2.`client` = t0.`id` COLLATE BINARY) AND (t1.`tag_id` = ?))"
    );
    let plain = condition(json!({"some": [{"field": "orders"}, {"and": []}]}), SqlFlavour::Postgres).0;
    assert_eq!(plain, "EXISTS (SELECT 1 FROM \"orders\" AS t1 WHERE t1.\"client_id\" = t0.\"id\")");
}

#[test]
fn related_rows_are_read_by_second_statement() {
    let select = bind(json!({"source": "client", "fields": ["name"], "sort": [{"name": "desc"}],
                              "filter": {"==": [{"field": "name"}, "x"]},
                              "include": {"orders": {"fields": ["total"], "sort": [{"total": "desc"}], "limit": 2}}}));
    let read = sql::select(&select, SqlFlavour::Sqlite).unwrap();
    let rows = |table: &str| {
        format!(
            "FROM `clients` AS {table} WHERE {table}.`name` = ? COLLATE BINARY \
             ORDER BY {table}.`name` DESC, {table}.`id` DESC LIMIT 100"
        )
    };
    assert_eq!(
        read.sql,
        format!("SELECT t0.`name` AS `name`, quote(t0.`id`) AS `svc_key_0` {}", rows("t0")),
        "a second statement cuts equal rows off where the first did"
    );
    let related = sql::include(&select, 0, SqlFlavour::Sqlite).unwrap();
    assert_eq!(
        related.sql,
        format!(
            "SELECT * FROM (SELECT t1.`total` AS `total`, t2.`svc_key` AS `svc_key`, ROW_NUMBER() OVER \
             (PARTITION BY t2.`svc_key` ORDER BY t1.`total` DESC) AS `svc_rank` FROM (SELECT DISTINCT t3.* FROM \
             (SELECT t4.`id` AS `svc_local`, quote(t4.`id`) AS `svc_key` {}) AS t3) AS t2 \
             JOIN `orders` AS t1 ON (t1.`client_id` = t2.`svc_local` AND \
             t1.`client_id` = t2.`svc_local` COLLATE BINARY)) AS t0 \
             WHERE t0.`svc_rank` <= 2 ORDER BY t0.`svc_rank`",
            rows("t4")
        )
    );
    assert_eq!((read.params, related.params), (vec![json!("x")], vec![json!("x")]));
    let mut rows = vec![
        json!({"name": "a", "svc_key_0": "1"}),
        json!({"name": "b", "svc_key_0": null}),
        json!({"name": "c", "svc_key_0": "'1'"}),
        json!({"name": "d", "svc_key_0": "1"}),
    ];
    let found = vec![
        json!({"total": 9, "svc_key": "1", "svc_rank": 1}),
        json!({"total": 8, "svc_key": "'1'", "svc_rank": 1}),
        json!({"total": 7, "svc_key": "1", "svc_rank": 2}),
    ];
    sql::attach(&mut rows, &select, vec![found]);
    assert_eq!(
        rows,
        [
            json!({"name": "a", "orders": [{"total": 9}, {"total": 7}]}),
            json!({"name": "b", "orders": []}),
            json!({"name": "c", "orders": [{"total": 8}]}),
            json!({"name": "d", "orders": [{"total": 9}, {"total": 7}]}),
        ]
    );
}

#[test]
fn writes_are_plain_statements() {
    let insert = json!({"op": "insert", "target": "client", "values": [{"id": 1, "created": "x"}, {"created": null, "id": 2}]});
    let upsert = |more: Value| {
        let mut upsert = json!({"op": "upsert", "target": "client", "values": {"id": 1, "name": "n"},
                                "on_conflict": {"target": ["id"]}});
        upsert.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        upsert
    };
    let nothing = json!({"on_conflict": {"target": ["id"], "action": "nothing"}});
    let update = json!({"op": "update", "target": "client", "set": {"created": "x"}, "filter": {"==": [{"field": "id"}, 1]}});
    let delete = json!({"op": "delete", "target": "client", "filter": {"==": [{"field": "id"}, 1]}});
    for (write, due) in [
        (
            insert,
            [
                "INSERT INTO \"clients\" (\"id\", \"created_at\") VALUES ($1, $2), ($3, $4)",
                "INSERT INTO `clients` (`id`, `created_at`) VALUES (?, ?), (?, ?)",
                "INSERT INTO `clients` (`id`, `created_at`) VALUES (?, ?), (?, ?)",
            ],
        ),
        (
            upsert(json!({})),
            [
                "INSERT INTO \"clients\" (\"id\", \"name\") VALUES ($1, $2) \
                 ON CONFLICT (\"id\") DO UPDATE SET \"name\" = excluded.\"name\"",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `name` = VALUES(`name`)",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON CONFLICT (`id`) DO UPDATE SET `name` = excluded.`name`",
            ],
        ),
        (
            upsert(json!({"set": {"created": "x"}})),
            [
                "INSERT INTO \"clients\" (\"id\", \"name\") VALUES ($1, $2) ON CONFLICT (\"id\") DO UPDATE SET \"created_at\" = $3",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `created_at` = ?",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON CONFLICT (`id`) DO UPDATE SET `created_at` = ?",
            ],
        ),
        (
            upsert(nothing),
            [
                "INSERT INTO \"clients\" (\"id\", \"name\") VALUES ($1, $2) ON CONFLICT (\"id\") DO NOTHING",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `id` = `id`",
                "INSERT INTO `clients` (`id`, `name`) VALUES (?, ?) ON CONFLICT (`id`) DO NOTHING",
            ],
        ),
        (
            update,
            [
                "UPDATE \"clients\" AS t0 SET \"created_at\" = $1 WHERE t0.\"id\" = $2::bigint",
                "UPDATE `clients` AS t0 SET `created_at` = ? WHERE (t0.`id` IN (?) AND CASE WHEN number(t0.`id`) \
                 THEN t0.`id` IN (CAST(? AS DECIMAL(65,30))) ELSE t0.`id` IN (?†) END)",
                "UPDATE `clients` AS t0 SET `created_at` = ? WHERE t0.`id` = ?",
            ],
        ),
        (
            delete,
            [
                "DELETE FROM \"clients\" AS t0 WHERE t0.\"id\" = $1::bigint",
                "DELETE t0 FROM `clients` AS t0 WHERE (t0.`id` IN (?) AND CASE WHEN number(t0.`id`) \
                 THEN t0.`id` IN (CAST(? AS DECIMAL(65,30))) ELSE t0.`id` IN (?†) END)",
                "DELETE FROM `clients` AS t0 WHERE t0.`id` = ?",
            ],
        ),
    ] {
        for (flavour, sql) in FLAVOURS.into_iter().zip(due) {
            assert_eq!(in_short(&change(write.clone(), flavour)[0].sql, &["t0.`id`"]), sql);
        }
    }
}

#[test]
fn rows_come_back_where_the_database_can() {
    let write = json!({"op": "delete", "target": "client", "filter": {"==": [{"field": "id"}, 1]}, "returning": ["created"]});
    assert!(
        change(write.clone(), SqlFlavour::Postgres)[0]
            .sql
            .ends_with(" RETURNING \"created_at\" AS \"created\"")
    );
    assert!(
        change(write.clone(), SqlFlavour::Sqlite)[0].sql.ends_with(" RETURNING `created_at` AS `created`")
    );
    let write = WriteDocument::read(&write, Some(&shop()), "").unwrap();
    let change = write.bind(&Bindings { params: &Map::new(), folded: &[] }, LIMITS).unwrap();
    assert!(
        sql::change(&change, SqlFlavour::MySql).unwrap_err().to_string().starts_with("write.returning: ")
    );
}

#[test]
fn more_values_than_a_statement_may_have_are_spread() {
    let rows: Vec<_> = (0..20_000).map(|n| json!({"id": n, "name": "n"})).collect();
    let insert = json!({"op": "insert", "target": "client", "values": rows});
    let statements = change(insert, SqlFlavour::Sqlite);
    let params: Vec<_> = statements.iter().map(|one| one.params.len()).collect();
    assert_eq!(params, [32_766, 7234]);
    assert_eq!(statements[1].params[0], 16_383);
    let list: Vec<_> = (0..40_000).collect();
    let select = bind(json!({"source": "client", "filter": {"in": [{"field": "id"}, list]}}));
    assert!(sql::select(&select, SqlFlavour::Sqlite).is_err());
    assert!(sql::select(&select, SqlFlavour::Postgres).is_ok());
}

#[test]
fn bytes_are_compared_and_stored_as_bytes() {
    let (bytes, more) = (json!({"$binary": "/wA="}), json!({"$binary": ""}));
    let field = json!({"field": "name"});
    for (filter, due, params) in [
        (
            json!({"==": [field, bytes]}),
            ["t0.\"name\" = $1::bytea", "t0.`name` IN (FROM_BASE64(?))", "t0.`name` = ?"],
            1,
        ),
        (
            json!({">": [field, bytes]}),
            ["t0.\"name\" > $1::bytea", "t0.`name` > FROM_BASE64(?)", "t0.`name` > ?"],
            1,
        ),
        (
            json!({"in": [field, [bytes, more]]}),
            [
                "t0.\"name\" IN ($1::bytea, $2::bytea)",
                "(t0.`name` IN (FROM_BASE64(?), FROM_BASE64(?)))",
                "t0.`name` COLLATE BINARY IN (?, ?)",
            ],
            2,
        ),
    ] {
        let select = bind(json!({"source": "client", "filter": filter}));
        for (flavour, due) in FLAVOURS.into_iter().zip(due) {
            let statement = sql::select(&select, flavour).unwrap();
            assert!(statement.sql.contains(due), "{}", statement.sql);
            let shown = if flavour == SqlFlavour::MySql { json!("/wA=") } else { bytes.clone() };
            assert_eq!((statement.params.len(), &statement.params[0]), (params, &shown));
        }
    }
    let mixed = bind(json!({"source": "client", "filter": {"in": [field, [bytes, "a"]]}}));
    let statement = sql::select(&mixed, SqlFlavour::MySql).unwrap();
    assert!(statement.sql.contains("(t0.`name` IN (FROM_BASE64(?)) OR ("), "{}", statement.sql);
    let insert = json!({"op": "insert", "target": "client", "values": {"id": 1, "name": bytes}});
    for flavour in FLAVOURS {
        assert_eq!(change(insert.clone(), flavour)[0].params[1], bytes);
    }
}

#[test]
fn value_without_sql_form_is_refused() {
    for value in [json!({"$oid": "5f"}), json!({"$date": "2020-01-01T00:00:00Z"})] {
        let select = bind(json!({"source": "client", "filter": {"==": [{"field": "id"}, value]}}));
        let insert = json!({"op": "insert", "target": "client", "values": {"id": value}});
        let write = WriteDocument::read(&insert, Some(&shop()), "").unwrap();
        let change = write.bind(&Bindings { params: &Map::new(), folded: &[] }, LIMITS).unwrap();
        for flavour in FLAVOURS {
            assert!(sql::select(&select, flavour).is_err(), "{value}");
            assert!(sql::change(&change, flavour).is_err(), "{value}");
        }
    }
}
