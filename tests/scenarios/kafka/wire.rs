//! Record batches that no client library writes, as bytes of the Kafka protocol.

use std::io::{Read, Write};
use std::net::TcpStream;

/// A header of a record: its name and its value, as bytes.
pub(super) type RawHeader<'h> = (&'h [u8], Option<&'h [u8]>);

/// Compression of a batch with gzip, in its attributes.
pub(super) const GZIP: i16 = 1;
/// A compression that there is not.
pub(super) const UNKNOWN_CODEC: i16 = 7;

/// Version of the request to produce whose batches are of the format in use today, without tagged fields.
const PRODUCE: (i16, i16) = (0, 3);

/// Writes a batch to partition `partition` of a topic, and waits until the broker has acknowledged it.
pub(super) fn produce(broker: &str, topic: &str, partition: i32, batch: &[u8]) {
    let mut request = Vec::new();
    for number in [PRODUCE.0, PRODUCE.1] {
        request.extend(number.to_be_bytes());
    }
    request.extend(7_i32.to_be_bytes());
    put_text(&mut request, "wire");
    // No transaction; acknowledged by all replicas, in ten seconds.
    request.extend((-1_i16).to_be_bytes());
    request.extend((-1_i16).to_be_bytes());
    request.extend(10_000_i32.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    put_text(&mut request, topic);
    request.extend(1_i32.to_be_bytes());
    request.extend(partition.to_be_bytes());
    request.extend(length(batch));
    request.extend(batch);
    let mut stream = TcpStream::connect(broker).unwrap();
    stream.write_all(&length(&request)).unwrap();
    stream.write_all(&request).unwrap();
    let mut size = [0; 4];
    stream.read_exact(&mut size).unwrap();
    let mut answer = vec![0; usize::try_from(i32::from_be_bytes(size)).unwrap()];
    stream.read_exact(&mut answer).unwrap();
    // The number of the request, of topics, the topic, the number of partitions, the partition.
    let at = 4 + 4 + 2 + topic.len() + 4 + 4;
    assert_eq!(answer[at..at + 2], [0, 0], "the broker refused the batch");
}

/// Builds a batch of one record, or of bytes that claim to be one.
pub(super) fn batch(attributes: i16, records: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    // The epoch of the leader, the version of the format, a checksum that nobody looks at.
    body.extend((-1_i32).to_be_bytes());
    body.push(2);
    body.extend(0_u32.to_be_bytes());
    body.extend(attributes.to_be_bytes());
    // One offset, the first and the last timestamp.
    body.extend(0_i32.to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    // No producer id, no epoch, no sequence.
    body.extend((-1_i64).to_be_bytes());
    body.extend((-1_i16).to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(records);
    let mut batch = 0_i64.to_be_bytes().to_vec();
    batch.extend(length(&body));
    batch.extend(body);
    batch
}

/// Builds a record without a key.
pub(super) fn record(value: &[u8], headers: &[RawHeader<'_>]) -> Vec<u8> {
    let mut body = vec![0];
    for number in [0, 0, -1] {
        put_number(&mut body, number);
    }
    put_bytes(&mut body, Some(value));
    put_number(&mut body, i64::try_from(headers.len()).unwrap());
    for (name, value) in headers {
        put_bytes(&mut body, Some(name));
        put_bytes(&mut body, *value);
    }
    let mut record = Vec::new();
    put_bytes(&mut record, Some(&body));
    record
}

fn length(bytes: &[u8]) -> [u8; 4] {
    i32::try_from(bytes.len()).unwrap().to_be_bytes()
}

fn put_text(request: &mut Vec<u8>, text: &str) {
    request.extend(i16::try_from(text.len()).unwrap().to_be_bytes());
    request.extend(text.as_bytes());
}

/// Appends bytes with their length before them, which is -1 for none.
fn put_bytes(record: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_number(record, bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap()));
    record.extend(bytes.unwrap_or_default());
}

/// Appends a number as a zigzag varint.
fn put_number(record: &mut Vec<u8>, number: i64) {
    let mut rest = u64::from_ne_bytes(((number << 1) ^ (number >> 63)).to_ne_bytes());
    while rest >= 0x80 {
        record.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    record.push(u8::try_from(rest).unwrap());
}
