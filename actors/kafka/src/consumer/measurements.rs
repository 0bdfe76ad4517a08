//! The measurements of a session: who is asked for, and what becomes of the answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use slog::{debug, warn};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

use super::broker_questions::{Measurement, PartitionOffsets, Questions, measure};
use super::probe::ProbeResult;
use super::session::Session;
use crate::partition::handle::PartitionHandle;

/// Time between two probes of partitions that may be in order.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

impl Session {
    pub(super) fn start_measurement(&mut self) -> JoinHandle<Measurement> {
        let suspects = self.take_suspects();
        let settings = &self.shared.settings;
        let measures = settings.lag_interval.is_some();
        let assigned = self.assigned.values().flat_map(HashMap::values);
        let questions = Questions {
            partitions: assigned
                .filter(|_| measures)
                .map(|handle| (Arc::clone(&handle.topic), handle.partition))
                .collect(),
            topics: self.group.topics.borrow().iter().cloned().collect(),
            settings: settings.clone(),
            suspects,
        };
        let consumer = Arc::clone(&self.consumer);
        spawn_blocking(move || measure(&consumer, questions))
    }

    /// Returns the partitions that may wait at records that cannot be unpacked: those that are known to, and
    /// after an error of the client all that have no record at hand.
    fn take_suspects(&mut self) -> Vec<(Arc<PartitionHandle>, Option<i64>)> {
        let now = Instant::now();
        let probes_all = self.is_probe_due && now >= self.probe_again_at;
        if probes_all {
            (self.is_probe_due, self.probe_again_at) = (false, now + PROBE_INTERVAL);
        }
        let assigned = self.assigned.values().flat_map(HashMap::values);
        let suspects = assigned.filter_map(|handle| {
            let is_suspect = probes_all || handle.unreadable_records().is_some();
            Some((Arc::clone(handle), handle.idle_offset().filter(|_| is_suspect)?))
        });
        suspects.collect()
    }

    pub(super) fn record_measurement(&self, measured: Measurement) {
        for PartitionOffsets { topic, partition, committed, end } in measured.partitions {
            let Some(handle) = self.assigned.get(&topic).and_then(|partitions| partitions.get(&partition))
            else {
                continue;
            };
            handle.record_watermark(committed, end);
            if let Some(lag) = handle.lag() {
                self.shared.metrics.record_lag(&topic, partition, lag);
            }
        }
        for (topic, reason) in self.group.set_unreadable(measured.unreadable) {
            warn!(self.shared.log, "a kafka topic cannot be read"; "topic" => &*topic, "reason" => reason);
        }
        for (handle, result) in measured.probed {
            self.record_probe(&handle, result);
        }
        if measured.is_complete && self.shared.settings.lag_interval.is_some() {
            (self.shared.settings.jobs)("kafka_lag");
        }
    }

    fn record_probe(&self, handle: &PartitionHandle, result: ProbeResult) {
        let is_news = match result {
            ProbeResult::Readable => handle.set_unreadable(None),
            ProbeResult::Unreadable { offset, reason } => handle.set_unreadable(Some((offset, reason))),
            ProbeResult::Unknown(reason) => {
                debug!(self.shared.log, "a partition was not probed"; "partition" => ?handle, "reason" => reason);
                false
            }
        };
        if let Some(records) = handle.unreadable_records().filter(|_| is_news) {
            warn!(self.shared.log, "records cannot be unpacked and block their partition";
                "topic" => &*handle.topic, "partition" => handle.partition, "offset" => records.offset,
                "error" => records.reason);
        }
    }
}
