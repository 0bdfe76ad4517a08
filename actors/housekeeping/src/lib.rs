//! The service's own recurring jobs.
