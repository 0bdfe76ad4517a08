//! Endpoints of packages.

use crate::endpoint::{
    Answer, DOCUMENT_DRY_RUN, DRY_RUN_REPORT, Endpoint, LIMIT, Method, OFFSET, SchemaSource, Tag,
};
use crate::entities::packages::{PackageDetail, Receipt, ReceiptRequest};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::parameter::PathParameter;

const PACKAGE: &[PathParameter] = &[PathParameter::new("name", "Name of the package", "orders")];

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/packages",
        "listPackages",
        Tag::Packages,
        "Lists the receipts of all packages, by name and newest first within a name",
    )
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(200, "A page of receipts", &[SchemaSource::for_type::<PageEnvelope<Receipt>>()])]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/packages/{name}",
        "getPackage",
        Tag::Packages,
        "Reads the current version of a package and the receipts of all its versions",
    )
    .path_parameters(PACKAGE)
    .answers(&[Answer::json(200, "The package", &[SchemaSource::for_type::<DataEnvelope<PackageDetail>>()])]),
    Endpoint::new(
        Method::Put,
        "/api/v1/admin/packages/{name}",
        "putPackageReceipt",
        Tag::Packages,
        "Stores the receipt of a package version",
    )
    .describes(
        "An apply stores `staged` before its first change and `applied` after its last one. A version that was applied \
         keeps its content: another hash is 409. Storing `applied` again makes the version the current one, as a \
         rollback does at its end; at its beginning it stores that of the current version, so that other applies stop.",
    )
    .path_parameters(PACKAGE)
    .with_query(&[DOCUMENT_DRY_RUN])
    .takes::<ReceiptRequest>(r#"{"version": "1.0.0", "content_hash": "sha256:00", "state": "staged"}"#)
    .answers(&[Answer::json(
        200,
        "The receipt; with `dry_run=true` the report",
        &[SchemaSource::for_type::<DataEnvelope<Receipt>>(), DRY_RUN_REPORT],
    )])
    .refuses(&[409]),
];
