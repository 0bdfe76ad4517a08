//! The endpoints that every versioned kind of definitions has.

/// Makes the endpoints of a versioned kind: those that each kind has, then its own. The words of the kind are literals,
/// joined when the program is compiled. Parameters and answers are the constants of the module of the kind.
macro_rules! versioned_endpoints {
    (
        kind: $kind:literal, $kinds:literal, $name:literal, $names:literal;
        tag: $tag:expr;
        query: $query:expr;
        types: $definition:ty, $update:ty, $resource:ty, $report:ty;
        created: $created:literal;
        imported: $imported:literal;
        validated: $validated:literal;
        own: [$($own:tt)*]
    ) => {
        &[
            Endpoint::new(Method::Get, concat!("/api/v1/admin/", $kinds), concat!("list", $names), $tag, concat!("Lists the latest version of every ", $kind))
                .with_query($query)
                .answers(&[Answer::json(200, concat!("A page of ", $kinds), &[MANY])]),
            Endpoint::new(Method::Post, concat!("/api/v1/admin/", $kinds), concat!("create", $name), $tag, concat!("Creates a ", $kind, " with a draft as version 1"))
                .with_query(&[DOCUMENT_DRY_RUN])
                .takes::<$definition>(
                    $created,
                )
                .answers(&[Answer::json(201, "The draft", &[WARNED]), DRY_RUN])
                .refuses(&[409]),
            Endpoint::new(Method::Get, concat!("/api/v1/admin/", $kinds, "/export"), concat!("export", $names), $tag, concat!("Exports every ", $kind, " at one instant"))
                .describes("The response is the body of an import. It takes the parameters of the list and has no pages.")
                .with_query(EXPORT)
                .answers(&[Answer::json(200, concat!("The ", $kinds), &[SchemaSource::for_type::<ListEnvelope<$resource>>()])]),
            Endpoint::new(Method::Post, concat!("/api/v1/admin/", $kinds, "/import"), concat!("import", $names), $tag, concat!("Imports a batch of ", $kinds, " as drafts"))
                .with_query(&[DRY_RUN_PARAMETER, ON_CONFLICT])
                .with_signature()
                .takes::<ImportBatch>(
                    $imported,
                )
                .answers(&[Answer::json(200, "The result of each item", &[SchemaSource::for_type::<DataEnvelope<ImportSummary>>()])]),
            Endpoint::new(Method::Post, concat!("/api/v1/admin/", $kinds, "/validate"), concat!("validate", $name), $tag, "Reports the result of a create")
                .with_query(&[DRY_RUN_PARAMETER])
                .takes::<serde_json::Value>(
                    $validated,
                )
                .answers(&[Answer::json(200, "The report", &[SchemaSource::for_type::<DataEnvelope<$report>>()])]),
            Endpoint::new(Method::Get, concat!("/api/v1/admin/", $kinds, "/{id}"), concat!("get", $name), $tag, concat!("Reads the latest version of a ", $kind))
                .path_parameters(ID)
                .answers(&[Answer::json(200, concat!("The ", $kind), &[WARNED]).with_tag()]),
            Endpoint::new(Method::Put, concat!("/api/v1/admin/", $kinds, "/{id}"), concat!("update", $name), $tag, concat!("Changes the draft of a ", $kind))
                .path_parameters(ID)
                .with_query(&[DOCUMENT_DRY_RUN])
                .with_precondition()
                .takes::<$update>(r#"{"description": "Greets the caller by name"}"#)
                .answers(&[Answer::json(200, "The draft; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])])
                .refuses(&[409]),
            Endpoint::new(Method::Delete, concat!("/api/v1/admin/", $kinds, "/{id}"), concat!("delete", $name), $tag, concat!("Deletes all versions of a ", $kind))
                .path_parameters(ID)
                .with_query(&[DRY_RUN_PARAMETER, FORCE])
                .with_precondition()
                .answers(&[Answer::empty(204, concat!("The ", $kind, " is deleted")), DRY_RUN])
                .refuses(&[409]),
            Endpoint::new(
                Method::Patch,
                concat!("/api/v1/admin/", $kinds, "/{id}/status"),
                concat!("change", $name, "Status"),
                $tag,
                concat!("Activates the draft of a ", $kind, ", or archives its active versions"),
            )
            .path_parameters(ID)
            .with_query(&[DRY_RUN_PARAMETER, RELOAD])
            .with_precondition()
            .takes::<StatusChange>(r#"{"status": "active"}"#)
            .answers(&[Answer::json(200, concat!("The ", $kind, "; with `dry_run=true` the report"), &[WARNED, DRY_RUN_REPORT])])
            .refuses(&[409]),
            Endpoint::new(
                Method::Post,
                concat!("/api/v1/admin/", $kinds, "/{id}/rollback"),
                concat!("rollBack", $name),
                $tag,
                "Copies an archived version to a new version and activates it",
            )
            .path_parameters(ID)
            .with_query(&[DRY_RUN_PARAMETER, RELOAD])
            .with_precondition()
            .may_take::<RollbackRequest>(r#"{"to_version": 1}"#)
            .answers(&[Answer::json(
                200,
                "The new version; with `dry_run=true` the report",
                &[WARNED, DRY_RUN_REPORT],
            )])
            .refuses(&[409]),
            Endpoint::new(
                Method::Get,
                concat!("/api/v1/admin/", $kinds, "/{id}/versions"),
                concat!("list", $name, "Versions"),
                $tag,
                concat!("Lists the versions of a ", $kind, ", newest first"),
            )
            .path_parameters(ID)
            .with_query(&[LIMIT, OFFSET])
            .answers(&[Answer::json(200, "A page of versions", &[MANY])]),
            Endpoint::new(
                Method::Post,
                concat!("/api/v1/admin/", $kinds, "/{id}/versions"),
                concat!("create", $name, "Version"),
                $tag,
                concat!("Copies a version of a ", $kind, " to a new draft"),
            )
            .path_parameters(ID)
            .with_query(&[DRY_RUN_PARAMETER])
            .with_precondition()
            .may_take::<VersionRequest>(r#"{"from_version": 1}"#)
            .answers(&[Answer::json(201, "The draft", &[ONE]), DRY_RUN])
            .refuses(&[409]),
            $($own)*
        ]
    };
}
pub(crate) use versioned_endpoints;
