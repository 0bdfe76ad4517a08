use svc_outbound::Trust;
use svc_testkit::trap::Trap;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

async fn hop(allow_private: bool) -> Hop {
    let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
    Hop::open(outbound, allow_private, LIMIT).await.unwrap()
}

/// Asks a hop for a host; answers the reply and the connection behind it.
async fn ask(hop: &Hop, host: &str, port: u16) -> (u8, TcpStream) {
    let mut client = TcpStream::connect(("127.0.0.1", hop.proxy.port.unwrap())).await.unwrap();
    let (user, password) = hop.proxy.authentication.clone().unwrap();
    client.write_all(&[VERSION, 1, USER_AND_PASSWORD]).await.unwrap();
    assert_eq!(client.read_u16().await.unwrap(), 0x0502);
    let short = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let login = [&[AUTH_VERSION][..], &short(&user), &short(&password)].concat();
    client.write_all(&login).await.unwrap();
    assert_eq!(client.read_u16().await.unwrap(), 0x0100);
    let request = [&[VERSION, CONNECT, 0, DOMAIN][..], &short(host), &port.to_be_bytes()].concat();
    client.write_all(&request).await.unwrap();
    let mut answer = [0; 10];
    client.read_exact(&mut answer).await.unwrap();
    (answer[1], client)
}

#[tokio::test]
async fn private_address_is_refused_by_name_and_number() {
    let (hop, trap) = (hop(false).await, Trap::bind().unwrap());
    for host in ["localhost", "127.0.0.1", "127.1", "::1", "::ffff:127.0.0.1", "0x7f000001"] {
        assert_eq!(ask(&hop, host, trap.port()).await.0, NOT_ALLOWED, "{host}");
        assert!(hop.refused_address().unwrap().to_string().starts_with("SSRF protection: "));
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn allowed_address_is_reached_and_bytes_pass_both_ways() {
    let hop = hop(true).await;
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (code, mut client) = ask(&hop, "localhost", server.local_addr().unwrap().port()).await;
    assert_eq!(code, SUCCEEDED);
    let (mut peer, _) = server.accept().await.unwrap();
    client.write_all(b"ping").await.unwrap();
    let mut read = [0; 4];
    peer.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"ping");
    peer.write_all(b"pong").await.unwrap();
    client.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"pong");
    assert!(hop.refused_address().is_none());
    drop(hop);
    assert_eq!(client.read(&mut read).await.unwrap_or(0), 0, "connections end with their hop");
}

#[tokio::test]
async fn name_without_an_address_is_unreachable_and_not_forbidden() {
    let hop = hop(false).await;
    assert_eq!(ask(&hop, "name.invalid", 27017).await.0, HOST_UNREACHABLE);
    assert!(hop.refused_address().is_none());
}

#[tokio::test]
async fn nobody_without_the_credentials_is_let_through() {
    let (hop, trap) = (hop(true).await, Trap::bind().unwrap());
    let port = hop.proxy.port.unwrap();
    // No authentication, another password, another protocol.
    for attempt in [&[VERSION, 1, 0][..], &[VERSION, 1, 2, 1, 1, b'u', 1, b'p'], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut client = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        client.write_all(attempt).await.unwrap();
        let mut answer = Vec::new();
        let _ended = client.read_to_end(&mut answer).await;
        assert!(!answer.ends_with(&[AUTH_VERSION, 0]), "{answer:?}");
    }
    assert_eq!(trap.take_connection_count(), 0);
}
