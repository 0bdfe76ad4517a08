//! The migrations of the builds before 0.1.0, as those builds recorded them.

use crate::config::Backend;

/// A migration: its name and its checksum.
pub(super) type EarlierMigration = (&'static str, &'static str);

/// Returns the migrations of a backend, in order.
pub(super) const fn earlier_migrations(backend: Backend) -> &'static [EarlierMigration] {
    match backend {
        Backend::Sqlite => SQLITE,
        Backend::Postgres => POSTGRES,
    }
}

const SQLITE: &[EarlierMigration] = &[
    ("2026-11-20-000001_definitions", "b096cac41c9004140fd50f3389934948120640affb3f0391b846383d53b233ff"),
    ("2026-11-20-000002_operations", "d9ad806d2102a5d35bbaa61a2767b708fbfc208bb3396f2b0acff52174ae719b"),
    ("2026-11-20-000003_runs", "e3dc0c648b42fd9900bcb89160ab633abbb9118c9f9de0d108fe3204be96418f"),
    ("2026-11-20-000004_traces_touch", "3ced0d65bdb9beacb52937b07c83e80c9a2572044eaefb0d0c222046590b7a12"),
    ("2026-11-20-000005_ledger", "605289a5009a1fdadc1d860e58da8c27111f0b97d0477fb27dd3e129ff65895b"),
    ("2026-11-22-000006_nodes", "2fd1cebd4a192fcfd50d755b2448da685ab4b8ec0dba0b638e022081b52687cf"),
    ("2026-11-22-000008_checksums", "2b6b77f5aaa7cc7993685fe1db5571d641ce5ec99b87707bb0a51614c8fb295b"),
    ("2026-11-23-000007_trace_workflows", "a5d405bf000656a049e13e99cc83bbee6831e3e51192e4ce1226ed705e3ba091"),
    ("2026-11-23-000010_propagation", "14b284e80e13255c46bc0a85f95004629ba60e7c1d416109f2e39985a3083adc"),
    (
        "2026-11-23-000011_package_inventory",
        "e63a17aca6f73444e30849ad18c2735cead5b39fd945b89b12ac62b0bd27e2c0",
    ),
    ("2026-11-24-000012_requirements", "71e12e832234bb7b5b9e88efa433c63cfaf344aa6bafdd0657d5e92671f1e017"),
    ("2026-11-24-000013_channels_order", "d9cc6879ffffcb7924eb8d2b82f57fe350bafa95d0894b83fd44e048093f125c"),
    ("2026-11-24-000014_latest_versions", "86981ef6ab14f854bacf8092d9cced5a68335637ae678a0587a1017a98827797"),
    ("2026-11-26-000015_trace_indexes", "9154de50a5434f802615b6eb27871e89b23290f9f0913dfb5309d0b0ed2516fb"),
    ("2026-11-27-000016_ledger_indexes", "df3359fbc2832ba21da26a2eb08c46cf327989d74cfcb7cd986278eb02f018b4"),
    ("2026-11-28-000017_attempts", "c38627658c78f9959562c6921db433b780da2f27e2cb9e5de9418b71264b41df"),
    ("2026-11-28-000018_trace_requests", "31da259abfbaa0c941b6c59c0a052346a9693bd5dc6f9430a23829c1536105d9"),
    ("2026-11-28-000019_node_keys", "a01ba5985d601d8a7327038dd0c915b508d1a1a80cf7255c445f241cac27ca5e"),
];

const POSTGRES: &[EarlierMigration] = &[
    ("2026-11-20-000001_definitions", "90945215db77443f3aa6c64adf87fc9fbcbc5f043a0a600c63c296396633db0f"),
    ("2026-11-20-000002_operations", "720e2801fd15cd45cc1af25febdddd673540b749301ec2e79df5b99fc94b239f"),
    ("2026-11-20-000003_runs", "9beb0226cac43266253e139e709761740b2c066be764b7187e70a7257db7dfca"),
    ("2026-11-20-000004_traces_touch", "b9f084093a812bd6bd5da565d5ad31e8337228d10bbdf7cc0dbdddc3c6650608"),
    ("2026-11-20-000005_ledger", "779409dea417a0b08adf4822ebd2ea329f1aed7834b0f0eb0cff64da5d5c1100"),
    ("2026-11-22-000006_nodes", "3f881c455aec2a59b253adbb65d4abb8c56fe7e8fe8a7fd6786cbd9b91d5d83b"),
    ("2026-11-22-000008_checksums", "2b6b77f5aaa7cc7993685fe1db5571d641ce5ec99b87707bb0a51614c8fb295b"),
    ("2026-11-23-000007_trace_workflows", "2af331b909881d4d4b9f143a2f3f9c65c2c1d97853df740ab3cc278e2a45ca3e"),
    ("2026-11-23-000010_propagation", "71dea8241342b8223c58878e0222618f1984ab3990b6f66a8dac3707e614e606"),
    (
        "2026-11-23-000011_package_inventory",
        "e63a17aca6f73444e30849ad18c2735cead5b39fd945b89b12ac62b0bd27e2c0",
    ),
    ("2026-11-24-000012_requirements", "71e12e832234bb7b5b9e88efa433c63cfaf344aa6bafdd0657d5e92671f1e017"),
    ("2026-11-24-000013_channels_order", "d9cc6879ffffcb7924eb8d2b82f57fe350bafa95d0894b83fd44e048093f125c"),
    ("2026-11-24-000014_latest_versions", "91b18be83da0a6b1577401c340d44e80d559660768c97b87ccda4d04d8acb9d8"),
    ("2026-11-26-000015_trace_indexes", "9154de50a5434f802615b6eb27871e89b23290f9f0913dfb5309d0b0ed2516fb"),
    ("2026-11-27-000016_ledger_indexes", "67ef02de25ffbe8748e0a7454ba6a69a9eb878835a70c9aabd4cb27c0d2307e9"),
    ("2026-11-28-000017_attempts", "0b64d0b96c372b3e771bd89896754b01cb9e39ab6ac9f40e9b6718fba7d89e4e"),
    ("2026-11-28-000018_trace_requests", "31da259abfbaa0c941b6c59c0a052346a9693bd5dc6f9430a23829c1536105d9"),
    ("2026-11-28-000019_node_keys", "a01ba5985d601d8a7327038dd0c915b508d1a1a80cf7255c445f241cac27ca5e"),
];
