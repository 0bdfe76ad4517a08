//! Endpoints of backups.

use crate::endpoint::{Answer, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, Method, SchemaSource, Tag};
use crate::envelope::{DataEnvelope, ListEnvelope};
use crate::server::backups::{BackupFile, CreatedBackup};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/backups",
        "listBackups",
        Tag::Backups,
        "Lists the files in the directory of backups, newest first",
    )
    .describes("Only with SQLite and outside of a cluster; 400 otherwise.")
    .answers(&[Answer::json(200, "The files", &[SchemaSource::for_type::<ListEnvelope<BackupFile>>()])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/backups",
        "createBackup",
        Tag::Backups,
        "Makes a backup of the database while it serves",
    )
    .describes(
        "The file is consistent, checked, and holds every row committed before the request. Older files beyond \
         `storage.backup_retention_count` are deleted. Only with SQLite and outside of a cluster; 400 otherwise.",
    )
    .with_query(&[DRY_RUN_PARAMETER])
    .answers(&[Answer::json(
        200,
        "The file; with `dry_run=true` the report",
        &[SchemaSource::for_type::<DataEnvelope<CreatedBackup>>(), DRY_RUN_REPORT],
    )]),
];
