//! Conversions between the types of the client and those of the service.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rdkafka::message::{BorrowedHeaders, BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};
use svc_channels::TopicRecord;

use crate::partition::handle::PartitionHandle;

/// Converts a message of the client. Headers that are no UTF-8 are left out.
pub(super) fn to_record(topic: &Arc<str>, message: &BorrowedMessage<'_>) -> Arc<TopicRecord> {
    let headers = message
        .headers()
        .map(|headers| (0..headers.count()).filter_map(|index| read_header(headers, index)).collect());
    Arc::new(TopicRecord {
        topic: Arc::clone(topic),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
    })
}

/// Reads a header: its name in lower case, and its value. `None` if one of them is no UTF-8, or there is no
/// value.
fn read_header(headers: &BorrowedHeaders, index: usize) -> Option<(String, Vec<u8>)> {
    // The client library panics at a name that is no UTF-8.
    let header = catch_unwind(AssertUnwindSafe(|| headers.try_get(index))).ok()??;
    let value = header.value.filter(|value| std::str::from_utf8(value).is_ok())?;
    Some((header.key.to_lowercase(), value.to_vec()))
}

/// Returns a list of partitions, each with an offset if one is given.
pub(super) fn list_of<'h>(
    partitions: impl IntoIterator<Item = (&'h PartitionHandle, Option<i64>)>,
) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for (handle, offset) in partitions {
        let offset = offset.map_or(Offset::Invalid, Offset::Offset);
        // An offset that was received is always accepted.
        let _ = list.add_partition_offset(&handle.topic, handle.partition, offset);
    }
    list
}
