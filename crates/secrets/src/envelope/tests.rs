use super::*;

const ONE: &str = "0101010101010101010101010101010101010101010101010101010101010101";
const TWO: &str = "0202020202020202020202020202020202020202020202020202020202020202";

const HERE: EnvelopePlace<'_> = EnvelopePlace { table: "connectors", row: "a", column: "config_json" };

fn keys(current: Option<&str>, previous: &[&str]) -> EnvelopeKeys {
    EnvelopeKeys::new(current, previous.iter().copied()).unwrap()
}

/// Creates an envelope of an older format, with or without the id of its key.
fn seal_unbound(key: &str, named: bool, text: &str) -> String {
    let key = Key::parse(key).unwrap();
    let nonce = [9; NONCE];
    let sealed = key.cipher.encrypt(&Nonce::<Aes256Gcm>::from(nonce), text.as_bytes()).unwrap();
    let encoded = STANDARD.encode([&nonce[..], &sealed].concat());
    if named { format!("{UNBOUND_PREFIX}{}:{encoded}", key.id) } else { format!("{UNBOUND_PREFIX}{encoded}") }
}

#[test]
fn sealed_text_is_opened_only_by_its_key() {
    let one = keys(Some(ONE), &[]);
    let sealed_text = one.seal("swordfish \u{1F980}", HERE, [7; NONCE]).unwrap();
    assert!(is_sealed(&sealed_text) && one.is_current(&sealed_text) && !sealed_text.contains("swordfish"));
    assert_eq!(one.open(&sealed_text, HERE).unwrap(), "swordfish \u{1F980}");
    assert_eq!(keys(Some(TWO), &[ONE]).open(&sealed_text, HERE).unwrap(), "swordfish \u{1F980}");
    assert!(!keys(Some(TWO), &[ONE]).is_current(&sealed_text));
    assert_eq!(keys(None, &[ONE]).open(&sealed_text, HERE).unwrap(), "swordfish \u{1F980}");
    for wrong in [keys(Some(TWO), &[]), keys(None, &[])] {
        let error = wrong.open(&sealed_text, HERE).unwrap_err();
        assert!(matches!(&error, EnvelopeError::UnknownKey { id } if sealed_text.contains(id)), "{error}");
    }
}

#[test]
fn envelope_moved_to_another_place_is_not_opened() {
    let one = keys(Some(ONE), &[]);
    let sealed_text = one.seal("swordfish", HERE, [7; NONCE]).unwrap();
    for elsewhere in [
        EnvelopePlace { row: "b", ..HERE },
        EnvelopePlace { row: "", ..HERE },
        EnvelopePlace { column: "state_json", ..HERE },
        EnvelopePlace { table: "connector_oauth_state", ..HERE },
        // The same characters in total, split differently between table and row.
        EnvelopePlace { table: "connector", row: "sa", ..HERE },
    ] {
        let error = one.open(&sealed_text, elsewhere).unwrap_err();
        assert_eq!(error, EnvelopeError::Damaged, "{elsewhere:?}");
        assert!(error.to_string().contains("another row or field"), "{error}");
    }
    // The older prefix does not remove the binding to a place.
    let relabelled = sealed_text.replacen(PREFIX, UNBOUND_PREFIX, 1);
    assert_eq!(one.open(&relabelled, HERE), Err(EnvelopeError::Damaged));
}

#[test]
fn older_envelope_opens_anywhere_but_is_not_current() {
    for (named, missing) in [(true, "not configured"), (false, "no configured key")] {
        let sealed_text = seal_unbound(ONE, named, "text");
        assert!(is_sealed(&sealed_text) && !keys(Some(ONE), &[]).is_current(&sealed_text));
        for place in [HERE, EnvelopePlace { row: "b", ..HERE }] {
            assert_eq!(keys(Some(TWO), &[ONE]).open(&sealed_text, place).unwrap(), "text");
        }
        let error = keys(Some(TWO), &[]).open(&sealed_text, HERE).unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
    }
}

#[test]
fn plain_text_is_read_with_and_without_keys() {
    for keys in [keys(None, &[]), keys(Some(ONE), &[TWO])] {
        assert_eq!(keys.open(r#"{"a": 1}"#, HERE).unwrap(), r#"{"a": 1}"#);
    }
    assert_eq!(keys(None, &[ONE]).seal("text", HERE, [0; NONCE]).unwrap(), "text");
    assert!(keys(None, &[]).is_current("text") && !keys(Some(ONE), &[]).is_current("text"));
}

#[test]
fn every_changed_byte_of_an_envelope_is_noticed() {
    let one = keys(Some(ONE), &[]);
    let sealed_text = one.seal("text", HERE, [3; NONCE]).unwrap();
    let (head, encoded) = sealed_text.rsplit_once(':').unwrap();
    let sealed = STANDARD.decode(encoded).unwrap();
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 1;
        let changed = format!("{head}:{}", STANDARD.encode(changed));
        assert_eq!(one.open(&changed, HERE), Err(EnvelopeError::Damaged), "byte {index}");
    }
    for broken in ["enc:v1:", "enc:v1:!", "enc:v1:x:", "enc:v1:x:AAAA", "enc:v1:AAAA", "enc:v2:", "enc:v2:x:"]
    {
        assert_eq!(one.open(broken, HERE), Err(EnvelopeError::Damaged), "{broken}");
    }
    // The current format always names its key.
    let bare = format!("{PREFIX}{encoded}");
    assert_eq!(one.open(&bare, HERE), Err(EnvelopeError::Damaged));
}

#[test]
fn invalid_key_is_refused_and_keys_stay_hidden() {
    for text in ["", "01", &ONE[1..], &format!("{ONE}0"), &ONE.replace('0', "g")] {
        assert_eq!(EnvelopeKeys::new(Some(text), []).err(), Some(EnvelopeError::Key), "{text}");
    }
    assert!(!format!("{:?}", keys(Some(ONE), &[TWO])).contains("0101"));
}
