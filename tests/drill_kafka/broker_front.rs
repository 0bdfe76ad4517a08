//! The proxy between the nodes and the brokers, which gives every member of a group a unique name.
//!
//! The brokers are librdkafka's mock cluster. It names a member by the address of its memory, and uses that memory
//! again. A process that lost its member while it was stopped comes back under the old name; if a process that joined
//! meanwhile has that name too, the mock cluster aborts. So a request to join without a name gets one here that never
//! comes again. The answers of the brokers name the ports of this front instead of theirs, so that no node goes past it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The key of requests to join a group.
const JOIN_GROUP: i16 = 11;
/// The version of these requests from which on their fields are packed in another way; the client sends none.
const FLEXIBLE: i16 = 6;
/// The version from which on they have the time of a rebalance.
const WITH_REBALANCE_TIMEOUT: i16 = 1;

/// A broker as its answers name it, and the port at which the nodes reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrontedBroker {
    host: String,
    port: u16,
    front: u16,
}

/// The brokers, and the names that were given.
struct FrontState {
    brokers: Vec<FrontedBroker>,
    members: AtomicU64,
}

/// Starts the way to these brokers; returns the addresses for the nodes. It ends with the process.
pub(crate) fn start_front(addresses: &str) -> io::Result<String> {
    let (mut brokers, mut listeners) = (Vec::new(), Vec::new());
    for address in addresses.split(',') {
        let (host, port) = address.rsplit_once(':').ok_or(io::ErrorKind::InvalidInput)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let front = listener.local_addr()?.port();
        let port = port.parse::<u16>().map_err(io::Error::other)?;
        brokers.push(FrontedBroker { host: host.to_owned(), port, front });
        listeners.push(listener);
    }
    let fronts: Vec<_> = brokers.iter().map(|broker| format!("127.0.0.1:{}", broker.front)).collect();
    let state = Arc::new(FrontState { brokers, members: AtomicU64::new(0) });
    for (index, listener) in listeners.into_iter().enumerate() {
        let state = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A node whose connection is not passed on connects again.
                let _ = pass_on(stream, index, &state);
            }
        });
    }
    Ok(fronts.join(","))
}

/// Connects a node with a broker, in both directions.
fn pass_on(node: TcpStream, index: usize, state: &Arc<FrontState>) -> io::Result<()> {
    let FrontedBroker { host, port, .. } = &state.brokers[index];
    let broker = TcpStream::connect((host.as_str(), *port))?;
    node.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let (from_node, to_node) = (node.try_clone()?, node);
    let (from_broker, to_broker) = (broker.try_clone()?, broker);
    let (names, ports) = (Arc::clone(state), Arc::clone(state));
    thread::spawn(move || {
        copy_frames(from_node, to_broker, |frame| name_member(frame, &names.members));
    });
    thread::spawn(move || {
        copy_frames(from_broker, to_node, |frame| replace_ports(frame, &ports.brokers));
    });
    Ok(())
}

/// Passes frames on until one side closes; the other one is closed then.
fn copy_frames(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut Vec<u8>)) {
    while let Ok(mut frame) = read_frame(&mut from) {
        change(&mut frame);
        if write_frame(&mut to, &frame).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        // The other direction may have closed it.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn read_frame(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

fn write_frame(to: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
    to.write_all(&[length.to_be_bytes().as_slice(), frame].concat())
}

/// Gives the sender of a request to join a name, if it has none.
fn name_member(frame: &mut Vec<u8>, members: &AtomicU64) {
    let Some(at) = find_missing_name(frame) else { return };
    let name = format!("member-{}", members.fetch_add(1, Ordering::Relaxed));
    let length = i16::try_from(name.len()).unwrap_or_default().to_be_bytes();
    frame.splice(at..at + 2, length.into_iter().chain(name.into_bytes()));
}

/// Returns the place of the name in a request to join that has an empty one.
fn find_missing_name(frame: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(i16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    // A missing text has the length -1.
    let after_text = |at: usize| Some(at + 2 + usize::try_from(number(at)?).unwrap_or_default());
    let version = number(2)?;
    if number(0)? != JOIN_GROUP || version >= FLEXIBLE {
        return None;
    }
    // Behind the key, the version and the number of the request are the name of the client and that of the group,
    // then the times of the session and of a rebalance.
    let group = after_text(8)?;
    let times = if version >= WITH_REBALANCE_TIMEOUT { 8 } else { 4 };
    let member = after_text(group)? + times;
    (number(member)? == 0).then_some(member)
}

/// Replaces the ports of the brokers in an answer. An address is a text, which the port follows.
fn replace_ports(frame: &mut [u8], brokers: &[FrontedBroker]) {
    for broker in brokers {
        let host = broker.host.as_bytes();
        let address = [host, &u32::from(broker.port).to_be_bytes()].concat();
        let mut from = 0;
        while let Some(at) = frame[from..].windows(address.len()).position(|bytes| bytes == address) {
            let port = from + at + host.len();
            frame[port..port + 4].copy_from_slice(&u32::from(broker.front).to_be_bytes());
            from = port + 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Vec<u8> {
        [(value.len() as i16).to_be_bytes().as_slice(), value.as_bytes()].concat()
    }

    /// A request of a client `svc` to join the group `svc`, with fields behind the name.
    fn join(key: i16, version: i16, member: &str) -> Vec<u8> {
        let times: &[u8] = if version == 0 { &[9; 4] } else { &[9; 8] };
        let head = [key.to_be_bytes(), version.to_be_bytes()].concat();
        [head, vec![7; 4], text("svc"), text("svc"), times.to_vec(), text(member), text("consumer")].concat()
    }

    #[test]
    fn members_without_name_get_different_ones() {
        let members = AtomicU64::new(0);
        for (number, version) in [0, 1, 5].into_iter().enumerate() {
            let mut frame = join(JOIN_GROUP, version, "");
            name_member(&mut frame, &members);
            assert_eq!(frame, join(JOIN_GROUP, version, &format!("member-{number}")));
        }
    }

    #[test]
    fn other_requests_stay_as_they_are() {
        let members = AtomicU64::new(0);
        let cut = join(JOIN_GROUP, 5, "")[..12].to_vec();
        let heartbeat = join(12, 3, "");
        for frame in [join(JOIN_GROUP, 5, "member-7"), join(JOIN_GROUP, 6, ""), heartbeat, cut, Vec::new()] {
            let mut changed = frame.clone();
            name_member(&mut changed, &members);
            assert_eq!(changed, frame);
        }
    }

    #[test]
    fn every_port_of_broker_is_replaced() {
        let broker = |port, front| FrontedBroker { host: "127.0.0.1".to_owned(), port, front };
        let address = |port: u32| [text("127.0.0.1"), port.to_be_bytes().to_vec()].concat();
        let mut frame = [address(9001), address(9002), address(9001), address(9003), vec![0]].concat();
        replace_ports(&mut frame, &[broker(9001, 4001), broker(9002, 4002)]);
        assert_eq!(frame, [address(4001), address(4002), address(4001), address(9003), vec![0]].concat());
    }
}
