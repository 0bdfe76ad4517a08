//! The service: configuration, HTTP edge, assembly of the supervision tree; library `svc` and binary `svc-server`.
