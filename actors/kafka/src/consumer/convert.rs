//! Conversions between the types of the client and those of the service.

use std::sync::Arc;

use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};
use svc_channels::TopicRecord;

use crate::partition::handle::PartitionHandle;

/// Converts a message of the client. Headers whose values are no UTF-8 are left out.
pub(super) fn to_record(topic: &Arc<str>, message: &BorrowedMessage<'_>) -> Arc<TopicRecord> {
    let headers = message.headers().map(|headers| {
        let texts = headers.iter().filter_map(|header| {
            let value = header.value.filter(|value| std::str::from_utf8(value).is_ok())?;
            Some((header.key.to_lowercase(), value.to_vec()))
        });
        texts.collect()
    });
    Arc::new(TopicRecord {
        topic: Arc::clone(topic),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
    })
}

/// Returns a list of partitions, each with an offset where one is given.
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
